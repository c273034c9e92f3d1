#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# test_kv_pubsub.sh - channels and patterns of skua-kv
set -uo pipefail
# shellcheck source=tests/service/kv.sh
source "$(dirname "$0")/kv.sh"

compare channels
client pubsub
finish_kv
