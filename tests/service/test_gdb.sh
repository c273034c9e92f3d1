#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# test_gdb.sh - gdb shows the stack of a fiber, whether it runs or waits
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=tests/service/checks.sh
source tests/service/checks.sh

program=$(built tests/programs/fibers) || exit
if ! command -v gdb >/dev/null; then
	echo "gdb is not installed"
	exit 77
fi
if [[ $(uname -m) != x86_64 ]]; then
	echo "skua-gdb.py knows the registers of x86-64 only"
	exit 77
fi

tested=(timeout 100 gdb -nx -batch -ex 'set debuginfod enabled off' -ex 'set pagination off'
	-ex 'source bpf/scripts/skua-gdb.py' -ex 'break marker' -ex run -ex bt
	-ex 'skua fibers' -ex 'skua fiber 1 bt' -ex 'skua fiber 4 bt'
	-ex 'print $pc == &marker' -ex 'skua fiber 9' -ex continue --args "$program")
run
if grep -qi "operation not permitted" "$scratch/out" "$scratch/err"; then
	echo "gdb may not trace here"
	exit 77
fi
python3 - "$scratch/out" "$scratch/err" <<'END'
import re
import sys

out, err = (open(name).read() for name in sys.argv[1:])
stacks = re.split(r"^#0 ", out, flags=re.MULTILINE)[1:]


def functions(stack):
    return re.findall(r"^(?:#\d+ )? *(?:0x[0-9a-f]+ in )?(\w+) \(", stack, re.MULTILINE)


def expect(got, wanted, what):
    if got != wanted:
        print(out, err, sep="\n")
        sys.exit(f"{what}: {got}, wanted {wanted}")


END_OF_FIBER = ["fiber_main", "fiber_trampoline"]
expect(functions(stacks[0]), ["marker", "run_on", *END_OF_FIBER], "the fiber that runs")
expect(
    functions(stacks[1])[-7:],
    ["wait_deep"] * 4 + ["serve", *END_OF_FIBER],
    "the fiber that waits",
)
lines = re.findall(r"^\d+  0x[0-9a-f]+  (\w+) +(.*?)  .*<(\w+)>", out, re.MULTILINE)
expect(lines, [("waits", "connection", "serve")] * 3 + [("runs", "(no type)", "run_on")], "fibers")
expect("this fiber runs" in err, True, "a stack of the fiber that runs")
expect("no fiber '9'; there are 4" in err, True, "a fiber that is not there")
# gdb may be in the middle of a line of its own when the program writes.
expect("ended\n" in out, True, "the end of the program")
END
echo "both stacks are as expected"
