/* SPDX-License-Identifier: MIT */
/* test_recorder.c - what workers do is noted, while somebody wants it */
#include "core/io/table.h"
#include "core/runtime/runtime.h"
#include "skua/io.h"
#include "tests/unit/parent.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/mman.h>

/* ---- helpers ---------------------------------------------------------------- */

static bool refuse_memory; /* of the next rings; workers read it */

void *__real_mmap(void *at, size_t size, int protection, int flags, int fd,
		  off_t offset);
void *__wrap_mmap(void *at, size_t size, int protection, int flags, int fd,
		  off_t offset);

void *__wrap_mmap(void *at, size_t size, int protection, int flags, int fd,
		  off_t offset)
{
	if (__atomic_load_n(&refuse_memory, __ATOMIC_RELAXED) &&
	    (flags & MAP_NORESERVE)) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	return __real_mmap(at, size, protection, flags, fd, offset);
}

static struct skua_runtime *make(void)
{
	return RUNTIME(.workers = 1, .flags = SKUA_NO_ENV);
}

static void destroy(struct skua_runtime *rt)
{
	assert_int_equal(skua_runtime_destroy(rt), 0);
}

static const struct area_worker *worker_area(const struct skua_runtime *rt)
{
	return &rt->pool.workers[0]->area;
}

static uint64_t head_of(const struct skua_runtime *rt)
{
	return __atomic_load_n(&worker_area(rt)->ring_head, __ATOMIC_ACQUIRE);
}

static const struct event *event_of(const struct skua_runtime *rt, uint64_t n)
{
	const struct area_worker *area = worker_area(rt);

	return (const struct event *)area->ring + n % area->ring_events;
}

/* The first event from @n on that is still in the ring: a fiber that yields until another
 * thread has its CPU may fill the ring. */
static uint64_t oldest_from(const struct skua_runtime *rt, uint64_t n)
{
	uint64_t head = head_of(rt), events = worker_area(rt)->ring_events;

	return head - n > events ? head - events : n;
}

/* How many of a kind there are in [first, end). */
static uint64_t count(const struct skua_runtime *rt, enum event_kind kind,
		      uint64_t first, uint64_t end)
{
	uint64_t found = 0;

	for (uint64_t n = oldest_from(rt, first); n < end; n++)
		found += event_of(rt, n)->kind == kind;
	return found;
}

static enum skua_poll do_nothing(struct skua_task *self)
{
	(void)self;
	return SKUA_DONE;
}

/* The worker sleeps, and has noted it: it is the last thing it notes. */
static bool sleeps(const struct skua_runtime *rt)
{
	uint64_t head = head_of(rt);
	unsigned kind;

	if (counter_read(&worker_area(rt)->times.state) != AREA_PARKED)
		return false;
	if (head == 0)
		return true;
	kind = event_of(rt, head - 1)->kind;
	return kind == EVENT_PARK || kind == EVENT_STOP;
}

/* A task, and its children, are done; the worker sleeps. */
static void run(struct skua_runtime *rt, struct skua_task *children, unsigned n)
{
	run_parent(rt, children, n, do_nothing);
	while (!sleeps(rt))
		sched_yield();
}

/* ---- tests ------------------------------------------------------------------- */

TEST(recorder__off__notes_nothing)
{
	struct skua_runtime *rt = make();
	struct skua_task children[10];

	run(rt, children, COUNT_OF(children));
	assert_int_equal(head_of(rt), 0);
	assert_int_equal(worker_area(rt)->ring, 0);
	destroy(rt);
}

static const struct skua_task_type leaf = SKUA_TASK_TYPE("leaf");

static int look_once(struct skua_poller *self)
{
	(void)self;
	return 0;
}

static enum skua_poll take_long(struct skua_task *self)
{
	uint64_t until = skua_now_ns() + 2 * EVENT_LATE_NS;

	(void)self;
	while (skua_now_ns() < until)
		;
	return SKUA_DONE;
}

static void read_byte(void *arg)
{
	char byte;

	assert_int_equal(
		skua_io_read(*(struct skua_io *)arg, &byte, 1, SKUA_FOREVER_NS),
		1);
}

