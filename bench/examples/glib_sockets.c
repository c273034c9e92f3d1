/* SPDX-License-Identifier: MIT */
/**
 * glib_sockets.c - a GLib main loop that drives a runtime whose fibers use sockets
 *
 * Everything runs on one thread. The runtime has one descriptor (skua_runtime_eventfd()),
 * which is readable when a task, a timer or a socket of the runtime needs it. A source of
 * the main loop watches it, and drives the runtime for a turn. Another source of the main
 * loop takes turns with it.
 *
 * Pairs of fibers send a number to and fro through sockets. The last one quits the main
 * loop.
 *
 *	cc -O2 -o glib_sockets glib_sockets.c $(pkg-config --cflags --libs skua glib-2.0)
 *
 * GLib's Debian package is libglib2.0-dev.
 */
#include <skua/skua.h>

#include <glib-unix.h>
#include <stdio.h>
#include <sys/socket.h>

/* How long, in nanoseconds, the runtime may run before the main loop handles its own
 * sources. */
#define TURN_NS UINT64_C(1000000)

#define PAIRS 20
#define TURNS 500

struct player {
	struct skua_fiber fiber; /* first: play() casts back */
	struct skua_io io;
	gboolean serves; /* sends first */
};

static struct skua_runtime *rt;
static struct player players[2 * PAIRS];
static GMainLoop *loop;
static unsigned playing = 2 * PAIRS, numbers, wrong, ticks;

static void play(struct skua_fiber *self)
{
	struct player *p = (struct player *)self;
	unsigned expected = p->serves ? 2 : 1, number = 1;
	int code = 0;

	if (p->serves)
		code = skua_io_write_all(p->io, &number, sizeof(number), NULL,
					 SKUA_FOREVER_NS);
	for (; !code && expected < TURNS; expected += 2) {
		code = skua_io_read_exact(p->io, &number, sizeof(number), NULL,
					  SKUA_FOREVER_NS);
		wrong += code || number != expected;
		numbers += !code;
		number++;
		if (!code)
			code = skua_io_write_all(p->io, &number, sizeof(number),
						 NULL, SKUA_FOREVER_NS);
	}
	skua_io_shutdown(p->io, SHUT_WR);
	if (--playing == 0)
		g_main_loop_quit(loop);
}

static int start_pair(unsigned first)
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds))
		return -1;
	for (unsigned i = 0; i < 2; i++) {
		struct player *p = &players[first + i];

		p->serves = i == 0;
		if (skua_io_attach(rt, fds[i], 0, &p->io) ||
		    skua_fiber_init(&p->fiber, play, 0) ||
		    skua_task_spawn(rt, &p->fiber.task))
			return -1;
	}
	return 0;
}

/* ---- the main loop -------------------------------------------------------------- */

static gboolean on_due(gint fd, GIOCondition condition, gpointer data)
{
	(void)fd;
	(void)condition;
	(void)data;
	skua_runtime_poll(rt, skua_now_ns() + TURN_NS);
	return G_SOURCE_CONTINUE;
}

static gboolean on_tick(gpointer data)
{
	(void)data;
	ticks++;
	return G_SOURCE_CONTINUE;
}

int main(void)
{
	struct skua_config cfg = SKUA_CONFIG_INIT;
	guint due, tick;

	cfg.flags = SKUA_CALLER_DRIVEN;
	if (skua_runtime_create(&rt, &cfg, NULL))
		return 1;
	loop = g_main_loop_new(NULL, FALSE);
	due = g_unix_fd_add(skua_runtime_eventfd(rt), G_IO_IN, on_due, NULL);
	tick = g_idle_add_full(G_PRIORITY_DEFAULT, on_tick, NULL, NULL);
	for (unsigned i = 0; i < PAIRS; i++)
		if (start_pair(2 * i))
			return 1;
	g_main_loop_run(loop);

	/* The descriptor leaves the loop before the runtime closes it. */
	g_source_remove(due);
	g_source_remove(tick);
	g_main_loop_unref(loop);
	for (unsigned i = 0; i < 2 * PAIRS; i++)
		skua_io_close(players[i].io);
	if (skua_runtime_destroy(rt))
		return 1;
	printf("%u numbers, %u wrong, the main loop %s\n", numbers, wrong,
	       ticks > 0 ? "ticked" : "stood still");
	return 0;
}
