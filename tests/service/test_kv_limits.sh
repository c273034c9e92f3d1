#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# test_kv_limits.sh - skua-kv keeps its limits, and ends in order
set -uo pipefail
# shellcheck source=tests/service/kv.sh
source "$(dirname "$0")/kv.sh"

client limits
finish_kv
