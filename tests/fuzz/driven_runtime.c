/* SPDX-License-Identifier: MIT */
/* driven_runtime.c - the life of a runtime, its pollers, and what it says */
#include <poll.h>

#include "tests/fuzz/driven_steps.h"

/* ---- pollers -------------------------------------------------------------- */

static int poller_poll(struct skua_poller *self)
{
	static const int results[] = { SKUA_POLLER_DONE, 0, 1 };
	struct model_poller *p = (struct model_poller *)self;
	int found;

	model_timers();
	fuzz_check(p->runtime == at.driven && !p->running && !at.self,
		   "poller %td was called", p - pollers);
	p->calls++;
	p->running = at.in_poller = true;
	driven_act();
	p->running = at.in_poller = false;
	found = results[below(COUNT_OF(results))];
	if (found == SKUA_POLLER_DONE) {
		p->runtime = NULL;
		memset(&p->poller, 0xa5, sizeof(p->poller));
	}
	return found;
}

static void poller_park(struct skua_poller *self, uint64_t deadline_ns)
{
	(void)self;
	(void)deadline_ns;
	fuzz_check(false, "a caller-driven runtime parked in a poller");
}

/* May come from any thread that wakes; there is nothing to end. */
static void poller_unpark(struct skua_poller *self)
{
	fuzz_check(((struct model_poller *)self)->runtime,
		   "a poller that is not registered was told to wake up");
}

static void poller_add(struct model_runtime *r)
{
	struct model_poller *p = &pollers[below(POLLERS)];
	unsigned kind = below(8);
	unsigned worker = kind == 7;
	struct errors errors = { .count = 0 };

	if (!r->rt || p->runtime || p->running)
		return;
	*p = (struct model_poller){ .poller = { .poll = poller_poll } };
	/* Only one of a worker may park. */
	if (p == &pollers[0]) {
		p->poller.park = poller_park;
		p->poller.unpark = kind == 6 ? NULL : poller_unpark;
	} else if (kind == 6) {
		p->poller.poll = NULL;
	}
	error_if(&errors, kind >= 6, -EINVAL);
	error_if(&errors, r->closing, -ESHUTDOWN);
	if (result(&errors, skua_runtime_add_poller(r->rt, worker, &p->poller),
		   "add_poller"))
		p->runtime = r;
}

static void forget_pollers(const struct model_runtime *r)
{
	for (unsigned i = 0; i < POLLERS; i++) {
		if (pollers[i].runtime == r)
			pollers[i].runtime = NULL;
	}
}

/* ---- the life of a runtime ------------------------------------------------ */

/* A configuration that may be wrong; returns whether it is. */
static bool choose_config(struct skua_config *cfg, const char *cpu,
			  struct skua_allocator *allocator)
{
	static const uint32_t capacities[] = { 0, 4, 8, 256, 3, 2, 65536 };
	static const uint32_t attempts[] = { 0, 1, 1000000, 1000001 };
	static const uint64_t spins[] = {
		0, 1, 1000000000, SKUA_SPIN_NEVER, SKUA_SPIN_FOREVER, 1000000001
	};
	static const uint64_t delays[] = { 0, 1000, SKUA_LIFO_PRIVATE, 999,
					   1000000001 };
	static const char *const lists[] = { NULL, "", "x", "3-1", "65536" };
	unsigned capacity = below(COUNT_OF(capacities));
	unsigned attempt = below(COUNT_OF(attempts));
	unsigned spin = below(COUNT_OF(spins));
	unsigned delay = below(COUNT_OF(delays));
	unsigned list = below(8);
	unsigned other = below(8);

	cfg->queue_capacity = capacities[capacity];
	cfg->steal_attempts = attempts[attempt];
	cfg->spin_ns = spins[spin];
	cfg->lifo_steal_delay_ns = delays[delay];
	cfg->cpus = list < COUNT_OF(lists) ? lists[list] : cpu;
	cfg->workers = other == 1 ? 1 : other == 2 ? 2 : other == 3 ? 5000 : 0;
	cfg->reserved = other == 4;
	cfg->flags |= other == 5 ? 1u << 31 : 0;
	if (other == 6)
		allocator->free = NULL;
	return capacity >= 4 || attempt >= 3 || spin >= 5 || delay >= 3 ||
	       (list > 0 && list < COUNT_OF(lists)) ||
	       (other >= 2 && other <= 6);
}

