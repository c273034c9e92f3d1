#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# test_secure_env.sh - a program that has rights which its caller has not takes no
# settings from the caller's environment
set -uo pipefail
# shellcheck source=tests/service/checks.sh
source "$(dirname "$0")/checks.sh"

program=$(built bench/examples/example_shutdown) || exit
tested=(timeout --signal=KILL 20 setpriv --reuid 65534 --regid 65534 --clear-groups
	env SKUA_WORKERS=bogus)
if ((EUID != 0)) || ! setpriv --reuid 65534 --regid 65534 --clear-groups true; then
	echo 'setpriv cannot act for another user'
	exit 77
fi
if [[ $(findmnt -no OPTIONS -T "$scratch") == *nosuid* ]]; then
	echo "$scratch does not allow programs that are set-uid"
	exit 77
fi
chmod 755 "$scratch"
cp "$program" "$scratch/plain"
cp "$program" "$scratch/trusted"
chmod 4755 "$scratch/trusted"

run "$scratch/plain"
expect 'a program with the rights of its caller obeys' exited 1
run "$scratch/trusted"
expect 'a program with more rights does not' exited 0
finish 'the environment rules no program with more rights than its caller'
