/* SPDX-License-Identifier: MIT */
/* test_rings.c - events are copied from rings to a file. The process is this one,
 * and what reads it is here, too */
#include "tests/unit/support.h"

#include <sys/mman.h>

#include "bpf/recording/object_names.h"
#include "bpf/recording/rings.h"
#include "bpf/recording/trace_file.h"
#include "bpf/target/target_memory.h"
#include "probes/area.h"

#define EVENTS 16u

/* A root, a runtime with a worker, and a ring each for it and for others. */
struct process {
	struct area_root root;
	struct area_runtime area;
	struct area_worker worker;
	struct event ring[EVENTS], shared[EVENTS];
	uint64_t workers[1];
	struct target_runtime runtime;
	unsigned runtimes;
	int code;                /* of reads */
	struct target_now now;   /* what the worker does */
	void (*meanwhile)(void); /* before the ring's head is read again */
	unsigned keep_changes;   /* so many looks for runtimes are outdated */
	uint64_t until_ns, keep_ns;

	int fd;
	struct trace_writer writer;
	struct rings *rings;
};

static struct process process;

/* ---- in the place of target.c ---------------------------------------------- */

int target_read(struct target *target, uint64_t address, void *to, size_t bytes)
{
	(void)target;
	if (process.code)
		return process.code;
	if (address < 4096)
		return -EFAULT;
	memcpy(to, (const void *)(uintptr_t)address, bytes);
	if (address >= (uintptr_t)process.ring &&
	    address < (uintptr_t)(process.shared + EVENTS) && process.meanwhile)
		process.meanwhile();
	return 0;
}

int target_refresh(struct target *target)
{
	(void)target;
	if (process.keep_changes > 0)
		process.keep_changes--;
	else
		process.runtime.changes = process.root.changes;
	process.runtime.area = process.area;
	return process.code;
}

unsigned target_runtimes(const struct target *target)
{
	(void)target;
	return process.runtimes;
}

const struct target_runtime *target_runtime(const struct target *target,
					    unsigned index)
{
	(void)target;
	(void)index;
	return &process.runtime;
}

const struct target_runtime *target_find_runtime(const struct target *target,
						 uint64_t address,
						 uint64_t started_ns)
{
	(void)target;
	return process.runtimes && address == process.runtime.address &&
			       started_ns == process.area.started_ns
		       ? &process.runtime
		       : NULL;
}

int target_record_until(struct target *target, uint64_t ns)
{
	(void)target;
	process.until_ns = ns;
	return process.code;
}

/* process.now, a nanosecond later each time. */
int target_look(struct target *target, const struct target_runtime *runtime,
		unsigned worker, struct target_now *out)
{
	(void)target;
	assert_ptr_equal(runtime, &process.runtime);
	assert_int_equal(worker, 0);
	process.now.at_ns++;
	*out = process.now;
	return process.code;
}

void target_task(struct target *target, const struct target_runtime *runtime,
		 uint64_t task, uint64_t *type, uint64_t *poll)
{
	*type = *poll = 0;
	target_read(target, task + runtime->task_type, type, sizeof(*type));
	target_read(target, task + runtime->task_poll, poll, sizeof(*poll));
}

bool target_name(struct target *target, uint64_t type, uint64_t poll,
		 char *text)
{
	(void)target;
	(void)poll;
	snprintf(text, TARGET_NAME, "type %u", (unsigned)type);
	return true;
}

bool target_symbol(struct target *target, uint64_t address, char *text)
{
	(void)target;
	snprintf(text, TARGET_NAME, "function %u", (unsigned)address);
	return true;
}

void target_printable(char *text, size_t size)
{
	text[size - 1] = '\0';
}

pid_t target_thread(struct target *target, uint32_t tid)
{
	(void)target;
	return (pid_t)tid + 1000;
}

/* ---- the process ----------------------------------------------------------- */

static int set_up(void **state)
{
	const struct trace_meta meta = { .pid = 1 };
	struct process *p = &process;

	(void)state;
	memset(p, 0, sizeof(*p));
	p->area.bytes = sizeof(p->area);
	p->area.worker_count = 1;
	p->area.worker_bytes = sizeof(p->worker);
	p->area.started_ns = 77;
	p->worker.tid = 5;
	p->workers[0] = (uintptr_t)&p->worker;
	p->runtime = (struct target_runtime){ .address = (uintptr_t)&p->area,
					      .root = (uintptr_t)&p->root,
					      .workers = p->workers };
	p->runtimes = 1;
	p->worker.ring = (uintptr_t)p->ring;
	p->worker.ring_events = EVENTS;
	p->fd = memfd_create("trace", MFD_CLOEXEC);
	assert_int_equal(trace_write_start(&p->writer, p->fd, &meta), 0);
	target_refresh(NULL);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	rings_close(process.rings);
	close(process.fd);
	return 0;
}

