#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# packages.sh CASE - the Debian packages
#
#   build         packaging/build makes them, into build/packages, for the other cases
#   lintian       finds no error and no warning in them
#   use           a folder that they are extracted to serves a project (service/install.sh),
#                 and has the reference
#   reproducible  a second build in another folder, whose path has a space, time zone, locale
#                 and umask has the same bytes
#   root          in a root of its own, with their dependencies (root.sh)
set -uo pipefail
# shellcheck source=tests/service/checks.sh
source "$(dirname "$0")/../service/checks.sh"
packages=$build/packages

# can_run COMMAND... - or the case is skipped
can_run()
{
	local name
	for name in "$@"; do
		if ! command -v "$name" >/dev/null; then
			echo "$name is not installed"
			exit 77
		fi
	done
}

# has_packages - or the case is skipped. ${debs[@]} are those without debugging symbols
has_packages()
{
	mapfile -t debs < <(compgen -G "$packages/*.deb" | grep -v dbgsym)
	if ((${#debs[@]} == 0)); then
		echo "package.build has built no packages"
		exit 77
	fi
}

# build_packages FOLDER
build_packages()
{
	can_run git dpkg-buildpackage dh
	if ! git rev-parse -q --verify HEAD >/dev/null 2>&1; then
		echo 'packaging/build exports a commit, and this is no clone'
		exit 77
	fi
	if ! dpkg-checkbuilddeps 2>"$scratch/log"; then
		cat "$scratch/log"
		exit 77
	fi
	mkdir -p "$1"
	touch "$1/libskua0.0_0.0.9_all.deb" "$1/about_skua.txt"
	if ! packaging/build "$1" >"$scratch/log" 2>&1; then
		tail -n 40 "$scratch/log"
		echo "FAILED: packaging/build $1"
		exit 1
	fi
	if [[ -e $1/libskua0.0_0.0.9_all.deb || ! -e $1/about_skua.txt ]]; then
		echo 'FAILED: a package of before is left, or another file is not'
		exit 1
	fi
}

case_build()
{
	rm -rf "$packages"
	build_packages "$packages"
	has_packages
	echo "${#debs[@]} packages"
}

case_lintian()
{
	can_run lintian
	has_packages
	lintian --allow-root --fail-on error,warning --tag-display-limit 0 \
		"$packages"/*.dsc "$packages"/*.deb || exit 1
	echo 'no error and no warning'
}

# has_reference SHARE - a page for each exported function, and the page for a browser
has_reference()
{
	local name
	for name in $(sed -nE 's/^\s*(skua_\w+);.*/\1/p' core/skua.map); do
		if [[ $name != skua_debug_root && ! -e $1/man/man3/$name.3.gz ]]; then
			echo "FAILED: libskua-dev has no $name(3)"
			return 1
		fi
	done
	if ! gzip -dc "$1/man/man3/skua_task_spawn.3.gz" | grep -q 'int skua_task_spawn'; then
		echo 'FAILED: skua_task_spawn(3) does not show the function'
		return 1
	fi
	if ! grep -q 'id="skua_task_spawn"' "$1/doc/skua-doc/skua.html"; then
		echo 'FAILED: skua-doc has no skua.html with skua_task_spawn()'
		return 1
	fi
}

case_use()
{
	local deb
	has_packages
	for deb in "${debs[@]}"; do
		dpkg-deb -x "$deb" "$scratch/root" || exit 1
	done
	bash tests/service/install.sh "$scratch/root/usr" || exit 1
	has_reference "$scratch/root/usr/share" || exit 1
	if grep -rlF /tmp/ "$scratch/root/usr/bin" "$scratch/root/usr/lib" |
		xargs -r grep -laE '/tmp/tmp\.[A-Za-z0-9]+/skua'; then
		echo 'FAILED: the files above know the folder that they were built in'
		exit 1
	fi
}

# The packages carry the time of debian/changelog; the builds are at different times.
case_reproducible()
{
	local locale second=$scratch/second
	has_packages
	locale=$(locale -a | grep -iE '^(tr_TR|[a-z]+_[A-Z]+)\.utf-?8$' | tail -n 1)
	mkdir "$scratch/a folder with a longer name"
	umask 077
	TMPDIR="$scratch/a folder with a longer name" LC_ALL=${locale:-C.UTF-8} \
		TZ=Pacific/Kiritimati HOME=/nonexistent build_packages "$second"
	if ! diff <(sums "$packages") <(sums "$second"); then
		echo "FAILED: two builds differ (the second in ${locale:-C.UTF-8})"
		exit 1
	fi
	echo 'two builds have the same bytes'
}

# sums FOLDER - of the packages and their source
sums()
{
	(cd "$1" && sha256sum -- *.deb *.dsc *.tar.xz)
}

case_root()
{
	local sources
	can_run mmdebstrap apt-get
	has_packages
	if ((EUID != 0)); then
		echo 'it needs root'
		exit 77
	fi
	# The archive that this machine uses.
	# shellcheck disable=SC2016 # apt-get and the shell of the hooks expand these
	sources=$(apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' \
		'Created-By: Packages' 'Origin: Debian' 'Component: main' | sort -u)
	# shellcheck disable=SC2016
	if ! mmdebstrap --mode=root --variant=apt --format=null \
		--dpkgopt=force-unsafe-io --include=gcc,libc6-dev,cmake,make,man-db,pkg-config \
		--customize-hook="touch $scratch/made" \
		--customize-hook='mkdir "$1/skua"' \
		--customize-hook="copy-in ${debs[*]} README.md tests/package/root.sh /skua" \
		--customize-hook='chroot "$1" bash /skua/root.sh' \
		'' /dev/null - <<<"$sources" >"$scratch/log" 2>&1; then
		tail -n 60 "$scratch/log"
		if [[ ! -e $scratch/made ]]; then
			echo 'mmdebstrap makes no root here, from the archive in /etc/apt'
			exit 77
		fi
		exit 1
	fi
	grep '^root.sh: ' "$scratch/log"
}

case ${1-} in
build | lintian | use | reproducible | root) "case_$1" ;;
*)
	echo "packages.sh: no case '${1-}'; allowed: build lintian use reproducible root" >&2
	exit 2
	;;
esac
