/* SPDX-License-Identifier: MIT */
/* file_api.c - the public functions for files */
#include <errno.h>
#include <fcntl.h>

#include "core/api/outside.h"
#include "core/file/files.h"
#include "core/runtime/runtime.h"
#include "core/wait/await.h"

/* As the kernel does: so the result of an operation fits into an int. */
#define BYTES_MAX UINT64_C(2147479552)

/* ---- preparation ----------------------------------------------------------------- */

static void prepare(struct skua_file_op *op, enum file_kind kind, int fd)
{
	if (!op)
		return;
	op->call.run = files_run;
	op->kind = (uint16_t)kind;
	op->fd = fd;
}

static void prepare_bytes(struct skua_file_op *op, void *buffer, size_t size,
			  int64_t offset)
{
	if (!op)
		return;
	op->buffer = buffer;
	op->size = size < BYTES_MAX ? size : BYTES_MAX;
	op->offset = offset;
}

void skua_file_prep_read(struct skua_file_op *op, int fd, void *buffer,
			 size_t size, int64_t offset)
{
	prepare(op, FILE_READ, fd);
	prepare_bytes(op, buffer, size, offset);
}

void skua_file_prep_write(struct skua_file_op *op, int fd, const void *data,
			  size_t size, int64_t offset)
{
	prepare(op, FILE_WRITE, fd);
	prepare_bytes(op, (void *)(uintptr_t)data, size, offset);
}

void skua_file_prep_sync(struct skua_file_op *op, int fd, unsigned flags)
{
	prepare(op, FILE_SYNC, fd);
	if (op)
		op->flags = flags;
}

void skua_file_prep_open(struct skua_file_op *op, const char *path, int flags,
			 mode_t mode)
{
	prepare(op, FILE_OPEN, -1);
	if (!op)
		return;
	op->path = path;
	op->flags = (unsigned)flags | O_CLOEXEC;
	op->mode = mode;
}

void skua_file_prep_close(struct skua_file_op *op, int fd)
{
	prepare(op, FILE_CLOSE, fd);
}

/* Return: 0; -EINVAL: not prepared, or with wrong arguments. */
static int check(const struct skua_file_op *op)
{
	switch ((enum file_kind)op->kind) {
	case FILE_READ:
	case FILE_WRITE:
		return (op->buffer || op->size == 0) &&
				       op->offset >= SKUA_FILE_POSITION
			       ? 0
			       : -EINVAL;
	case FILE_SYNC:
		return op->flags & ~SKUA_FILE_DATA_ONLY ? -EINVAL : 0;
	case FILE_OPEN:
		return op->path ? 0 : -EINVAL;
	case FILE_CLOSE:
		return 0;
	case FILE_NONE:
		break;
	}
	return -EINVAL;
}

/* ---- fibers and threads ---------------------------------------------------------- */

/* Return: 0: the operation has ended, and has a result. */
static int carry_out(struct skua_runtime *rt, struct skua_file_op *op,
		     uint64_t deadline_ns)
{
	int code = rt ? check(op) : -EINVAL;

	if (code)
		return code;
	if (!runtime_alive(rt))
		return -EOWNERDEAD;
	code = await_allowed();
	if (code || files_try(op))
		return code;
	if (files_has_ring(&rt->files)) {
		code = outside_await(rt, &files_verb, &rt->files, (uintptr_t)op,
				     deadline_ns);
		if (code || !files_declined(op))
			return code;
	}
	return skua_blocking_call(rt, &op->call, deadline_ns);
}

static ssize_t call(struct skua_runtime *rt, struct skua_file_op *op,
		    uint64_t deadline_ns)
{
	int code = carry_out(rt, op, deadline_ns);

	return code ? code : (ssize_t)op->result;
}

ssize_t skua_file_read(struct skua_runtime *rt, int fd, void *buffer,
		       size_t size, int64_t offset, uint64_t deadline_ns)
{
	struct skua_file_op op = { .kind = FILE_NONE };

	skua_file_prep_read(&op, fd, buffer, size, offset);
	return call(rt, &op, deadline_ns);
}

ssize_t skua_file_write(struct skua_runtime *rt, int fd, const void *data,
			size_t size, int64_t offset, uint64_t deadline_ns)
{
	struct skua_file_op op = { .kind = FILE_NONE };

	skua_file_prep_write(&op, fd, data, size, offset);
	return call(rt, &op, deadline_ns);
}

int skua_file_sync(struct skua_runtime *rt, int fd, unsigned flags,
		   uint64_t deadline_ns)
{
	struct skua_file_op op = { .kind = FILE_NONE };

	skua_file_prep_sync(&op, fd, flags);
	return (int)call(rt, &op, deadline_ns);
}

int skua_file_open(struct skua_runtime *rt, const char *path, int flags,
		   mode_t mode, uint64_t deadline_ns)
{
	struct skua_file_op op = { .kind = FILE_NONE };

	skua_file_prep_open(&op, path, flags, mode);
	return (int)call(rt, &op, deadline_ns);
}

int skua_file_close(struct skua_runtime *rt, int fd, uint64_t deadline_ns)
{
	struct skua_file_op op = { .kind = FILE_NONE };

	skua_file_prep_close(&op, fd);
	return (int)call(rt, &op, deadline_ns);
}

/* ---- polls ----------------------------------------------------------------------- */

/* Where an operation of a poll is. */
enum stage { NOWHERE, IN_RING, WAITS_FOR_PLACE, IN_POOL };

/* Return: 0: the operation has ended, and has a result. */
static int poll_op(struct skua_task *self, struct skua_runtime *rt,
		   struct skua_file_op *op, uint64_t deadline_ns)
{
	int code;

	if (op->stage == NOWHERE && files_try(op))
		return 0;
	if (op->stage == NOWHERE)
		op->stage =
			files_has_ring(&rt->files) ? IN_RING : WAITS_FOR_PLACE;
	if (op->stage == IN_RING) {
		code = await_poll(self, &op->call.wait, &files_verb, &rt->files,
				  (uintptr_t)op, deadline_ns);
		if (code || !files_declined(op))
			return code;
		op->stage = WAITS_FOR_PLACE;
	}
	if (op->stage == WAITS_FOR_PLACE) {
		code = skua_blocking_start(self, &op->call, deadline_ns);
		if (code)
			return code;
		op->stage = IN_POOL;
	}
	return skua_blocking_poll(self, &op->call, deadline_ns);
}

ssize_t skua_file_poll(struct skua_task *self, struct skua_file_op *op,
		       uint64_t deadline_ns)
{
	int code = op ? check(op) : -EINVAL;

	if (!code)
		code = await_may_poll(self, &op->call.wait);
	if (!code && await_armed(&op->call.wait) &&
	    op->call.wait.waiter != (uintptr_t)self)
		code = -EINVAL;
	if (code)
		return code;
	code = poll_op(self,
		       SKUA_CONTAINER_OF(self->pool, struct skua_runtime, pool),
		       op, deadline_ns);
	if (code == -EAGAIN)
		return code;
	op->stage = NOWHERE;
	return code ? code : (ssize_t)op->result;
}
