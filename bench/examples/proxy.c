/* SPDX-License-Identifier: MIT */
/**
 * proxy.c - a TCP proxy with timeouts
 *
 *	example_proxy PORT TARGET_PORT IDLE_MS
 *
 * Passes connections on to another port of 127.0.0.1. Each has two fibers, one for each
 * direction. The proxy gives up
 * - a connect after CONNECT_MS
 * - a client that takes nothing for WRITE_MS
 * - a connection in which neither side has sent anything for IDLE_MS
 *
 * The end of one direction is passed on (skua_io_shutdown()), and the other one goes on.
 */
#include <skua/skua.h>

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#define MS         UINT64_C(1000000)
#define CONNECT_MS 2000
#define WRITE_MS   30000

static struct skua_runtime *rt;
static struct sockaddr_in target;
static uint64_t idle_ns;

/* A connection, which the two fibers share. */
struct pair {
	struct skua_io client;
	struct skua_io server;
	/* Writers and readers: both fibers. Relaxed: a time that guards nothing. */
	uint64_t last_ns;
	/* Fibers that use this. Acquire and release: the last one frees it. */
	unsigned users;
};

static void pair_leave(struct pair *pair)
{
	if (__atomic_sub_fetch(&pair->users, 1, __ATOMIC_ACQ_REL) > 0)
		return;
	skua_io_close(pair->client);
	skua_io_close(pair->server);
	free(pair);
}

/* Read. Return: as skua_io_read(); -ETIMEDOUT only if both directions are idle. */
static ssize_t read_some(struct pair *pair, struct skua_io from, char *buffer,
			 size_t size)
{
	uint64_t until_ns, last_ns;
	ssize_t n;

	do {
		last_ns = __atomic_load_n(&pair->last_ns, __ATOMIC_RELAXED);
		until_ns = last_ns + idle_ns;
		n = skua_io_read(from, buffer, size, until_ns);
	} while (n == -ETIMEDOUT &&
		 __atomic_load_n(&pair->last_ns, __ATOMIC_RELAXED) != last_ns);
	if (n > 0)
		__atomic_store_n(&pair->last_ns, skua_now_ns(),
				 __ATOMIC_RELAXED);
	return n;
}

static void pass(struct pair *pair, struct skua_io from, struct skua_io to)
{
	char buffer[16384];
	ssize_t n;

	while ((n = read_some(pair, from, buffer, sizeof(buffer))) > 0)
		if (skua_io_write_all(to, buffer, (size_t)n, NULL,
				      skua_now_ns() + WRITE_MS * MS))
			break;
	skua_io_shutdown(to, n == 0 ? SHUT_WR : SHUT_RDWR);
	if (n != 0) /* failed, or idle: end the other direction, too */
		skua_io_shutdown(from, SHUT_RDWR);
	pair_leave(pair);
}

static void pass_answers(void *arg)
{
	struct pair *pair = (struct pair *)arg;

	pass(pair, pair->server, pair->client);
}

/* Connect to the target, and pass on what the client sends. */
static void serve(void *arg)
{
	struct pair *pair = (struct pair *)arg;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd >= 0 && skua_io_attach(rt, fd, 0, &pair->server) == 0 &&
	    skua_io_connect(pair->server, (struct sockaddr *)&target,
			    sizeof(target),
			    skua_now_ns() + CONNECT_MS * MS) == 0) {
		pair->last_ns = skua_now_ns();
		pair->users = 2;
		if (skua_fiber_spawn(rt, NULL, pass_answers, pair) == 0) {
			pass(pair, pair->client, pair->server);
			return;
		}
		pair->users = 1;
	}
	pair_leave(pair);
}

static int listen_at(uint16_t port, struct skua_io *out)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	at.sin_port = htons(port);
	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) ||
	    listen(fd, 1024))
		return -errno;
	return skua_io_attach(rt, fd, 0, out);
}

static int start(struct skua_io client)
{
	struct pair *pair = (struct pair *)calloc(1, sizeof(*pair));

	if (pair) {
		pair->client = client;
		pair->server = (struct skua_io)SKUA_IO_INIT;
		pair->users = 1;
		if (!skua_fiber_spawn(rt, NULL, serve, pair))
			return 0;
		free(pair);
	}
	return skua_io_close(client);
}

int main(int argc, char **argv)
{
	struct skua_io listener, client;
	int code;

	if (argc != 4) {
		fputs("Usage: proxy PORT TARGET_PORT IDLE_MS\n", stderr);
		return 2;
	}
	target.sin_family = AF_INET;
	target.sin_port = htons((uint16_t)atoi(argv[2]));
	target.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	idle_ns = strtoul(argv[3], NULL, 10) * MS;
	code = skua_runtime_create(&rt, NULL, NULL);
	if (!code)
		code = listen_at((uint16_t)atoi(argv[1]), &listener);
	while (!code) {
		code = skua_io_accept(listener, &client, NULL, NULL,
				      SKUA_FOREVER_NS);
		if (!code)
			code = start(client);
	}
	fprintf(stderr, "proxy: error %d\n", -code);
	return 1;
}
