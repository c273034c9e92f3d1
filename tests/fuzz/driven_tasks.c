/* SPDX-License-Identifier: MIT */
/* driven_tasks.c - the calls on tasks, wakers, groups and timers */
#include "tests/fuzz/driven_steps.h"

/* ---- callbacks ------------------------------------------------------------ */

static enum skua_poll choose_poll(struct model_job *m)
{
	static const enum skua_poll polls[] = { SKUA_DONE, SKUA_PENDING,
						SKUA_PENDING, SKUA_YIELD };
	enum skua_poll poll = polls[below(COUNT_OF(polls))];

	if (poll == SKUA_PENDING && at.finishing)
		poll = SKUA_DONE;
	m->running = false;
	if (poll == SKUA_DONE)
		model_complete(m);
	else if (poll == SKUA_YIELD)
		m->queued = true;
	else if (m->claim == OF_GROUP && !m->has_waited) {
		/* A member of a cancelled group, once more. */
		m->has_waited = true;
		m->queued |= groups[m->claimant].cancelled;
	}
	return poll;
}

static enum skua_poll job_poll(struct skua_task *self)
{
	struct model_job *m = &model_jobs[(struct job *)self - jobs];
	struct model_job *outer = at.self;

	model_timers();
	fuzz_check(m->phase == LIVE && m->queued && !m->running,
		   "job %u was polled, but is not due", index_of(m));
	/* Within another poll only while that one joins it. */
	fuzz_check(m->runtime == at.driven && (!outer || m == at.joined),
		   "job %u: by whom?", index_of(m));
	m->queued = false;
	m->running = true;
	m->runtime->polled++;
	m->cancelled |= m->runtime->cancelling;
	fuzz_check(skua_task_cancelled(self) == m->cancelled,
		   "job %u: cancelled", index_of(m));
	at.self = m;
	at.joined = NULL;
	driven_act();
	at.self = outer;
	return choose_poll(m);
}

static void job_release(struct skua_task *task)
{
	struct model_job *m = &model_jobs[(struct job *)task - jobs];

	model_timers();
	fuzz_check(m->release_owed, "job %u was released", index_of(m));
	model_gone(m);
	/* A shutdown that cancels drops the timers' wakers by itself, and is
	 * no worker then. */
	if (!at.driven || skua_worker_index(at.driven->rt) == 0) {
		bool outer = at.in_release;

		at.in_release = true;
		driven_act();
		at.in_release = outer;
	}
}

static void call_made(void *arg)
{
	struct model_call *call = arg;

	model_timers();
	fuzz_check(call->runtime && call->runtime == at.driven,
		   "call %td was made", call - calls);
	call->runtime->polled++;
	call->runtime = NULL;
	driven_act();
}

/* ---- tasks ---------------------------------------------------------------- */

static void job_init(struct model_job *m)
{
	struct job *job = &jobs[index_of(m)];

	if (m->phase != GONE && m->phase != FRESH)
		return;
	memset(job, 0, sizeof(*job));
	fuzz_check(skua_task_init(&job->task, job_poll) == 0, "init");
	*m = (struct model_job){ .phase = FRESH };
}

/* The program takes memory back that it may take back. */
static void job_free(struct model_job *m)
{
	bool taken_note = m->claim == NOBODYS || m->claim == OF_JOB;
	bool over =
		model_ended(m) && (!m->runtime || (m->covered && taken_note));
	bool timers = false;

	for (unsigned n = 0; n < TIMERS; n++)
		timers |= m->timers[n].pending;
	if ((m->phase == FRESH || over) && !timers)
		model_gone(m);
}

/* Would a spawn be refused? That depends on whose last act the release is. */
static bool unforeseeable(const struct model_runtime *r)
{
	return at.in_release && r->closing;
}

/* The errors of a spawn, those of max_queued only if it is @bounded. */
static struct errors spawn_errors(const struct model_runtime *r, bool bounded)
{
	struct errors errors = { .count = 0 };
	struct skua_stats stats = { 0 };

	skua_runtime_stats(r->rt, &stats);
	/* Of what runs there, only tasks may go on. */
	error_if(&errors, r->closing && (at.driven != r || at.in_poller),
		 -ESHUTDOWN);
	error_if(&errors,
		 bounded && r->max_queued &&
			 stats.injection_depth >= r->max_queued,
		 -EAGAIN);
	return errors;
}

static void model_spawn(struct model_job *m, struct model_runtime *r)
{
	m->phase = LIVE;
	m->queued = true;
	m->runtime = r;
	r->spawned++;
}