/* Wait until a fiber waits for a descriptor, and the only worker sleeps. */
static void await_reader(struct skua_runtime *rt, int fd)
{
	const struct io_slot *slot = table_find(fd);

	/* Acquire: the worker runs. Pairs with slot_arm(). */
	while ((atomic_load_acquire(&slot->word[IO_READ]) & IO_OWNER) !=
	       IO_ARMED)
		usleep(1000);
	while (counter_read(&worker_area(rt)->times.state) != AREA_PARKED)
		usleep(1000);
}

/* Before the task that it makes runnable. */
TEST(recorder__event_of_a_descriptor__noted)
{
	struct skua_runtime *rt = make();
	bool reaped = false, woken = false;
	struct skua_io io;
	int fds[2];

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	assert_int_equal(skua_io_attach(rt, fds[0], 0, &io), 0);
	assert_int_equal(skua_record_start(rt), 0);
	assert_int_equal(skua_fiber_spawn(rt, NULL, read_byte, &io), 0);
	await_reader(rt, fds[0]);
	assert_int_equal(write(fds[1], "x", 1), 1);
	assert_int_equal(skua_runtime_drain(rt), 0);
	for (uint64_t n = 0; n < head_of(rt); n++) {
		const struct event *event = event_of(rt, n);

		woken |= reaped && event->kind == EVENT_READY;
		if (event->kind != EVENT_REAP ||
		    (uint32_t)event->a != (uint32_t)fds[0])
			continue;
		reaped = true;
		assert_true(event->b < skua_now_ns());
		assert_true(event->detail & EPOLLIN);
	}
	assert_true(woken);
	assert_int_equal(skua_io_close(io), 0);
	close(fds[1]);
	destroy(rt);
}

/* Where it has none it cannot be late. */
TEST(recorder__pollers_called_late__noted)
{
	static struct skua_poller poller = { .poll = look_once };
	struct skua_runtime *rt = make();
	struct skua_task children[10], task = SKUA_TASK_INIT(take_long);
	const struct event *late = NULL;

	assert_int_equal(skua_record_start(rt), 0);
	assert_int_equal(skua_runtime_block_on(rt, &task), 0);
	run(rt, children, COUNT_OF(children));
	assert_int_equal(count(rt, EVENT_LATE, 0, head_of(rt)), 0);
	assert_int_equal(skua_runtime_add_poller(rt, 0, &poller), 0);
	/* It sleeps no more. */
	for (int i = 0; i < 3; i++) {
		skua_task_init(&task, take_long);
		assert_int_equal(skua_runtime_block_on(rt, &task), 0);
	}
	assert_int_equal(skua_runtime_drain(rt), 0);
	for (uint64_t n = 0; n < head_of(rt); n++)
		if (event_of(rt, n)->kind == EVENT_LATE)
			late = event_of(rt, n);
	assert_non_null(late);
	assert_true(late->a > EVENT_LATE_NS);
	destroy(rt);
}

TEST(recorder__on__notes_each_poll)
{
	struct skua_runtime *rt = make();
	struct skua_task children[100];
	uint64_t begins = 0, last = 0;
	const struct event *begin = NULL;

	assert_int_equal(skua_record_start(rt), 0);
	run(rt, children, COUNT_OF(children));
	assert_int_equal(event_of(rt, 0)->kind, EVENT_CLOCK);
	assert_int_equal(event_of(rt, 1)->kind, EVENT_START);
	assert_int_equal(event_of(rt, 1)->a, worker_area(rt)->tid);
	for (uint64_t n = 0; n < head_of(rt); n++) {
		const struct event *event = event_of(rt, n);

		assert_true(event->time >= last);
		last = event->time;
		assert_in_range(event->kind, EVENT_CLOCK, EVENT_KINDS - 1);
		if (event->kind == EVENT_BEGIN) {
			assert_null(begin);
			begin = event;
			begins++;
			assert_int_equal(event->detail, EVENT_NAME_POLL);
			assert_true(event->b == (uintptr_t)do_nothing ||
				    event->b == (uintptr_t)spawn_children);
		} else if (event->kind == EVENT_END) {
			assert_non_null(begin);
			assert_int_equal(event->a, begin->a);
			assert_int_equal(event->detail, SKUA_DONE);
			begin = NULL;
		}
	}
	assert_int_equal(begins, COUNT_OF(children) + 1);
	assert_int_equal(count(rt, EVENT_READY, 0, head_of(rt)),
			 COUNT_OF(children));
	assert_int_equal(event_of(rt, head_of(rt) - 1)->kind, EVENT_PARK);
	destroy(rt);
}

