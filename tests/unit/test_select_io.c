/* SPDX-License-Identifier: MIT */
/* test_select_io.c - descriptors as cases of a select */
#include <errno.h>
#include <poll.h>

#include "skua/select.h"
#include "tests/unit/pairs.h"

#define SOON_NS UINT64_C(3000000)

/* Cases for the two directions of a descriptor and for an event. */
enum { READABLE, WRITABLE, EVENT, CASES };

/* A socket that is empty and full, whose other end is @far. */
struct world {
	struct skua_io near, far;
	struct skua_event event;
	struct skua_select_case cases[CASES];
	uint64_t deadline_ns;
	/* Of a poll. */
	struct skua_task task;
	struct skua_select select;
	struct skua_wait wait;
	int result, cancelled;
	unsigned polls;
};

static void world_init(struct world *w, struct skua_runtime *rt)
{
	struct pair pair;

	memset(w, 0, sizeof(*w));
	pair_open(rt, &pair, PAIR_UNIX);
	w->near = pair.ends[0];
	w->far = pair.ends[1];
	(void)fill(w->near);
	w->cases[READABLE] = (struct skua_select_case)SKUA_SELECT_CASE(
		SKUA_SELECT_IO, &w->near, NULL, POLLIN);
	w->cases[WRITABLE] = (struct skua_select_case)SKUA_SELECT_CASE(
		SKUA_SELECT_IO, &w->near, NULL, POLLOUT);
	w->cases[EVENT] = (struct skua_select_case)SKUA_SELECT_CASE(
		SKUA_SELECT_EVENT, &w->event, NULL, 0);
	w->select = (struct skua_select){ .cases = w->cases, .count = CASES };
	w->deadline_ns = SKUA_FOREVER_NS;
}

static void drain(struct skua_io io)
{
	char bytes[4096];

	while (skua_io_read_try(io, bytes, sizeof(bytes)) > 0)
		;
}

static void make_ready(struct world *w, unsigned at)
{
	if (at == READABLE)
		assert_int_equal(skua_io_write_try(w->far, "x", 1), 1);
	else if (at == WRITABLE)
		drain(w->far);
	else
		assert_int_equal(skua_event_set(&w->event), 0);
}

static void wait_until_armed(struct world *w)
{
	wait_for_wait(w->near, IO_READ);
	wait_for_wait(w->near, IO_WRITE);
	wait_for_waiters(&w->event.waiters, 1);
}

/* Nobody uses the descriptor, and what the select did not take is there. @made: the case
 * that is ready; CASES: none */
static void check_world(struct world *w, unsigned made)
{
	char byte = 0;

	assert_null(w->event.waiters.first);
	for (enum io_direction way = IO_READ; way <= IO_WRITE; way++)
		assert_int_equal(io_word(w->near, way) & IO_OWNER, IO_FREE);
	assert_int_equal(skua_io_read_try(w->near, &byte, 1),
			 made == READABLE ? 1 : -EAGAIN);
	assert_int_equal(skua_io_write_try(w->near, "y", 1),
			 made == WRITABLE ? 1 : -EAGAIN);
	io_close(w->near);
	io_close(w->far);
}

static int expected_code(unsigned at)
{
	return at == READABLE ? POLLIN : at == WRITABLE ? POLLOUT : 0;
}

static int select_all(struct user *it)
{
	struct world *w = it->object;

	return skua_select(w->cases, CASES, it->number, w->deadline_ns);
}

static enum skua_poll poll_select(struct skua_task *self)
{
	struct world *w = SKUA_CONTAINER_OF(self, struct world, task);

	w->polls++;
	w->result =
		skua_select_poll(self, &w->select, &w->wait, w->deadline_ns);
	return w->result == -EAGAIN ? SKUA_PENDING : SKUA_DONE;
}

static void spawn_poll(struct world *w, struct skua_runtime *rt)
{
	w->task = (struct skua_task)SKUA_TASK_INIT(poll_select);
	spawn(rt, &w->task);
}

/* ---- arguments -------------------------------------------------------------- */