/* The struct as an older or a newer caller has it; returns if that is wrong. */
static bool choose_size(struct skua_config *cfg, unsigned char *newer)
{
	/* The first version of the struct ended with reserved. */
	static const size_t sizes[] = { sizeof(*cfg),
					sizeof(*cfg) + 8,
					offsetof(struct skua_config, reserved) +
						sizeof(unsigned) - 1,
					0,
					5000,
					SIZE_MAX };
	unsigned choice = below(COUNT_OF(sizes));
	bool set = below(4) == 1;

	cfg->size = sizes[choice];
	*newer = set;
	return choice >= 2 || (choice == 1 && set);
}

static void check_error(const struct skua_error *err, int code)
{
	if (code == 0) {
		fuzz_check(err->code == 0, "an error without one");
		return;
	}
	fuzz_check(err->code == code && err->text[0] &&
			   memchr(err->text, '\0', sizeof(err->text)) &&
			   !strchr(err->text, '\n'),
		   "error %d: \"%s\"", err->code, err->text);
}

static void log_line(void *ctx, enum skua_log_level level, const char *text)
{
	fuzz_check(ctx == &at && level <= SKUA_LOG_INFO && *text &&
			   !strchr(text, '\n'),
		   "log: %d, \"%s\"", (int)level, text);
}

static const struct skua_hooks hooks = { .log = log_line, .ctx = &at };

void driven_create(struct model_runtime *r)
{
	struct {
		struct skua_config cfg;
		unsigned char newer[64];
	} given = { .cfg = SKUA_CONFIG_INIT };
	struct skua_error err = { 0 };
	unsigned kind = below(4);
	bool wrong = false;
	int code;

	if (r->rt)
		return;
	*r = (struct model_runtime){ .rt = NULL };
	model_memory_init(&r->memory);
	given.cfg.flags = SKUA_CALLER_DRIVEN | SKUA_NO_ENV;
	given.cfg.allocator = &r->memory.allocator;
	given.cfg.hooks = &hooks;
	given.cfg.queue_capacity = 4u << below(3);
	given.cfg.max_queued = below(4) == 1 ? 1 + below(8) : 0;
	if (kind == 1)
		wrong = choose_config(&given.cfg, at.cpu, &r->memory.allocator);
	if (kind == 2)
		wrong = choose_size(&given.cfg, given.newer);
	if (kind == 3)
		r->memory.fail_after = below(16);
	r->rt = (struct skua_runtime *)&given;
	code = skua_runtime_create(&r->rt, &given.cfg, &err);
	fuzz_check(code == (wrong              ? -EINVAL
			    : r->memory.failed ? -ENOMEM
					       : 0),
		   "create returned %d: %s", code, err.text);
	fuzz_check((r->rt != NULL) == (code == 0), "out");
	fuzz_check(r->rt || r->memory.count == 0, "%u blocks remain",
		   r->memory.count);
	check_error(&err, code);
	r->max_queued = given.cfg.max_queued;
	fuzz_check(skua_runtime_workers(r->rt) == (r->rt ? 1 : 0), "workers");
}

/* See to it that all tasks of @r come to an end without further calls. */
static void begin_to_finish(struct model_runtime *r)
{
	at.finishing = true;
	for (unsigned i = 0; i < JOBS; i++) {
		struct model_job *m = &model_jobs[i];
		bool comes = m->queued;

		for (unsigned n = 0; n < TIMERS; n++)
			comes |= m->timers[n].pending &&
				 m->timers[n].deadline_ns < UINT64_MAX;
		if (m->runtime == r && m->phase == LIVE && !comes)
			driven_cancel(m);
	}
}

static void enter(struct model_runtime *r)
{
	clock_progress();
	for (unsigned i = 0; i < POLLERS; i++)
		pollers[i].calls = 0;
	at.driven = r;
}

static void leave(void)
{
	at.driven = NULL;
	at.finishing = false;
	model_timers();
}

void driven_poll(struct model_runtime *r)
{
	struct errors errors = { .count = 0 };
	uint64_t deadline_ns = 0;
	int code;

	if (!r->rt || r->stopped)
		return;
	if (inside()) {
		error_if(&errors, true, -EDEADLK);
		result(&errors, skua_runtime_poll(r->rt, 0), "poll");
		return;
	}
	if (below(4) == 3)
		deadline_ns = skua_now_ns() + below(2) * MS;
	enter(r);
	code = skua_runtime_poll(r->rt, deadline_ns);
	leave();
	fuzz_check(code == 0 || (code == 1 && skua_now_ns() >= deadline_ns),
		   "poll returned %d", code);
	r->more = code == 1;
	if (code == 0)
		model_check_idle(r);
}

static void drain(struct model_runtime *r)
{
	struct errors errors = { .count = 0 };

	if (!r->rt || r->stopped)
		return;
	if (inside()) {
		error_if(&errors, true, -EDEADLK);
		result(&errors, skua_runtime_drain(r->rt), "drain");
		return;
	}
	begin_to_finish(r);
	enter(r);
	result(&errors, skua_runtime_drain(r->rt), "drain");
	leave();
	fuzz_check(!model_left(r), "drained, but a task is left");
	model_cover(r);
	r->more = false;
}

