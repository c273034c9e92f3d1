/* SPDX-License-Identifier: MIT */
/* pins_folder.c - see pins_folder.h */
#include "bpf/trace/pins_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "bpf/target/target_proc.h"

#define OPEN_FOLDER (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

int pins_folder_say(struct pins_folder *folder, int err, const char *format,
		    ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(folder->said, sizeof(folder->said), format, args);
	va_end(args);
	return err;
}

static const char *reason(int err)
{
	if (err == EACCES || err == EPERM)
		return "Permission denied; run the tool as root";
	return strerror(err);
}

/* ---- one level ------------------------------------------------------------- */

static bool is_bpf(int fd)
{
	struct statfs info;

	return fstatfs(fd, &info) == 0 && info.f_type == BPF_FS_MAGIC;
}

/* Check that only root and this user can change the folder. Return: 0;
 * -errno. */
static int check(struct pins_folder *folder, int fd, const char *path)
{
	struct stat status;

	if (fstat(fd, &status) != 0)
		return pins_folder_say(folder, -errno, "%s: %s", path,
				       reason(errno));
	if (!is_bpf(fd))
		return pins_folder_say(folder, -EXDEV,
				       "%s: it is not part of the BPF file "
				       "system; unmount what is there",
				       path);
	if (status.st_uid != 0 && status.st_uid != geteuid())
		return pins_folder_say(
			folder, -EPERM,
			"%s: it belongs to user %u; allowed: user %u or root; "
			"check what is in it, remove it, and keep others "
			"away: chmod 0700 " PINS_MOUNT,
			path, status.st_uid, geteuid());
	if (status.st_mode & (S_IWGRP | S_IWOTH))
		return pins_folder_say(
			folder, -EPERM,
			"%s: its mode is 0%o, so that other users may write "
			"to it; allowed: 0700; remove it",
			path, status.st_mode & 07777);
	return 0;
}

/* Open a folder and check it. Return: a descriptor; -errno, among them -ENOTDIR
 * for a symbolic link or a file. */
static int open_level(struct pins_folder *folder, int above, const char *name,
		      const char *path)
{
	int fd = openat(above, name, OPEN_FOLDER);
	int err;

	if (fd < 0 && errno == ENOTDIR)
		return pins_folder_say(folder, -ENOTDIR,
				       "%s: it is a link or a file, and links "
				       "are not followed; allowed: a folder; "
				       "remove it",
				       path);
	if (fd < 0)
		return pins_folder_say(folder, -errno, "%s: %s", path,
				       reason(errno));
	err = check(folder, fd, path);
	if (!err)
		return fd;
	close(fd);
	return err;
}

int pins_folder_below(struct pins_folder *folder, int above, const char *name)
{
	char here[32], path[PINS_SAID / 2];
	ssize_t length;

	snprintf(here, sizeof(here), "/proc/self/fd/%d", above);
	length = readlink(here, path, sizeof(path) / 2);
	if (length < 0)
		length = 0;
	snprintf(path + length, sizeof(path) - (size_t)length, "/%.64s", name);
	return open_level(folder, above, name, path);
}

bool pins_folder_is_process(const char *name)
{
	size_t length = strlen(name);

	return length > 0 && length <= 10 && name[0] != '0' &&
	       strspn(name, "0123456789") == length;
}

int pins_folder_enter(struct pins_folder *folder, const char *name)
{
	if (!pins_folder_is_process(name))
		return pins_folder_say(folder, -EINVAL,
				       PINS_FOLDER "/%.64s: it is not of "
						   "skua pin: its name is no "
						   "process's number; left as "
						   "it is",
				       name);
	if (folder->fd < 0)
		return pins_folder_say(folder, -ENOENT, PINS_FOLDER ": %s",
				       strerror(ENOENT));
	return pins_folder_below(folder, folder->fd, name);
}

/* ---- the folder of all ----------------------------------------------------- */

