#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# test_version.sh - include/skua/base.h states the version. The library, skua.pc, the
# command, debug areas, recordings and the Debian packages have the same one; .setup.sh has
# each package that the Debian packages are built with
set -uo pipefail
# shellcheck source=tests/service/checks.sh
source "$(dirname "$0")/../service/checks.sh"
hog=$(built tests/programs/hog) || exit
# shellcheck disable=SC2119 # the program of the build
tests_skua

version=$(sed -nE 's/^#define SKUA_VERSION_(MAJOR|MINOR|PATCH) ([0-9]+)$/\2/p' \
	include/skua/base.h | paste -sd .)
package=libskua${version%.*}

# same WHAT VERSION
same()
{
	expect "version of $1" test "$2" = "$version"
}

run --version
same 'the command' "$(cut -d ' ' -f 2 "$scratch/out")"
same skua.pc "$(sed -n 's/^Version: //p' "$build/skua.pc")"
same 'the library' "$(python3 -c 'import ctypes, sys
version = ctypes.CDLL(sys.argv[1]).skua_version_string
version.restype = ctypes.c_char_p
print(version().decode())' "$(realpath "$build/libskua.so")")"
expect soname test -e "$build/${package/libskua/libskua.so.}"

start hog "$hog"
run stats --json -p "${pids[hog]}"
expect 'version of the debug area' out_has "\"$version\""
run record -p "${pids[hog]}" --for 0.1 -o "$scratch/recording"
expect 'a recording' exited 0
expect 'version of the recording' grep -qaF "$version" "$scratch/recording"
stop hog

same debian/changelog "$(sed -nE '1s/^skua \(([^)]+)\) .*/\1/p' debian/changelog)"
for file in debian/control "debian/$package.symbols" "debian/$package.install"; do
	expect "$file" grep -qs "$package\|libskua.so" "$file"
done

# mentions PATTERN - what the documentation has in place of its group of digits
mentions()
{
	grep -rhoP --include='*.md' --include='*.[1357]' --include=CMakeLists.txt "$1" \
		README.md bench core docs probes bpf tests/service/outside | sort -u
}

same 'skua 1.2.3 in the documentation' "$(mentions '\bskua \K\d+\.\d+\.\d+\b')"
same 'libskua1.2 in the documentation' \
	"$(mentions '\b(libskua(\.so\.)?|find_package\(skua )\K\d+\.\d+\b').${version##*.}"

# shellcheck source=.setup.sh
source ./.setup.sh
mapfile -t packages < <(sed -n '/^Build-Depends/,/^$/p' debian/control |
	grep -oE '\b[a-z][a-z0-9.+-]+[a-z0-9](,| \(|$)' | tr -d ', (')
expect 'some package' test "${#packages[@]}" -gt 10
for name in "${packages[@]/debhelper-compat/debhelper}"; do
	[[ $name =~ ^linux- ]] && continue # kernel-doc: skua_docs_setup searches for it
	expect "$name in .setup.sh" grep -q "^$name " \
		<<<"$SKUA_NEEDS$SKUA_DOCS_NEEDS$SKUA_PACKAGE_NEEDS"
done
finish "$version"