/* ---- waits ------------------------------------------------------------------- */

/* A fiber that holds a mutex, and a task that waits: one worker polls both. */
struct waits {
	struct skua_fiber holder, fiber;
	struct skua_task task;
	struct skua_wait wait;
	struct skua_mutex mutex;
	struct skua_condition condition;
	bool waits; /* the task waits, or is about to */
	struct skua_channel channel;
	uint64_t memory[SKUA_CHANNEL_BYTES(2, 8) / 8];
};

/* Let the other one run until it waits, and once more. */
static void let_it_wait(struct waits *it)
{
	while (!it->waits)
		skua_yield();
	skua_yield();
}

/* The task is woken by the first unlock, and does not get the mutex then. */
static void hold(struct skua_fiber *self)
{
	struct waits *it =
		(void *)((char *)self - offsetof(struct waits, holder));

	skua_mutex_lock(&it->mutex, SKUA_FOREVER_NS);
	let_it_wait(it);
	skua_mutex_unlock(&it->mutex);
	skua_mutex_lock(&it->mutex, SKUA_FOREVER_NS);
	skua_yield();
	skua_mutex_unlock(&it->mutex);
}

static void hold_and_signal(struct skua_fiber *self)
{
	struct waits *it =
		(void *)((char *)self - offsetof(struct waits, holder));

	let_it_wait(it);
	skua_mutex_lock(&it->mutex, SKUA_FOREVER_NS);
	skua_condition_signal(&it->condition);
	skua_yield();
	skua_mutex_unlock(&it->mutex);
}

/* Until the task has given up. */
static void hold_long(struct skua_fiber *self)
{
	struct waits *it =
		(void *)((char *)self - offsetof(struct waits, holder));

	skua_mutex_lock(&it->mutex, SKUA_FOREVER_NS);
	let_it_wait(it);
	while (it->waits)
		skua_yield();
	skua_mutex_unlock(&it->mutex);
}

static struct waits *waits_of(struct skua_fiber *self)
{
	return (void *)((char *)self - offsetof(struct waits, fiber));
}

static void lock(struct skua_fiber *self)
{
	struct waits *it = waits_of(self);

	it->waits = true;
	assert_int_equal(skua_mutex_lock(&it->mutex, SKUA_FOREVER_NS), 0);
	skua_mutex_unlock(&it->mutex);
}

static void lock_in_time(struct skua_fiber *self)
{
	struct waits *it = waits_of(self);

	it->waits = true;
	assert_int_equal(skua_mutex_lock(&it->mutex, skua_now_ns() + 1000000),
			 -ETIMEDOUT);
	it->waits = false;
}

static void hold_nothing(struct skua_fiber *self)
{
	(void)self;
}

static void receive_in_time(struct skua_fiber *self)
{
	struct waits *it = waits_of(self);
	uint64_t item;

	assert_int_equal(skua_channel_receive(&it->channel, &item,
					      skua_now_ns() + 1000000),
			 -ETIMEDOUT);
}

static void wait_for_signal(struct skua_fiber *self)
{
	struct waits *it = waits_of(self);

	skua_mutex_lock(&it->mutex, SKUA_FOREVER_NS);
	it->waits = true;
	assert_int_equal(skua_condition_wait(&it->condition, &it->mutex,
					     SKUA_FOREVER_NS),
			 0);
	skua_mutex_unlock(&it->mutex);
}

/* Waits in one poll, and gives up in the next one. */
static enum skua_poll lock_in_poll(struct skua_task *self)
{
	struct waits *it =
		(void *)((char *)self - offsetof(struct waits, task));