TEST(select_io__null_or_other_events__einval)
{
	struct skua_io none = SKUA_IO_INIT;
	const uint64_t bad[] = { 0,
				 POLLIN | POLLOUT,
				 POLLPRI,
				 POLLHUP,
				 (UINT64_C(1) << 32) | POLLIN,
				 UINT64_MAX };
	struct skua_select_case it =
		SKUA_SELECT_CASE(SKUA_SELECT_IO, NULL, NULL, POLLIN);

	assert_int_equal(skua_select_try(&it, 1, 0), -EINVAL);
	assert_int_equal(skua_select(&it, 1, 0, 0), -EINVAL);
	it.object = &none;
	for (unsigned i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		it.amount = bad[i];
		assert_int_equal(skua_select_try(&it, 1, 0), -EINVAL);
		assert_int_equal(skua_select(&it, 1, 0, 0), -EINVAL);
	}
	/* A handle of no descriptor is an error of its case. */
	it.amount = POLLIN;
	assert_int_equal(skua_select_try(&it, 1, 0), 0);
	assert_int_equal(it.code, -EBADF);
	it.code = 0;
	assert_int_equal(skua_select(&it, 1, 0, SKUA_FOREVER_NS), 0);
	assert_int_equal(it.code, -EBADF);
}

/* ---- one of the cases --------------------------------------------------------- */

TEST(select_io__ready_before__taken_at_once)
{
	struct skua_runtime *rt = runtime_new(1, 0);

	for (unsigned at = 0; at < CASES; at++) {
		struct world w;

		world_init(&w, rt);
		assert_int_equal(skua_select_try(w.cases, CASES, 0), -EAGAIN);
		make_ready(&w, at);
		assert_int_equal(skua_select_try(w.cases, CASES, 0), at);
		assert_int_equal(w.cases[at].code, expected_code(at));
		/* It is still there. */
		assert_int_equal(
			skua_select(w.cases, CASES, 0, SKUA_FOREVER_NS), at);
		assert_int_equal(w.cases[at].code, expected_code(at));
		check_world(&w, at);
	}
	destroy(rt);
}

TEST(select_io__ready_while_waiting__wakes)
{
	struct skua_runtime *rt = runtime_new(1, 0);

	for (unsigned i = 0; i < 4 * CASES; i++) {
		struct user it = { .number = i / 2 % 2 ? SKUA_SELECT_IN_ORDER
						       : 0 };
		unsigned at = i / 4;
		struct world w;

		world_init(&w, rt);
		user_start(&it, rt, i % 2, select_all, &w);
		wait_until_armed(&w);
		make_ready(&w, at);
		assert_int_equal(user_end(&it), at);
		assert_int_equal(w.cases[at].code, expected_code(at));
		check_world(&w, at);
	}
	destroy(rt);
}

TEST(select_io__ready_while_a_poll_waits__wakes)
{
	struct skua_runtime *rt = runtime_new(1, 0);

	for (unsigned at = 0; at < CASES; at++) {
		struct world w;

		world_init(&w, rt);
		spawn_poll(&w, rt);
		wait_until_armed(&w);
		make_ready(&w, at);
		join(&w.task);
		assert_int_equal(w.result, at);
		assert_int_equal(w.cases[at].code, expected_code(at));
		check_world(&w, at);
	}
	destroy(rt);
}

/* The other side shuts its end: what poll() says of it. */
TEST(select_io__end_of_the_other_side__its_events)
{
	struct skua_runtime *rt = runtime_new(1, 0);

	for (unsigned is_fiber = 0; is_fiber < 2; is_fiber++) {
		struct user it = { 0 };
		struct world w;

		world_init(&w, rt);
		user_start(&it, rt, is_fiber, select_all, &w);
		wait_until_armed(&w);
		assert_int_equal(skua_io_shutdown(w.far, SHUT_WR), 0);
		assert_int_equal(user_end(&it), READABLE);
		assert_int_equal(w.cases[READABLE].code, POLLIN | POLLRDHUP);
		io_close(w.near);
		io_close(w.far);
	}
	destroy(rt);
}

/* ---- none of them ------------------------------------------------------------- */

TEST(select_io__deadline__no_effect)
{
	struct skua_runtime *rt = runtime_new(1, 0);

	for (unsigned i = 0; i < 5; i++) {
		struct world w;

		world_init(&w, rt);
		w.deadline_ns = i == 0 ? 0 : skua_now_ns() + SOON_NS;
		if (i < 3) {
			assert_int_equal(user_run(rt, i == 1, select_all, &w),
					 -ETIMEDOUT);
		} else {
			spawn_poll(&w, rt);
			join(&w.task);
			assert_int_equal(w.result, -ETIMEDOUT);
		}
		check_world(&w, CASES);
	}
	destroy(rt);
}

