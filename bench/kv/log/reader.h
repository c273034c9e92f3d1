/* SPDX-License-Identifier: MIT */
/**
 * reader.h - reads the file of a log from its start, and judges its end
 *
 * The bytes come from a function, so that a test can read from memory.
 */
#ifndef SKUA_BENCH_KV_READER_H
#define SKUA_BENCH_KV_READER_H

#include <sys/types.h>

#include "bench/kv/log/frame.h"

/**
 * struct log_source - the bytes of a file
 * @read: as pread(); an error is a negative errno value
 * @size: bytes of the file
 */
struct log_source {
	ssize_t (*read)(void *ctx, void *buffer, size_t size, uint64_t offset);
	void *ctx;
	uint64_t size;
};

/**
 * enum log_verdict - how a file ends
 * LOG_WHOLE: with a good frame, or with zeros after one
 * LOG_NEW: before the end of its header: no frame was ever written
 * LOG_TORN: with bytes that are no good frame, and of which no frame says that they have
 *           reached the disk. They may be cut off
 * LOG_DAMAGED: bytes that have reached the disk are no good frame. Good ones follow
 * LOG_FOREIGN: the file is not a log
 * LOG_STOPPED: a visit has returned false
 * LOG_UNREAD: the file cannot be read, or there is no memory
 */
enum log_verdict {
	LOG_WHOLE,
	LOG_NEW,
	LOG_TORN,
	LOG_DAMAGED,
	LOG_FOREIGN,
	LOG_STOPPED,
	LOG_UNREAD
};

/**
 * struct log_found - what was read
 * @file: the header
 * @end: the place after the last good frame before any bad one
 * @next: LOG_DAMAGED: the place of a good frame that proves it
 * @frames: good frames before @end
 * @error: LOG_UNREAD: a negative errno value
 */
struct log_found {
	enum log_verdict verdict;
	struct frame_file file;
	uint64_t end, next, frames;
	int error;
};

/* log_visit_fn - called with the place and the records of a frame. Return: false: stop */
typedef bool (*log_visit_fn)(void *ctx, uint64_t offset, struct bytes records);

/* log_read - read a file. @visit: called for each good frame up to the first bad one */
void log_read(const struct log_source *source, log_visit_fn visit, void *ctx,
	      struct log_found *found);

#endif
