/* SPDX-License-Identifier: MIT */
/*
 * main.c - echo servers of libuv
 *
 *   echo_1, echo_50, echo_10k   each thread has a loop, and accepts from the same socket.
 *                               An answer is written at once (uv_try_write()); only if
 *                               that fails, a request waits for the socket (uv_write())
 *
 * A loop has one buffer, into which all its connections read.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include "bench/peers/harness/harness.h"

#define BACKLOG 4096

struct server {
	uv_loop_t loop;
	uv_tcp_t listener;
	char buffer[65536];
};

/* An answer that waits until its socket can take it. */
struct waiting {
	uv_write_t request;
	char data[];
};

static void on_closed(uv_handle_t *handle)
{
	free(handle);
}

static void on_written(uv_write_t *request, int status)
{
	(void)status; /* the next read fails as well */
	free(request);
}

/* Write the rest of an answer later. */
static int write_later(uv_stream_t *stream, const char *data, size_t size)
{
	struct waiting *waiting = malloc(sizeof(*waiting) + size);
	uv_buf_t buffer;

	if (waiting == NULL)
		return UV_ENOMEM;
	memcpy(waiting->data, data, size);
	buffer = uv_buf_init(waiting->data, (unsigned)size);
	return uv_write(&waiting->request, stream, &buffer, 1, on_written);
}

static void on_read(uv_stream_t *stream, ssize_t length, const uv_buf_t *in)
{
	uv_buf_t out;
	int written;

	if (length == 0)
		return; /* not now */
	if (length < 0) {
		uv_close((uv_handle_t *)stream, on_closed);
		return;
	}
	out = uv_buf_init(in->base, (unsigned)length);
	written = uv_try_write(stream, &out, 1);
	if (written == length)
		return;
	if (written < 0)
		written = 0;
	if (write_later(stream, in->base + written,
			(size_t)(length - written)) != 0)
		uv_close((uv_handle_t *)stream, on_closed);
}

static void give_buffer(uv_handle_t *handle, size_t size, uv_buf_t *out)
{
	struct server *server = handle->loop->data;

	(void)size;
	*out = uv_buf_init(server->buffer, sizeof(server->buffer));
}

static void on_connection(uv_stream_t *listener, int status)
{
	uv_tcp_t *connection;

	if (status != 0)
		return;
	connection = malloc(sizeof(*connection));
	if (connection == NULL || uv_tcp_init(listener->loop, connection) != 0)
		abort();
	if (uv_accept(listener, (uv_stream_t *)connection) != 0) {
		uv_close((uv_handle_t *)connection, on_closed);
		return;
	}
	uv_tcp_nodelay(connection, 1);
	uv_read_start((uv_stream_t *)connection, give_buffer, on_read);
}

static void *serve_thread(void *arg)
{
	struct server *server = arg;

	uv_run(&server->loop, UV_RUN_DEFAULT);
	return NULL;
}

static bool start(struct server *server, int listener)
{
	pthread_t thread;

	if (uv_loop_init(&server->loop) != 0 ||
	    uv_tcp_init(&server->loop, &server->listener) != 0 ||
	    uv_tcp_open(&server->listener,
			fcntl(listener, F_DUPFD_CLOEXEC, 0)) != 0)
		return false;
	server->loop.data = server;
	if (uv_listen((uv_stream_t *)&server->listener, BACKLOG,
		      on_connection) != 0 ||
	    pthread_create(&thread, NULL, serve_thread, server) != 0)
		return false;
	pthread_detach(thread);
	return true;
}

static void serve(struct harness *h)
{
	for (unsigned i = 0; i < h->workers; i++) {
		struct server *server = calloc(1, sizeof(*server));

		if (server == NULL || !start(server, h->listener)) {
			fputs("libuv: cannot start a loop\n", stderr);
			exit(1);
		}
	}
}

int main(int argc, char **argv)
{
	static const struct harness_round rounds[] = {
		{ "echo_1", serve },
		{ "echo_50", serve },
		{ "echo_10k", serve },
		{ NULL, NULL },
	};
	const struct harness_peer peer = {
		.name = "libuv",
		.version = uv_version_string(),
		.rounds = rounds,
	};

	(void)argc;
	return harness_main(&peer, argv);
}