	if (!it->waits) {
		it->waits = true;
		assert_int_equal(skua_mutex_lock_poll(self, &it->mutex,
						      &it->wait,
						      SKUA_FOREVER_NS),
				 -EAGAIN);
		return SKUA_YIELD;
	}
	assert_int_equal(skua_wait_cancel(self, &it->wait), 0);
	it->waits = false;
	return SKUA_DONE;
}

/* The next event of a wait from number @n on, which must be the one described. Return: the
 * number of the event that follows. */
static uint64_t waits_next(const struct skua_runtime *rt, uint64_t n,
			   struct event what)
{
	const struct event *event;

	n = oldest_from(rt, n);
	event = event_of(rt, n);
	while (n < head_of(rt) &&
	       (event->kind < EVENT_WAIT || event->kind > EVENT_GIVE_UP))
		event = event_of(rt, ++n);
	assert_true(n < head_of(rt));
	assert_int_equal(event->kind, what.kind);
	assert_int_equal(event->a, what.a);
	assert_int_equal(event->b, what.b);
	assert_int_equal(event->detail, what.detail);
	assert_int_equal(event->other, what.other);
	return n + 1;
}

#define WAITS_NEXT(of, first, second, more, flag)                \
	n = waits_next(rt, n,                                    \
		       (struct event){ .kind = EVENT_##of,       \
				       .a = (uintptr_t)(first),  \
				       .b = (uintptr_t)(second), \
				       .detail = (more),         \
				       .other = (flag) })

/* Record while a fiber runs @holds, and another one @waits; NULL: the task waits. */
static struct skua_runtime *record_waits(struct waits *it, skua_fiber_fn holds,
					 skua_fiber_fn waits)
{
	struct skua_runtime *rt = make();
	struct skua_task children[1];

	*it = (struct waits){ .mutex = SKUA_MUTEX_INIT,
			      .condition = SKUA_CONDITION_INIT };
	assert_int_equal(skua_channel_init(&it->channel, it->memory, 2, 8), 0);
	assert_int_equal(skua_record_start(rt), 0);
	run(rt, children, COUNT_OF(children)); /* so that the worker records */
	skua_fiber_init(&it->holder, holds, 0);
	assert_int_equal(skua_task_spawn(rt, &it->holder.task), 0);
	skua_task_init(&it->task, lock_in_poll);
	if (waits)
		skua_fiber_init(&it->fiber, waits, 0);
	assert_int_equal(
		skua_task_spawn(rt, waits ? &it->fiber.task : &it->task), 0);
	assert_int_equal(skua_task_join(waits ? &it->fiber.task : &it->task),
			 0);
	assert_int_equal(skua_task_join(&it->holder.task), 0);
	return rt;
}

TEST(recorder__fiber_waits_for_a_mutex__names_its_holder)
{
	static struct waits it;
	struct skua_runtime *rt = record_waits(&it, hold, lock);
	uint64_t n = 0;

	WAITS_NEXT(WAIT, &it.fiber, &it.mutex, AREA_WAITS_MUTEX, 0);
	WAITS_NEXT(HELD, &it.holder, &it.mutex, 0, 0);
	WAITS_NEXT(WAIT, &it.fiber, &it.mutex, AREA_WAITS_MUTEX, 1);
	WAITS_NEXT(HELD, &it.holder, &it.mutex, 0, 0);
	assert_int_equal(count(rt, EVENT_WAIT, n, head_of(rt)), 0);
	assert_int_equal(count(rt, EVENT_GIVE_UP, 0, head_of(rt)), 0);
	destroy(rt);
}

TEST(recorder__fiber_waits_for_a_condition__names_the_mutex_then)
{
	static struct waits it;
	struct skua_runtime *rt =
		record_waits(&it, hold_and_signal, wait_for_signal);
	uint64_t n = 0;

	WAITS_NEXT(WAIT, &it.fiber, &it.condition, AREA_WAITS_CONDITION, 0);
	WAITS_NEXT(WAIT, &it.fiber, &it.mutex, AREA_WAITS_MUTEX, 0);
	WAITS_NEXT(HELD, &it.holder, &it.mutex, 0, 0);
	assert_int_equal(count(rt, EVENT_WAIT, n, head_of(rt)), 0);
	destroy(rt);
}

