/* SPDX-License-Identifier: MIT */
/* echo_fibers.c [PORT] - an echo server in 40 lines, with a fiber for each connection */
#include <skua/skua.h>

#include <stdio.h>
#include <stdlib.h>

static void echo(void *arg)
{
	struct skua_io *io = (struct skua_io *)arg;
	char data[1024];
	ssize_t n;

	while ((n = skua_io_read(*io, data, 1024, SKUA_FOREVER_NS)) > 0)
		skua_io_write_all(*io, data, (size_t)n, NULL, SKUA_FOREVER_NS);
	skua_io_close(*io);
	free(io);
}

int main(int argc, char **argv)
{
	struct skua_io listener, *io;
	struct skua_runtime *rt;
	struct skua_error err;
	char address[64];

	snprintf(address, sizeof(address), "127.0.0.1:%s",
		 argc > 1 ? argv[1] : "7777");
	if (skua_runtime_create(&rt, NULL, &err) ||
	    skua_listen(rt, address, 0, 0, &listener, &err)) {
		fprintf(stderr, "echo_fibers: %s\n", err.text);
		return 1;
	}
	while ((io = (struct skua_io *)malloc(sizeof(*io))) &&
	       !skua_io_accept(listener, io, NULL, NULL, SKUA_FOREVER_NS))
		if (skua_fiber_spawn(rt, NULL, echo, io))
			return 1;
	return 1;
}