static void spawn(struct model_job *m, struct model_runtime *r, bool on)
{
	unsigned worker = on ? below(4) / 3 : 0;
	struct errors errors;
	int code;

	if (m->phase == GONE || !r->rt || unforeseeable(r))
		return;
	errors = spawn_errors(r, !on && !m->urgent);
	error_if(&errors, m->phase != FRESH, -EALREADY);
	error_if(&errors, worker > 0, -EINVAL);
	code = on ? skua_task_spawn_on(r->rt, worker, task_of(m))
		  : skua_task_spawn(r->rt, task_of(m));
	if (result(&errors, code, "spawn"))
		model_spawn(m, r);
}

static void set_urgent(struct model_job *m)
{
	struct errors errors = { .count = 0 };
	bool urgent = below(4) != 0;

	if (m->phase == GONE)
		return;
	error_if(&errors, m->phase != FRESH, -EALREADY);
	if (result(&errors, skua_task_set_urgent(task_of(m), urgent),
		   "set_urgent"))
		m->urgent = urgent;
}

void driven_cancel(struct model_job *m)
{
	struct errors errors = { .count = 0 };

	if (m->phase == GONE)
		return;
	error_if(&errors, m->phase == FRESH, -EINVAL);
	error_if(&errors, m->phase == COMPLETE, -EALREADY);
	if (!result(&errors, skua_task_cancel(task_of(m)), "cancel"))
		return;
	m->cancelled = true;
	m->queued = true;
}

/* The joined task is as it was before it was spawned. */
static void model_joined(struct model_job *m)
{
	struct model_job fresh = { .phase = FRESH, .urgent = m->urgent };

	memcpy(fresh.timers, m->timers, sizeof(fresh.timers));
	*m = fresh;
}

static void join(struct model_job *m)
{
	struct errors errors = { .count = 0 };

	if (m->phase == GONE)
		return;
	error_if(&errors, m->phase == FRESH, -EINVAL);
	error_if(&errors, m->claim != NOBODYS, -EALREADY);
	error_if(&errors, inside(), -EDEADLK);
	if (errors.count == 0 && !model_ended(m))
		return; /* nobody would end it */
	if (result(&errors, skua_task_join(task_of(m)), "join"))
		model_joined(m);
}

static void join_poll(struct model_job *self, struct model_job *m)
{
	bool mine = m->claim == OF_JOB && m->claimant == index_of(self);
	struct errors errors = { .count = 0 };
	bool waits;
	int code;

	if (m->phase == GONE || self->phase == GONE)
		return;
	error_if(&errors, m == self || m->phase == FRESH, -EINVAL);
	error_if(&errors, m->claim != NOBODYS && !mine, -EALREADY);
	error_if(&errors, self != at.self, -EPERM);
	waits = errors.count == 0 && !mine && !model_ended(m);
	if (waits) {
		m->claim = BY_CALL;
		at.joined = m;
	}
	code = skua_task_join_poll(task_of(self), task_of(m));
	at.joined = NULL;
	if (errors.count == 0)
		error_if(&errors, !model_ended(m), -EAGAIN);
	if (waits && !model_ended(m)) {
		m->claim = OF_JOB;
		m->claimant = index_of(self);
		self->references++;
	}
	if (result(&errors, code, "join_poll"))
		model_joined(m);
}

static void detach(struct model_job *m)
{
	skua_release_fn release = below(4) ? job_release : NULL;
	struct errors errors = { .count = 0 };

	if (m->phase == GONE)
		return;
	error_if(&errors, m->claim != NOBODYS, -EALREADY);
	if (errors.count == 0) {
		m->claim = DETACHED;
		m->has_release = release != NULL;
		m->release_owed = model_ended(m) && release;
	}
	result(&errors, skua_task_detach(task_of(m), release), "detach");
}

static void block_on(struct model_job *m, struct model_runtime *r)
{
	struct errors errors;

	if (m->phase == GONE || !r->rt || unforeseeable(r))
		return;
	errors = spawn_errors(r, !m->urgent);
	error_if(&errors, m->phase != FRESH || m->claim != NOBODYS, -EALREADY);
	error_if(&errors, inside(), -EDEADLK);
	if (errors.count == 0)
		return; /* nobody would end it */
	result(&errors, skua_runtime_block_on(r->rt, task_of(m)), "block_on");
}

static void make_call(struct model_runtime *r)
{
	struct model_call *call = &calls[below(CALLS)];
	struct errors errors;
	int code;

	if (call->runtime || !r->rt || unforeseeable(r))
		return;
	errors = spawn_errors(r, true);
	r->memory.failed = false;
	code = skua_call(r->rt, call_made, call);
	error_if(&errors, r->memory.failed, -ENOMEM);
	if (!result(&errors, code, "call"))
		return;
	call->runtime = r;
	r->spawned++;
}

