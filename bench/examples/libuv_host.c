/* SPDX-License-Identifier: MIT */
/**
 * libuv_host.c - a libuv loop that hands work to a runtime
 *
 * As with uv_queue_work(), the program passes two functions: one computes, as a task,
 * and the other handles the result on the thread of the loop. The runtime either has
 * workers of its own, or none: then the loop drives it (argument "driven"), and tasks
 * run between callbacks, on the same thread.
 *
 * Copy the part up to host_close() into your program.
 *
 *	cc -O2 -o libuv_host libuv_host.c $(pkg-config --cflags --libs skua libuv)
 *
 * libuv's Debian package is libuv1-dev.
 */
#include <skua/skua.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <uv.h>

/* How long, in nanoseconds, a driven runtime may run before the loop handles its
 * timers and descriptors. */
#define TURN_NS UINT64_C(1000000)

/* Only the thread of the loop uses it, except @results. */
struct host {
	struct skua_runtime *rt;
	uv_async_t arrived;
	uv_poll_t due; /* used only for a driven runtime */
	size_t out;    /* number of submitted pieces of work not yet done */
	struct work
		*results; /* a stack: tasks push, the loop takes all of it */
};

/* A piece of work: the first member of a struct with the arguments and the result. */
struct work {
	struct skua_task task;
	struct host *host;
	void (*done)(struct work *self);
	struct work *next;
};

/*
 * Pass a result to the loop. This is the release function of the task, called when
 * the task has ended. (The end of its poll function would be too early: done() may
 * free the task.)
 */
static void deliver(struct skua_task *task)
{
	struct work *work = SKUA_CONTAINER_OF(task, struct work, task);
	struct host *host = work->host;
	/* Relaxed: the compare-exchange checks the value. */
	struct work *before = __atomic_load_n(&host->results, __ATOMIC_RELAXED);

	/*
	 * Release: publishes the result. Acquire: if the libuv loop has taken the
	 * stack since the last push, this task sees that the libuv loop has cleared
	 * the pending signal. Otherwise uv_async_send() could still find that
	 * signal pending, by a load that nothing orders, and would send nothing.
	 * Both pair with the exchange in on_arrived(). Relaxed on failure: the next
	 * attempt checks again. The loop below repeats when another task has
	 * pushed, or the libuv loop has taken the stack.
	 */
	do {
		work->next = before;
	} while (!__atomic_compare_exchange_n(&host->results, &before, work,
					      true, __ATOMIC_ACQ_REL,
					      __ATOMIC_RELAXED));
	/* From here on, @work belongs to the loop. libuv merges signals, and the
	 * loop takes the whole stack, so one signal for each stack suffices. */
	if (!before)
		uv_async_send(&host->arrived);
}

static void on_arrived(uv_async_t *arrived)
{
	struct host *host = arrived->data;
	/* Acquire: the results. Release: makes visible that libuv has cleared the
	 * signal. Both pair with the compare-exchange in deliver(). */
	struct work *work =
		__atomic_exchange_n(&host->results, NULL, __ATOMIC_ACQ_REL);

	while (work) {
		struct work *next = work->next; /* done() may free @work */

		host->out--;
		work->done(work);
		work = next;
	}
	/* While work is out, the handle keeps uv_run() from returning. */
	if (host->out == 0)
		uv_unref((uv_handle_t *)arrived);
}

/* Run due tasks for a turn. If there is more to do, the descriptor stays readable,
 * and the loop calls this again after its timers and other descriptors. */
static void on_due(uv_poll_t *due, int status, int events)
{
	struct host *host = due->data;

	(void)status;
	(void)events;
	skua_runtime_poll(host->rt, skua_now_ns() + TURN_NS);
}

/* Open a host. Return: 0, or a negative errno value, which is also how libuv
 * encodes errors. After an error, call host_close() as well; if there is no
 * runtime, @err describes the error. */
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

/* Spawn @work as a task that runs @poll. When the task has ended, the loop calls
 * @done, which then owns @work. Return: 0; or a negative errno value, and @done is
 * not called. */
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
	/* A handle that was not initialised is zeroed. */
	if (uv_handle_get_type(handle) != UV_UNKNOWN_HANDLE)
		uv_close(handle, NULL);
}

/*
 * Wait until the submitted work has ended, and call its done(). The caller then runs
 * the loop once more, which closes the handles.
 *
 * Other threads must drop their wakers before this. The descriptor leaves the loop
 * before the runtime closes it. The handle of the signal is closed after the runtime
 * has ended, because a task whose result has arrived may still be in uv_async_send().
 */
static void host_close(struct host *host)
{
	close_handle(&host->due);
	skua_runtime_destroy(host->rt);
	host->rt = NULL; /* a submit by done() then fails */
	on_arrived(&host->arrived);
	close_handle(&host->arrived);
}

/* ---- an example of its use: squares ---------------------------------------- */

#define ITEMS     10000u
#define IN_FLIGHT 64u
#define IDLE_MS   500u

struct item {
	struct work work; /* first: item_done() casts back */
	unsigned n, square, until;
};

static struct host host;
static uv_loop_t loop;
static uv_timer_t timer;
static uv_thread_t loop_thread;
static unsigned next_item, end_item, wrong;
static unsigned char delivered[ITEMS];
/* Writer: the loop. Readers: tasks. Relaxed: a counter that guards no other data. */
static unsigned ticks;

static void on_timer(uv_timer_t *self)
{
	(void)self;
	__atomic_fetch_add(&ticks, 1, __ATOMIC_RELAXED);
}

/* Compute a square. Every 1000th item yields until the timer has fired twice,
 * which shows that timers fire while tasks compute. */
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

/* Submit the items before @end: IN_FLIGHT of them at once, and a further one
 * whenever a result has arrived. */
static void submit_until(unsigned end)
{
	end_item = end;
	for (unsigned i = 0; i < IN_FLIGHT; i++)
		submit_next();
}

/* Run the loop until all results have arrived, while the timer fires every
 * millisecond. */
static void run(void)
{
	uv_timer_start(&timer, on_timer, 1, 1);
	uv_unref((uv_handle_t *)&timer);
	uv_run(&loop, UV_RUN_DEFAULT);
}

/* Run the loop without work, when all threads should sleep. Return: whether the
 * process used less CPU time than a tenth of the time that passed. */
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
	submit_until(ITEMS); /* these are still out when the host closes */

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
