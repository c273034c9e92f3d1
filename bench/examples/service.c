/* SPDX-License-Identifier: MIT */
/* service.c - a small service; skua_service(7) explains it */
#include <skua/skua.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECOND UINT64_C(1000000000)

struct connection {
	struct skua_fiber fiber; /* first: serve() casts back */
	struct skua_io io;
	size_t line, used; /* bytes of @in: of the last line, and of all */
	char in[512];
};

static long visits[256];
static struct skua_group connections;
static struct skua_io listener;

/* Return the next line; NULL: the client has left, is silent, or sends no line. */
static char *next_line(struct connection *c)
{
	char *end;
	ssize_t n;

	c->used -= c->line;
	memmove(c->in, c->in + c->line, c->used);
	while (!(end = (char *)memchr(c->in, '\n', c->used))) {
		if (c->used == sizeof(c->in))
			return NULL;
		n = skua_io_read(c->io, c->in + c->used,
				 sizeof(c->in) - c->used,
				 skua_now_ns() + 60 * SECOND);
		if (n <= 0)
			return NULL;
		c->used += (size_t)n;
	}
	*end++ = '\0';
	c->line = (size_t)(end - c->in);
	return c->in;
}

static void serve(struct skua_fiber *self)
{
	struct connection *c = (struct connection *)self;
	char *line, out[64];
	long *count;
	int code;

	while (!skua_task_cancelled(&self->task) && (line = next_line(c))) {
		skua_cancel_mask(); /* the answer is sent in full */
		count = &visits[(unsigned char)line[0]];
		snprintf(out, sizeof(out), "%c: %ld\n", line[0],
			 __atomic_add_fetch(count, 1, __ATOMIC_RELAXED));
		code = skua_io_write_all(c->io, out, strlen(out), NULL,
					 skua_now_ns() + 5 * SECOND);
		skua_cancel_unmask();
		if (code)
			break;
	}
	skua_io_close(c->io);
}

/* The release function of the group: the fiber has ended. */
static void connection_free(struct skua_task *task)
{
	free(SKUA_CONTAINER_OF(task, struct connection, fiber.task));
}

static void accept_all(struct skua_fiber *self)
{
	struct connection *c;
	struct skua_io io;

	(void)self;
	while (!skua_io_accept(listener, &io, NULL, NULL, SKUA_FOREVER_NS)) {
		c = (struct connection *)calloc(1, sizeof(*c));
		if (c && !skua_fiber_init(&c->fiber, serve, 0)) {
			c->io = io;
			if (!skua_group_spawn(&connections, &c->fiber.task))
				continue;
		}
		skua_io_close(io);
		free(c);
	}
}

static void log_line(void *ctx, enum skua_log_level level, const char *text)
{
	(void)ctx;
	(void)level;
	fprintf(stderr, "service: %s\n", text);
}

int main(int argc, char **argv)
{
	static const struct skua_hooks hooks = { .log = log_line };
	struct skua_config config = SKUA_CONFIG_INIT;
	static struct skua_fiber acceptor;
	struct skua_runtime *rt;
	struct skua_error err;
	char address[64];
	sigset_t stop;
	int signal;

	config.hooks = &hooks;
	sigemptyset(&stop);
	sigaddset(&stop, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &stop, NULL); /* in all threads */
	snprintf(address, sizeof(address), "127.0.0.1:%s",
		 argc > 1 ? argv[1] : "7777");
	if (skua_runtime_create(&rt, &config, &err) ||
	    skua_listen(rt, address, 0, 0, &listener, &err)) {
		fprintf(stderr, "service: %s\n", err.text);
		return 1;
	}
	if (skua_group_init(&connections, rt) ||
	    skua_group_set_release(&connections, connection_free) ||
	    skua_fiber_init(&acceptor, accept_all, 0) ||
	    skua_task_spawn(rt, &acceptor.task))
		return 1;
	sigwait(&stop, &signal);
	skua_io_close(listener); /* ends accept_all() */
	skua_task_join(&acceptor.task);
	skua_group_cancel(&connections);
	if (!skua_group_wait_until(&connections, skua_now_ns() + 10 * SECOND))
		puts("all connections have ended");
	return skua_runtime_destroy(rt) != 0;
}
