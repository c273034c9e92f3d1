#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# test_ports.sh - a port of bench/ports builds from Debian's sources, and prints what
# the program printed before
#
# Built elsewhere than in build/: set SKUA_BUILD_DIR.
set -uo pipefail
# shellcheck source=tests/service/checks.sh
source "$(dirname "$0")/checks.sh"

if ! command -v apt-get >/dev/null; then
	echo "there is no apt-get, which fetches the sources"
	exit 77
fi
tested=("$(dirname "$0")/../../bench/ports/run" --build "$build" --dir "$scratch/ports"
	--quick --pairs 0)

refuses 2 "there are fasttree, libuv, zstd" nothing

run fasttree
if ((code == 77)); then
	cat "$scratch/err"
	exit 77
fi
expect fasttree exited 0
expect fasttree out_has "fasttree: same output before and after"

finish "a port prints what the program printed before"
