#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# test_kv_commands.sh - skua-kv replies to commands as Redis does
set -uo pipefail
# shellcheck source=tests/service/kv.sh
source "$(dirname "$0")/kv.sh"

compare sessions
finish_kv
