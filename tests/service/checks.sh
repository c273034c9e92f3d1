# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# checks.sh - for the tests of a command: run it, and check what it said
#
# Sourced. All checks are made, and each that fails is printed with what the
# command said; finish ends the test.

if ! command -v python3 >/dev/null; then
	echo "python3 is not installed"
	exit 77
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
tested=() # what run runs its arguments with; the test may set it
failed=0

# needs PROGRAM
needs()
{
	if [[ ! -x $1 ]]; then
		echo "$1 is not built"
		exit 77
	fi
}

# run ARG... - $code, $scratch/out and $scratch/err tell
run()
{
	code=0
	"${tested[@]}" "$@" >"$scratch/out" 2>"$scratch/err" || code=$?
}

# expect WHAT COMMAND... - a check: the command succeeds
expect()
{
	local what=$1
	shift
	if "$@"; then
		return 0
	fi
	printf 'FAILED: %s: %s\n' "$what" "$*"
	printf '  exit code %s; stdout, stderr:\n' "$code"
	sed 's/^/  | /' "$scratch/out" "$scratch/err"
	failed=1
}

exited() { ((code == $1)); }
out_has() { grep -qF -- "$1" "$scratch/out"; }
out_lacks() { ! grep -qF -- "$1" "$scratch/out"; }
out_empty() { [[ ! -s $scratch/out ]]; }
err_has() { grep -qF -- "$1" "$scratch/err"; }
err_lines() { (($(wc -l <"$scratch/err") == $1)); }

# finish WHAT - what was shown, unless a check failed
finish()
{
	((failed == 0)) || exit 1
	echo "$1"
}
