#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# test_kv_rewrite.sh [CASE...] - skua-kv rewrites its log under load, and has all that it has
# acknowledged after it was killed meanwhile
set -uo pipefail
# shellcheck source=tests/service/checks.sh
source "$(dirname "$0")/checks.sh"

kv=$(built bench/kv/skua-kv) || exit
read -ra options <<<"${SKUA_KV_OPTIONS:-}"
exec python3 -B "$(dirname "$0")/kv_rewrite.py" "$kv" "${options[@]}" "$@"
