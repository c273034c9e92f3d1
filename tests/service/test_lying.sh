#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# test_lying.sh - no process makes a verb take much more memory or time than an honest
# one does, or deaf to SIGINT
set -uo pipefail
# shellcheck source=tests/service/checks.sh
source "$(dirname "$0")/checks.sh"

needs "$build/bpf/skua"
needs "$build/tests/programs/lying"
PYTHONDONTWRITEBYTECODE=1 python3 "$(dirname "$0")/lying.py" "$build" "$scratch" "$@"
