/* SPDX-License-Identifier: MIT */
/**
 * request.c - a request of several parts, which fails or comes too late, and cleans up
 *
 * A request is a fiber with a group for its parts. The first part that fails cancels the
 * others. If the deadline passes, or the client goes away, the request cancels them
 * itself. In each case it waits for all of them, masking its own cancel meanwhile, and
 * then gives back what it has taken: nothing outlives the request.
 */
#include <skua/skua.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MS    UINT64_C(1000000)
#define PARTS 3u

/* A part of a request: it takes some time, and may fail. */
struct part {
	struct skua_fiber fiber; /* first: the function casts back */
	struct skua_group *group;
	uint64_t takes_ns;
	int error;
};

struct request {
	struct skua_fiber fiber; /* first */
	struct skua_runtime *rt;
	struct skua_group *clients; /* to which the request belongs */
	uint64_t takes_ns, deadline_ns;
	int error; /* of its second part; 0: none */
	int result;
};

/* Connections to a database, of which there are only two. */
static struct skua_semaphore connections;

static void part_main(struct skua_fiber *self)
{
	struct part *part = (struct part *)self;
	/* -ECANCELED: another part has failed, or nobody waits any more. */
	int code = skua_sleep_until(skua_now_ns() + part->takes_ns);

	if (!code)
		code = part->error;
	/* The first error counts, so that of a part that failed. */
	if (code)
		skua_group_fail(part->group, code);
}

static int run_parts(struct request *request, struct skua_group *group)
{
	struct part parts[PARTS];
	int code = 0;

	memset(parts, 0, sizeof(parts));
	for (unsigned i = 0; !code && i < PARTS; i++) {
		parts[i].group = group;
		parts[i].takes_ns = (i + 1) * request->takes_ns;
		parts[i].error = i == 1 ? request->error : 0;
		code = skua_fiber_init(&parts[i].fiber, part_main, 0);
		if (!code)
			code = skua_group_spawn(group, &parts[i].fiber.task);
	}
	if (!code)
		code = skua_group_wait_until(group, request->deadline_ns);
	if (code) {
		/* Too late, or the client is gone. The parts are on this stack, so
		 * the fiber must wait for them, although it is cancelled itself. */
		skua_group_cancel(group);
		skua_cancel_mask();
		skua_group_wait(group);
		skua_cancel_unmask();
	}
	return code ? code : skua_group_error(group);
}

static void request_main(struct skua_fiber *self)
{
	struct request *request = (struct request *)self;
	struct skua_group group;

	request->result =
		skua_semaphore_acquire(&connections, 1, request->deadline_ns);
	if (request->result)
		return; /* nothing to clean up */
	request->result = skua_group_init(&group, request->rt);
	if (!request->result)
		request->result = skua_group_nest(&group, request->clients);
	if (!request->result)
		request->result = run_parts(request, &group);
	skua_semaphore_release(&connections, 1);
}

/* ---- four requests ------------------------------------------------------------ */

static void start(struct request *request, struct skua_runtime *rt,
		  struct skua_group *clients, uint64_t takes_ns,
		  uint64_t limit_ns, int error)
{
	*request = (struct request){ .rt = rt,
				     .clients = clients,
				     .takes_ns = takes_ns,
				     .error = error };
	request->deadline_ns = limit_ns == SKUA_FOREVER_NS
				       ? SKUA_FOREVER_NS
				       : skua_now_ns() + limit_ns;
	if (skua_fiber_init(&request->fiber, request_main, 0) ||
	    skua_group_spawn(clients, &request->fiber.task))
		request->result = -ENOMEM;
}

int main(void)
{
	struct skua_group clients, leaving;
	struct skua_runtime *rt;
	struct request served, failed, late, left;

	if (skua_runtime_create(&rt, NULL, NULL) ||
	    skua_semaphore_init(&connections, 2) ||
	    skua_group_init(&clients, rt) || skua_group_init(&leaving, rt))
		return 1;
	start(&served, rt, &clients, MS, SKUA_FOREVER_NS, 0);
	start(&failed, rt, &clients, MS, SKUA_FOREVER_NS, -EIO);
	start(&late, rt, &clients, 3600000 * MS, 20 * MS, 0);
	skua_group_wait(&clients);
	start(&left, rt, &leaving, 3600000 * MS, SKUA_FOREVER_NS, 0);
	while (skua_semaphore_permits(&connections) == 2)
		skua_sleep_until(skua_now_ns() + MS); /* until it has begun */
	skua_group_cancel(&leaving);
	skua_group_wait(&leaving);
	printf("served: %s\n", strerror(-served.result));
	printf("failed: %s\n", strerror(-failed.result));
	printf("late: %s\n", strerror(-late.result));
	printf("left: %s\n", strerror(-left.result));
	printf("%llu of 2 connections are free\n",
	       (unsigned long long)skua_semaphore_permits(&connections));
	return skua_runtime_destroy(rt) != 0;
}