EACH_TEST(set_up, tear_down);

static void open_rings(void)
{
	assert_int_equal(rings_open(&process.rings, NULL, &process.writer,
				    process.keep_ns, NULL),
			 0);
}

/* The worker notes so many; each says its number. */
static void work(unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		uint64_t n = process.worker.ring_head;
		struct event event = { .time = n, .a = n, .b = 9 };

		event.what = event_what(EVENT_BEGIN, EVENT_NAME_TYPE, 0);
		process.ring[n % EVENTS] = event;
		process.worker.ring_head++;
	}
}

static void share(uint64_t n, bool complete)
{
	struct event event = { .time = n, .a = n };

	if (complete)
		event.what = event_what(EVENT_READY, 0, (uint16_t)(n / EVENTS));
	process.shared[n % EVENTS] = event;
	if (process.area.ring_head <= n)
		process.area.ring_head = n + 1;
	process.area.ring = (uintptr_t)process.shared;
	process.area.ring_events = EVENTS;
}

static double copy(bool last)
{
	double fullest;

	assert_int_equal(rings_copy(process.rings, last, &fullest), 0);
	return fullest;
}

/* The file has the events of a source: each of @what says its number. It counts as many as
 * the copy does. */
static void has(unsigned source, const char *what)
{
	char path[32], text[256] = "";
	struct skua_error err;
	struct trace_event event;
	struct trace *trace;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", process.fd);
	assert_int_equal(trace_open(&trace, path, &err), 0);
	for (unsigned i = 0; i < trace_sources(trace); i++) {
		assert_int_equal(trace_source(trace, i)->events,
				 rings_stream(process.rings, i)->written);
		assert_int_equal(trace_source(trace, i)->lost,
				 rings_stream(process.rings, i)->lost);
	}
	while (trace_next(trace, &event))
		if (event.source == source)
			snprintf(text + strlen(text),
				 sizeof(text) - strlen(text), "%s%u ",
				 event.lost ? "lost " : "",
				 (unsigned)event.event.a);
	trace_close(trace);
	assert_string_equal(text, what);
}

/* ---- a worker's ------------------------------------------------------------ */

TEST(copy__in_pieces__all_and_what_they_are_called)
{
	struct skua_error err;
	struct trace *trace;
	char path[32];

	work(3); /* before: old */
	open_rings();
	work(10);
	assert_true(copy(false) == 10.0 / EVENTS);
	work(10); /* in two parts */
	assert_true(copy(false) == 10.0 / EVENTS);
	assert_true(copy(true) == 0);
	has(0, "3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 ");
	assert_int_equal(rings_stream(process.rings, 0)->written, 20);
	assert_int_equal(rings_stream(process.rings, 0)->lost, 0);
	assert_int_equal(rings_stream(process.rings, 0)->stream.tid, 1005);
	assert_ptr_equal(rings_runtime(process.rings, 0), &process.runtime);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", process.fd);
	assert_int_equal(trace_open(&trace, path, &err), 0);
	assert_string_equal(trace_name(trace, TRACE_NAME_TYPE, 9), "type 9");
	trace_close(trace);
}

/* A task waits for a lock. */
static void wait_for(const void *lock, uint64_t holder)
{
	struct event event = { .a = 8, .b = (uintptr_t)lock };

	event.what = event_what(EVENT_WAIT, AREA_WAITS_MUTEX, 0);
	process.ring[process.worker.ring_head++ % EVENTS] = event;
	event.a = holder;
	event.what = event_what(EVENT_HELD, 0, 0);
	process.ring[process.worker.ring_head++ % EVENTS] = event;
}

static const char *name_at(struct trace *trace, enum trace_name_of of,
			   uint64_t address)
{
	const char *name = trace_name(trace, of, address);

	return name ? name : "none";
}