TEST(select_io__cancelled__no_effect)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct user it = { 0 };
	struct world w;

	world_init(&w, rt);
	user_start(&it, rt, true, select_all, &w);
	wait_until_armed(&w);
	assert_int_equal(skua_task_cancel(&it.fiber.task), 0);
	assert_int_equal(user_end(&it), -ECANCELED);
	check_world(&w, CASES);

	world_init(&w, rt);
	spawn_poll(&w, rt);
	wait_until_armed(&w);
	assert_int_equal(skua_task_cancel(&w.task), 0);
	join(&w.task);
	assert_int_equal(w.result, -ECANCELED);
	check_world(&w, CASES);
	destroy(rt);
}

static enum skua_poll poll_withdraw(struct skua_task *self)
{
	struct world *w = SKUA_CONTAINER_OF(self, struct world, task);

	w->result =
		skua_select_poll(self, &w->select, &w->wait, w->deadline_ns);
	w->cancelled = skua_wait_cancel(self, &w->wait);
	return SKUA_DONE;
}

TEST(select_io__wait_cancelled_by_its_poll__withdrawn)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct world w;

	world_init(&w, rt);
	w.task = (struct skua_task)SKUA_TASK_INIT(poll_withdraw);
	spawn(rt, &w.task);
	join(&w.task);
	assert_int_equal(w.result, -EAGAIN);
	assert_int_equal(w.cancelled, 0);
	assert_false(skua_wait_armed(&w.wait));
	check_world(&w, CASES);
	destroy(rt);
}

/* ---- others ------------------------------------------------------------------- */

/* Two cases are granted before the select runs: one takes effect, and the other direction
 * is free, and ready. */
struct both {
	struct skua_task task; /* first */
	struct world *world;
};

/* In a poll, on the worker of the fiber that selects. */
static enum skua_poll make_all_ready(struct skua_task *self)
{
	struct world *w = ((struct both *)self)->world;

	make_ready(w, READABLE);
	make_ready(w, WRITABLE);
	make_ready(w, EVENT);
	return SKUA_DONE;
}

TEST(select_io__all_ready__one_effect)
{
	struct skua_runtime *rt = runtime_new(1, 0);

	for (unsigned run = 0; run < 50; run++) {
		struct user it = { 0 };
		struct world w;
		struct both both = { SKUA_TASK_INIT(make_all_ready), &w };
		char byte;
		int at;

		world_init(&w, rt);
		user_start(&it, rt, true, select_all, &w);
		wait_until_armed(&w);
		spawn(rt, &both.task);
		join(&both.task);
		at = user_end(&it);
		assert_in_range(at, 0, EVENT);
		assert_int_equal(w.cases[at].code, expected_code((unsigned)at));
		assert_int_equal(skua_io_read_try(w.near, &byte, 1), 1);
		assert_int_equal(skua_io_write_try(w.near, "y", 1), 1);
		assert_null(w.event.waiters.first);
		io_close(w.near);
		io_close(w.far);
	}
	destroy(rt);
}

TEST(select_io__closed__ebadf)
{
	struct skua_runtime *rt = runtime_new(1, 0);

	for (unsigned i = 0; i < 4; i++) {
		struct user it = { 0 };
		struct world w;
		int at;

		world_init(&w, rt);
		if (i < 3)
			user_start(&it, rt, i % 2, select_all, &w);
		else
			spawn_poll(&w, rt);
		wait_until_armed(&w);
		if (i < 2)
			io_close(w.near);
		else
			assert_int_equal(close(skua_io_detach(w.near)), 0);
		if (i == 3)
			join(&w.task);
		at = i < 3 ? user_end(&it) : w.result;
		assert_in_range(at, READABLE, WRITABLE);
		assert_int_equal(w.cases[at].code, -EBADF);
		/* Again, at once. */
		at = skua_select(w.cases, CASES, 0, SKUA_FOREVER_NS);
		assert_in_range(at, READABLE, WRITABLE);
		assert_int_equal(w.cases[at].code, -EBADF);
		assert_null(w.event.waiters.first);
		io_close(w.far);
	}
	destroy(rt);
}

