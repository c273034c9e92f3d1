#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# test_pin_hostile.sh - on a BPF file system that everybody may write to, another user
# plants links and folders: `skua pin` and `skua unpin` of root remove no file of others,
# say what is wrong, and wait for nobody
set -uo pipefail
# shellcheck source=tests/service/checks.sh
source "$(dirname "$0")/checks.sh"
# shellcheck source=tests/service/tracing.sh
source "$(dirname "$0")/tracing.sh"
pins=/sys/fs/bpf/skua
if ! setpriv --reuid 65534 --regid 65534 --clear-groups true; then
	echo 'setpriv cannot act for another user'
	exit 77
fi
other() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }

chmod 1777 /sys/fs/bpf
victim=$scratch/victim
chmod 755 "$scratch"
mkdir -p "$victim/links"
touch "$victim/a" "$victim/links/b" "$victim/begun"
whole() { [[ -e $victim/a && -e $victim/links/b && -e $victim/begun ]]; }
start load "$watched" load
pid=${pids[load]}

# refused TEXT - by each command that would change or read something, without harm
refused()
{
	refuses 1 "$1" unpin -p 77
	refuses 1 "$1" unpin -p "$pid"
	refuses 1 "$1" unpin --all
	refuses 1 "$1" pin -p "$pid"
	run trace -p "$pid" --for 0.1 --json
	expect "$1: it is not traced by pins of others" out_has '"probes":"uprobe_multi"'
	expect "$1: nothing of others is removed" whole
}

# --- what another user plants ----------------------------------------------------

# The folder of all is another user's, with links in the place of folders.
other mkdir "$pins"
other ln -s "$victim" "$pins/77"
other ln -s "$victim" "$pins/$pid"
refused "$pins: it belongs to user 65534; allowed: user 0"
refuses 1 'chmod 0700 /sys/fs/bpf' unpin --all
other rm -r "$pins"

# It is a link itself: to a folder elsewhere, to one of the file system, to nothing.
other mkdir /sys/fs/bpf/else
for to in "$victim" /sys/fs/bpf/else "$scratch/nothing"; do
	other ln -s "$to" "$pins"
	refused "$pins: it is a link or a file, and links are not followed"
	other rm "$pins"
done
other rmdir /sys/fs/bpf/else

# Its mode lets others change it.
mkdir -m 777 "$pins"
other ln -s "$victim" "$pins/77"
other ln -s "$victim" "$pins/$pid"
refused "$pins: its mode is 0777, so that other users may write to it"

# Only one of root's is trusted; and even there no link is followed.
chmod 0700 "$pins"
refuses 1 "$pins/77: it is a link or a file" unpin -p 77
refuses 1 "$pins/$pid: it is a link or a file" pin -p "$pid"
run unpin --all
expect 'links in a folder of root' exited 1
expect 'links in a folder of root' whole
rm "$pins/77" "$pins/$pid"
mkdir -m 700 "$pins/77"
ln -s "$victim" "$pins/77/links"
refuses 1 "$pins/77/links: it is a link or a file" unpin -p 77
expect 'links in a folder of a process' whole
rm "$pins/77/links"

# Folders of no process stay as they are.
mkdir -m 700 "$pins/x" "$pins/077"
run unpin --all
expect 'other names' err_has "$pins/x: it is not of skua pin"
expect 'other names' err_has "$pins/077: it is not of skua pin"
expect 'other names' test -d "$pins/x" -a -d "$pins/077" -a ! -e "$pins/77"
rmdir "$pins/x" "$pins/077"

# A folder of another file system in the place of one.
mkdir -m 700 "$pins/77"
mount --bind "$victim" "$pins/77"
refuses 1 "$pins/77: it is not part of the BPF file system" unpin -p 77
expect 'a folder of another file system' whole
umount "$pins/77"
rmdir "$pins/77" "$pins"

# --- locks -----------------------------------------------------------------------

# Another user may lock the mount: nobody waits for that.
start locker python3 -c '
import fcntl, os
os.setresuid(65534, 65534, 65534)
mount = os.open("/sys/fs/bpf", os.O_RDONLY)
fcntl.flock(mount, fcntl.LOCK_EX)
print("held", flush=True)
input()'
tested=(timeout 60 "$skua")
run pin -p "$pid"
expect 'a mount that another user locked' exited 0
stop locker

# One that pins has a lock that only root can take; others are told of it.
exec {lock}<"$pins"
flock --exclusive "$lock"
refuses 1 'is pinning or unpinning; try again' unpin -p "$pid"
expect 'the lock' err_has "$pins: process "
refuses 1 'is pinning or unpinning; try again' pin -p "$pid"
exec {lock}<&-
run unpin -p "$pid"
expect 'after the lock' exited 0
expect 'after the lock' test ! -e "$pins"

# --- what is told ----------------------------------------------------------------

tested=("$skua")
run doctor --json
expect 'the doctor warns' out_has 'chmod 0700 /sys/fs/bpf'
chmod 0700 /sys/fs/bpf
run doctor --json
expect 'the doctor is content' out_lacks 'chmod 0700 /sys/fs/bpf'
stop load

finish 'skua pin and unpin: links and folders of another user harm nobody'