static int open_mount(struct pins_folder *folder)
{
	*folder = (struct pins_folder){ .fd = -1 };
	folder->mount = open(PINS_MOUNT, OPEN_FOLDER);
	if (folder->mount < 0 && (errno == EACCES || errno == EPERM))
		return pins_folder_say(folder, -errno, PINS_MOUNT ": %s",
				       reason(errno));
	if (folder->mount >= 0 && is_bpf(folder->mount))
		return 0;
	return pins_folder_say(folder, -ENODEV,
			       PINS_MOUNT ": no BPF file system is mounted "
					  "there; do that by: " PINS_ADVICE);
}

static int open_skua(struct pins_folder *folder)
{
	int fd = open_level(folder, folder->mount, PINS_NAME, PINS_FOLDER);

	if (fd < 0)
		return fd;
	folder->fd = fd;
	return 0;
}

int pins_folder_open(struct pins_folder *folder)
{
	int err = open_mount(folder);

	if (!err)
		err = open_skua(folder);
	return err == -ENOENT ? 0 : err;
}

void pins_folder_close(struct pins_folder *folder)
{
	if (folder->fd >= 0)
		close(folder->fd);
	if (folder->mount >= 0)
		close(folder->mount);
	folder->fd = folder->mount = -1;
}

/* ---- the lock -------------------------------------------------------------- */

/* Find the process that holds the lock. Lines of /proc/locks contain "FLOCK ...
 * PID MAJOR:MINOR:INODE START END". Return: 0 if it is not found. */
static long find_holder(int fd)
{
	char *text = target_proc_read(-1, "/proc/locks"), *next = NULL;
	struct stat status;
	long holder = 0;

	if (text && fstat(fd, &status) == 0)
		for (char *line = strtok_r(text, "\n", &next); line && !holder;
		     line = strtok_r(NULL, "\n", &next)) {
			unsigned major, minor;
			unsigned long inode;
			long pid;

			if (sscanf(line, "%*s FLOCK %*s %*s %ld %x:%x:%lu",
				   &pid, &major, &minor, &inode) == 4 &&
			    inode == status.st_ino &&
			    makedev(major, minor) == status.st_dev)
				holder = pid;
		}
	free(text);
	return holder;
}

static int say_held(struct pins_folder *folder)
{
	char who[32] = "another process";
	long pid = find_holder(folder->fd);

	if (pid > 0)
		snprintf(who, sizeof(who), "process %ld", pid);
	return pins_folder_say(folder, -EWOULDBLOCK,
			       PINS_FOLDER ": %s is pinning or unpinning; try "
					   "again when it has ended",
			       who);
}

/* Whether PINS_FOLDER is still the locked folder: another process may have
 * removed it between the open and the lock. */
static bool is_current(const struct pins_folder *folder)
{
	struct stat ours, there;

	return fstat(folder->fd, &ours) == 0 &&
	       fstatat(folder->mount, PINS_NAME, &there, AT_SYMLINK_NOFOLLOW) ==
		       0 &&
	       ours.st_ino == there.st_ino && ours.st_dev == there.st_dev;
}

/* The lock is on PINS_FOLDER, because any user who may read the mount could
 * lock that. The loop repeats only if another process finished its unpinning
 * meanwhile. */
int pins_folder_hold(struct pins_folder *folder, bool make)
{
	int err = open_mount(folder);

	while (!err) {
		if (make && mkdirat(folder->mount, PINS_NAME, 0700) != 0 &&
		    errno != EEXIST)
			return pins_folder_say(folder, -errno,
					       PINS_FOLDER ": %s",
					       reason(errno));
		err = open_skua(folder);
		if (err == -ENOENT && !make)
			return 0;
		if (err == -ENOENT) {
			err = 0;
			continue;
		}
		if (err)
			break;
		if (flock(folder->fd, LOCK_EX | LOCK_NB) != 0)
			return errno == EWOULDBLOCK
				       ? say_held(folder)
				       : pins_folder_say(folder, -errno,
							 PINS_FOLDER ": %s",
							 reason(errno));
		if (is_current(folder))
			break;
		close(folder->fd);
		folder->fd = -1;
	}
	return err;
}