/* All that a shutdown that succeeded has brought about. */
static void model_stopped(struct model_runtime *r)
{
	fuzz_check(!model_left(r), "shut down, but a task is left");
	r->stopped = true;
	r->more = false;
	model_cover(r);
	forget_pollers(r);
}

static void shut_down(struct model_runtime *r)
{
	static const uint64_t timeouts[] = { SKUA_FOREVER_NS, 0, MS, 25 * MS };
	uint64_t timeout_ns = timeouts[below(COUNT_OF(timeouts))];
	unsigned how = below(5) / 2;
	struct errors errors = { .count = 0 };
	int code;

	if (!r->rt)
		return;
	error_if(&errors, inside(), -EDEADLK);
	error_if(&errors, how > SKUA_SHUTDOWN_CANCEL, -EINVAL);
	if (errors.count > 0) {
		result(&errors,
		       skua_runtime_shutdown(r->rt, timeout_ns,
					     (enum skua_shutdown)how),
		       "shutdown");
		return;
	}
	if (timeout_ns == SKUA_FOREVER_NS)
		begin_to_finish(r);
	enter(r);
	r->closing = true;
	r->cancelling |= how == SKUA_SHUTDOWN_CANCEL;
	code = skua_runtime_shutdown(r->rt, timeout_ns,
				     (enum skua_shutdown)how);
	leave();
	error_if(&errors, model_left(r) && timeout_ns != SKUA_FOREVER_NS,
		 -ETIMEDOUT);
	if (result(&errors, code, "shutdown"))
		model_stopped(r);
	else
		r->more = false; /* what it says is not known */
}

static bool timers_pending(const struct model_runtime *r)
{
	for (unsigned i = 0; i < JOBS; i++) {
		for (unsigned n = 0; n < TIMERS; n++) {
			const struct model_timer *t = &model_jobs[i].timers[n];

			if (t->pending && t->runtime == r)
				return true;
		}
	}
	return false;
}

/* Whether a timer has fired cannot be asked when its runtime is no more: so
 * there are none, or the runtime is shut down first. */
static void destroy(struct model_runtime *r)
{
	struct errors errors = { .count = 0 };

	if (!r->rt)
		return;
	if (inside()) {
		error_if(&errors, true, -EDEADLK);
		result(&errors, skua_runtime_destroy(r->rt), "destroy");
		return;
	}
	begin_to_finish(r);
	enter(r);
	r->closing = true;
	if (timers_pending(r)) {
		result(&errors,
		       skua_runtime_shutdown(r->rt, SKUA_FOREVER_NS,
					     SKUA_SHUTDOWN_RUN),
		       "shutdown");
		model_timers();
	}
	at.no_timers = true;
	result(&errors, skua_runtime_destroy(r->rt), "destroy");
	at.no_timers = false;
	at.driven = NULL;
	at.finishing = false;
	fuzz_check(!model_left(r), "destroyed, but a task is left");
	fuzz_check(r->memory.count == 0, "%u blocks remain", r->memory.count);
	forget_pollers(r);
	model_destroyed(r);
	model_timers();
}

/* ---- questions ------------------------------------------------------------ */

static void check_stats(const struct model_runtime *r)
{
	struct skua_stats stats;
	struct skua_worker_stats worker;

	if (!r->rt)
		return;
	fuzz_check(skua_runtime_stats(r->rt, &stats) == 0, "stats");
	fuzz_check(skua_runtime_worker_stats(r->rt, 0, &worker) == 0,
		   "worker stats");
	fuzz_check(skua_runtime_worker_stats(r->rt, 1, &worker) == -EINVAL,
		   "stats of no worker");
	fuzz_check(stats.workers == 1 && stats.tasks_spawned == r->spawned,
		   "%" PRIu64 " spawned, not %" PRIu64, stats.tasks_spawned,
		   r->spawned);
	fuzz_check(stats.total.tasks_polled == r->polled &&
			   worker.tasks_polled == r->polled,
		   "%" PRIu64 " polled, not %" PRIu64, stats.total.tasks_polled,
		   r->polled);
	fuzz_check(stats.total.tasks_stolen == 0, "stolen from whom?");
	fuzz_check(skua_worker_index(r->rt) == (at.driven == r ? 0 : -ENOENT),
		   "index of the worker");
}

