# shellcheck shell=bash
# SPDX-License-Identifier: MIT
#
# .setup.sh - the packages skua is built with, and how to build it
#
# Sourced by tests/run and bench/run. Provides skua_setup and skua_build, for
# bench/run skua_peer_setup, and for tests/run skua_guest_setup,
# skua_browser_setup, skua_deploying_setup, skua_docs_setup, skua_mpi_setup,
# skua_package_setup, skua_promtool_setup and skua_rust_setup.

SKUA_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# Debian's name of the package, then what tells that it is there, also where
# packages have other names: a command, a header that gcc finds, a runtime of
# clang's, a module of Python, or a crate where Debian's cargo packages are.
SKUA_NEEDS='
gcc             command gcc
libc6-dev       header  stdlib.h
g++             command g++
clang           command clang
clang-format    command clang-format
binutils        command nm
cmake           command cmake
ninja-build     command ninja
pkg-config      command pkg-config
python3         command python3
libnuma-dev     header  numaif.h
liburing-dev    header  liburing.h
libcmocka-dev   header  cmocka.h
libjansson-dev  header  jansson.h
libpfm4-dev     header  perfmon/pfmlib_perf_event.h
libelf-dev      header  gelf.h
libdw-dev       header  elfutils/libdw.h
libiberty-dev   header  libiberty/demangle.h
libbpf-dev      header  bpf/libbpf.h
bpftool         command bpftool
bpftrace        command bpftrace
libmicrohttpd-dev header microhttpd.h
nettle-dev      header  nettle/sha1.h
libhwloc-dev    header  hwloc.h
libuv1-dev      header  uv.h
libssl-dev      header  openssl/ssl.h
openssl         command openssl
libglib2.0-dev  header  glib-2.0/glib.h
spin            command spin
libclang-rt-dev runtime fuzzer
valgrind        command valgrind
lcov            command lcov
mandoc          command mandoc
gnuplot-nox     command gnuplot
protobuf-compiler command protoc
redis-tools     command redis-cli
python3-redis   python  redis
libhiredis-dev  header  hiredis/hiredis.h
'

# The packages that build the other schedulers (bench/peers/build). They are large,
# and one that is missing leaves out what it is for.
SKUA_PEER_NEEDS='
cargo             command cargo
rustc             command rustc
librust-tokio-dev crate   tokio
librust-rayon-dev crate   rayon
golang-go         command go
libtbb-dev        header  tbb/task_group.h
'

# The machine and the kernel that tests/guest/run boots. The kernel is not installed:
# newer ones do not start in Debian 12's qemu.
SKUA_GUEST_NEEDS='
qemu-system-x86 command qemu-system-x86_64
cpio            command cpio
'
SKUA_GUEST_IMAGE='^linux-image-6\.1\.0-[0-9]+-cloud-amd64$'

# The browser with which tests/service/test_report_page.sh opens report.html, and
# test_docs_page.sh skua.html; it is large.
SKUA_BROWSER_NEEDS='
chromium        command chromium
'

# The compiler for tests/service/test_from_rust.sh and the guides; it is large.
SKUA_RUST_NEEDS='
rustc           command rustc
'

# The tools of the documentation (docs/build.py), except kernel-doc, whose
# package has the version of a kernel in its name.
SKUA_DOCS_NEEDS='
pandoc          command pandoc
'
SKUA_KERNEL_DOC='^linux-kbuild-[0-9.]+$'

# The programs that read the examples of the guide about deploying
# (tests/service/test_deploying.sh).
SKUA_DEPLOYING_NEEDS='
systemd         command systemd-analyze
python3-yaml    python  yaml
'

# An MPI, for bench/mpi/. Without it, its programs and their tests are left out.
SKUA_MPI_NEEDS='
libopenmpi-dev  command mpicc
openmpi-bin     command mpirun
'

# The tools that build and check the Debian packages (tests/package/).
SKUA_PACKAGE_NEEDS='
debhelper       command dh
dpkg-dev        command dpkg-buildpackage
git             command git
lintian         command lintian
abigail-tools   command abidiff
xz-utils        command xz
mmdebstrap      command mmdebstrap
'

# The program that checks the output in tests/service/test_metrics.sh, from the package
# prometheus, which is not installed: it would start a server.
SKUA_PROMTOOL=usr/bin/promtool

# shellcheck disable=SC2034 # some are for those who source this
if [[ -t 2 ]]; then
	SKUA_BOLD=$'\e[1m' SKUA_GREEN=$'\e[32m' SKUA_RED=$'\e[31m'
	SKUA_YELLOW=$'\e[33m' SKUA_PLAIN=$'\e[0m'
else
	SKUA_BOLD='' SKUA_GREEN='' SKUA_RED='' SKUA_YELLOW='' SKUA_PLAIN=''
fi

# Progress goes to stderr: stdout is for results.
skua_say()
{
	printf '%s\n' "$*" >&2
}

