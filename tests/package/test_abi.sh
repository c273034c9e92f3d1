#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# test_abi.sh [--renew] - programs that were linked with the library of libskua.abi.xz also
# run with this one: no function and no layout has changed; some may have been added
#
# --renew stores the description of this library. packaging/release does so; after a
# change that no release has had yet, do it by hand.
set -uo pipefail
# shellcheck source=tests/service/checks.sh
source "$(dirname "$0")/../service/checks.sh"

stored=tests/package/libskua.abi.xz
if ! command -v abidiff >/dev/null || ! command -v xz >/dev/null; then
	echo 'abidiff or xz is not installed: abigail-tools, xz-utils'
	exit 77
fi
if [[ $(uname -m) != x86_64 ]]; then
	echo "$stored describes the library on x86_64, and this is $(uname -m)"
	exit 77
fi
if [[ ! -e $build/libskua.so ]]; then
	echo "$build/libskua.so is not built"
	exit 77
fi
abidw --no-show-locs --no-corpus-path --no-comp-dir-path --drop-private-types \
	--exported-interfaces-only --headers-dir include/skua \
	--out-file "$scratch/new.abi" "$build/libskua.so" || exit 1
if [[ ${1-} == --renew ]]; then
	xz -9 <"$scratch/new.abi" >"$stored"
	exit
fi
xz -dc "$stored" >"$scratch/old.abi" || exit 1

# soname FILE
soname()
{
	sed -nE "1s/.* soname='([^']+)'.*/\1/p" "$1"
}

if [[ $(soname "$scratch/old.abi") != "$(soname "$scratch/new.abi")" ]]; then
	echo "a new interface: $(soname "$scratch/new.abi")"
	exit
fi
if ! abidiff --no-added-syms --suppressions tests/package/private.abignore \
	"$scratch/old.abi" "$scratch/new.abi"; then
	cat <<-END
		FAILED: the interface is not that of $stored.
		If a release has had it, the change needs a new minor version: include/skua/base.h.
		If not, renew the description: bash tests/package/test_abi.sh --renew
	END
	exit 1
fi
echo 'no function and no layout has changed'
