/* SPDX-License-Identifier: MIT */
/* snapshot.c - see snapshot.h */
#include "topology/snapshot.h"

#include <errno.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>

#include "topology/error.h"
#include "topology/sysfs.h"

/* Folders that describe the machine, and the files there that a snapshot has. */
static const char *const folders[] = { "sys/devices/system/cpu",
				       "sys/devices/system/node",
				       "sys/devices/cpu_core",
				       "sys/devices/cpu_atom" };

/* clang-format off */
static const char *const names[] = {
	"cluster_cpus_list", "core_cpus", "core_cpus_list", "core_id",
	"cpu_capacity", "cpulist", "cpumap", "cpus", "die_cpus_list", "die_id",
	"distance", "highest_perf", "id", "isolated", "level", "meminfo",
	"nohz_full", "offline", "online", "package_cpus_list",
	"physical_package_id", "possible", "present", "shared_cpu_list",
	"shared_cpu_map", "size", "thread_siblings", "thread_siblings_list",
	"type",
};
/* clang-format on */

static bool describes(const char *name)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

static void write_line(FILE *file, const char *path, const char *value)
{
	fprintf(file, "%s\t", path);
	for (; *value; value++) {
		if (*value == '\n')
			fputs("\\n", file);
		else if (*value == '\\')
			fputs("\\\\", file);
		else
			fputc(*value, file);
	}
	fputc('\n', file);
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

/* keep_total - keep only the size of a node's memory: the other lines change often */
static void keep_total(char *text)
{
	char *total = strstr(text, "MemTotal:");

	if (!total)
		return;
	total[strcspn(total, "\n")] = '\0';
	while (total > text && total[-1] != '\n')
		total--;
	memmove(text, total, strlen(total) + 1);
}

/* save_folder - write the files of a folder; return their number or a negative errno
 *
 * It does not follow links, which lead back in sysfs. */
static long save_folder(FILE *file, const struct sysfs *sysfs, char *folder,
			size_t root, char *text)
{
	char *paths[] = { folder, NULL };
	FTS *walk = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, by_name);
	FTSENT *entry;
	long saved = 0;

	if (!walk)
		return -errno;
	while ((entry = fts_read(walk)) != NULL) {
		const char *path = entry->fts_path + root;

		if (entry->fts_info != FTS_F || !describes(entry->fts_name) ||
		    sysfs_read(sysfs, path, text))
			continue;
		if (strcmp(entry->fts_name, "meminfo") == 0)
			keep_total(text);
		write_line(file, path, text);
		saved++;
	}
	fts_close(walk);
	return saved;
}

static int save_all(FILE *file, const struct sysfs *sysfs, const char *root,
		    char *text, struct skua_error *err)
{
	/* The root / becomes empty, because a slash follows the root. */
	const char *above = strcmp(root, "/") == 0 ? "" : root;
	long saved = 0;

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		char folder[4096];
		int length = snprintf(folder, sizeof(folder), "%s/%s", above,
				      folders[i]);
		long n = -ENAMETOOLONG;

		if ((size_t)length < sizeof(folder))
			n = save_folder(file, sysfs, folder, strlen(above) + 1,
					text);
		if (n < 0)
			return error_set(err, (int)n, "%s: %s", root,
					 strerror((int)-n));
		saved += n;
	}
	if (fflush(file) || ferror(file))
		return error_set(err, -EIO, "the snapshot cannot be written");
	return saved > 0 ? 0
			 : error_set(err, -ENOENT,
				     "%s: nothing describes a machine there",
				     root);
}

int snapshot_save(FILE *file, const char *root, struct skua_error *err)
{
	char *text = malloc(SYSFS_TEXT_SIZE);
	struct sysfs sysfs;
	int code;

	if (!text)
		return error_set(err, -ENOMEM, "no memory");
	code = sysfs_open(&sysfs, root, err);
	if (!code && sysfs_is_snapshot(&sysfs))
		code = error_set(err, -EINVAL, "%s is a snapshot already",
				 root);
	else if (!code)
		code = save_all(file, &sysfs, root, text, err);
	sysfs_close(&sysfs);
	free(text);
	return code;
}
