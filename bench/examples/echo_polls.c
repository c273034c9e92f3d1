/* SPDX-License-Identifier: MIT */
/**
 * echo_polls.c [PORT] - an echo server with a poll function for each connection
 *
 * The same server as echo_fibers.c. A poll must not wait: a call that would have to wait
 * returns -EAGAIN, and the poll ends with SKUA_PENDING. Therefore the connection keeps in
 * its struct what a fiber keeps on its stack. In return it needs no stack.
 */
#include <skua/skua.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* A connection. The bytes from @sent to @received are still to be sent. */
struct connection {
	struct skua_task task;
	struct skua_io io;
	struct skua_wait wait;
	size_t received;
	size_t sent;
	char buffer[1024];
};

/* The release function: the task has ended. */
static void connection_free(struct skua_task *task)
{
	free(SKUA_CONTAINER_OF(task, struct connection, task));
}

/* Read, or write what was read. Return: the result of the call. */
static ssize_t step(struct connection *c)
{
	ssize_t n;

	if (c->sent == c->received) {
		n = skua_io_read_poll(&c->task, c->io, c->buffer,
				      sizeof(c->buffer), &c->wait,
				      SKUA_FOREVER_NS);
		c->sent = 0;
		c->received = n > 0 ? (size_t)n : 0;
		return n;
	}
	n = skua_io_write_poll(&c->task, c->io, c->buffer + c->sent,
			       c->received - c->sent, &c->wait,
			       SKUA_FOREVER_NS);
	c->sent += n > 0 ? (size_t)n : 0;
	return n;
}

static enum skua_poll echo(struct skua_task *self)
{
	struct connection *c = SKUA_CONTAINER_OF(self, struct connection, task);
	ssize_t n;

	do
		n = step(c);
	while (n > 0);
	if (n == -EAGAIN)
		return SKUA_PENDING;
	skua_io_close(c->io);
	return SKUA_DONE;
}

static void start(struct skua_runtime *rt, struct skua_io io)
{
	struct connection *c = calloc(1, sizeof(*c));

	if (c) {
		skua_task_init(&c->task, echo);
		skua_task_detach(&c->task, connection_free);
		c->io = io;
		if (!skua_task_spawn(rt, &c->task))
			return;
		free(c);
	}
	skua_io_close(io);
}

int main(int argc, char **argv)
{
	struct skua_io listener, io;
	struct skua_runtime *rt;
	struct skua_error err;
	char address[64];

	snprintf(address, sizeof(address), "127.0.0.1:%s",
		 argc > 1 ? argv[1] : "7777");
	if (skua_runtime_create(&rt, NULL, &err) ||
	    skua_listen(rt, address, 0, 0, &listener, &err)) {
		fprintf(stderr, "echo_polls: %s\n", err.text);
		return 1;
	}
	while (!skua_io_accept(listener, &io, NULL, NULL, SKUA_FOREVER_NS))
		start(rt, io);
	return 1;
}
