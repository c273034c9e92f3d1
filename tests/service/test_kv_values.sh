#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# test_kv_values.sh - skua-kv with large values, slow readers, scans and expiry
set -uo pipefail
# shellcheck source=tests/service/kv.sh
source "$(dirname "$0")/kv.sh"

client values
finish_kv