/* ---- wakers --------------------------------------------------------------- */

static void waker_make(unsigned to, struct model_job *m)
{
	struct skua_waker waker;

	if (wakers[to] || m->phase == GONE || m->phase == FRESH ||
	    model_ended(m))
		return;
	waker = skua_task_waker(task_of(m));
	fuzz_check(waker.opaque == (uintptr_t)task_of(m), "waker");
	m->references++;
	wakers[to] = index_of(m) + 1;
}

static void waker_clone(unsigned to, unsigned from)
{
	struct skua_waker waker = { 0 };

	if (wakers[to] || !wakers[from])
		return;
	waker.opaque = (uintptr_t)&jobs[wakers[from] - 1];
	waker = skua_waker_clone(waker);
	fuzz_check(waker.opaque == (uintptr_t)&jobs[wakers[from] - 1], "clone");
	model_jobs[wakers[from] - 1].references++;
	wakers[to] = wakers[from];
}

static void waker_use(unsigned i, bool wake, bool drop)
{
	struct skua_waker waker = { 0 };
	struct model_job *m;

	if (!wakers[i])
		return;
	m = &model_jobs[wakers[i] - 1];
	waker.opaque = (uintptr_t)task_of(m);
	/* First in the model: a release may come of it. */
	if (wake)
		model_wake(m);
	if (drop) {
		wakers[i] = 0;
		model_drop(m);
	}
	if (wake && drop)
		skua_waker_wake(waker);
	else if (wake)
		skua_waker_wake_by_ref(waker);
	else if (drop)
		skua_waker_drop(waker);
}

/* ---- groups --------------------------------------------------------------- */

/* Is a task of it left, whose memory is not yet the program's? */
static bool group_used(const struct model_group *g)
{
	for (unsigned i = 0; i < JOBS; i++) {
		if (model_jobs[i].claim == OF_GROUP &&
		    model_jobs[i].claimant == (unsigned)(g - groups))
			return true;
	}
	return false;
}

static void group_init(struct model_group *g, struct model_runtime *r)
{
	if (!r->rt || group_used(g) || (g->claimed && g->runtime))
		return;
	fuzz_check(skua_group_init(&g->group, r->rt) == 0, "group_init");
	g->runtime = r;
	g->members = 0;
	g->cancelled = false;
	g->claimed = false;
}

static void group_spawn(struct model_group *g, struct model_job *m)
{
	struct errors errors;

	if (!g->runtime || m->phase == GONE || unforeseeable(g->runtime))
		return;
	/* While somebody waits, only members may. */
	if (g->claimed && g->members == 0)
		return;
	errors = spawn_errors(g->runtime, !m->urgent);
	error_if(&errors, m->phase != FRESH || m->claim != NOBODYS, -EALREADY);
	if (!result(&errors, skua_group_spawn(&g->group, task_of(m)),
		    "group_spawn"))
		return;
	model_spawn(m, g->runtime);
	m->claim = OF_GROUP;
	m->claimant = (unsigned)(g - groups);
	m->cancelled = g->cancelled;
	m->has_waited = false;
	g->members++;
}

static void group_cancel(struct model_group *g)
{
	if (!g->runtime)
		return;
	g->cancelled = true;
	for (unsigned i = 0; i < JOBS; i++) {
		struct model_job *m = &model_jobs[i];

		if (m->claim != OF_GROUP ||
		    m->claimant != (unsigned)(g - groups) || m->phase != LIVE)
			continue;
		m->cancelled = true;
		m->queued = true;
	}
	fuzz_check(skua_group_cancel(&g->group) == 0, "group_cancel");
}

/* A wait has returned 0: the group may be used again, and its tasks' memory. */
static void model_group_ended(struct model_group *g)
{
	for (unsigned i = 0; i < JOBS; i++) {
		if (model_jobs[i].claim == OF_GROUP &&
		    model_jobs[i].claimant == (unsigned)(g - groups))
			model_gone(&model_jobs[i]);
	}
	g->claimed = false;
	g->cancelled = false;
}

static void group_wait(struct model_group *g)
{
	struct errors errors = { .count = 0 };

	if (!g->runtime)
		return;
	error_if(&errors, g->claimed, -EALREADY);
	error_if(&errors, inside() && g->members > 0, -EDEADLK);
	if (errors.count == 0 && g->members > 0)
		return; /* nobody would end them */
	if (result(&errors, skua_group_wait(&g->group), "group_wait"))
		model_group_ended(g);
}

