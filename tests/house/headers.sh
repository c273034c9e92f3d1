#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# headers.sh - each public header compiles on its own, as C11 and as C++17
#
# Included twice, by each compiler that is there. Macros that expand in C++
# programs (expansions.cpp) compile with more warnings.
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

# expand COMPILER STANDARD [OPTION...] - compile expansions.cpp
expand()
{
	local compiler=$1 standard=$2
	shift 2
	local -a strict=(-Wconversion -Wsign-conversion -Wold-style-cast
		-Wcast-qual -Wcast-align -Wundef)
	if [[ $compiler == g++ ]]; then
		strict+=(-Wuseless-cast)
	fi
	"$compiler" "${flags[@]}" "${strict[@]}" -std="$standard" "$@" \
		tests/house/expansions.cpp
}

# expansions COMPILER - compile expansions.cpp with each standard, with and without checks
# of forks and SKUA_NOEXCEPT; check that THROWS fails
expansions()
{
	local standard checks noexcept=-DSKUA_NOEXCEPT=noexcept
	if ! command -v "$1" >/dev/null; then
		return
	fi
	for standard in c++17 c++20; do
		for checks in 0 1; do
			expand "$1" $standard -DSKUA_FORK_CHECKS=$checks -DTHROWS &&
				expand "$1" $standard -DSKUA_FORK_CHECKS=$checks \
					$noexcept || failed=1
		done
		if expand "$1" $standard $noexcept -DTHROWS 2>/dev/null; then
			echo "$1, $standard: a poll function that throws is accepted"
			failed=1
		fi
		echo "$1, $standard: expansions done"
	done
}

# wrapper COMPILER - each header of the C++ interface, included twice. Headers of coroutines
# need C++20.
wrapper()
{
	local header standard
	if ! command -v "$1" >/dev/null; then
		return
	fi
	for header in include/skua/skua.hpp include/skua/cpp/*.hpp; do
		for standard in c++17 c++20; do
			case $standard:$header in
			c++17:*/combine.hpp | c++17:*/coroutine.hpp | \
				c++17:*/frame.hpp | c++17:*/operations.hpp) continue ;;
			esac
			printf '#include <%s>\n' "${header#include/}" "${header#include/}" |
				"$1" "${flags[@]}" -Wconversion -x c++ -std=$standard - ||
				{ echo "$header does not compile with $1 as $standard" && failed=1; }
		done
	done
	echo "$1, skua.hpp: done"
}

check gcc c c11
check clang c c11
check g++ c++ c++17
check clang++ c++ c++17
wrapper g++
wrapper clang++
expansions g++
expansions clang++
exit $failed
