#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# test_kv_why.sh - `skua why` names the causes of slow requests of skua-kv: a long command, a
# lock, the log, another program, a slow client
set -uo pipefail
# shellcheck source=tests/service/kv.sh
source "$(dirname "$0")/kv.sh"

skua=$(built bpf/skua) || exit
python3 -B "$here/kv_why.py" "$skua" "$kv" "${options[@]}" || failed=1
finish_kv
