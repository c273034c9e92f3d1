#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# test_kv_clients.sh - skua-kv has many clients, and ones that vanish
set -uo pipefail
# shellcheck source=tests/service/kv.sh
source "$(dirname "$0")/kv.sh"

client clients
finish_kv
