#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# root.sh - run by packages.sh in a fresh root: install the packages in /skua, use them as
# README.md says, remove them, and see whether a file is left
set -euo pipefail
cd /skua
export DEBIAN_FRONTEND=noninteractive LC_ALL=C

# files - all except what apt and dpkg note about themselves
files()
{
	find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /skua -o \
		-path /tmp -o -path '/var/cache/*' -o -path '/var/lib/apt/*' -o \
		-path '/var/lib/dpkg/*' -o -path '/var/log/*' \) -prune -o -print | sort
}

# must COMMAND... - and show what it said only if it fails
must()
{
	if ! "$@" >log 2>&1; then
		cat log
		echo "FAILED: $*"
		exit 1
	fi
}

must apt-get -q update
files >before
must apt-get -q install -y --no-install-recommends ./*.deb
must skua --version
must test -s /usr/share/doc/skua-doc/skua.html
for page in '3 skua_task_spawn' '3 skua_sync' '7 skua' '1 skua-top' '5 skua_config'; do
	read -ra page <<<"$page"
	must env MANPAGER=cat man "${page[@]}"
	grep -q "${page[1]}" log
done

# --- README's programs ----------------------------------------------------------

awk '/^```c$/ { out = "program" ++n ".c"; next }
	/^```text$/ { out = "program" n ".txt"; next }
	/^```$/ { out = "" }
	out { print >out }' README.md
cat >CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.16)
project(programs C)
find_package(skua REQUIRED)
foreach(name program1 program2)
  add_executable(${name} ${name}.c)
  target_link_libraries(${name} PRIVATE skua::skua)
endforeach()
END
must cmake -S . -B by_cmake
must cmake --build by_cmake
for name in program1 program2; do
	read -ra flags < <(pkg-config --cflags --libs skua)
	must cc -O2 "$name.c" -o "$name" "${flags[@]}"
	for program in "./$name" "by_cmake/$name"; do
		must diff "$name.txt" <("$program")
	done
done

# --- README's service and trace -------------------------------------------------

awk '/^```sh$/ { inside = 1; next }
	/^```$/ { inside = 0 }
	inside' README.md >trace.sh
must grep -q 'service.c' trace.sh
must bash -eo pipefail trace.sh
mv log trace.log
must grep -q '^serve ' trace.log
must test -s service.perfetto

# --- the commands of skua_service(7) --------------------------------------------

zcat /usr/share/man/man7/skua_service.7.gz |
	sed -n '/^To try it/,/^\.Ed/p' |
	sed -e '1,/^\.Bd/d' -e '/^\.Ed/d' -e 's/^\\&//' -e 's/\\e/\\/g' -e 's/7777/7778/' >try.sh
must grep -q service.c try.sh
must bash -eo pipefail try.sh
mv log try.log
must diff <(printf 'h: %s\n' 1 2) <(grep '^h: ' try.log)

# --- the command ----------------------------------------------------------------

cat >busy.c <<'END'
#include <skua/skua.h>

static enum skua_poll busy_poll(struct skua_task *self)
{
	(void)self;
	return SKUA_YIELD;
}

int main(void)
{
	static struct skua_task task;
	struct skua_runtime *rt;

	return skua_runtime_create(&rt, NULL, NULL) < 0 ||
	       skua_task_init(&task, busy_poll) < 0 ||
	       skua_task_spawn(rt, &task) < 0 || skua_runtime_drain(rt) < 0;
}
END
must cc -O2 busy.c -o busy "${flags[@]}"
./busy &
busy=$!
trap 'kill "$busy"' EXIT
until skua stats -p "$busy" >log 2>&1; do
	kill -0 "$busy"
done
must skua why -p "$busy" --for 1
# The mounts of the root lack what tracing needs: skua doctor says so.
if ! skua trace -p "$busy" --for 1 >log 2>&1; then
	echo "root.sh: not traced: $(tail -n 1 log)"
fi
trap - EXIT
kill "$busy"
wait "$busy" 2>/dev/null || true

# --- removal --------------------------------------------------------------------

mapfile -t names < <(dpkg-query -W -f '${Package}\n' '*skua*')
must apt-get -q purge -y --auto-remove "${names[@]}"
files >after
must diff before after
echo "root.sh: installed, used and removed: ${names[*]}"
