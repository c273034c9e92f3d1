/* SPDX-License-Identifier: MIT */
/* echo_fibers.c - an echo server in 40 lines, with a fiber for each connection */
#include <skua/skua.h>

#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>

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
	struct sockaddr_in at = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	struct skua_io listener, *io;
	struct skua_runtime *rt;

	at.sin_port = htons((uint16_t)atoi(argc > 1 ? argv[1] : "7777"));
	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(fd, (struct sockaddr *)&at, sizeof(at)) || listen(fd, 1024) ||
	    skua_runtime_create(&rt, NULL, NULL) ||
	    skua_io_attach(rt, fd, 0, &listener))
		return 1;
	while ((io = (struct skua_io *)malloc(sizeof(*io))) &&
	       !skua_io_accept(listener, io, NULL, NULL, SKUA_FOREVER_NS))
		if (skua_fiber_spawn(rt, NULL, echo, io))
			return 1;
	return 1;
}