/* Sets a label, goes on in another poll, and ends what it says. */
static void label_and_yield(struct skua_fiber *self)
{
	waits_of(self)->waits = true;
	skua_task_set_label("get");
	skua_yield();
	skua_task_set_label(NULL);
	skua_yield();
}

TEST(recorder__fiber_has_a_label__tells_it_in_each_poll)
{
	static struct waits it;
	struct skua_runtime *rt = record_waits(&it, hold, label_and_yield);
	const char *const texts[] = { "get", "get", NULL };
	const enum event_kind before[] = { EVENT_BEGIN, EVENT_BEGIN,
					   EVENT_LABEL };
	enum event_kind last = EVENT_NONE;
	unsigned labels = 0;

	for (uint64_t n = oldest_from(rt, 0); n < head_of(rt); n++) {
		const struct event *event = event_of(rt, n);

		if (event->kind == EVENT_LABEL) {
			assert_true(labels < COUNT_OF(texts));
			assert_int_equal(event->a, (uintptr_t)&it.fiber);
			assert_int_equal(last, before[labels]);
			if (texts[labels])
				assert_string_equal(
					(const char *)(uintptr_t)event->b,
					texts[labels]);
			else
				assert_int_equal(event->b, 0);
			labels++;
		}
		if (event->kind != EVENT_CLOCK)
			last = event->kind;
	}
	assert_int_equal(labels, COUNT_OF(texts));
	destroy(rt);
}

TEST(recorder__wait_is_in_vain__says_so)
{
	static struct waits it;
	struct skua_runtime *rt = record_waits(&it, hold_long, lock_in_time);
	uint64_t n = 0;

	WAITS_NEXT(WAIT, &it.fiber, &it.mutex, AREA_WAITS_MUTEX, 0);
	WAITS_NEXT(HELD, &it.holder, &it.mutex, 0, 0);
	WAITS_NEXT(GIVE_UP, &it.fiber, &it.mutex, ETIMEDOUT, 0);
	destroy(rt);

	rt = record_waits(&it, hold_long, NULL);
	n = 0;
	WAITS_NEXT(WAIT, &it.task, &it.mutex, AREA_WAITS_MUTEX, 0);
	WAITS_NEXT(HELD, &it.holder, &it.mutex, 0, 0);
	WAITS_NEXT(GIVE_UP, &it.task, &it.mutex, ECANCELED, 0);
	destroy(rt);

	rt = record_waits(&it, hold_nothing, receive_in_time);
	n = 0;
	WAITS_NEXT(WAIT, &it.fiber, &it.channel, AREA_WAITS_RECEIVE, 0);
	WAITS_NEXT(GIVE_UP, &it.fiber, &it.channel, ETIMEDOUT, 0);
	destroy(rt);
}

/* Switches the recorder on and off while it counts the tasks of a stride. */
struct switcher {
	struct skua_task task; /* first: a task is its switcher */
	struct skua_runtime *rt;
	uint32_t ready_on, sample_on; /* until then, with the recorder on */
	uint32_t ready_off;           /* and after it was switched off */
};

static enum skua_poll switch_twice(struct skua_task *self)
{
	struct switcher *it = (struct switcher *)self;
	struct worker_telemetry *t = telemetry_current;

	t->stride = t->until_sample = 9;
	t->until_ready = 4;
	skua_record_start(it->rt);
	telemetry_check(t, skua_now_ns());
	it->ready_on = t->until_ready;
	it->sample_on = t->until_sample;
	t->until_sample = 2;
	skua_record_stop(it->rt);
	telemetry_check(t, skua_now_ns());
	it->ready_off = t->until_ready;
	return SKUA_DONE;
}

/* The sample stands for as many tasks as if the recorder had stayed off. */
TEST(recorder__switched_within_a_stride__sample_comes_at_its_time)
{
	struct skua_runtime *rt = make();
	struct switcher it = { .task = SKUA_TASK_INIT(switch_twice), .rt = rt };

	assert_int_equal(skua_runtime_block_on(rt, &it.task), 0);
	assert_int_equal(it.ready_on, 1);
	assert_int_equal(it.sample_on, 4);
	assert_int_equal(it.ready_off, 2);
	destroy(rt);
}

