/* SPDX-License-Identifier: MIT */
/* file.c - operations on the files of the log that need several calls */
#include "bench/kv/log/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int file_write(struct skua_runtime *runtime, int fd, const char *data,
	       size_t size, uint64_t offset)
{
	while (size) {
		ssize_t done =
			skua_file_write(runtime, fd, data, size,
					(int64_t)offset, SKUA_FOREVER_NS);

		if (done <= 0)
			return done ? (int)done : -ENOSPC;
		data += done;
		size -= (size_t)done;
		offset += (uint64_t)done;
	}
	return 0;
}

int file_begin(struct skua_runtime *runtime, int fd, struct frame_file *file)
{
	char header[FRAME_FILE_HEADER];

	frame_file_create(file, header);
	return file_write(runtime, fd, header, sizeof(header), 0);
}

int file_sync_folder(struct skua_runtime *runtime, const char *path)
{
	char *folder = strdup(path), *slash = folder ? strrchr(folder, '/') : 0;
	const char *name = slash == folder ? "/" : slash ? folder : ".";
	int fd, code = -ENOMEM;

	if (!folder)
		return code;
	if (slash && slash != folder)
		*slash = '\0';
	fd = code = skua_file_open(runtime, name, O_RDONLY | O_DIRECTORY, 0,
				   SKUA_FOREVER_NS);
	if (fd >= 0) {
		code = skua_file_sync(runtime, fd, 0, SKUA_FOREVER_NS);
		close(fd);
	}
	free(folder);
	return code;
}

/* A system call on names of files, for the blocking pool. @to: NULL: remove @from */
struct naming {
	struct skua_blocking call;
	const char *from, *to;
	int code;
};

static void name_now(struct skua_blocking *self)
{
	struct naming *naming = (struct naming *)self;
	int code = naming->to ? rename(naming->from, naming->to)
			      : unlink(naming->from);

	naming->code = code ? -errno : 0;
}

/* If the pool cannot make the call, this thread makes it: a file of a rewrite that is not removed
 * takes room on the disk, for which the log may wait. */
static int name_on_pool(struct skua_runtime *runtime, const char *from,
			const char *to)
{
	struct naming naming = { SKUA_BLOCKING_INIT(name_now), from, to, 0 };

	if (skua_blocking_call(runtime, &naming.call, SKUA_FOREVER_NS))
		name_now(&naming.call);
	return naming.code;
}

int file_rename(struct skua_runtime *runtime, const char *from, const char *to)
{
	return name_on_pool(runtime, from, to);
}

int file_remove(struct skua_runtime *runtime, const char *path)
{
	return name_on_pool(runtime, path, NULL);
}
