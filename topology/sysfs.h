/* SPDX-License-Identifier: MIT */
/**
 * sysfs.h - where the description of a machine is read from
 *
 * A folder with a tree as at /, or a snapshot: one text file that has, of such a
 * tree, a line for each file: its path, a tab, and what is in it, with \n for
 * the ends of lines but the last, and \\ for a backslash. A line that begins with
 * # is a comment, and so is an empty one.
 */
#ifndef SKUA_TOPOLOGY_SYSFS_H
#define SKUA_TOPOLOGY_SYSFS_H

#include <stddef.h>

#include "skua/base.h"
#include "topology/cpu_list.h"

/* A file of sysfs has a page at most, but lists of CPUs may be longer. */
#define SYSFS_TEXT_SIZE 65536u
#define SYSFS_PATH_SIZE 256u

struct sysfs {
	int folder; /* open; -1: a snapshot */
	char *text; /* a snapshot's, with NUL behind each path and value */
	struct sysfs_line {
		const char *path, *value;
	} * lines; /* by path */
	size_t count;
};

/**
 * sysfs_open - open a folder or a snapshot
 * @err: receives what was wrong; may be NULL
 *
 * Return: 0; -EINVAL (a snapshot is malformed); -ENOMEM; another error of open()
 * or read().
 */
int sysfs_open(struct sysfs *out, const char *path, struct skua_error *err);

void sysfs_close(struct sysfs *sysfs);

/**
 * sysfs_read - what is in a file, without white space at its end
 * @path: without a slash at the begin, as sys/devices/system/cpu/online
 * @text: of SYSFS_TEXT_SIZE bytes; what is longer is cut. Empty on failure.
 *
 * Return: 0; a negative errno value, mostly -ENOENT.
 */
int sysfs_read(const struct sysfs *sysfs, const char *path, char *text);

/* sysfs_read_whole - the same, however long; *@text is to be freed, NULL on
 * failure */
int sysfs_read_whole(const struct sysfs *sysfs, const char *path, char **text);

/**
 * sysfs_numbers - the N for which there is an entry @prefix N in a folder
 * @out: receives them; to be freed. Empty if there is no such folder
 *
 * Return: 0; -ENOMEM.
 */
int sysfs_numbers(const struct sysfs *sysfs, const char *folder,
		  const char *prefix, struct cpu_list *out);

#endif
