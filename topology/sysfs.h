/* SPDX-License-Identifier: MIT */
/**
 * sysfs.h - read the files that describe a machine
 *
 * The files are in a folder, such as /, or in a snapshot: a text file with one line for
 * each file: its path, a tab, and its content. In the content, \n stands for the end of a
 * line, and \\ for a backslash; the end of the last line is left out. Empty lines, and
 * lines that begin with #, are ignored.
 */
#ifndef SKUA_TOPOLOGY_SYSFS_H
#define SKUA_TOPOLOGY_SYSFS_H

#include <stdbool.h>
#include <stddef.h>

#include "skua/base.h"
#include "topology/cpu_list.h"

/* A file of sysfs has at most a page, except lists of CPUs. */
#define SYSFS_TEXT_SIZE 65536u
#define SYSFS_PATH_SIZE 256u

struct sysfs {
	/* An open descriptor; AT_FDCWD: the root folder, which need not be opened; -1: this
	 * is a snapshot. */
	int folder;
	char *text; /* of a snapshot, with a NUL after each path and value */
	struct sysfs_line {
		const char *path, *value;
	} * lines; /* sorted by path */
	size_t count;
};

/**
 * sysfs_open - open a folder or a snapshot
 * @err: receives a description of the error; may be NULL
 *
 * Return: 0; -EINVAL (a snapshot is malformed); -ENOMEM; another error of open()
 * or read().
 */
int sysfs_open(struct sysfs *out, const char *path, struct skua_error *err);

void sysfs_close(struct sysfs *sysfs);

static inline bool sysfs_is_snapshot(const struct sysfs *sysfs)
{
	return sysfs->folder == -1;
}

/**
 * sysfs_read - read a file, without white space at its end
 * @path: without a leading slash, for example sys/devices/system/cpu/online
 * @text: of SYSFS_TEXT_SIZE bytes; longer content is cut. Empty on failure.
 *
 * Return: 0; a negative errno, mostly -ENOENT.
 */
int sysfs_read(const struct sysfs *sysfs, const char *path, char *text);

/* sysfs_read_whole - as sysfs_read(), but of any length; the caller frees *@text, which is
 * NULL on failure */
int sysfs_read_whole(const struct sysfs *sysfs, const char *path, char **text);

/**
 * sysfs_numbers - list each number N for which a folder has an entry "@prefix N", for
 * example cpu0
 * @out: receives the numbers; the caller frees it. Empty if there is no such folder
 *
 * Return: 0; -ENOMEM.
 */
int sysfs_numbers(const struct sysfs *sysfs, const char *folder,
		  const char *prefix, struct cpu_list *out);

#endif
