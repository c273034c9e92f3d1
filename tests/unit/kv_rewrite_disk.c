/* SPDX-License-Identifier: MIT */
/* kv_rewrite_disk.c - a disk whose calls fail; see kv_rewrite.h */
#include "tests/unit/kv_rewrite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/kv/log/file.h"

char path[64], new_path[64];
int open_error, rename_error, folder_error;
int new_write_error, new_sync_error, old_write_error;
unsigned new_stuck;
unsigned removals, removals_by_workers;
int new_fd = -1;

static char folder[] = "/tmp/test_kv_rewrite.XXXXXX";

bool disk_begin(void)
{
	strcpy(folder + sizeof(folder) - 7, "XXXXXX");
	if (!mkdtemp(folder))
		return false;
	snprintf(path, sizeof(path), "%s/log", folder);
	snprintf(new_path, sizeof(new_path), "%s/log.rewrite", folder);
	open_error = rename_error = folder_error = 0;
	new_write_error = new_sync_error = old_write_error = 0;
	new_stuck = 0;
	removals = removals_by_workers = 0;
	new_fd = -1;
	return true;
}

void disk_end(void)
{
	unlink(path);
	rmdir(folder);
}

/* ---- calls ------------------------------------------------------------------------ */

int __real_skua_file_open(struct skua_runtime *rt, const char *name, int flags,
			  mode_t mode, uint64_t deadline_ns);
int __wrap_skua_file_open(struct skua_runtime *rt, const char *name, int flags,
			  mode_t mode, uint64_t deadline_ns);
int __real_file_rename(struct skua_runtime *rt, const char *from,
		       const char *to);
int __wrap_file_rename(struct skua_runtime *rt, const char *from,
		       const char *to);
int __real_unlink(const char *name);
int __wrap_unlink(const char *name);
int __real_file_sync_folder(struct skua_runtime *rt, const char *of);
int __wrap_file_sync_folder(struct skua_runtime *rt, const char *of);

int __wrap_skua_file_open(struct skua_runtime *rt, const char *name, int flags,
			  mode_t mode, uint64_t deadline_ns)
{
	bool new = strcmp(name, new_path) == 0;
	int fd;

	if (new &&READ(open_error))
		return READ(open_error);
	fd = __real_skua_file_open(rt, name, flags, mode, deadline_ns);
	if (new)
		WRITE(new_fd, fd);
	return fd;
}

int __wrap_skua_file_sync(struct skua_runtime *rt, int fd, unsigned flags,
			  uint64_t deadline_ns)
{
	if (fd == READ(new_fd) && READ(new_sync_error))
		return READ(new_sync_error);
	return __real_skua_file_sync(rt, fd, flags, deadline_ns);
}

ssize_t __wrap_skua_file_write(struct skua_runtime *rt, int fd,
			       const void *data, size_t size, int64_t offset,
			       uint64_t deadline_ns)
{
	if (fd == READ(new_fd)) {
		while (READ(new_stuck))
			skua_sleep_until(skua_now_ns() + 1000000);
		if (READ(new_write_error))
			return READ(new_write_error);
	} else if (READ(old_write_error) && !access(new_path, F_OK)) {
		return READ(old_write_error);
	}
	return __real_skua_file_write(rt, fd, data, size, offset, deadline_ns);
}

int __wrap_file_rename(struct skua_runtime *rt, const char *from,
		       const char *to)
{
	int code = READ(rename_error) ? READ(rename_error)
				      : __real_file_rename(rt, from, to);

	if (!code)
		WRITE(new_fd, -1);
	return code;
}

int __wrap_unlink(const char *name)
{
	if (strcmp(name, new_path) == 0) {
		if (skua_task_self())
			WRITE(removals_by_workers,
			      READ(removals_by_workers) + 1);
		WRITE(removals, READ(removals) + 1);
	}
	return __real_unlink(name);
}

int __wrap_file_sync_folder(struct skua_runtime *rt, const char *of)
{
	return READ(folder_error) ? READ(folder_error)
				  : __real_file_sync_folder(rt, of);
}
