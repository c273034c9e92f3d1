#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# test_from_rust.sh - a program in Rust calls the shared library
#
# $SKUA_BUILD_DIR is the build.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/service/checks.sh
source tests/service/checks.sh

if ! command -v rustc >/dev/null; then
	echo 'rustc is not installed'
	exit 77
fi
library=$(realpath "$(built libskua.so)") || exit
if nm -D "$library" | grep -qE '__[at]san_init'; then
	echo 'rustc links no library with a sanitizer'
	exit 77
fi

tested=(rustc --edition 2021 -D warnings -A non_snake_case -L "native=${library%/*}"
	-C "link-arg=-Wl,-rpath,${library%/*}" -o "$scratch/from_rust")
run tests/service/from_rust.rs
expect 'the program is built' exited 0
tested=("$scratch/from_rust")
for _ in 1 2 3 4 5; do
	run
	expect 'the program ends well' exited 0
	expect 'the version' out_has "from Rust"
done
finish 'a program in Rust uses the library with the sizes that it tells'
