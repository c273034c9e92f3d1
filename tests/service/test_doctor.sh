#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# test_doctor.sh - what `skua doctor` says of this machine, and to which users
set -uo pipefail
# shellcheck source=tests/service/checks.sh
source "$(dirname "$0")/checks.sh"

skua=$(built bpf/skua) || exit
tested=("$skua")

# state NAME - of a check, in the object that was printed last
state()
{
	python3 -c 'import json, sys
print({c["name"]: c["state"] for c in json.load(sys.stdin)["checks"]}[sys.argv[1]])' \
		"$1" <"$scratch/out"
}
says() { [[ $(state "$1") == "$2" ]]; }

# well_formed - the object that was printed last
well_formed()
{
	python3 - "$scratch/out" <<'END'
import json
import sys

checks = json.load(open(sys.argv[1]))["checks"]
names = [check["name"] for check in checks]
assert len(names) == len(set(names)) >= 20, names
for check in checks:
    assert set(check) == {"name", "state", "found", "why", "do"}, check
    assert check["state"] in ("ok", "partly", "missing"), check
    assert check["found"], check
    for key in ("why", "do"):
        assert (check[key] is None) == (check["state"] == "ok"), check
END
}

refuses 2 "no option '--wrong'; allowed: --json --pid --root" doctor --wrong
refuses 2 "--pid is '0'; allowed: 1 to" doctor -p 0
refuses 2 '--pid is of this machine, but --root /tmp is another' doctor -p 1 --root /tmp
refuses 1 '/nowhere: no such folder' doctor --root /nowhere
refuses 1 'no process 4194303' doctor -p 4194303

run doctor
expect 'as text' exited 0
expect 'as text' err_lines 0
expect 'a line a check' test "$(grep -cE '^(ok|partly|missing) +[a-z_]+ +.' "$scratch/out")" \
	= "$(wc -l <"$scratch/out")"
run doctor --json
expect 'here' exited 0
expect 'here' well_formed
count=$(grep -o '"name"' "$scratch/out" | wc -l)
run doctor --json --root "$scratch"
expect 'nothing' exited 0
expect 'nothing' well_formed
expect 'nothing' says btf missing
run doctor --json -p $$
expect 'a process' exited 0
expect 'a process' says process_memory partly
expect 'a process' out_has 'is not a skua process'

# A user without privileges may do less, and is told so; mounts are found.
if ((EUID == 0)); then
	tested=(setpriv --reuid 65534 --clear-groups --inh-caps=-all "$skua")
	run doctor --json -p $$
	expect 'unprivileged' exited 0
	expect 'unprivileged' well_formed
	expect 'unprivileged' says bpf missing
	expect 'unprivileged' says process_memory missing
	expect 'unprivileged' out_has 'belongs to another user'
	tested=(unshare --mount sh -c 'mount -t tmpfs none /sys/fs/bpf &&
		mount -t bpf -o mode=0700 bpf /sys/fs/bpf && exec "$0" "$@"' "$skua")
	run doctor --json
	expect 'with a BPF file system' says bpffs ok
	tested=(sh -c 'ulimit -l 64; exec setpriv --reuid 65534 --inh-caps=-all "$0" "$@"' "$skua")
	run doctor
	expect 'a limit of memory' out_has '64 KiB'
fi
finish "skua doctor: $count checks"
