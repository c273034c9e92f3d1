/* SPDX-License-Identifier: MIT */
/**
 * libuv_host.c - a libuv loop that hands work to a runtime
 *
 * As with uv_queue_work(), the program says what is computed as a task, and what
 * the thread of the loop does with the result. The runtime has either workers of
 * its own, or none: then the loop drives it (argument "driven"), and tasks run
 * between callbacks, on the same thread.
 *
 * Copy the part up to host_close() into your program.
 */
#include <skua/skua.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <uv.h>

/* How long a driven runtime keeps the loop from its timers and descriptors. */
#define TURN_NS UINT64_C(1000000)

/* The loop's thread alone uses it, except @results. */
struct host {
	struct skua_runtime *rt;
	uv_async_t arrived;
	uv_poll_t due; /* of a driven runtime only */
	size_t out;    /* work that was submitted, and is not done */
	struct work
		*results; /* a stack: tasks push, the loop takes all of it */
};

/* The first member of a struct with the arguments and the result. */
struct work {
	struct skua_task task;
	struct host *host;
	void (*done)(struct work *self);
	struct work *next;
};

/*
 * The release function of the task: the task has ended. (The end of its poll
 * function would be too early: done() may free the task.)
 */
static void deliver(struct skua_task *task)
{
	struct work *work = SKUA_CONTAINER_OF(task, struct work, task);
	struct host *host = work->host;
	/* Relaxed: the exchange checks it. */
	struct work *before = __atomic_load_n(&host->results, __ATOMIC_RELAXED);

	/*
	 * Release: the result. Acquire: uv_async_send() sends nothing if it finds
	 * a signal pending, by a load that nothing orders; this makes it see that
	 * the loop has cleared the signal, if the loop has taken the stack since.
	 * Both pair with the exchange in on_arrived(). Relaxed on failure: the
	 * next attempt checks again. A failure means that another task has
	 * pushed, or the loop has taken.
	 */
	do {
		work->next = before;
	} while (!__atomic_compare_exchange_n(&host->results, &before, work,
					      true, __ATOMIC_ACQ_REL,
					      __ATOMIC_RELAXED));
	/* From here on @work is the loop's. libuv merges signals, and the loop
	 * takes the whole stack: one signal for each stack suffices. */
	if (!before)
		uv_async_send(&host->arrived);
}

static void on_arrived(uv_async_t *arrived)
{
	struct host *host = arrived->data;
	/* Acquire: the results. Release: that libuv has cleared the signal. Both
	 * pair with the exchange in deliver(). */
	struct work *work =
		__atomic_exchange_n(&host->results, NULL, __ATOMIC_ACQ_REL);

	while (work) {
		struct work *next = work->next; /* done() may free @work */

		host->out--;
		work->done(work);
		work = next;
	}
	/* Work that is out keeps uv_run() from returning. */
	if (host->out == 0)
		uv_unref((uv_handle_t *)arrived);
}

/* While there is more to do, the descriptor stays readable: the loop comes back
 * after its timers and other descriptors. */
static void on_due(uv_poll_t *due, int status, int events)
{
	struct host *host = due->data;

	(void)status;
	(void)events;
	skua_runtime_poll(host->rt, skua_now_ns() + TURN_NS);
}

/* Return: 0, or a negative errno value, as codes of libuv are; close the host then,
 * too. @err says what is wrong if there is no runtime. */
static int host_open(struct host *host, uv_loop_t *loop, bool driven,
		     struct skua_error *err)
{
	struct skua_config cfg = SKUA_CONFIG_INIT;
	int code;

	memset(host, 0, sizeof(*host));
	host->arrived.data = host->due.data = host;
	cfg.flags = driven ? SKUA_CALLER_DRIVEN : 0;
	code = skua_runtime_create(&host->rt, &cfg, err);
	if (!code)
		code = uv_async_init(loop, &host->arrived, on_arrived);
	if (code)
		return code;
	uv_unref((uv_handle_t *)&host->arrived);
	if (!driven)
		return 0;
	code = uv_poll_init(loop, &host->due, skua_runtime_eventfd(host->rt));
	if (code)
		return code;
	uv_unref((uv_handle_t *)&host->due);
	return uv_poll_start(&host->due, UV_READABLE, on_due);
}

/* Spawn @work as a task that runs @poll. The loop calls @done when it has ended, which
 * owns @work then. Return: 0, or a negative errno value: @done is not called. */
static int host_submit(struct host *host, struct work *work, skua_task_fn poll,
		       void (*done)(struct work *self))
{
	int code;

	work->host = host;
	work->done = done;
	skua_task_init(&work->task, poll);
	skua_task_detach(&work->task, deliver);
	code = skua_task_spawn(host->rt, &work->task);
	if (!code && host->out++ == 0)
		uv_ref((uv_handle_t *)&host->arrived);
	return code;
}

