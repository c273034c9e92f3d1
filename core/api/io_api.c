/* SPDX-License-Identifier: MIT */
/* io_api.c - the public functions on descriptors that need their runtime */
#include <errno.h>

#include "core/io/attach.h"
#include "core/runtime/runtime.h"
#include "skua/io.h"

int skua_io_attach(struct skua_runtime *rt, int fd, unsigned flags,
		   struct skua_io *out)
{
	if (!rt || !out || (flags & ~SKUA_IO_KEEP_DELAY))
		return -EINVAL;
	if (!runtime_alive(rt))
		return -EOWNERDEAD;
	/* Relaxed: a request. A runtime that is destroyed has closed before. */
	if (atomic_load_relaxed(&rt->pool.closing) && !runtime_worker(rt))
		return -ESHUTDOWN;
	return attach(&rt->pool, fd, flags, out);
}