/* The number of a closed descriptor is used again: the handle stays refused. */
TEST(select_io__number_used_again__ebadf)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct world w, again;

	world_init(&w, rt);
	io_close(w.near);
	io_close(w.far);
	world_init(&again, rt);
	assert_int_equal(again.near.fd, w.near.fd);
	assert_int_equal(skua_select(w.cases, 1, 0, SKUA_FOREVER_NS), 0);
	assert_int_equal(w.cases[0].code, -EBADF);
	check_world(&again, CASES);
	destroy(rt);
}

static int read_one(struct user *it)
{
	char byte;

	return (int)skua_io_read(*(struct skua_io *)it->object, &byte, 1,
				 SKUA_FOREVER_NS);
}

/* One at a time uses a direction, also in a select; also of the same select. */
TEST(select_io__direction_in_use__ebusy)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct user it = { 0 };
	struct world w;
	char byte;

	world_init(&w, rt);
	user_start(&it, rt, true, read_one, &w.near);
	wait_for_wait(w.near, IO_READ);
	assert_int_equal(skua_select(w.cases, CASES, 0, SKUA_FOREVER_NS),
			 READABLE);
	assert_int_equal(w.cases[READABLE].code, -EBUSY);
	make_ready(&w, READABLE);
	assert_int_equal(user_end(&it), 1);

	user_start(&it, rt, true, select_all, &w);
	wait_until_armed(&w);
	assert_int_equal(skua_io_read_try(w.near, &byte, 1), -EBUSY);
	make_ready(&w, EVENT);
	assert_int_equal(user_end(&it), EVENT);

	w.cases[WRITABLE] = w.cases[READABLE];
	assert_int_equal(skua_event_reset(&w.event), 0);
	assert_int_equal(skua_select(w.cases, CASES, SKUA_SELECT_IN_ORDER,
				     SKUA_FOREVER_NS),
			 WRITABLE);
	assert_int_equal(w.cases[WRITABLE].code, -EBUSY);
	check_world(&w, CASES);
	destroy(rt);
}

/* ---- budget ------------------------------------------------------------------- */

struct greedy {
	struct skua_fiber fiber; /* first */
	struct world *world;
	atomic_u32 stop;
	unsigned selects;
};

static void select_greedily(struct skua_fiber *self)
{
	struct greedy *it = (struct greedy *)self;

	/* Relaxed: a flag. */
	while (!atomic_load_relaxed(&it->stop)) {
		it->selects++;
		assert_int_equal(skua_select(it->world->cases, CASES, 0,
					     SKUA_FOREVER_NS),
				 READABLE);
	}
}

static enum skua_poll stop_greedy(struct skua_task *self)
{
	struct greedy *it = (struct greedy *)((struct both *)self)->world;

	atomic_store_relaxed(&it->stop, 1);
	return SKUA_DONE;
}

/* A fiber that finds a descriptor ready again and again lets others run. */
TEST(select_io__always_ready__others_run)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct world w;
	struct greedy it = { .world = &w };
	struct both other = { SKUA_TASK_INIT(stop_greedy),
			      (struct world *)&it };

	world_init(&w, rt);
	make_ready(&w, READABLE);
	assert_int_equal(skua_fiber_init(&it.fiber, select_greedily, 0), 0);
	spawn(rt, &it.fiber.task);
	spawn(rt, &other.task);
	join(&other.task);
	join(&it.fiber.task);
	check_world(&w, READABLE);
	destroy(rt);
}

static enum skua_poll poll_greedily(struct skua_task *self)
{
	struct world *w = SKUA_CONTAINER_OF(self, struct world, task);

	w->polls++;
	do
		w->result = skua_select_poll(self, &w->select, &w->wait,
					     SKUA_FOREVER_NS);
	while (w->result == READABLE && w->polls < 3);
	if (w->polls < 3)
		assert_false(skua_wait_armed(&w->wait));
	return w->polls < 3 ? SKUA_PENDING : SKUA_DONE;
}

TEST(select_io__always_ready_in_polls__runs_again)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct world w;

	world_init(&w, rt);
	make_ready(&w, READABLE);
	w.task = (struct skua_task)SKUA_TASK_INIT(poll_greedily);
	spawn(rt, &w.task);
	join(&w.task);
	assert_int_equal(w.polls, 3);
	assert_int_equal(w.result, READABLE);
	check_world(&w, READABLE);
	destroy(rt);
}