# skua_has KIND WHAT - whether a row of a list of needs is satisfied
skua_has()
{
	case $1 in
	command)
		PATH=$PATH:/usr/sbin:/sbin command -v "$2" >/dev/null
		;;
	header)
		command -v gcc >/dev/null &&
			printf '#if !__has_include(<%s>)\n#error\n#endif\n' "$2" |
			gcc -E -x c - >/dev/null 2>&1
		;;
	python)
		# The package is for the python3 of the system.
		/usr/bin/python3 -c "import $2" 2>/dev/null ||
			python3 -c "import $2" 2>/dev/null
		;;
	runtime)
		command -v clang >/dev/null &&
			[[ -e $(clang -print-file-name="libclang_rt.$2-$(uname -m).a") ]]
		;;
	crate)
		compgen -G "/usr/share/cargo/registry/$2-[0-9]*" >/dev/null
		;;
	esac
}

# skua_missing NEEDS - the unsatisfied rows of a list of needs
skua_missing()
{
	local package kind what
	while read -r package kind what; do
		if [[ $package ]] && ! skua_has "$kind" "$what"; then
			printf '%s %s %s\n' "$package" "$kind" "$what"
		fi
	done <<<"$1"
}

# skua_install PACKAGE... - through the package manager; 1 if it cannot
skua_install()
{
	local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -q)

	if ! command -v apt-get >/dev/null; then
		return 1
	fi
	if ((EUID != 0)); then
		command -v sudo >/dev/null || return 1
		sudo -n true 2>/dev/null || [[ -t 0 && -t 2 ]] || return 1
		apt=(sudo "${apt[@]}")
	fi
	skua_say "${SKUA_BOLD}installing$SKUA_PLAIN $*"
	"${apt[@]}" update >&2 &&
		"${apt[@]}" install -y --no-install-recommends "$@" >&2
}

# skua_setup - install what is missing, or say what to install and exit
skua_setup()
{
	local missing packages
	missing=$(skua_missing "$SKUA_NEEDS")
	if [[ ! $missing ]]; then
		return 0
	fi
	mapfile -t packages < <(cut -d ' ' -f 1 <<<"$missing")
	skua_install "${packages[@]}" || true

	missing=$(skua_missing "$SKUA_NEEDS")
	if [[ ! $missing ]]; then
		return 0
	fi
	mapfile -t packages < <(cut -d ' ' -f 1 <<<"$missing")
	skua_say "skua needs what is not installed here:"
	while read -r package kind what; do
		skua_say "  $kind $what (Debian package $package)"
	done <<<"$missing"
	skua_say "On Debian and its relatives, install it with:"
	skua_say "  sudo apt-get update && sudo apt-get install -y" \
		"--no-install-recommends ${packages[*]}"
	exit 1
}

# skua_install_some NEEDS - install what is missing, as far as that can be
skua_install_some()
{
	local missing packages package
	missing=$(skua_missing "$1")
	if [[ ! $missing ]]; then
		return 0
	fi
	mapfile -t packages < <(cut -d ' ' -f 1 <<<"$missing")
	skua_install "${packages[@]}" && return
	# Some may be there, while others have other names elsewhere.
	for package in "${packages[@]}"; do
		skua_install "$package" || true
	done
}

# skua_peer_setup - install what the other schedulers need, if that can be
#
# bench/peers/build says what is then still missing.
skua_peer_setup()
{
	skua_install_some "$SKUA_PEER_NEEDS"
}

# skua_guest_kernel FOLDER - where skua_guest_setup has put a kernel; or nothing
skua_guest_kernel()
{
	{ compgen -G "$1/guest/vmlinuz-*" || true; } | sort -V | tail -n 1
}