/* The descriptor is readable when there is something to do. */
static void check_eventfd(const struct model_runtime *r)
{
	struct pollfd fd = { .events = POLLIN };
	bool due = r->more;

	if (!r->rt || r->stopped || inside())
		return;
	fd.fd = skua_runtime_eventfd(r->rt);
	fuzz_check(fd.fd >= 0, "eventfd returned %d", fd.fd);
	for (unsigned i = 0; i < JOBS; i++)
		due |= model_jobs[i].runtime == r && model_due(&model_jobs[i]);
	for (unsigned i = 0; i < CALLS; i++)
		due |= calls[i].runtime == r;
	fuzz_check(!due || poll(&fd, 1, 0) == 1, "nobody would call poll");
}

static enum skua_poll never_polled(struct skua_task *self)
{
	(void)self;
	abort();
}

static void never_released(struct skua_task *task)
{
	(void)task;
	abort();
}

static void never_called(void *arg)
{
	(void)arg;
	abort();
}

/* Arguments that are none, of each call. */
static void check_misuse(const struct model_runtime *r)
{
	struct skua_task task = SKUA_TASK_INIT(NULL);
	struct skua_timer timer = SKUA_TIMER_INIT;
	struct skua_stats stats;
	bool refused;

	refused = skua_task_init(NULL, never_polled) == -EINVAL &&
		  skua_task_init(&task, NULL) == -EINVAL &&
		  skua_task_spawn(NULL, &task) == -EINVAL &&
		  skua_task_spawn(r->rt, &task) == -EINVAL &&
		  skua_task_spawn(r->rt, NULL) == -EINVAL &&
		  skua_task_spawn_on(r->rt, 0, &task) == -EINVAL &&
		  skua_task_set_urgent(NULL, true) == -EINVAL &&
		  skua_task_set_type(NULL, NULL) == -EINVAL &&
		  skua_task_cancel(NULL) == -EINVAL &&
		  skua_task_join(NULL) == -EINVAL &&
		  skua_task_join_poll(NULL, &task) == -EINVAL &&
		  skua_task_detach(NULL, never_released) == -EINVAL &&
		  skua_call(NULL, never_called, NULL) == -EINVAL &&
		  skua_call(r->rt, NULL, NULL) == -EINVAL &&
		  skua_group_init(NULL, r->rt) == -EINVAL &&
		  skua_group_spawn(NULL, &task) == -EINVAL &&
		  skua_group_cancel(NULL) == -EINVAL &&
		  skua_group_wait(NULL) == -EINVAL &&
		  skua_group_wait_poll(&task, NULL) == -EINVAL &&
		  skua_timer_add(NULL, &timer, 0) == -EINVAL &&
		  skua_timer_add(&task, NULL, 0) == -EINVAL &&
		  skua_runtime_stats(NULL, &stats) == -EINVAL &&
		  skua_runtime_stats(r->rt, NULL) == -EINVAL &&
		  skua_runtime_create(NULL, NULL, NULL) == -EINVAL &&
		  skua_runtime_add_poller(r->rt, 0, NULL) == -EINVAL &&
		  skua_runtime_poll(NULL, 0) == -EINVAL &&
		  skua_runtime_eventfd(NULL) == -EINVAL &&
		  skua_runtime_drain(NULL) == -EINVAL &&
		  skua_runtime_destroy(NULL) == -EINVAL &&
		  skua_worker_index(NULL) == -EINVAL &&
		  skua_runtime_workers(NULL) == 0;
	fuzz_check(refused, "NULL is not refused as it has to be");
	fuzz_check(!skua_timer_cancel(NULL) && !skua_timer_cancel(&timer) &&
			   !skua_timer_pending(NULL) &&
			   !skua_timer_pending(&timer) &&
			   !skua_task_cancelled(NULL) &&
			   !skua_task_waker(NULL).opaque,
		   "NULL is something");
	skua_waker_wake((struct skua_waker){ 0 });
	skua_waker_wake_by_ref((struct skua_waker){ 0 });
	skua_waker_drop((struct skua_waker){ 0 });
}

/* ---- steps ---------------------------------------------------------------- */

void driven_step_of_runtime(void)
{
	struct model_runtime *r = choose_runtime();

	switch (below(16)) {
	case 0:
		drain(r);
		break;
	case 1:
		shut_down(r);
		break;
	case 2:
		destroy(r);
		break;
	case 3:
		driven_create(r);
		break;
	case 4:
		check_misuse(r);
		break;
	case 5:
		r->memory.fail_after = below(4);
		break;
	case 6:
		check_eventfd(r);
		break;
	case 7:
		poller_add(r);
		break;
	case 8:
		check_stats(r);
		break;
	default:
		driven_poll(r);
	}
}

void driven_finish(struct model_runtime *r)
{
	check_stats(r);
	check_eventfd(r);
	destroy(r);
}
