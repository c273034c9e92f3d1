#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# shell.sh - every shell script can be parsed
#
# .setup.sh is sourced by tests/run and bench/run: an error in it ends both.
set -euo pipefail
cd "$(dirname "$0")/../.."

mapfile -t files < <(find . \( -path './build*' -o -path './.git' \) -prune \
	-o -type f \( -name '*.sh' -o -exec grep -qm 1 '^#!.*\bbash\b' {} \; \) \
	-printf '%P\n' | sort)
failed=0
for file in "${files[@]}"; do
	bash -n "$file" || failed=1
done
if ((${#files[@]} < 10)); then
	echo "only ${#files[@]} scripts found"
	failed=1
fi
((failed == 0)) && echo "${#files[@]} scripts"
exit $failed
