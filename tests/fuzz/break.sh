#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# break.sh FROM TO EXPRESSION - a copy of a source file with a mistake in it
set -euo pipefail

mkdir -p "$(dirname "$2")"
sed -e "$3" "$1" >"$2"
if cmp -s "$1" "$2"; then
	rm "$2"
	echo "$3: changes nothing in $1 any more" >&2
	exit 1
fi