/* A program names a lock at any time. */
TEST(copy__waits_for_locks__their_names_and_holders)
{
	static uint64_t first, second, third;
	static struct area_thread thread = { .tid = 7 };
	static uint64_t task[2] = { 9, 10 };
	static char text[64] = "accounts", other[64] = "journal";
	static char older[64] = "ledger";
	/* The list begins with the latest. */
	struct area_name names[3] = {
		{ .object = (uintptr_t)&first, .name = (uintptr_t)text },
		{ .object = (uintptr_t)&second, .name = (uintptr_t)other },
		{ .object = (uintptr_t)&first, .name = (uintptr_t)older }
	};
	uint64_t list = (uintptr_t)&names[0];
	uint64_t by_thread = (uintptr_t)&thread | AREA_HOLDER_THREAD;
	struct skua_error err;
	struct trace *trace;
	char path[32];

	names[0].next = (uintptr_t)&names[2];
	process.area.names = (uintptr_t)&list;
	process.runtime.task_poll = sizeof(task[0]);
	target_refresh(NULL);
	open_rings();
	wait_for(&first, by_thread);
	wait_for(&third, 0);
	copy(false);
	names[1].next = list;
	list = (uintptr_t)&names[1];
	wait_for(&second, (uintptr_t)task);
	copy(true);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", process.fd);
	assert_int_equal(trace_open(&trace, path, &err), 0);
	assert_string_equal(
		name_at(trace, TRACE_NAME_OBJECT, (uintptr_t)&first),
		"accounts");
	assert_string_equal(
		name_at(trace, TRACE_NAME_OBJECT, (uintptr_t)&second),
		"journal");
	assert_string_equal(
		name_at(trace, TRACE_NAME_OBJECT, (uintptr_t)&third), "none");
	assert_string_equal(name_at(trace, TRACE_NAME_HOLDER, by_thread),
			    "thread 1007");
	assert_string_equal(name_at(trace, TRACE_NAME_HOLDER, (uintptr_t)task),
			    "type 9");
	trace_close(trace);
}

TEST(copy__more_locks_than_names__says_so)
{
	open_rings();
	for (uint64_t i = 1; i <= OBJECT_NAMES_MAX; i++) {
		wait_for((const void *)(uintptr_t)(4096 * i), 0);
		copy(false);
	}
	assert_false(rings_lack_names(process.rings));
	wait_for((const void *)4096, 0);
	copy(false);
	assert_false(rings_lack_names(process.rings));
	wait_for((const void *)8, 0);
	copy(false);
	assert_true(rings_lack_names(process.rings));
}

/* The oldest may be being overwritten: it is not taken. */
TEST(copy__ring_went_round__what_is_left)
{
	open_rings();
	work(1);
	copy(false);
	work(EVENTS + 4);
	assert_true(copy(false) > 1);
	has(0, "0 lost 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 ");
	assert_int_equal(rings_stream(process.rings, 0)->lost, 5);
}

/* Says so from the @left-th time on. */
static bool is_time(void *left)
{
	return (*(unsigned *)left)-- == 0;
}

TEST(copy__stopped__pieces_before_are_whole)
{
	unsigned left = 100;
	const struct rings_stop stop = { is_time, &left };
	double fullest;

	assert_int_equal(rings_open(&process.rings, NULL, &process.writer,
				    process.keep_ns, &stop),
			 0);
	work(3);
	left = 1; /* before the ring, and not before its events */
	assert_int_equal(rings_copy(process.rings, false, &fullest), -EINTR);
	assert_int_equal(rings_stream(process.rings, 0)->written, 0);
	left = 100;
	assert_int_equal(rings_copy(process.rings, false, &fullest), 0);
	has(0, "0 1 2 ");
	left = 0; /* what is begun is ended nevertheless */
	process.until_ns = 7;
	assert_int_equal(rings_extend(process.rings, 0), -EINTR);
	assert_int_equal(process.until_ns, 0);
}

static void work_once(void)
{
	process.meanwhile = NULL;
	work(6);
}

TEST(copy__overwritten_meanwhile__left_out)
{
	open_rings();
	work(12);
	process.meanwhile = work_once;
	copy(false);
	copy(false);
	has(0, "lost 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 ");
	assert_int_equal(rings_stream(process.rings, 0)->lost, 3);
}

static void work_round(void)
{
	process.meanwhile = NULL;
	work(2 * EVENTS);
}