TEST(recorder__task_with_a_type__names_it)
{
	struct skua_runtime *rt = make();
	struct skua_task task = SKUA_TASK_INIT(do_nothing);
	uint64_t n = 0;

	assert_int_equal(skua_task_set_type(&task, &leaf), 0);
	assert_int_equal(skua_record_start(rt), 0);
	assert_int_equal(skua_runtime_block_on(rt, &task), 0);
	assert_int_equal(skua_runtime_drain(rt), 0);
	while (event_of(rt, n)->kind != EVENT_BEGIN)
		n++;
	assert_int_equal(event_of(rt, n)->a, (uintptr_t)&task);
	assert_int_equal(event_of(rt, n)->b, (uintptr_t)&leaf);
	assert_int_equal(event_of(rt, n)->detail, EVENT_NAME_TYPE);
	destroy(rt);
}

TEST(recorder__stopped__notes_no_more_until_started)
{
	struct skua_runtime *rt = make();
	struct skua_task children[10];
	uint64_t head;

	assert_int_equal(skua_record_start(rt), 0);
	run(rt, children, COUNT_OF(children));
	assert_int_equal(skua_record_stop(rt), 0);
	/* Notices when it wakes up. */
	run(rt, children, COUNT_OF(children));
	head = head_of(rt);
	assert_int_equal(event_of(rt, head - 1)->kind, EVENT_STOP);
	assert_int_equal(count(rt, EVENT_BEGIN, 0, head),
			 COUNT_OF(children) + 1);
	run(rt, children, COUNT_OF(children));
	assert_int_equal(head_of(rt), head);
	assert_int_equal(skua_record_start(rt), 0);
	run(rt, children, COUNT_OF(children));
	assert_int_equal(count(rt, EVENT_BEGIN, head, head_of(rt)),
			 COUNT_OF(children) + 1);
	destroy(rt);
}

/* As when the recording process was killed. */
TEST(recorder__time_is_over__notes_no_more)
{
	struct skua_runtime *rt = make();
	struct skua_task children[10];

	counter_set_owner(&rt->pool.telemetry.area.record_until_ns,
			  skua_now_ns());
	run(rt, children, COUNT_OF(children));
	assert_int_equal(head_of(rt), 0);
	destroy(rt);
}

TEST(recorder__more_than_fits__has_the_latest)
{
	static struct skua_task children[1000];
	struct skua_runtime *rt = make();
	uint64_t head, ends;

	assert_int_equal(skua_record_start(rt), 0);
	do {
		run(rt, children, COUNT_OF(children));
		head = head_of(rt);
	} while (head < 2 * RECORDER_EVENTS);
	assert_int_equal(worker_area(rt)->ring_events, RECORDER_EVENTS);
	/* They may begin with the end of one. */
	ends = count(rt, EVENT_END, head - 3000, head);
	assert_in_range(count(rt, EVENT_BEGIN, head - 3000, head), ends - 1,
			ends);
	for (uint64_t n = head - RECORDER_EVENTS + 1; n < head; n++)
		assert_true(event_of(rt, n)->time >= event_of(rt, n - 1)->time);
	destroy(rt);
}

TEST(recorder__tasks_from_outside__in_the_shared_ring)
{
	static struct skua_task tasks[100];
	struct skua_runtime *rt = make();
	struct skua_task children[1];
	const struct area_runtime *area = &rt->pool.telemetry.area;
	const struct event *events;

	assert_int_equal(skua_record_start(rt), 0);
	run(rt, children, 1); /* it has noticed */
	assert_true(area->ring != 0);
	events = (const struct event *)area->ring;
	for (uint64_t i = 0; i < COUNT_OF(tasks); i++) {
		uint64_t n = area->ring_head;

		skua_task_init(&tasks[i], do_nothing);
		assert_int_equal(skua_task_spawn(rt, &tasks[i]), 0);
		assert_int_equal(area->ring_head, n + 1);
		assert_int_equal(events[n].kind, EVENT_READY);
		assert_int_equal(events[n].a, (uintptr_t)&tasks[i]);
		assert_int_equal(events[n].other, 0);
	}
	assert_int_equal(skua_runtime_drain(rt), 0);
	destroy(rt);
}

