/* SPDX-License-Identifier: MIT */
/* trace_window.h - a part of a file that is in memory, while it is gone through */
#ifndef SKUA_BPF_TRACE_WINDOW_H
#define SKUA_BPF_TRACE_WINDOW_H

#include <stddef.h>
#include <stdint.h>

#define TRACE_WINDOW 65536u

/* @size: of the file when it was opened: what comes later is not looked at. */
struct trace_window {
	int file;
	uint64_t size;
	uint64_t at;
	size_t bytes;
	uint8_t data[TRACE_WINDOW];
};

/* trace_window_read - past the window: all, or -errno; -EIO if the file ends */
int trace_window_read(const struct trace_window *w, uint64_t at, void *to,
		      size_t bytes);

/* trace_window_look - through it: at most TRACE_WINDOW bytes */
int trace_window_look(struct trace_window *w, uint64_t at, void *to,
		      size_t bytes);

#endif
