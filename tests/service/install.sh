#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# install.sh [PREFIX] - an installed skua can be used by a project outside this tree
#
# Installs the build into a folder, moves that elsewhere, and builds the
# project in outside/ with it: by pkg-config and by find_package(), against
# both libraries. Then with this tree by add_subdirectory(). Runs each program.
# Compiles the examples that say how in their comments, as they say.
# With PREFIX, uses a copy of that folder instead, and not the build or the tree.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit

build=${SKUA_BUILD_DIR:-build}
outside=tests/service/outside
cc=${CC:-cc}
case ${cc##*/} in
clang*) cxx=clang++ ;;
*) cxx=g++ ;;
esac
for name in cmake pkg-config "$cc" "$cxx"; do
	if ! command -v "$name" >/dev/null; then
		echo "$name is not installed"
		exit 77
	fi
done
if [[ ! ${1-} && ! -e $build/libskua.so ]]; then
	echo "$build/libskua.so is not built"
	exit 77
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
prefix=$scratch/moved
failed=0

# must WHAT COMMAND... - a step on which the others depend
must()
{
	local what=$1
	shift
	if ! "$@" >"$scratch/log" 2>&1; then
		cat "$scratch/log"
		echo "FAILED: $what: $*"
		exit 1
	fi
}

# prints TEXT PROGRAM - and ends with 0
prints()
{
	local code=0 out
	out=$(LD_LIBRARY_PATH=${libdir-} "$2" 2>&1) || code=$?
	if ((code != 0)) || [[ $out != "$1" ]]; then
		echo "FAILED: ${2##*/}: exit code $code, printed '$out', not '$1'"
		failed=1
	fi
}

# uses PROGRAM LIBRARY - of the shared library's name, or not
uses()
{
	local is=no
	if readelf -d "$1" | grep 'NEEDED.*\[libskua\.so' >/dev/null; then
		is=yes
	fi
	if [[ $is != "$2" ]]; then
		echo "FAILED: ${1##*/}: needs libskua.so: $is, not $2"
		failed=1
	fi
}

# programs FOLDER NAME SHARED - the C and the C++ program
programs()
{
	prints 328350 "$1/c_$2"
	prints right "$1/cxx_$2"
	uses "$1/c_$2" "$3"
	uses "$1/cxx_$2" "$3"
}

# --- install --------------------------------------------------------------------

if [[ ${1-} ]]; then
	must copy cp -r "$1" "$scratch/first"
else
	must install cmake --install "$build" --prefix "$scratch/first"
fi
must move mv "$scratch/first" "$prefix"
must 'every header' diff -r include/skua "$prefix/include/skua"
must 'its page' test -s "$prefix"/share/man/man7/skua.7*
must 'its page' test -s "$prefix"/share/man/man5/skua_config.5*

pc=$(find "$prefix" -name skua.pc)
libdir=$(dirname "$(dirname "$pc")")
export PKG_CONFIG_PATH=${pc%/*}
must pkg-config pkg-config --print-errors --exists "skua >= $(
	sed -nE 's/^#define SKUA_VERSION_(MAJOR|MINOR) ([0-9]+)$/\2/p' \
		include/skua/base.h | paste -sd .)"
if grep -rlF "$scratch/first" "$prefix"/*/pkgconfig "$prefix"/*/cmake \
	"$prefix"/*/*/pkgconfig "$prefix"/*/*/cmake 2>/dev/null; then
	echo 'FAILED: the files above know the folder that they were installed in'
	failed=1
fi

# --- what it needs --------------------------------------------------------------

# libc, libnuma, liburing if it was there, and what a sanitizer or a count of lines
# adds.
others=$(readelf -d "$libdir/libskua.so" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' |
	grep -vE '^(libc|libnuma|liburing|libm|libubsan|lib[at]san|libgcc_s|ld-linux.*)\.so')
if [[ $others ]]; then
	echo "FAILED: libskua.so needs more than libc, libnuma and liburing:" "$others"
	failed=1
fi
if ! readelf -d "$libdir/libskua.so" | grep -q 'NEEDED.*\[libnuma\.so'; then
	echo 'FAILED: libskua.so does not need libnuma'
	failed=1
fi

# --- the command ----------------------------------------------------------------

# It is there unless the benchmarks, which have the same needs, were left out.
if [[ ${1-} || -x $build/bpf/skua ]]; then
	must 'the installed command' "$prefix/bin/skua" topo
	must 'its page' test -s "$prefix"/share/man/man1/skua.1*
	must 'its page' test -s "$prefix"/share/man/man1/skua-topo.1*
	must 'every script' diff -r bpf/scripts "$prefix/share/skua/scripts"
	for script in "$prefix"/share/skua/scripts/{*.bt,run}; do
		must "mode of $script" test "$(stat -c %a "$script")" = 755
	done
fi

# --- pkg-config -----------------------------------------------------------------

strict=(-O2 -Wall -Wextra -Wpedantic -Werror)
for kind in shared static; do
	options=()
	if [[ $kind == static ]]; then
		options=(--static)
		strict+=(-static)
	fi
	read -ra flags < <(pkg-config "${options[@]}" --cflags --libs skua)
	must "C, $kind" "$cc" "${strict[@]}" -std=c11 "$outside/program.c" \
		-o "$scratch/c_$kind" "${flags[@]}"
	must "C++, $kind" "$cxx" "${strict[@]}" -std=c++17 \
		"$outside/program.cpp" -o "$scratch/cxx_$kind" "${flags[@]}"
done
programs "$scratch" shared yes
programs "$scratch" static no

# --- the examples ---------------------------------------------------------------

# In a copy of their folder, as a user has one; without those of libraries that are not here.
examples=$prefix/share/doc/skua-doc/examples
[[ ${1-} ]] || examples=bench/examples
must 'the examples' cp -r "$examples" "$scratch/examples"
tried=0
while read -r command; do
	read -ra modules < <(sed 's/.*pkg-config --cflags --libs \(.*\))$/\1/' <<<"$command")
	if pkg-config --exists "${modules[@]}"; then
		must 'an example' bash -c "cd '$scratch/examples' && $command"
		tried=$((tried + 1))
	else
		echo "not compiled, because a library is not installed: $command"
	fi
done < <(sed -nE 's,^( \*|//)\t(cc |c\+\+ ),\2,p' "$scratch"/examples/*.c*)
must 'the commands of examples' test "$tried" -gt 1

# --- cmake ----------------------------------------------------------------------

# by_cmake FOLDER OPTION... - build the project
by_cmake()
{
	must configure env CC="$cc" CXX="$cxx" cmake -S "$outside" -B "$@"
	must build cmake --build "$1" --parallel 2
	programs "$1" skua yes
	programs "$1" skua_static no
}

by_cmake "$scratch/installed" -DCMAKE_PREFIX_PATH="$prefix"
libdir='' # found by what cmake leaves in the programs
if [[ ! ${1-} ]]; then
	by_cmake "$scratch/subdirectory" -DSKUA_TREE="$PWD"
fi

if cmake -S "$outside" -B "$scratch/none" -DCMAKE_PREFIX_PATH=/nonexistent \
	-DCMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF >/dev/null 2>&1; then
	echo 'FAILED: find_package() finds what is not installed'
	failed=1
fi

if ((failed)); then
	exit 1
fi
echo "used by pkg-config and find_package()${1:+, from $1}"
