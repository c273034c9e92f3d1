/* SPDX-License-Identifier: MIT */
/**
 * libuv_sockets.c - a libuv loop that drives a runtime whose fibers serve sockets
 *
 * Everything runs on one thread. The runtime has one descriptor (skua_runtime_eventfd()),
 * which is readable when a task, a timer or a socket of the runtime needs it. The loop
 * watches it, and drives the runtime for a turn. A fiber for each connection answers each
 * message with itself; the clients are ordinary handles of libuv.
 *
 *	cc -O2 -o libuv_sockets libuv_sockets.c $(pkg-config --cflags --libs skua libuv)
 *
 * libuv's Debian package is libuv1-dev.
 */
#include <skua/skua.h>

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <uv.h>

/* How long, in nanoseconds, the runtime may run before the loop handles its own timers
 * and descriptors. */
#define TURN_NS UINT64_C(1000000)

#define CLIENTS 20
#define TURNS   100

static struct skua_runtime *rt;
static struct skua_io listener;
static struct skua_fiber acceptor;

/* ---- the server: fibers ------------------------------------------------------- */

static void echo(void *arg)
{
	struct skua_io *io = (struct skua_io *)arg;
	char data[1024];
	ssize_t n;

	while ((n = skua_io_read(*io, data, sizeof(data), SKUA_FOREVER_NS)) > 0)
		if (skua_io_write_all(*io, data, (size_t)n, NULL,
				      SKUA_FOREVER_NS))
			break;
	skua_io_close(*io);
	free(io);
}

static void accept_all(struct skua_fiber *self)
{
	struct skua_io *io;

	(void)self;
	while ((io = (struct skua_io *)malloc(sizeof(*io))) &&
	       !skua_io_accept(listener, io, NULL, NULL, SKUA_FOREVER_NS))
		if (skua_fiber_spawn(rt, NULL, echo, io)) {
			skua_io_close(*io);
			free(io);
		}
	free(io);
}

/* Listen on a free port. Return: 0, and its address. */
static int start_server(struct sockaddr_in *at)
{
	socklen_t length = sizeof(*at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	*at = (struct sockaddr_in){ .sin_family = AF_INET };
	at->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || bind(fd, (struct sockaddr *)at, sizeof(*at)) ||
	    listen(fd, 1024) ||
	    getsockname(fd, (struct sockaddr *)at, &length) ||
	    skua_io_attach(rt, fd, 0, &listener) ||
	    skua_fiber_init(&acceptor, accept_all, 0))
		return -1;
	return skua_task_spawn(rt, &acceptor.task);
}

/* ---- the loop ----------------------------------------------------------------- */

static void on_due(uv_poll_t *due, int status, int events)
{
	(void)due;
	(void)status;
	(void)events;
	skua_runtime_poll(rt, skua_now_ns() + TURN_NS);
}

/* ---- the clients: handles of libuv --------------------------------------------- */

struct client {
	uv_tcp_t tcp;
	uv_connect_t connect;
	uv_write_t write;
	unsigned turn;
	char out[16], in[16];
	size_t received;
};

static struct client clients[CLIENTS];
static unsigned answers, wrong;

static void send_next(struct client *c)
{
	uv_buf_t buffer = uv_buf_init(c->out, sizeof(c->out));

	snprintf(c->out, sizeof(c->out), "message %u", c->turn);
	c->received = 0;
	if (uv_write(&c->write, (uv_stream_t *)&c->tcp, &buffer, 1, NULL))
		wrong++;
}

static void give_buffer(uv_handle_t *handle, size_t size, uv_buf_t *out)
{
	struct client *c = (struct client *)handle->data;

	(void)size;
	*out = uv_buf_init(c->in + c->received,
			   (unsigned)(sizeof(c->in) - c->received));
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buffer)
{
	struct client *c = (struct client *)stream->data;

	(void)buffer;
	c->received += n > 0 ? (size_t)n : 0;
	if (n >= 0 && c->received < sizeof(c->in))
		return;
	answers++;
	wrong += n < 0 || memcmp(c->in, c->out, sizeof(c->in)) != 0;
	if (n < 0 || ++c->turn == TURNS)
		uv_close((uv_handle_t *)stream, NULL);
	else
		send_next(c);
}

static void on_connect(uv_connect_t *connect, int status)
{
	struct client *c = (struct client *)connect->data;

	if (status ||
	    uv_read_start((uv_stream_t *)&c->tcp, give_buffer, on_read)) {
		wrong++;
		uv_close((uv_handle_t *)&c->tcp, NULL);
		return;
	}
	send_next(c);
}

static int start_clients(uv_loop_t *loop, const struct sockaddr_in *at)
{
	int code = 0;

	for (unsigned i = 0; i < CLIENTS && !code; i++) {
		struct client *c = &clients[i];

		code = uv_tcp_init(loop, &c->tcp);
		c->tcp.data = c->connect.data = c;
		if (!code)
			code = uv_tcp_connect(&c->connect, &c->tcp,
					      (const struct sockaddr *)at,
					      on_connect);
	}
	return code;
}

int main(void)
{
	struct skua_config cfg = SKUA_CONFIG_INIT;
	struct sockaddr_in at;
	uv_loop_t loop;
	uv_poll_t due;

	cfg.flags = SKUA_CALLER_DRIVEN;
	if (skua_runtime_create(&rt, &cfg, NULL) || start_server(&at) ||
	    uv_loop_init(&loop) ||
	    uv_poll_init(&loop, &due, skua_runtime_eventfd(rt)) ||
	    uv_poll_start(&due, UV_READABLE, on_due))
		return 1;
	uv_unref((uv_handle_t *)&due); /* uv_run() returns after the clients */
	if (start_clients(&loop, &at))
		return 1;
	uv_run(&loop, UV_RUN_DEFAULT);

	/* The descriptor leaves the loop before the runtime closes it. */
	uv_close((uv_handle_t *)&due, NULL);
	skua_io_close(listener);
	uv_run(&loop, UV_RUN_DEFAULT);
	if (skua_runtime_destroy(rt)) /* lets the fibers end */
		return 1;
	printf("%u answers, %u wrong, ended: %d\n", answers, wrong,
	       uv_loop_close(&loop));
	return 0;
}