TEST(copy__all_overwritten__are_lost_without_an_event)
{
	open_rings();
	work(12);
	process.meanwhile = work_round;
	copy(false);
	has(0, "");
	assert_int_equal(rings_stream(process.rings, 0)->lost, 12);
	copy(false);
	assert_int_equal(rings_stream(process.rings, 0)->lost, 29);
	process.meanwhile = work_round;
	work(1);
	copy(false);
	assert_int_equal(rings_stream(process.rings, 0)->lost, 30);
	has(0, "lost 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 ");
}

TEST(copy__ring_comes_later__from_its_first)
{
	process.worker.ring = 0;
	process.worker.ring_error = -ENOMEM;
	open_rings();
	copy(false);
	assert_false(rings_stream(process.rings, 0)->here);
	assert_int_equal(rings_stream(process.rings, 0)->error, -ENOMEM);
	process.worker.ring = (uintptr_t)process.ring;
	process.worker.ring_error = 0;
	work(2);
	copy(false);
	has(0, "0 1 ");
	assert_true(rings_stream(process.rings, 0)->here);
	assert_int_equal(rings_stream(process.rings, 0)->error, 0);
}

TEST(copy__impossible_words__nothing)
{
	static const uint64_t sizes[] = { 0, 1, 24, UINT64_C(1) << 40 };

	open_rings();
	work(2);
	for (unsigned i = 0; i < COUNT_OF(sizes); i++) {
		process.worker.ring_events = sizes[i];
		copy(false);
		assert_int_equal(rings_stream(process.rings, 0)->error,
				 -EILSEQ);
	}
	process.worker.ring_events = EVENTS;
	process.worker.ring = UINT64_MAX - 8;
	copy(false);
	process.worker.ring = 8; /* nothing is there */
	copy(false);
	has(0, "");
	process.worker.ring = (uintptr_t)process.ring;
	process.worker.ring_head = 0; /* it went back */
	copy(false);
	work(1);
	copy(false);
	has(0, "0 ");
}

/* Another runtime came or went: what was read may be of it. */
static void change(void)
{
	process.meanwhile = NULL;
	process.root.changes += 2;
}

TEST(copy__runtimes_change__once_more)
{
	open_rings();
	work(2);
	process.meanwhile = change;
	copy(false);
	has(0, "");
	copy(false);
	has(0, "0 1 ");
	process.runtimes = 0;
	process.root.changes += 2;
	work(2);
	copy(false);
	copy(false);
	has(0, "0 1 ");
}

/* In a recording of a process that makes and ends runtimes without end. */
TEST(refresh__more_runtimes_than_a_file_has__left_out)
{
	open_rings();
	assert_false(rings_are_full(process.rings));
	for (unsigned n = 2 /* streams a runtime */; n < TRACE_SOURCES;
	     n += 2) {
		process.area.started_ns++;
		assert_int_equal(rings_refresh(process.rings), 0);
	}
	assert_int_equal(rings_count(process.rings), TRACE_SOURCES);
	assert_false(rings_are_full(process.rings));
	process.area.started_ns++;
	assert_int_equal(rings_refresh(process.rings), 0);
	assert_int_equal(rings_count(process.rings), TRACE_SOURCES);
	assert_true(rings_are_full(process.rings));
}

/* Memory in the place of a runtime that has gone says nothing of its ring. */
TEST(copy__runtime_has_gone__its_memory_is_not_believed)
{
	static const struct {
		uint64_t ring, events;
		int64_t error;
	} left[] = { { 0, 0, -EIO }, { 8, 3, 0 }, { 4096, 16, 0 } };

	for (unsigned i = 0; i < COUNT_OF(left); i++) {
		process.worker.ring = 0;
		process.runtimes = 1;
		target_refresh(NULL);
		rings_close(process.rings);
		open_rings();
		process.runtimes = 0;
		process.root.changes += 2;
		process.worker.ring = left[i].ring;
		process.worker.ring_events = left[i].events;
		process.worker.ring_error = left[i].error;
		copy(false);
		copy(true);
		assert_int_equal(rings_stream(process.rings, 0)->error, 0);
		assert_false(rings_stream(process.rings, 0)->here);
		assert_null(rings_runtime(process.rings, 0));
		process.worker.ring_error = 0;
	}
}

/* Likewise while what was recorded before is passed over. */
TEST(open__another_runtime_came__passes_over_all_the_same)
{
	work(3);
	process.root.changes += 2; /* since the process was opened */
	process.runtime.changes -= 2;
	process.keep_changes = 1;
	open_rings();
	work(1);
	copy(false);
	copy(true);
	has(0, "3 ");
}

