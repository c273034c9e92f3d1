#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# test_man.sh - the pages are well-formed: those of the commands have each verb and each
# option that --help has, skua_blocking(3), skua_channel(3), skua_fiber(3), skua_file(3),
# skua_io(3), skua_select(3) and skua_sync(3) each function of their headers, and
# skua_config(5) each variable; the programs in skua_service(7) and skua_cpp(3) are examples
# that the tests run
set -uo pipefail
# shellcheck source=tests/service/checks.sh
source "$(dirname "$0")/checks.sh"

skua=$(built bpf/skua) || exit
if ! command -v mandoc >/dev/null; then
	echo 'mandoc is not installed'
	exit 77
fi

# lists PAGE WORD... - the page, as it is read, has a list with each
lists()
{
	local page=$1 word
	shift
	tested=(mandoc -Tascii)
	run "$page"
	sed -i 's/.\x08//g' "$scratch/out" # bold and underlined
	for word in "$@"; do
		expect "$page" grep -qE -- "^ {5}$word( |,|$)" "$scratch/out"
	done
}

# options VERB - what its --help begins lines with
options()
{
	"$skua" "$@" --help | grep -oE '^ +(-., )?--[a-z-]+' | grep -oE -- '--.*'
}

tested=(mandoc -Tlint -Wwarning)
for page in bpf/man/*.[17] core/*/*.[357]; do
	run "$page"
	expect "$page" exited 0
	expect "$page" out_empty
done

mapfile -t verbs < <("$skua" --help | sed -nE 's/^  ([a-z]+) .*/\1/p')
expect 'some verb' test "${#verbs[@]}" -gt 0
lists bpf/man/skua.1 "${verbs[@]}"
for verb in "${verbs[@]}"; do
	mapfile -t found < <(options "$verb")
	expect "options of $verb" test "${#found[@]}" -gt 1
	lists "bpf/man/skua-$verb.1" "${found[@]}"
done

# functions HEADER - those that it declares, except the forms _poll and _try
functions()
{
	grep -ohE '\bskua_[a-z_]+\(' <(grep -A3 '^SKUA_API' "include/skua/$1") | tr -d '(' |
		grep -vE '_(poll|try)$' | sort -u
}

for object in blocking channel fiber file io select sync; do
	page=$(echo core/*/skua_$object.3)
	mapfile -t found < <(functions "$object.h")
	expect "functions of $object.h" test "${#found[@]}" -gt 0
	for function in "${found[@]}"; do
		expect "$page" grep -qw "$function" "$page"
	done
done

# The program in a page, without its first lines, which name the licence and the page.
program()
{
	sed -n '/^The whole program:$/,/^\.Ed$/p' "$1" | sed -e '1,2d' -e '$d' -e 's/\\e/\\/g'
}
expect 'skua_service(7)' diff <(program core/io/skua_service.7) \
	<(sed -n '/^#include/,$p' bench/examples/service.c)
expect 'skua_cpp(3)' diff <(program core/api/skua_cpp.3) \
	<(sed -n '/^#include/,$p' bench/examples/echo_coroutines.cpp)

mapfile -t variables < <(grep -ohE '"SKUA_[A-Z_]+"' core/config/config_env.c | tr -d '"' | sort -u)
expect 'some variable' test "${#variables[@]}" -gt 10
lists core/config/skua_config.5 "${variables[@]}"
finish "${#verbs[@]} verb, and its options, in well-formed pages"
