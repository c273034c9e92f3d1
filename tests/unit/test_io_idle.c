/* SPDX-License-Identifier: MIT */
/**
 * test_io_idle.c - many connections on which nothing happens
 *
 * SKUA_TEST_SET=long: 10,000, for ten seconds. Else 2,000, for one second.
 */
#include "core/runtime/runtime.h"
#include "tests/unit/pairs.h"
#include "tests/unit/work_done.h"

#define SPARE 100u

/* Reads a byte in a poll; another one in a fiber. The other end is not attached. */
struct connection {
	struct skua_fiber fiber; /* first: a fiber is its connection */
	struct skua_task task;
	struct skua_wait wait;
	struct skua_io io;
	int other;
	char byte;
	ssize_t code;
};

static enum skua_poll read_poll(struct skua_task *self)
{
	struct connection *it =
		SKUA_CONTAINER_OF(self, struct connection, task);

	it->code = skua_io_read_poll(self, it->io, &it->byte, 1, &it->wait,
				     SKUA_FOREVER_NS);
	return it->code == -EAGAIN ? SKUA_PENDING : SKUA_DONE;
}

static void read_by_fiber(struct skua_fiber *self)
{
	struct connection *it = (struct connection *)self;

	it->code = skua_io_read(it->io, &it->byte, 1, SKUA_FOREVER_NS);
}

/* Return how many connections the limit of descriptors allows, up to @most. */
static unsigned connections(unsigned most)
{
	struct rlimit files = { 2 * most + SPARE, 2 * most + SPARE };

	/* Only a privileged process may raise the hard limit. */
	if (setrlimit(RLIMIT_NOFILE, &files)) {
		assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
		files.rlim_cur = files.rlim_max;
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
	}
	if ((files.rlim_cur - SPARE) / 2 < most)
		most = (unsigned)(files.rlim_cur - SPARE) / 2;
	return most;
}

static void begin(struct skua_runtime *rt, struct connection *it, unsigned i)
{
	int fds[2];

	fds_open(fds, i % 16 ? PAIR_UNIX : PAIR_TCP);
	it->io = attached(rt, fds[0]);
	it->other = fds[1];
	it->task = (struct skua_task)SKUA_TASK_INIT(read_poll);
	it->wait = (struct skua_wait)SKUA_WAIT_INIT;
	if (i % 2)
		spawn(rt, &it->task);
	else if (skua_fiber_init(&it->fiber, read_by_fiber, 0) == 0)
		spawn(rt, &it->fiber.task);
	else
		fail_msg("skua_fiber_init");
}

static void end_each(struct connection *all, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		assert_int_equal(write(all[i].other, "x", 1), 1);
	for (unsigned i = 0; i < count; i++) {
		join(i % 2 ? &all[i].task : &all[i].fiber.task);
		assert_int_equal(all[i].code, 1);
		io_close(all[i].io);
		assert_int_equal(close(all[i].other), 0);
	}
}

TEST(idle__many_connections__no_cpu_and_no_context_switch)
{
	const char *set = getenv("SKUA_TEST_SET");
	bool is_long = set && strcmp(set, "long") == 0;
	unsigned count = connections(is_long ? 10000 : 2000);
	struct connection *all = calloc(count, sizeof(*all));
	struct skua_runtime *rt = runtime_new(2, 0);
	struct work_done before, after;

	assert_non_null(all);
	for (unsigned i = 0; i < count; i++)
		begin(rt, &all[i], i);
	for (unsigned i = 0; i < count; i++)
		wait_for_wait(all[i].io, IO_READ);
	before = work_settle();
	/* This time is measured: the test waits for nothing. */
	nanosleep(&(struct timespec){ is_long ? 10 : 1, 0 }, NULL);
	after = work_done();
	printf("%u connections, %u s: %llu context switches, %llu ns of CPU\n",
	       count, is_long ? 10 : 1,
	       (unsigned long long)(after.switches - before.switches),
	       (unsigned long long)(after.cpu_ns - before.cpu_ns));
	assert_int_equal(after.switches, before.switches);
	assert_int_equal(after.cpu_ns, before.cpu_ns);
	end_each(all, count);
	free(all);
	destroy(rt);
}
