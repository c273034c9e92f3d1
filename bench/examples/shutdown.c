/* SPDX-License-Identifier: MIT */
/**
 * shutdown.c - connections that come and go, and a shutdown that ends all of them
 *
 * A listener accepts connections. Some end soon; the other ones are idle until they
 * are cancelled. All are members of one group, which frees each connection when it
 * ends. So the shutdown is three calls: cancel the group, wait for it until a
 * deadline, destroy the runtime.
 */
#include <skua/skua.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define MS   UINT64_C(1000000)
#define HOUR (3600000 * MS)

static struct skua_group members;

struct connection {
	struct skua_task task;
	struct skua_timer timer;
	uint64_t idle_ns; /* how long its client sends nothing */
	bool waited;
};

/* The release function of the group: the task has ended, and no other thread uses
 * its memory. */
static void connection_free(struct skua_task *task)
{
	free(SKUA_CONTAINER_OF(task, struct connection, task));
}

static enum skua_poll connection_poll(struct skua_task *self)
{
	struct connection *it =
		SKUA_CONTAINER_OF(self, struct connection, task);

	if (skua_task_cancelled(self)) {
		/* A pending timer counts as a waker of the task, and would keep it
		 * from ending. */
		skua_timer_cancel(&it->timer);
		return SKUA_DONE;
	}
	if (it->waited && !skua_timer_pending(&it->timer))
		return SKUA_DONE;
	if (!it->waited)
		skua_timer_add(self, &it->timer, skua_now_ns() + it->idle_ns);
	it->waited = true;
	return SKUA_PENDING;
}

static void accept_one(unsigned number)
{
	struct connection *it = calloc(1, sizeof(*it));

	if (!it)
		return;
	skua_task_init(&it->task, connection_poll);
	it->idle_ns = number % 4 ? number % 16 * MS : HOUR;
	if (skua_group_spawn(&members, &it->task))
		free(it);
}

/* Accepts ten connections each millisecond. The listener is a member of the group
 * itself. Whether the cancel reaches it first or last does not matter: connections
 * that it spawns later are cancelled as well. */
struct listener {
	struct connection base;
	unsigned accepted;
};

static enum skua_poll listener_poll(struct skua_task *self)
{
	struct listener *it =
		SKUA_CONTAINER_OF(self, struct listener, base.task);

	if (skua_task_cancelled(self)) {
		skua_timer_cancel(&it->base.timer);
		return SKUA_DONE;
	}
	if (skua_timer_pending(&it->base.timer))
		return SKUA_PENDING;
	for (unsigned i = 0; i < 10; i++)
		accept_one(it->accepted++);
	skua_timer_add(self, &it->base.timer, skua_now_ns() + MS);
	return SKUA_PENDING;
}

static int listen_in(struct skua_runtime *rt)
{
	struct listener *it = calloc(1, sizeof(*it));

	if (!it)
		return -1;
	skua_task_init(&it->base.task, listener_poll);
	if (skua_group_init(&members, rt) ||
	    skua_group_set_release(&members, connection_free) ||
	    skua_group_spawn(&members, &it->base.task)) {
		free(it);
		return -1;
	}
	return 0;
}

int main(void)
{
	struct timespec service = { .tv_nsec = 100 * (long)MS };
	struct skua_runtime *rt;

	if (skua_runtime_create(&rt, NULL, NULL) || listen_in(rt))
		return 1;
	nanosleep(&service, NULL);

	printf("%s\n", skua_group_live(&members) > 10 ? "connections are there"
						      : "nobody came");
	skua_group_cancel(&members);
	if (skua_group_wait_until(&members, skua_now_ns() + 10000 * MS))
		printf("left: %llu connections\n",
		       (unsigned long long)skua_group_live(&members));
	else
		printf("all have ended\n");
	return skua_runtime_destroy(rt) != 0;
}
