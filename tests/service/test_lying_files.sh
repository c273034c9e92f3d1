#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# test_lying_files.sh - no recording makes skua export or why take much more memory or time
# than an honest one does, or deaf to SIGINT
set -uo pipefail
# shellcheck source=tests/service/checks.sh
source "$(dirname "$0")/checks.sh"

skua=$(built bpf/skua) || exit
PYTHONDONTWRITEBYTECODE=1 python3 "$(dirname "$0")/lying_files.py" "$skua" "$scratch" "$@"
