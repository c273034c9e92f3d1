#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# test_deploying.sh - systemd accepts the unit of the guide about deploying, and Kubernetes
# gives a container with its resources CPUs of its own
set -uo pipefail
# shellcheck source=tests/service/checks.sh
source "$(dirname "$0")/checks.sh"

if ! command -v systemd-analyze >/dev/null; then
	echo 'systemd-analyze is not installed (Debian package systemd)'
	exit 77
fi
python=$(for name in python3 /usr/bin/python3; do
	"$name" -c 'import yaml' 2>/dev/null && echo "$name" && break
done)
if [[ ! $python ]]; then
	echo 'there is no module yaml of Python (Debian package python3-yaml)'
	exit 77
fi

# guide LANGUAGE - the blocks of that language
guide()
{
	awk -v begin="^\`\`\`$1\$" '$0 ~ begin { inside = 1; next }
		/^```$/ { inside = 0 }
		inside' docs/guides/deploying.md
}

# verify <UNIT - $scratch/out and $scratch/err have what systemd says about it. The program
# of the guide is not on this machine.
verify()
{
	sed -E 's|^(ExecStart=)\S+|\1/bin/true|' >"$scratch/guide.service"
	run "$scratch/guide.service"
}

tested=(systemd-analyze verify --man=no)
verify < <(guide ini)
expect 'the unit' exited 0
expect 'the unit' out_empty
expect 'the unit' err_lines 0
expect 'the unit' grep -q '^CPUQuota=' "$scratch/guide.service"
verify < <(guide ini | sed 's/^CPUQuota=.*/CPUQuota=200/')
expect 'a quota without %' err_has 'CPU quota'

# The static CPU manager takes containers of the class Guaranteed whose CPUs are a whole
# number: https://kubernetes.io/docs/tasks/administer-cluster/cpu-management-policies/
tested=("$python" -c 'import re, sys, yaml
resources = yaml.safe_load(sys.stdin)["resources"]
requests, limits = resources["requests"], resources["limits"]
if set(resources) != {"requests", "limits"} or set(limits) != {"cpu", "memory"}:
    sys.exit("requests and limits have to be for cpu and memory")
if requests != limits:
    sys.exit(f"requests are {requests}, and limits {limits}")
if not re.fullmatch("[1-9][0-9]*", str(limits["cpu"])):
    sys.exit("cpu is {cpu!r}, and has to be a whole number".format(**limits))
if not re.fullmatch("[1-9][0-9]*([KMGT]i?|k)?", str(limits["memory"])):
    sys.exit("memory is {memory!r}; allowed: a number of bytes, with k, M, Mi, G, Gi"
             .format(**limits))')
run < <(guide yaml)
expect 'the resources' exited 0
for wrong in 's/cpu: "4"/cpu: 3500m/g' '/limits/s/"4"/"8"/' 's/1Gi/1GB/g' '/limits/d'; do
	run < <(guide yaml | sed "$wrong")
	expect "resources after $wrong" exited 1
done
finish 'systemd accepts the unit, and the resources are those of the static CPU manager'