static void group_wait_poll(struct model_job *self, struct model_group *g)
{
	bool mine = g->claimed && g->waiter == index_of(self);
	struct errors errors = { .count = 0 };
	int code;

	if (!g->runtime || self->phase == GONE ||
	    (self->claim == OF_GROUP &&
	     self->claimant == (unsigned)(g - groups)))
		return;
	error_if(&errors, g->claimed && !mine, -EALREADY);
	error_if(&errors, self != at.self, -EPERM);
	if (errors.count == 0) {
		error_if(&errors, g->members > 0, -EAGAIN);
		if (!mine && g->members > 0) {
			g->claimed = true;
			g->waiter = index_of(self);
			self->references++;
		}
	}
	code = skua_group_wait_poll(task_of(self), &g->group);
	if (result(&errors, code, "group_wait_poll"))
		model_group_ended(g);
}

/* ---- timers --------------------------------------------------------------- */

static uint64_t choose_time(void)
{
	uint64_t now_ns = skua_now_ns();
	uint64_t n = fuzz_byte(at.in);

	switch (below(6)) {
	case 0:
		return n; /* passed long ago, or 0 */
	case 1:
		return now_ns + n;
	case 2:
		return now_ns + n * 1000;
	case 3:
		return now_ns + n * MS;
	case 4:
		return now_ns + (n << 40);
	default:
		return UINT64_MAX;
	}
}

static void timer_add(struct model_job *self)
{
	unsigned n = below(TIMERS);
	struct model_timer *t = &self->timers[n];
	struct skua_timer *timer = &jobs[index_of(self)].timers[n];
	uint64_t deadline_ns = choose_time();
	struct errors errors = { .count = 0 };

	if (self->phase == GONE || self->lost || at.no_timers)
		return;
	error_if(&errors, self != at.self, -EPERM);
	error_if(&errors, t->pending, -EALREADY);
	if (!result(&errors, skua_timer_add(task_of(self), timer, deadline_ns),
		    "timer_add"))
		return;
	*t = (struct model_timer){ true, deadline_ns, self->runtime };
	self->references++;
}

static void timer_cancel(struct model_job *m)
{
	unsigned n = below(TIMERS);
	struct model_timer *t = &m->timers[n];
	bool pending = t->pending;

	/* The timer may be what a task waits for that has to come to its end. */
	if (m->phase == GONE || m->lost || at.finishing)
		return;
	t->pending = false;
	if (pending)
		model_drop(m);
	fuzz_check(skua_timer_cancel(&jobs[index_of(m)].timers[n]) == pending,
		   "job %u: cancel of a timer that is%s pending", index_of(m),
		   pending ? "" : " not");
}

/* ---- steps ---------------------------------------------------------------- */

void driven_step_of_job(void)
{
	struct model_job *m = choose_job();

	switch (below(12)) {
	case 0:
		set_urgent(m);
		break;
	case 1:
		spawn(m, choose_runtime(), true);
		break;
	case 2:
		driven_cancel(m);
		break;
	case 3:
		join(m);
		break;
	case 4:
		detach(m);
		break;
	case 5:
		block_on(m, choose_runtime());
		break;
	case 6:
		job_free(m);
		break;
	case 7:
		job_init(m);
		break;
	case 8:
		job_init(m);
		detach(m);
		spawn(m, choose_runtime(), false);
		break;
	case 9:
	case 10:
		job_init(m);
		spawn(m, choose_runtime(), false);
		break;
	default:
		spawn(m, choose_runtime(), false);
	}
}

void driven_step_of_waker(void)
{
	unsigned i = below(WAKERS);

	switch (below(8)) {
	case 0:
		waker_clone(i, below(WAKERS));
		break;
	case 1:
		waker_use(i, true, true);
		break;
	case 2:
		waker_use(i, true, false);
		break;
	case 3:
		waker_use(i, false, true);
		break;
	default:
		waker_make(i, choose_self());
	}
}

void driven_step_of_group(void)
{
	struct model_group *g = &groups[below(GROUPS)];
	struct model_job *m;

	switch (below(8)) {
	case 0:
		group_init(g, choose_runtime());
		break;
	case 1:
		group_cancel(g);
		break;
	case 2:
		group_wait(g);
		break;
	case 3:
	case 4:
		group_wait_poll(choose_self(), g);
		break;
	case 5:
		group_spawn(g, choose_job());
		break;
	default:
		if (!g->runtime)
			group_init(g, &runtimes[0]);
		m = choose_job();
		job_init(m);
		group_spawn(g, m);
	}
}

void driven_step_of_timer(void)
{
	if (below(3) == 0)
		timer_cancel(choose_job());
	else
		timer_add(choose_self());
}

void driven_step_of_join(void)
{
	if (below(2))
		join_poll(choose_self(), choose_job());
	else
		make_call(choose_runtime());
}

void driven_drop_waker(unsigned i)
{
	waker_use(i, false, true);
}