/* They changed at each look while it was opened. */
TEST(open__runtimes_keep_changing__passes_over_all_the_same)
{
	work(3);
	process.root.changes += 2;
	process.runtime.changes -= 2;
	process.keep_changes = 1000;
	open_rings();
	process.keep_changes = 0;
	copy(false); /* finds the runtimes */
	copy(false);
	work(1);
	copy(true);
	has(0, "3 ");
}

/* As by a signal: there is a last round all the same. */
TEST(open__stopped_before_the_last_ring__passes_over_all_the_same)
{
	unsigned left = 2;
	const struct rings_stop stop = { is_time, &left };

	work(3);
	share(0, true);
	assert_int_equal(rings_open(&process.rings, NULL, &process.writer,
				    process.keep_ns, &stop),
			 -EINTR);
	copy(true);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(rings_stream(process.rings, i)->written, 0);
}

/* The file's record of a poll that had begun before. */
static struct trace_before before(void)
{
	struct skua_error err;
	struct trace_before before;
	struct trace *trace;
	char path[32];

	assert_int_equal(rings_finish(process.rings), 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", process.fd);
	assert_int_equal(trace_open(&trace, path, &err), 0);
	before = trace_source(trace, 0)->before;
	if (before.until_ns)
		assert_string_equal(trace_name(trace, TRACE_NAME_TYPE, 9),
				    "type 9");
	trace_close(trace);
	return before;
}

TEST(finish__in_one_poll_all_the_time__says_so)
{
	process.now = (struct target_now){
		.at_ns = 100, .task = 5, .type = 9, .tasks_polled = 3
	};
	open_rings(); /* at 101 */
	copy(false);
	copy(true);
	assert_int_equal(before().from_ns, 101);
	assert_int_equal(before().until_ns, 103);
	assert_int_equal(before().task, 5);
	assert_int_equal(before().name, 9);
}

TEST(finish__poll_has_ended__until_it_was_seen)
{
	process.now = (struct target_now){
		.at_ns = 100, .task = 5, .type = 9, .tasks_polled = 3
	};
	open_rings();
	copy(false);
	process.now.tasks_polled++; /* the same task */
	copy(false);
	process.now.tasks_polled--;
	copy(true);
	assert_int_equal(before().until_ns, 102);
}

TEST(finish__seen_once__is_nothing)
{
	process.now = (struct target_now){ .task = 5, .type = 9 };
	open_rings();
	process.now.task = 0;
	copy(true);
	assert_int_equal(before().until_ns, 0);
}

TEST(copy__process_has_ended__says_so)
{
	double fullest;

	open_rings();
	process.code = -ESRCH;
	assert_int_equal(rings_copy(process.rings, true, &fullest), -ESRCH);
	assert_int_equal(rings_extend(process.rings, 5), -ESRCH);
}

/* ---- that of other threads ------------------------------------------------- */

TEST(copy__shared_and_incomplete__comes_later)
{
	open_rings();
	share(0, true);
	share(1, false);
	share(2, true);
	copy(false);
	has(1, "0 ");
	share(1, true);
	copy(false);
	has(1, "0 1 2 ");
	share(3, false);
	share(4, true);
	copy(true);
	has(1, "0 1 2 lost 4 ");
}

/* It was noted a round of the ring ago. */
TEST(copy__shared_and_old__is_not_taken)
{
	open_rings();
	for (unsigned i = 0; i < EVENTS; i++)
		share(i, true);
	copy(false);
	process.area.ring_head++;
	copy(false);
	assert_int_equal(rings_stream(process.rings, 1)->written,
			 EVENTS - 1); /* the first may be being overwritten */
	for (unsigned i = 1; i <= EVENTS / 2; i++)
		share(EVENTS + i, true);
	copy(false);
	has(1, "lost 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 "
	       "lost 17 18 19 20 21 22 23 24 ");
}

/* ---- when it records ------------------------------------------------------- */

TEST(open__recorded_by_itself__keeps_what_was)
{
	process.area.record_until_ns = 1000;
	process.keep_ns = 999;
	work(2);
	open_rings();
	work(1);
	copy(true);
	has(0, "0 1 2 ");
	rings_close(process.rings);
	process.keep_ns = 1000;
	open_rings();
	copy(true);
	assert_int_equal(rings_stream(process.rings, 0)->written, 0);
}
