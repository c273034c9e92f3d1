#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# headers.sh - each public header compiles on its own, as C11 and as C++17
#
# Included twice, by each compiler that is there.
set -euo pipefail
cd "$(dirname "$0")/../.."

flags=(-Wall -Wextra -Wpedantic -Wshadow -Werror -fsyntax-only -Iinclude)
failed=0

# check COMPILER LANGUAGE STANDARD - every header
check()
{
	if ! command -v "$1" >/dev/null; then
		echo "$1: not installed"
		return
	fi
	local header
	for header in include/skua/*.h; do
		printf '#include <%s>\n' "${header#include/}" "${header#include/}" |
			"$1" "${flags[@]}" -x "$2" -std="$3" - ||
			{ echo "$header does not compile with $1 as $3" && failed=1; }
	done
	echo "$1, $3: done"
}

check gcc c c11
check clang c c11
check g++ c++ c++17
check clang++ c++ c++17
exit $failed