# skua_guest_setup FOLDER - get what tests/guest/run needs, if that can be: the
# packages, and a kernel in FOLDER/guest
#
# That says what is then still missing.
skua_guest_setup()
{
	local package scratch
	skua_install_some "$SKUA_GUEST_NEEDS"
	if [[ $(skua_guest_kernel "$1") ]] || ! command -v apt-get >/dev/null; then
		return 0
	fi
	package=$(apt-cache search --names-only "$SKUA_GUEST_IMAGE" |
		cut -d ' ' -f 1 | sort -V | tail -n 1) || true
	if [[ ! $package ]]; then
		return 0
	fi
	skua_say "${SKUA_BOLD}downloading$SKUA_PLAIN $package"
	scratch=$(mktemp -d)
	if (cd "$scratch" && apt-get -q download "$package" >&2 &&
		dpkg-deb --fsys-tarfile ./*.deb |
		tar -x --wildcards './boot/vmlinuz-*'); then
		mkdir -p "$1/guest"
		mv "$scratch"/boot/vmlinuz-* "$1/guest/"
	fi
	rm -rf "$scratch"
}

# skua_browser_setup - install what report.html is looked at with, if that can be
#
# The test says so if it is then still missing.
skua_browser_setup()
{
	skua_install_some "$SKUA_BROWSER_NEEDS"
}

# skua_rust_setup - install Rust's compiler, if that can be
#
# The tests say so if it is then still missing.
skua_rust_setup()
{
	skua_install_some "$SKUA_RUST_NEEDS"
}

# skua_docs_setup - install what the documentation is made with, if that can be
#
# The tests say so if it is then still missing.
skua_docs_setup()
{
	local package
	skua_install_some "$SKUA_DOCS_NEEDS"
	if command -v kernel-doc >/dev/null || ! command -v apt-get >/dev/null ||
		compgen -G '/usr/lib/linux-kbuild-*/scripts/kernel-doc' >/dev/null; then
		return 0
	fi
	package=$(apt-cache search --names-only "$SKUA_KERNEL_DOC" |
		cut -d ' ' -f 1 | sort -V | tail -n 1) || true
	if [[ $package ]]; then
		skua_install "$package" || true
	fi
}

# skua_deploying_setup - install the programs that read the examples of the guide, if that can be
#
# The test says so if one is then still missing.
skua_deploying_setup()
{
	skua_install_some "$SKUA_DEPLOYING_NEEDS"
}

# skua_mpi_setup - install an MPI, if that can be; before CMake looks for it
skua_mpi_setup()
{
	skua_install_some "$SKUA_MPI_NEEDS"
}

# skua_package_setup - install the tools for the Debian packages, if that can be
#
# The tests say which one is then still missing.
skua_package_setup()
{
	skua_install_some "$SKUA_PACKAGE_NEEDS"
}

# skua_promtool_setup FOLDER - get promtool, if it is not there and that can be, to
# FOLDER/promtool
#
# The test says so if it is then still missing.
skua_promtool_setup()
{
	local scratch
	if command -v promtool >/dev/null || [[ -x $1/promtool/promtool ]] ||
		! command -v apt-get >/dev/null; then
		return 0
	fi
	skua_say "${SKUA_BOLD}downloading$SKUA_PLAIN prometheus"
	scratch=$(mktemp -d)
	if (cd "$scratch" && apt-get -q download prometheus >&2 &&
		dpkg-deb --fsys-tarfile ./*.deb | tar -x "./$SKUA_PROMTOOL"); then
		mkdir -p "$1/promtool"
		mv "$scratch/$SKUA_PROMTOOL" "$1/promtool/"
	fi
	rm -rf "$scratch"
}

# skua_progress - copy a build's lines to a log, and show how far it is
skua_progress()
{
	local line log=$1
	while IFS= read -r line || [[ $line ]]; do
		printf '%s\n' "$line" >>"$log"
		if [[ -t 2 && $line =~ ^\[[0-9]+/[0-9]+\] ]]; then
			printf '\r  %s ' "${BASH_REMATCH[0]}" >&2
		fi
	done
	if [[ -t 2 ]]; then
		printf '\r\e[K' >&2
	fi
}

# skua_stale FOLDER COMPILER - whether its cache is of another tree or compiler
skua_stale()
{
	local cache=$1/CMakeCache.txt
	! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$SKUA_ROOT" "$cache" ||
		! grep -qx "CMAKE_C_COMPILER:.*=$(command -v "$2")" "$cache"
}

# skua_build FOLDER [CMAKE-ARGUMENT...] - configure and build; 1 on failure
#
# FOLDER is relative to the root; SKUA_CC is the compiler (gcc), SKUA_TARGET what
# is built (all). The output of the tools is in FOLDER/build.log, and shown if they
# fail.
skua_build()
{
	local folder=$SKUA_ROOT/$1 log=$SKUA_ROOT/$1/build.log start=$SECONDS
	local compiler=${SKUA_CC:-gcc}
	local configure=(env CC="$compiler" cmake -S "$SKUA_ROOT" -B "$folder")
	shift
	mkdir -p "$folder"
	: >"$log"
	skua_say "${SKUA_BOLD}building ${folder##*/}/$SKUA_PLAIN"

	if [[ ! -e $folder/CMakeCache.txt ]]; then
		configure+=(-G Ninja)
	elif skua_stale "$folder" "$compiler"; then
		configure+=(--fresh -G Ninja)
	fi
	# Said each time: the cache may be of somebody who chose otherwise.
	configure+=(-DCMAKE_BUILD_TYPE=RelWithDebInfo -DSKUA_SANITIZE=
		-DSKUA_BUILD_TESTS=ON -DSKUA_BUILD_TOOLS=ON
		-DSKUA_BUILD_BENCH=ON)

	if ! { "${configure[@]}" "$@" &&
		cmake --build "$folder" --target "${SKUA_TARGET:-all}" \
			--parallel "${SKUA_JOBS:-$(nproc)}"; } \
		2>&1 | skua_progress "$log"; then
		cat "$log" >&2
		skua_say "${SKUA_RED}the build failed$SKUA_PLAIN (all of it: $log)"
		return 1
	fi
	if grep -q 'warning:' "$log"; then
		skua_say "  ${SKUA_YELLOW}with warnings$SKUA_PLAIN, see $log"
	fi
	skua_say "  built in $((SECONDS - start)) s"
}
