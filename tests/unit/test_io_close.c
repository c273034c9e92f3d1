/* SPDX-License-Identifier: MIT */
/* test_io_close.c - descriptors that are closed, given back, or given up while others wait */
#include <poll.h>
#include <sys/eventfd.h>

#include "tests/unit/pairs.h"

/* SKUA_TEST_SET=long: a million times, else a hundred thousand; fewer under a sanitizer and
 * in the quick set. */
static unsigned times(void)
{
	const char *set = getenv("SKUA_TEST_SET");

	if (set && strcmp(set, "long") == 0)
		return 1000000;
	return SANITIZED || (set && strcmp(set, "quick") == 0) ? 10000 : 100000;
}

static unsigned open_descriptors(void)
{
	unsigned count = 0;

	for (int fd = 0; fd < 1000; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

/* ---- close beside a wait ---------------------------------------------------- */

static int read_until_closed(struct user *it)
{
	char byte;
	ssize_t n = skua_io_read(*(struct skua_io *)it->object, &byte, 1,
				 SKUA_FOREVER_NS);

	return (int)n;
}

static int write_until_closed(struct user *it)
{
	static const char bytes[4096];
	ssize_t n;

	while ((n = skua_io_write(*(struct skua_io *)it->object, bytes,
				  sizeof(bytes), SKUA_FOREVER_NS)) > 0)
		;
	return (int)n;
}

TEST(close__others_wait__ebadf_for_them_and_0_for_the_closer)
{
	struct skua_runtime *rt = runtime_new(1, 0);

	for (unsigned run = 0; run < 8; run++) {
		struct user reader = { 0 }, writer = { 0 };
		struct pair pair;
		char byte;

		pair_open(rt, &pair, run / 4 ? PAIR_TCP : PAIR_UNIX);
		user_start(&reader, rt, run % 2, read_until_closed,
			   &pair.ends[0]);
		user_start(&writer, rt, run / 2 % 2, write_until_closed,
			   &pair.ends[0]);
		wait_for_wait(pair.ends[0], IO_READ);
		wait_for_wait(pair.ends[0], IO_WRITE);
		io_close(pair.ends[0]);
		assert_int_equal(user_end(&reader), -EBADF);
		assert_int_equal(user_end(&writer), -EBADF);
		assert_int_equal(skua_io_read_try(pair.ends[0], &byte, 1),
				 -EBADF);
		assert_int_equal(skua_io_close(pair.ends[0]), -EBADF);
		assert_int_equal(fcntl(pair.ends[0].fd, F_GETFD), -1);
		io_close(pair.ends[1]);
	}
	destroy(rt);
}

TEST(detach__others_wait__ebadf_for_them_and_the_number_is_the_callers)
{
	struct skua_runtime *rt = runtime_new(1, 0);

	for (unsigned is_fiber = 0; is_fiber < 2; is_fiber++) {
		struct user reader = { 0 };
		struct pair pair;
		int fd;

		pair_open(rt, &pair, PAIR_UNIX);
		fd = pair.ends[0].fd;
		user_start(&reader, rt, is_fiber, read_until_closed,
			   &pair.ends[0]);
		wait_for_wait(pair.ends[0], IO_READ);
		assert_int_equal(skua_io_detach(pair.ends[0]), fd);
		assert_int_equal(user_end(&reader), -EBADF);
		assert_int_equal(fcntl(fd, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
		assert_int_equal(write(fd, "x", 1), 1);
		assert_int_equal(skua_io_detach(pair.ends[0]), -EBADF);
		assert_int_equal(close(fd), 0);
		io_close(pair.ends[1]);
	}
	destroy(rt);
}

/* A wait of a poll that was ended by a close, and is given up before it is collected. */
struct late {
	struct skua_task task; /* first */
	struct skua_wait wait;
	struct skua_io io;
	unsigned polls;
	int cancelled, code;
};

static enum skua_poll late_poll(struct skua_task *self)
{
	struct late *it = (struct late *)self;
	char byte;

	if (it->polls++ > 0)
		it->cancelled = skua_wait_cancel(self, &it->wait);
	it->code = (int)skua_io_read_poll(self, it->io, &byte, 1, &it->wait,
					  SKUA_FOREVER_NS);
	return it->code == -EAGAIN ? SKUA_PENDING : SKUA_DONE;
}

TEST(close__wait_of_a_poll__ealready_for_a_cancel_then_ebadf)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct late it = { .task = SKUA_TASK_INIT(late_poll) };
	struct pair pair;

	pair_open(rt, &pair, PAIR_UNIX);
	it.io = pair.ends[0];
	spawn(rt, &it.task);
	wait_for_wait(it.io, IO_READ);
	wait_until_waiting(&it.task);
	io_close(it.io);
	join(&it.task);
	assert_int_equal(it.polls, 2);
	assert_int_equal(it.cancelled, -EALREADY);
	assert_int_equal(it.code, -EBADF);
	io_close(pair.ends[1]);
	destroy(rt);
}

/* ---- again and again -------------------------------------------------------- */

/* Opens descriptors one after another. Another thread closes each at any moment. */
struct race {
	struct skua_runtime *rt;
	/* The handle, [ serial:32 | fd:32 ]; 0: none. */
	atomic_u64 io;
	atomic_u32 over;
	unsigned rounds, refused, closed, wrong;
	uint64_t deadline_ns; /* of each read, from now on; 0: none */
};

static uint64_t pack(struct skua_io io)
{
	return (uint64_t)io.serial << 32 | (uint32_t)io.fd;
}

static int open_and_read(struct user *it)
{
	struct race *race = it->object;

	for (unsigned i = 0; i < race->rounds; i++) {
		struct skua_io io;
		ssize_t n = 0;
		uint64_t byte;
		int fd = eventfd(i % 4 == 0, EFD_CLOEXEC);

		if (fd < 0 || skua_io_attach(race->rt, fd, 0, &io)) {
			race->wrong++;
			break;
		}
		atomic_store_release(&race->io, pack(io));
		while (n != -EBADF) {
			n = skua_io_read(io, &byte, sizeof(byte),
					 race->deadline_ns
						 ? skua_now_ns() +
							   race->deadline_ns
						 : SKUA_FOREVER_NS);
			race->wrong += n != sizeof(byte) && n != -ETIMEDOUT &&
				       n != -EBADF;
		}
		race->refused++;
	}
	atomic_store_release(&race->over, 1);
	return 0;
}

/* Closes what it finds, at once or a little later, and signals before that sometimes. */
static void *close_all(void *arg)
{
	struct race *race = arg;
	unsigned turn = 0;

	while (!atomic_load_acquire(&race->over)) {
		uint64_t word = atomic_exchange_acquire(&race->io, 0);
		struct skua_io io = { (int)(uint32_t)word,
				      (uint32_t)(word >> 32) };
		uint64_t one = 1;
		int code;

		if (word == 0) {
			sched_yield();
			continue;
		}
		turn++;
		if (turn % 3 == 0)
			skua_io_write_try(io, &one, sizeof(one));
		for (volatile unsigned spin = turn % 256; spin > 0; spin--)
			;
		if (turn % 5 == 0) {
			code = skua_io_detach(io);
			if (code >= 0)
				code = close(code);
		} else {
			code = skua_io_close(io);
		}
		if (code == 0)
			race->closed++;
		else
			race->wrong++;
	}
	return NULL;
}

static void close_often(unsigned workers, bool is_fiber, uint64_t deadline_ns)
{
	struct skua_runtime *rt = runtime_new(workers, 0);
	struct race race = { .rt = rt,
			     .rounds = times(),
			     .deadline_ns = deadline_ns };
	struct user user = { 0 };
	unsigned before = open_descriptors();
	pthread_t closer;

	/* A timer only if the call waits: a quarter of the rounds suffices. */
	if (deadline_ns)
		race.rounds /= 4;
	assert_int_equal(pthread_create(&closer, NULL, close_all, &race), 0);
	user_start(&user, rt, is_fiber, open_and_read, &race);
	user_end(&user);
	assert_int_equal(pthread_join(closer, NULL), 0);
	assert_int_equal(race.wrong, 0);
	assert_int_equal(race.refused, race.rounds);
	/* The last one may be closed by the reader's call that left last. */
	assert_int_equal(race.closed, race.rounds);
	assert_true(open_descriptors() <= before + 3);
	destroy(rt);
	assert_true(open_descriptors() <= before);
}

TEST(close__from_another_thread_100000_times__no_hang_and_none_left)
{
	close_often(1, true, 0);
	close_often(2, true, 0);
	close_often(1, false, 0);
}

TEST(close__beside_deadlines__no_hang_and_none_left)
{
	close_often(1, true, 20000);
	close_often(2, false, 20000);
}

/* ---- deadlines and cancels, again and again --------------------------------- */

struct giver {
	struct skua_io io;
	unsigned rounds, late, wrong;
};

static int give_up_often(struct user *it)
{
	struct giver *g = it->object;
	char byte;

	for (unsigned i = 0; i < g->rounds; i++) {
		uint64_t now_ns = skua_now_ns();
		ssize_t n = skua_io_read(g->io, &byte, 1, now_ns + i % 3000);

		g->late += n == -ETIMEDOUT;
		g->wrong += n != -ETIMEDOUT && n != 1;
	}
	return 0;
}

/* A deadline each time; the memory is what it was. */
TEST(deadline__100000_times__nothing_is_left)
{
	struct skua_runtime *rt = runtime_new(2, 0);

	for (unsigned is_fiber = 0; is_fiber < 2; is_fiber++) {
		struct giver g = { .rounds = times() / (is_fiber ? 1 : 4) };
		struct user user = { 0 };
		struct pair pair;
		char byte;

		pair_open(rt, &pair, PAIR_UNIX);
		g.io = pair.ends[0];
		user_start(&user, rt, is_fiber, give_up_often, &g);
		user_end(&user);
		assert_int_equal(g.wrong, 0);
		assert_int_equal(g.late, g.rounds);
		/* The descriptor works as before. */
		assert_int_equal(skua_io_write_try(pair.ends[1], "x", 1), 1);
		assert_int_equal(
			skua_io_read(pair.ends[0], &byte, 1, SKUA_FOREVER_NS),
			1);
		pair_close(&pair);
	}
	destroy(rt);
}

struct cancelled {
	struct skua_fiber fiber; /* first */
	struct skua_io io;
	atomic_u32 rounds;
	unsigned wrong;
};

static void read_until_cancelled(struct skua_fiber *self)
{
	struct cancelled *it = (struct cancelled *)self;
	char byte;
	ssize_t n;

	while ((n = skua_io_read(it->io, &byte, 1, SKUA_FOREVER_NS)) == 1)
		;
	it->wrong += n != -ECANCELED;
}

/* Each fiber waits, or is about to, when it is cancelled, beside an event. */
TEST(cancel__100000_times__no_hang_and_nothing_is_left)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	struct cancelled it = { .rounds = 0 };
	unsigned rounds = times();
	struct pair pair;

	pair_open(rt, &pair, PAIR_UNIX);
	it.io = pair.ends[0];
	for (unsigned i = 0; i < rounds; i++) {
		assert_int_equal(
			skua_fiber_init(&it.fiber, read_until_cancelled, 0), 0);
		spawn(rt, &it.fiber.task);
		if (i % 4 == 0)
			wait_for_wait(it.io, IO_READ);
		if (i % 3 == 0)
			assert_int_equal(
				skua_io_write_try(pair.ends[1], "x", 1), 1);
		assert_int_equal(skua_task_cancel(&it.fiber.task), 0);
		join(&it.fiber.task);
	}
	assert_int_equal(it.wrong, 0);
	assert_int_equal(io_word(it.io, IO_READ) & IO_OWNER, IO_FREE);
	pair_close(&pair);
	destroy(rt);
}

/* ---- the end of the runtime ------------------------------------------------- */

#ifndef NDEBUG

static void destroy_with_descriptors(void)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct pair pair;

	pair_open(rt, &pair, PAIR_UNIX);
	skua_runtime_destroy(rt);
}

TEST(destroy__descriptors_attached__ends_the_process_and_names_them)
{
	assert_true(aborts_saying(destroy_with_descriptors,
				  "destroyed with 2 attached descriptors"));
}

#else

static char logged[300];

static void keep_line(void *ctx, enum skua_log_level level, const char *line)
{
	(void)ctx;
	if (level == SKUA_LOG_WARNING && strstr(line, "descriptors"))
		snprintf(logged, sizeof(logged), "%s", line);
}

TEST(destroy__descriptors_attached__closed_and_named)
{
	const struct skua_hooks hooks = { .log = keep_line };
	struct skua_runtime *other = runtime_new(1, 0);
	struct skua_runtime *rt = RUNTIME(.workers = 1, .hooks = &hooks);
	struct user reader = { 0 };
	struct pair pair, kept;

	pair_open(other, &kept, PAIR_UNIX);
	pair_open(rt, &pair, PAIR_UNIX);
	user_start(&reader, rt, false, read_until_closed, &pair.ends[0]);
	wait_for_wait(pair.ends[0], IO_READ);
	destroy(rt);
	assert_int_equal(user_end(&reader), -EBADF);
	assert_non_null(strstr(logged, "2 descriptors"));
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(fcntl(pair.ends[i].fd, F_GETFD), -1);
		assert_int_equal(skua_io_close(pair.ends[i]), -EBADF);
	}
	/* Those of another runtime are untouched. */
	assert_int_equal(skua_io_write_try(kept.ends[0], "x", 1), 1);
	pair_close(&kept);
	destroy(other);
}

#endif
