#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# test_kv_durable.sh [CASE...] - skua-kv has all that it has acknowledged after it was
# killed, refuses a damaged log, and refuses writes on a full disk
set -uo pipefail
# shellcheck source=tests/service/checks.sh
source "$(dirname "$0")/checks.sh"

kv=$(built bench/kv/skua-kv) || exit
read -ra options <<<"${SKUA_KV_OPTIONS:-}"
exec python3 -B "$(dirname "$0")/kv_durable.py" "$kv" "${options[@]}" "$@"
