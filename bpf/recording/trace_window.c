/* SPDX-License-Identifier: MIT */
/* trace_window.c - see trace_window.h */
#include "bpf/recording/trace_window.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

int trace_window_read(const struct trace_window *w, uint64_t at, void *to,
		      size_t bytes)
{
	if (at > w->size || bytes > w->size - at)
		return -EIO;
	while (bytes > 0) {
		ssize_t got = pread(w->file, to, bytes, (off_t)at);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) /* the file was truncated meanwhile */
			return got < 0 ? -errno : -EIO;
		at += (uint64_t)got;
		to = (char *)to + got;
		bytes -= (size_t)got;
	}
	return 0;
}

static bool has(const struct trace_window *w, uint64_t at, size_t bytes)
{
	return at >= w->at && at - w->at <= w->bytes &&
	       bytes <= w->bytes - (at - w->at);
}

int trace_window_look(struct trace_window *w, uint64_t at, void *to,
		      size_t bytes)
{
	if (!has(w, at, bytes)) {
		uint64_t left = at < w->size ? w->size - at : 0;
		size_t wanted =
			left < TRACE_WINDOW ? (size_t)left : TRACE_WINDOW;
		int code;

		w->bytes = 0;
		code = bytes > wanted
			       ? -EIO
			       : trace_window_read(w, at, w->data, wanted);
		if (code)
			return code;
		w->at = at;
		w->bytes = wanted;
	}
	memcpy(to, w->data + (at - w->at), bytes);
	return 0;
}
