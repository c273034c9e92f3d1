/* SPDX-License-Identifier: MIT */
/* outfile.c - see outfile.h */
#include "bpf/cli/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOREIGN_LINK                                                        \
	"a link of another user, in a folder that everybody may write to; " \
	"name another file"
#define FOREIGN_FILE                                                        \
	"a file of another user, in a folder that everybody may write to; " \
	"name another file"
#define SECOND_NAME                                                      \
	"a file that has a second name, in a folder that everybody may " \
	"write to; name another file"

static int fail(const char **why)
{
	int err = errno;

	*why = strerror(err);
	return -err;
}

static int refuse(const char **why, const char *text)
{
	*why = text;
	return -EPERM;
}

/* Whether others may create files in the folder, but not remove the caller's. */
static bool is_shared(const struct stat *folder)
{
	return (folder->st_mode & S_ISVTX) &&
	       (folder->st_mode & (S_IWGRP | S_IWOTH));
}

/* Open the file that a descriptor with O_PATH holds. */
static int reopen(int held, int flags, const char **why)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", held);
	fd = open(path, flags);
	return fd < 0 ? fail(why) : fd;
}

/* Open the existing file @held. A link of the caller's or root's is followed by
 * its name, which is safe: other users cannot remove it. */
static int open_held(const char *path, int held, int flags, mode_t mode,
		     const char **why)
{
	struct stat is;
	int fd;

	if (fstat(held, &is) != 0)
		return fail(why);
	if (S_ISLNK(is.st_mode)) {
		if (is.st_uid != geteuid() && is.st_uid != 0)
			return refuse(why, FOREIGN_LINK);
		fd = open(path, flags | O_CREAT, mode);
		return fd < 0 ? fail(why) : fd;
	}
	if (is.st_uid != geteuid())
		return refuse(why, FOREIGN_FILE);
	if (S_ISREG(is.st_mode) && is.st_nlink > 1)
		return refuse(why, SECOND_NAME);
	return reopen(held, flags, why);
}

/* Open a name in a shared folder. */
static int open_shared(const char *path, int folder, const char *name,
		       int flags, mode_t mode, const char **why)
{
	int fd, held;

	/* Repeats when another process removed the name between the two calls. */
	do {
		fd = openat(folder, name, flags | O_CREAT | O_EXCL, mode);
		if (fd >= 0)
			return fd;
		if (errno != EEXIST)
			return fail(why);
		held = openat(folder, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	} while (held < 0 && errno == ENOENT);
	if (held < 0)
		return fail(why);
	fd = open_held(path, held, flags, mode, why);
	close(held);
	return fd;
}

/* The folder is already open, so that a link to a folder was followed. */
static int open_in(const char *path, int folder, const char *name, int flags,
		   mode_t mode, const char **why)
{
	struct stat is;
	int fd;

	if (fstat(folder, &is) != 0)
		return fail(why);
	if (is_shared(&is))
		return open_shared(path, folder, name, flags, mode, why);
	fd = open(path, flags | O_CREAT, mode);
	return fd < 0 ? fail(why) : fd;
}

int outfile_open(const char *path, int flags, mode_t mode, const char **why)
{
	char head[PATH_MAX], tail[PATH_MAX];
	int folder, fd;

	if (strlen(path) >= sizeof(head)) {
		errno = ENAMETOOLONG;
		return fail(why);
	}
	/* dirname() and basename() change their argument. */
	strcpy(head, path);
	strcpy(tail, path);
	folder = open(dirname(head), O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0)
		return fail(why);
	fd = open_in(path, folder, basename(tail), flags | O_CLOEXEC, mode,
		     why);
	close(folder);
	return fd;
}

FILE *outfile_fopen(const char *path, const char **why)
{
	int fd = outfile_open(path, O_WRONLY | O_TRUNC, 0666, why);
	FILE *file;

	if (fd < 0)
		return NULL;
	file = fdopen(fd, "w");
	if (!file) {
		fail(why);
		close(fd);
	}
	return file;
}
