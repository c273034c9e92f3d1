/* SPDX-License-Identifier: MIT */
/*
 * chained_spawn.c - each task spawns the next one, and ends
 *
 * An external thread spawns the first task and waits for the last. At most one task is
 * runnable at any time, so that a second worker can only disturb.
 *
 * The time includes the wake-up of the external thread after each chain. It takes 2 us on the
 * CPU of the worker that ran the chain, and 16 us on another CPU that is idle: 2 or 16 ns a
 * task beside the 15 ns of the chain itself, with one worker and with two. So the result
 * depends on where the kernel puts that thread.
 */
#include <errno.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/workloads/batch.h"
#include "bench/workloads/workloads.h"

struct chain {
	struct skua_runtime *rt;
	uint64_t repeat;
	struct chain_link *links;
	struct chain_link *end; /* after the last */
	int err; /* the error of a link; only one runs at a time */
};

struct chain_link {
	alignas(64) struct skua_task task; /* first: it is cast back */
	struct chain *chain;
	uint64_t runs;
};

static enum skua_poll poll_link(struct skua_task *self)
{
	struct chain_link *link = (struct chain_link *)self;
	struct chain_link *next = link + 1;

	link->runs++;
	if (next == link->chain->end)
		return SKUA_DONE;
	skua_task_init(&next->task, poll_link);
	link->chain->err = skua_task_spawn(link->chain->rt, &next->task);
	return SKUA_DONE;
}

static int run_chain(struct chain *chain)
{
	int err = batch_run(chain->rt, &chain->links->task, poll_link);

	return err == 0 ? chain->err : err;
}

/* ---- the workload -------------------------------------------------------- */

static int chain_setup(struct workload_run *run)
{
	const struct batch_options *options = run->options;
	struct chain *chain = run->state;

	run->ops = batch_ops(options);
	chain->rt = run->rt;
	chain->repeat = options->repeat;
	chain->links = aligned_alloc(alignof(struct chain_link),
				     options->tasks * sizeof(*chain->links));
	if (chain->links == NULL)
		return -ENOMEM;
	chain->end = chain->links + options->tasks;
	for (struct chain_link *link = chain->links; link != chain->end; link++)
		link->chain = chain;
	return 0;
}

static void chain_teardown(struct workload_run *run)
{
	struct chain *chain = run->state;

	free(chain->links);
}

static void chain_prepare(struct workload_run *run)
{
	struct chain *chain = run->state;

	for (struct chain_link *link = chain->links; link != chain->end; link++)
		link->runs = 0;
}

static int chain_round(struct workload_run *run)
{
	struct chain *chain = run->state;
	int err = 0;

	for (uint64_t i = 0; err == 0 && i < chain->repeat; i++)
		err = run_chain(chain);
	return err;
}

static bool chain_check(struct workload_run *run)
{
	const struct chain *chain = run->state;

	for (const struct chain_link *link = chain->links; link != chain->end;
	     link++) {
		if (link->runs == chain->repeat)
			continue;
		fprintf(stderr,
			"chained_spawn: task %td ran %ju times, not %ju\n",
			link - chain->links, (uintmax_t)link->runs,
			(uintmax_t)chain->repeat);
		return false;
	}
	return true;
}

static const struct batch_options defaults = { .tasks = 1000, .repeat = 100 };

WORKLOAD(chained_spawn, "Each of 1,000 tasks spawns the next one",
	 ARGS_OPTIONS(BATCH_OPTIONS),
	 .options_size = sizeof(struct batch_options), .defaults = &defaults,
	 .report = &defaults, .report_count = 1, .params = batch_params,
	 WORKLOAD_CALLS(chain, struct chain));