TEST(recorder__no_memory__says_so_and_goes_on)
{
	struct skua_runtime *rt = make();
	struct skua_task children[10];

	__atomic_store_n(&refuse_memory, true, __ATOMIC_RELAXED);
	errno = 0;
	assert_int_equal(skua_record_start(rt), 0);
	run(rt, children, COUNT_OF(children));
	__atomic_store_n(&refuse_memory, false, __ATOMIC_RELAXED);
	assert_int_equal(worker_area(rt)->ring, 0);
	assert_int_equal(worker_area(rt)->ring_error, -ENOMEM);
	assert_int_equal(rt->pool.telemetry.area.ring, 0);
	assert_int_equal(rt->pool.telemetry.poll_flags, 0);
	/* Once there is some, some time later. */
	do {
		run(rt, children, COUNT_OF(children));
	} while (head_of(rt) == 0);
	assert_int_equal(worker_area(rt)->ring_error, 0);
	destroy(rt);
}

TEST(record__bad_arguments__refused)
{
	assert_int_equal(skua_record_start(NULL), -EINVAL);
	assert_int_equal(skua_record_stop(NULL), -EINVAL);
}

/* ---- what it costs ----------------------------------------------------------- */

#define EVENTS 100000u

static uint64_t time_of_looks(void)
{
	uint64_t start_ns = skua_now_ns();

	for (unsigned i = 0; i < EVENTS; i++) {
		uint64_t time = recorder_time();

		__asm__ volatile("" ::"r"(time));
	}
	return skua_now_ns() - start_ns;
}

static uint64_t time_of_events(struct recorder *recorder)
{
	uint64_t start_ns = skua_now_ns();

	for (unsigned i = 0; i < EVENTS; i++)
		recorder_note_owner(recorder, EVENT_BEGIN, i, 2, 3, 4);
	return skua_now_ns() - start_ns;
}

/* Between the caller's look at the clock and the event may be page faults, or the
 * worker may have had no CPU: the pair is of one moment all the same. */
TEST(clock__caller_looked_long_ago__time_of_the_counter)
{
	struct area_worker area = { .index = 0 };
	struct recorder recorder = { .area = &area };
	uint64_t before_ns = skua_now_ns(), before = recorder_time();
	const struct event *event;

	recorder_switch_owner(&recorder, true, 1);
	assert_true(recorder.on);
	event = recorder.ring;
	assert_int_equal(event->kind, EVENT_CLOCK);
	assert_in_range(event->a, before_ns, skua_now_ns());
	assert_in_range(event->time, before, recorder_time());
	recorder_switch_owner(&recorder, false, 1);
	event = &recorder.ring[2]; /* after EVENT_START */
	assert_int_equal(event->kind, EVENT_CLOCK);
	assert_in_range(event->a, recorder.ring[0].a, skua_now_ns());
	recorder_destroy(&recorder);
}

/* By turns, the fastest of each: what else the machine does counts for neither. */
TEST(event__beside_a_look_at_the_counter__costs_little_more)
{
	static struct area_worker area;
	struct recorder recorder = { .area = &area };
	uint64_t looks = UINT64_MAX, events = UINT64_MAX;

	if (SANITIZED)
		skip_aloud("sanitizers cost more than what is measured");
	recorder_switch_owner(&recorder, true, 0);
	for (unsigned i = 0; i < 50; i++) {
		uint64_t ns = time_of_looks();

		looks = ns < looks ? ns : looks;
		ns = time_of_events(&recorder);
		events = ns < events ? ns : events;
	}
	print_message("a look %.1f ns, an event %.1f ns\n",
		      (double)looks / EVENTS, (double)events / EVENTS);
	assert_true(events < 3 * looks);
	recorder_destroy(&recorder);
}
