/* SPDX-License-Identifier: MIT */
/* file.h - operations on the files of the log that need several calls
 *
 * All of them in fibers with cancels masked, and in threads. They return 0 or a negative errno
 * value. */
#ifndef SKUA_BENCH_KV_FILE_H
#define SKUA_BENCH_KV_FILE_H

#include <skua/skua.h>

#include "bench/kv/log/frame.h"

/* file_write - write all bytes at a place */
int file_write(struct skua_runtime *runtime, int fd, const char *data,
	       size_t size, uint64_t offset);

/* file_begin - write the header of a new file */
int file_begin(struct skua_runtime *runtime, int fd, struct frame_file *file);

/* file_sync_folder - sync the folder of a file: its name survives a crash only then */
int file_sync_folder(struct skua_runtime *runtime, const char *path);

/* file_rename - rename a file, in place of the one that has the new name. On the blocking pool */
int file_rename(struct skua_runtime *runtime, const char *from, const char *to);

/* file_remove - remove the name of a file. On the blocking pool: if it is the last name of a file
 * that nobody has open, that frees the whole file */
int file_remove(struct skua_runtime *runtime, const char *path);

#endif
