#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# test_tour.sh - the commands of skua_tour(7) run, and print what it quotes
set -uo pipefail
# shellcheck source=tests/service/checks.sh
source "$(dirname "$0")/checks.sh"

for program in bench/kv/skua-kv bench/load/skua-load bpf/skua; do
	path=$(built "$program") || exit
	PATH=$(dirname "$path"):$PATH
done
((EUID == 0)) || {
	echo 'skua flame needs the privileges of root'
	exit 77
}
export PATH
exec python3 -B "$(dirname "$0")/tour.py" bpf/man/skua_tour.7
