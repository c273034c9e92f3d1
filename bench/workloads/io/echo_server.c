/* SPDX-License-Identifier: MIT */
/* echo_server.c - see echo_server.h */
#include "bench/workloads/io/echo_server.h"

#include <errno.h>
#include <stdalign.h>
#include <stdlib.h>
#include <unistd.h>

/* Bytes of a read, as in bench/peers. */
#define BUFFER 4096

/* ---- polls ---------------------------------------------------------------- */

/* A connection. If @left is not 0, this many bytes from @from are still to be written. */
struct polled {
	alignas(128) struct skua_task task;
	struct skua_io io;
	size_t from;
	size_t left;
	struct skua_wait wait;
	char buffer[BUFFER];
};

/* Read a message. Return: false if there is none yet, or the connection has ended; @result
 * is then the result of the poll. */
static bool read_some(struct polled *c, enum skua_poll *result)
{
	ssize_t n = skua_io_read_poll(&c->task, c->io, c->buffer, BUFFER,
				      &c->wait, SKUA_FOREVER_NS);

	*result = n == -EAGAIN ? SKUA_PENDING : SKUA_DONE;
	if (n <= 0)
		return false;
	c->from = 0;
	c->left = (size_t)n;
	return true;
}

static bool write_some(struct polled *c, enum skua_poll *result)
{
	ssize_t n = skua_io_write_poll(&c->task, c->io, c->buffer + c->from,
				       c->left, &c->wait, SKUA_FOREVER_NS);

	*result = n == -EAGAIN ? SKUA_PENDING : SKUA_DONE;
	if (n <= 0)
		return false;
	c->from += (size_t)n;
	c->left -= (size_t)n;
	return true;
}

static enum skua_poll echo_poll(struct skua_task *self)
{
	struct polled *c = SKUA_CONTAINER_OF(self, struct polled, task);
	enum skua_poll result = SKUA_PENDING;
	bool goes_on = true;

	while (goes_on && c->left > 0)
		goes_on = write_some(c, &result);
	/* First the reads of all connections that are ready, then their writes. */
	if (goes_on && read_some(c, &result))
		return SKUA_YIELD;
	if (result == SKUA_DONE)
		skua_io_close(c->io);
	return result;
}

static int start_polled(struct echo_server *server, struct skua_io io)
{
	struct polled *c = aligned_alloc(alignof(struct polled), sizeof(*c));

	if (c == NULL)
		return -ENOMEM;
	c->task = (struct skua_task)SKUA_TASK_INIT(echo_poll);
	c->io = io;
	c->left = 0;
	c->wait = (struct skua_wait)SKUA_WAIT_INIT;
	return skua_group_spawn(&server->connections, &c->task);
}

/* ---- fibers --------------------------------------------------------------- */

struct fibered {
	alignas(128) struct skua_fiber fiber; /* first: it is cast back */
	struct skua_io io;
};

static void echo_fiber(struct skua_fiber *self)
{
	struct fibered *c = (struct fibered *)self;
	char buffer[BUFFER];
	ssize_t n;

	while ((n = skua_io_read(c->io, buffer, BUFFER, SKUA_FOREVER_NS)) > 0)
		if (skua_io_write_all(c->io, buffer, (size_t)n, NULL,
				      SKUA_FOREVER_NS) != 0)
			break;
	skua_io_close(c->io);
}

static int start_fibered(struct echo_server *server, struct skua_io io)
{
	struct fibered *c = aligned_alloc(alignof(struct fibered), sizeof(*c));

	if (c == NULL)
		return -ENOMEM;
	c->io = io;
	skua_fiber_init(&c->fiber, echo_fiber, 0);
	return skua_group_spawn(&server->connections, &c->fiber.task);
}

/* ---- all ------------------------------------------------------------------ */

/* Either struct begins with the task. */
static void release(struct skua_task *task)
{
	free(task);
}

static void start(struct echo_server *server, struct skua_io io)
{
	int err = server->fibers ? start_fibered(server, io)
				 : start_polled(server, io);

	if (err != 0) {
		server->failed++;
		skua_io_close(io);
	}
}

static enum skua_poll accept_poll(struct skua_task *self)
{
	struct echo_server *server =
		SKUA_CONTAINER_OF(self, struct echo_server, acceptor);
	struct skua_io io;
	int err;

	while ((err = skua_io_accept_poll(self, server->listener, &io, NULL,
					  NULL, &server->wait,
					  SKUA_FOREVER_NS)) == 0)
		start(server, io);
	return err == -EAGAIN ? SKUA_PENDING : SKUA_DONE;
}

static void accept_fiber(struct skua_fiber *self)
{
	struct echo_server *server =
		SKUA_CONTAINER_OF(self, struct echo_server, accepting);
	struct skua_io io;

	while (skua_io_accept(server->listener, &io, NULL, NULL,
			      SKUA_FOREVER_NS) == 0)
		start(server, io);
}

static struct skua_task *acceptor_of(struct echo_server *server)
{
	return server->fibers ? &server->accepting.task : &server->acceptor;
}

int echo_server_start(struct echo_server *server, struct skua_runtime *rt,
		      int socket, bool fibers)
{
	int err;

	*server = (struct echo_server){ .rt = rt,
					.fibers = fibers,
					.listener = SKUA_IO_INIT,
					.wait = SKUA_WAIT_INIT };
	err = skua_io_attach(rt, socket, 0, &server->listener);
	if (err != 0) {
		close(socket);
		return err;
	}
	skua_group_init(&server->connections, rt);
	skua_group_set_release(&server->connections, release);
	skua_task_init(&server->acceptor, accept_poll);
	err = skua_fiber_init(&server->accepting, accept_fiber, 0);
	if (err == 0)
		err = skua_task_spawn(rt, acceptor_of(server));
	if (err != 0)
		skua_io_close(server->listener);
	return err;
}

int echo_server_stop(struct echo_server *server)
{
	int err = skua_io_close(server->listener);

	if (err == 0)
		err = skua_task_join(acceptor_of(server));
	if (err == 0)
		err = skua_group_wait(&server->connections);
	return err;
}
