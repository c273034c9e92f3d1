/* SPDX-License-Identifier: MIT */
/* trace_window.h - reads a file through a buffer that holds a part of it */
#ifndef SKUA_BPF_TRACE_WINDOW_H
#define SKUA_BPF_TRACE_WINDOW_H

#include <stddef.h>
#include <stdint.h>

#define TRACE_WINDOW 65536u

/* @size: of the file when it was opened; bytes added later are ignored. */
struct trace_window {
	int file;
	uint64_t size;
	uint64_t at;
	size_t bytes;
	uint8_t data[TRACE_WINDOW];
};

/* trace_window_read - read all @bytes, without the buffer. Return: 0 or -errno;
 * -EIO if the file ends before */
int trace_window_read(const struct trace_window *w, uint64_t at, void *to,
		      size_t bytes);

/* trace_window_look - read at most TRACE_WINDOW bytes, through the buffer.
 * Return: as trace_window_read() */
int trace_window_look(struct trace_window *w, uint64_t at, void *to,
		      size_t bytes);

#endif
