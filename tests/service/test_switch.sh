#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# test_switch.sh - the switch of fibers keeps registers: of this processor, and of aarch64
# under emulation
set -euo pipefail
cd "$(dirname "$0")/../.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
machine=$(uname -m)

# try MACHINE COMPILER RUNNER... - compile and run it
try()
{
	local target=$1 compiler=$2 options=(-std=gnu11 -O2 -Wall -Wextra -I.)
	shift 2
	if [[ $target == aarch64 ]]; then
		options+=(-mbranch-protection=standard)
	fi
	"$compiler" "${options[@]}" -static -frounding-math tests/service/switch_alone.c \
		core/fiber/switch.c "core/fiber/switch_$target.S" -lm -o "$scratch/$target"
	"$@" "$scratch/$target" | grep -x "the switch works"
	echo "$target: as it should be"
}

try "$machine" "${CC:-cc}"
if [[ $machine == aarch64 ]]; then
	exit 0
fi
if ! command -v aarch64-linux-gnu-gcc >/dev/null || ! command -v qemu-aarch64-static >/dev/null
then
	echo "the switch of aarch64 is not tested: it needs gcc-aarch64-linux-gnu and qemu-user-static"
	exit 77
fi
try aarch64 aarch64-linux-gnu-gcc qemu-aarch64-static -cpu max
