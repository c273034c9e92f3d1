/* SPDX-License-Identifier: MIT */
/**
 * supervisor.c - a fiber that starts others again when they fail
 *
 * Workers take jobs from a channel. A job that is not valid stands for an error that a
 * worker cannot handle: the worker ends. At its end, each worker sends a report through a
 * second channel. The supervisor joins the worker, and starts it again, unless there are no
 * more jobs, or too many workers were started again. The jobs that wait meanwhile stay in the
 * channel.
 */
#include <skua/skua.h>

#include <errno.h>
#include <stdio.h>

#define JOBS     10000u
#define WORKERS  4u
#define ROOM     16u
#define RESTARTS 200u

struct report {
	unsigned worker;
	int code; /* 0: there are no more jobs */
};

static struct worker {
	struct skua_fiber fiber; /* first: a fiber is its worker */
	unsigned number;
	unsigned long sum;
} workers[WORKERS];

static struct skua_runtime *rt;
static struct skua_channel jobs, reports;
static uint64_t memory_of_jobs[SKUA_CHANNEL_BYTES(ROOM, sizeof(unsigned)) / 8];
/* Each worker reports once before it is started again: none of them waits. */
static uint64_t
	memory_of_reports[SKUA_CHANNEL_BYTES(WORKERS, sizeof(struct report)) /
			  8];
static unsigned restarts;

static int do_job(struct worker *worker, unsigned job)
{
	if (job % 100 == 0)
		return -EBADMSG;
	worker->sum += job;
	return 0;
}

static void work(struct skua_fiber *self)
{
	struct worker *worker = (struct worker *)self;
	struct report report = { .worker = worker->number };
	unsigned job;

	while (!report.code &&
	       !skua_channel_receive(&jobs, &job, SKUA_FOREVER_NS))
		report.code = do_job(worker, job);
	skua_channel_send(&reports, &report, SKUA_FOREVER_NS);
}

static int start(struct worker *worker)
{
	int code = skua_fiber_init(&worker->fiber, work, 0);

	return code ? code : skua_task_spawn(rt, &worker->fiber.task);
}

static void supervise(void *arg)
{
	unsigned running = 0;
	struct report report;

	(void)arg;
	for (unsigned i = 0; i < WORKERS; i++) {
		workers[i].number = i;
		running += start(&workers[i]) == 0;
	}
	while (running > 0 &&
	       !skua_channel_receive(&reports, &report, SKUA_FOREVER_NS)) {
		struct worker *worker = &workers[report.worker];

		/* The worker only has to return. */
		skua_task_join(&worker->fiber.task);
		running--;
		if (report.code && restarts < RESTARTS) {
			restarts++;
			running += start(worker) == 0;
		}
	}
	/* With no worker left, nobody would take the jobs. */
	skua_channel_close(&jobs);
}

static void send_jobs(void *arg)
{
	(void)arg;
	for (unsigned job = 1; job <= JOBS; job++)
		if (skua_channel_send(&jobs, &job, SKUA_FOREVER_NS))
			return;
	skua_channel_close(&jobs);
}

int main(void)
{
	static const struct skua_task_type supervisor =
		SKUA_TASK_TYPE("supervisor");
	static const struct skua_task_type source = SKUA_TASK_TYPE("source");
	unsigned long sum = 0;

	skua_channel_init(&jobs, memory_of_jobs, ROOM, sizeof(unsigned));
	skua_channel_init(&reports, memory_of_reports, WORKERS,
			  sizeof(struct report));
	if (skua_runtime_create(&rt, NULL, NULL) ||
	    skua_fiber_spawn(rt, &supervisor, supervise, NULL) ||
	    skua_fiber_spawn(rt, &source, send_jobs, NULL))
		return 1;
	skua_runtime_drain(rt);
	for (unsigned i = 0; i < WORKERS; i++)
		sum += workers[i].sum;
	printf("%u restarts, and the sum of the other jobs is %lu\n", restarts,
	       sum);
	return skua_runtime_destroy(rt) != 0;
}
