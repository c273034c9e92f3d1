#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# test_kv_linear.sh - the replies of skua-kv to clients that share keys are linearizable, even
# when it is killed
set -uo pipefail
# shellcheck source=tests/service/kv.sh
source "$(dirname "$0")/kv.sh"

client linear
finish_kv
