#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# test_kv_wire.sh - skua-kv answers malformed and odd requests as Redis does
set -uo pipefail
# shellcheck source=tests/service/kv.sh
source "$(dirname "$0")/kv.sh"

compare wire
finish_kv
