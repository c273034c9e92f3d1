#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# test_man.sh - the pages of the commands are well-formed, and have each verb and
# each option that --help has
set -uo pipefail
# shellcheck source=tests/service/checks.sh
source "$(dirname "$0")/checks.sh"

skua=${SKUA_BUILD_DIR:-build}/bpf/skua
needs "$skua"
if ! command -v mandoc >/dev/null; then
	echo 'mandoc is not installed'
	exit 77
fi

# lists NAME WORD... - the page of that name, as it is read, has a list with each
lists()
{
	local page=$1 word
	shift
	tested=(mandoc -Tascii)
	run "bpf/man/$page.1"
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
for page in bpf/man/*.1; do
	run "$page"
	expect "$page" exited 0
	expect "$page" out_empty
done

mapfile -t verbs < <("$skua" --help | sed -nE 's/^  ([a-z]+) .*/\1/p')
expect 'some verb' test "${#verbs[@]}" -gt 0
lists skua "${verbs[@]}"
for verb in "${verbs[@]}"; do
	mapfile -t found < <(options "$verb")
	expect "options of $verb" test "${#found[@]}" -gt 1
	lists "skua-$verb" "${found[@]}"
done
finish "${#verbs[@]} verb, and its options, in well-formed pages"