static void close_handle(void *handle)
{
	/* One that was not initialised is zeroed. */
	if (uv_handle_get_type(handle) != UV_UNKNOWN_HANDLE)
		uv_close(handle, NULL);
}

/*
 * Wait until the work that is out has ended, and call its done(). The caller then runs
 * the loop once more, which closes the handles.
 *
 * The loop gives the descriptor up before the runtime closes it. The runtime ends
 * before its signal does: a task whose result has arrived may still be sending.
 * Wakers that other threads have are dropped before.
 */
static void host_close(struct host *host)
{
	close_handle(&host->due);
	skua_runtime_destroy(host->rt);
	host->rt = NULL; /* done() submits in vain */
	on_arrived(&host->arrived);
	close_handle(&host->arrived);
}

/* ---- an example of its use: squares ---------------------------------------- */

#define ITEMS     10000u
#define IN_FLIGHT 64u
#define IDLE_MS   500u

struct item {
	struct work work; /* first: work is its item */
	unsigned n, square, until;
};

static struct host host;
static uv_loop_t loop;
static uv_timer_t timer;
static uv_thread_t loop_thread;
static unsigned next_item, end_item, wrong;
static unsigned char delivered[ITEMS];
/* Writer: the loop. Readers: tasks. Relaxed: a number that guards nothing. */
static unsigned ticks;

static void on_timer(uv_timer_t *self)
{
	(void)self;
	__atomic_fetch_add(&ticks, 1, __ATOMIC_RELAXED);
}

/* Some go on until the timer has fired twice: it does while tasks compute. */
static enum skua_poll item_poll(struct skua_task *self)
{
	struct item *item = (struct item *)self;
	unsigned now = __atomic_load_n(&ticks, __ATOMIC_RELAXED);

	if (item->until == 0)
		item->until = now + (item->n % 1000 == 0 ? 2 : 0);
	item->square = item->n * item->n;
	return now < item->until ? SKUA_YIELD : SKUA_DONE;
}

static void submit_next(void);

static void item_done(struct work *work)
{
	struct item *item = (struct item *)work;
	uv_thread_t self = uv_thread_self();

	wrong += item->square != item->n * item->n ||
		 !uv_thread_equal(&self, &loop_thread);
	delivered[item->n]++;
	free(item);
	submit_next();
}

static void submit_next(void)
{
	struct item *item;

	if (next_item == end_item || !(item = calloc(1, sizeof(*item))))
		return;
	item->n = next_item++;
	if (host_submit(&host, &item->work, item_poll, item_done))
		free(item);
}

/* A few at once, and each of the others when one of these has arrived. */
static void submit_until(unsigned end)
{
	end_item = end;
	for (unsigned i = 0; i < IN_FLIGHT; i++)
		submit_next();
}

/* Until all has arrived, while the timer ticks. */
static void run(void)
{
	uv_timer_start(&timer, on_timer, 1, 1);
	uv_unref((uv_handle_t *)&timer);
	uv_run(&loop, UV_RUN_DEFAULT);
}

/* Without work all threads sleep. Return: whether that took next to no CPU time. */
static bool idle(void)
{
	clock_t before = clock();

	uv_timer_start(&timer, on_timer, IDLE_MS, 0);
	uv_ref((uv_handle_t *)&timer);
	uv_run(&loop, UV_RUN_DEFAULT);
	return clock() - before < IDLE_MS / 10 * (CLOCKS_PER_SEC / 1000);
}

int main(int argc, char **argv)
{
	bool driven = argc > 1 && strcmp(argv[1], "driven") == 0;
	struct skua_error error;
	unsigned lost = 0;
	bool asleep;
	int code;

	loop_thread = uv_thread_self();
	if (uv_loop_init(&loop) || uv_timer_init(&loop, &timer))
		return 1;
	code = host_open(&host, &loop, driven, &error);
	if (code) {
		fprintf(stderr, "no host: %s\n",
			host.rt ? uv_strerror(code) : error.text);
		host_close(&host);
		close_handle(&timer);
		uv_run(&loop, UV_RUN_DEFAULT);
		uv_loop_close(&loop);
		return 1;
	}
	submit_until(ITEMS / 2);
	run();
	asleep = idle();
	submit_until(ITEMS - IN_FLIGHT);
	run();
	submit_until(ITEMS); /* the last ones are out when the host closes */

	host_close(&host);
	close_handle(&timer);
	uv_run(&loop, UV_RUN_DEFAULT);
	code = uv_loop_close(&loop);
	for (unsigned n = 0; n < ITEMS; n++)
		lost += delivered[n] != 1;
	printf("%u items, %u not delivered once, %u wrong, %s when idle, ended: %d\n",
	       ITEMS, lost, wrong, asleep ? "asleep" : "spinning", code);
	return code || lost || wrong || !asleep;
}
