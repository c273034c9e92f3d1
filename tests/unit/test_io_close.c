/* SPDX-License-Identifier: MIT */
/* test_io_close.c - descriptors that are closed, given back, or given up while others wait */
#include <poll.h>
#include <sys/eventfd.h>

#include "core/io/attach.h"
#include "tests/unit/pairs.h"

/* SKUA_TEST_SET=long: a million times, which takes two to five minutes; else a hundred
 * thousand; fewer under a sanitizer and in the quick set. */
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

/* ---- close of a socket that lingers ------------------------------------------ */

#define HOUR_S 3600

/* A connection whose peer has not read what was written. */
struct unread {
	struct skua_io io;
	int peer;
	size_t bytes;
};

static void unread_open(struct skua_runtime *rt, struct unread *it, int linger)
{
	struct linger option = { 1, linger };
	int fds[2];

	fds_open(fds, PAIR_TCP);
	it->io = attached(rt, fds[1]);
	it->peer = fds[0];
	it->bytes = fill(it->io);
	assert_int_equal(setsockopt(fds[1], SOL_SOCKET, SO_LINGER, &option,
				    sizeof(option)),
			 0);
}

/* Read all that comes. Return: the result of the last read, as a negative errno value. */
static int unread_end(struct unread *it)
{
	static char bytes[65536];
	size_t read_bytes = 0;
	ssize_t n;

	while ((n = read(it->peer, bytes, sizeof(bytes))) > 0)
		read_bytes += (size_t)n;
	n = n < 0 ? -errno : n;
	if (n == 0)
		assert_int_equal(read_bytes, it->bytes);
	assert_int_equal(close(it->peer), 0);
	return (int)n;
}

/* Close it beside a call of another task, which then is the one that closes it. */
static void close_beside_call(struct unread *it)
{
	struct io_slot *slot = table_find(it->io.fd);

	assert_int_equal(attach_hold(slot, it->io.serial), 0);
	io_close(it->io);
	assert_int_equal(fcntl(it->io.fd, F_GETFD), FD_CLOEXEC);
	attach_drop(slot);
	assert_int_equal(fcntl(it->io.fd, F_GETFD), -1);
}

/* If it lingered, the test would take an hour. */
TEST(close__lingers_and_another_call_closes__at_once_and_nothing_is_lost)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct unread it;

	unread_open(rt, &it, HOUR_S);
	close_beside_call(&it);
	assert_int_equal(unread_end(&it), 0);
	destroy(rt);
}

/* A time without end, which the kernel shows as any number. */
TEST(close__lingers_for_ever_and_another_call_closes__at_once)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct unread it;

	unread_open(rt, &it, -1);
	close_beside_call(&it);
	assert_int_equal(unread_end(&it), 0);
	destroy(rt);
}

TEST(close__lingers_for_no_time_and_another_call_closes__reset)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct unread it;

	unread_open(rt, &it, 0);
	close_beside_call(&it);
	assert_int_equal(unread_end(&it), -ECONNRESET);
	destroy(rt);
}

struct lingering {
	struct skua_io io;
	struct gate begun;
	atomic_u32 over;
};

static int close_and_linger(struct user *user)
{
	struct lingering *it = user->object;
	int code;

	gate_open(&it->begun);
	code = skua_io_close(it->io);
	atomic_store_release(&it->over, 1);
	return code;
}

/* The caller itself lingers, as it has asked for. */
TEST(close__lingers__returns_when_the_peer_has_read)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct lingering it = { .over = 0 };
	struct user user = { 0 };
	struct unread unread;

	unread_open(rt, &unread, HOUR_S);
	it.io = unread.io;
	user_start(&user, rt, false, close_and_linger, &it);
	gate_wait(&it.begun);
	usleep(20000);
	assert_int_equal(atomic_load_acquire(&it.over), 0);
	assert_int_equal(unread_end(&unread), 0);
	assert_int_equal(user_end(&user), 0);
	destroy(rt);
}

static int read_forever(struct user *user)
{
	struct skua_io *io = user->object;
	char byte;

	return (int)skua_io_read(*io, &byte, 1, SKUA_FOREVER_NS);
}

/* Those that wait for the socket are told before the close, which takes its time. */
TEST(close__lingers_beside_a_wait__wait_ends_at_once)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct user reader = { 0 }, closer = { 0 };
	struct lingering it = { .over = 0 };
	struct unread unread;

	unread_open(rt, &unread, HOUR_S);
	it.io = unread.io;
	user_start(&reader, rt, true, read_forever, &it.io);
	wait_for_wait(it.io, IO_READ);
	user_start(&closer, rt, false, close_and_linger, &it);
	assert_int_equal(user_end(&reader), -EBADF);
	assert_int_equal(atomic_load_acquire(&it.over), 0);
	assert_int_equal(unread_end(&unread), 0);
	assert_int_equal(user_end(&closer), 0);
	destroy(rt);
}

/* ---- again and again -------------------------------------------------------- */

/* Fibers or threads that open descriptors, each one after another. Another one closes each
 * descriptor at any moment, so that some waits are ended, and the kernel uses the numbers
 * again. There are several readers, because a wake-up takes longer than all the rest. */
#define READERS 8u

struct reader {
	struct user user;
	struct race *race;
	/* The handle, [ serial:32 | fd:32 ]; 0: none. */
	atomic_u64 io;
	unsigned refused, wrong;
};

struct race {
	struct skua_runtime *rt;
	unsigned readers_count;
	struct reader readers[READERS];
	struct user closer;
	atomic_u32 reading; /* readers that have not ended */
	unsigned rounds;    /* of each reader */
	unsigned closed, wrong;
	uint64_t deadline_ns; /* of each read, from then on; 0: none */
};

static uint64_t pack(struct skua_io io)
{
	return (uint64_t)io.serial << 32 | (uint32_t)io.fd;
}

/* Read until the descriptor is closed. Return: were all reads right? */
static bool read_all(struct skua_io io, uint64_t deadline_ns)
{
	bool right = true;
	ssize_t n = 0;

	while (n != -EBADF) {
		uint64_t count;

		n = skua_io_read(io, &count, sizeof(count),
				 deadline_ns ? skua_now_ns() + deadline_ns
					     : SKUA_FOREVER_NS);
		right &= n == sizeof(count) || n == -ETIMEDOUT || n == -EBADF;
	}
	return right;
}

static int open_and_read(struct user *user)
{
	struct reader *it = user->object;
	struct race *race = it->race;

	for (unsigned i = 0; i < race->rounds; i++) {
		struct skua_io io;
		int fd = eventfd(i % 4 == 0, EFD_CLOEXEC);

		if (fd < 0 || skua_io_attach(race->rt, fd, 0, &io)) {
			it->wrong++;
			break;
		}
		atomic_store_release(&it->io, pack(io));
		it->wrong += !read_all(io, race->deadline_ns);
		it->refused++;
	}
	atomic_fetch_sub_release(&race->reading, 1);
	return 0;
}

/* Close a descriptor, a little later, and signal before that sometimes. */
static void close_one(struct race *race, struct skua_io io, unsigned turn)
{
	uint64_t one = 1;
	int code;

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

static int close_all(struct user *user)
{
	struct race *race = user->object;
	unsigned turn = 0, nothing = 0;

	while (atomic_load_acquire(&race->reading) > 0) {
		unsigned before = turn;

		for (unsigned i = 0; i < race->readers_count; i++) {
			uint64_t word = atomic_exchange_acquire(
				&race->readers[i].io, 0);

			if (word != 0)
				close_one(race,
					  (struct skua_io){
						  (int)(uint32_t)word,
						  (uint32_t)(word >> 32) },
					  ++turn);
		}
		nothing = turn == before ? nothing + 1 : 0;
		/* On a busy machine, let the readers have the CPU. */
		if (nothing > 0 && user->is_fiber)
			skua_yield();
		else if (nothing > 0 && nothing % 8 != 0)
			sched_yield();
		else if (nothing > 0)
			usleep(1);
	}
	return 0;
}

/* How readers and the closer run, and how often. */
struct plan {
	unsigned workers;
	bool fibers_read, fiber_closes; /* else threads */
	unsigned readers, rounds;
	uint64_t deadline_ns; /* of each read; 0: none */
};

static void close_often(struct plan plan)
{
	struct race race = {
		.rt = runtime_new(plan.workers, 0),
		.readers_count = plan.readers,
		.reading = plan.readers,
		.rounds = plan.rounds / plan.readers,
		.deadline_ns = plan.deadline_ns,
	};
	unsigned before = open_descriptors();

	user_start(&race.closer, race.rt, plan.fiber_closes, close_all, &race);
	for (unsigned i = 0; i < plan.readers; i++) {
		race.readers[i].race = &race;
		user_start(&race.readers[i].user, race.rt, plan.fibers_read,
			   open_and_read, &race.readers[i]);
	}
	for (unsigned i = 0; i < plan.readers; i++) {
		user_end(&race.readers[i].user);
		assert_int_equal(race.readers[i].wrong, 0);
		assert_int_equal(race.readers[i].refused, race.rounds);
	}
	user_end(&race.closer);
	assert_int_equal(race.wrong, 0);
	assert_int_equal(race.closed, plan.readers * race.rounds);
	/* The last ones may be closed by the reader's call that left last. */
	assert_true(open_descriptors() <= before + 2 + plan.readers);
	destroy(race.rt);
	assert_true(open_descriptors() <= before);
}

TEST(close__from_another_thread_100000_times__no_hang_and_none_left)
{
	unsigned most = times() / 10 * 3;

	close_often((struct plan){ 1, true, false, READERS, most, 0 });
	close_often((struct plan){ 2, true, false, READERS, most, 0 });
	close_often((struct plan){ 1, false, false, READERS, most, 0 });
	close_often((struct plan){ 2, true, false, 1, times() / 10, 0 });
}

TEST(close__from_another_task_100000_times__no_hang_and_none_left)
{
	unsigned most = times() / 10 * 3;

	close_often((struct plan){ 1, true, true, READERS, most, 0 });
	close_often((struct plan){ 2, true, true, READERS, most, 0 });
	close_often((struct plan){ 1, false, true, READERS, most, 0 });
	close_often((struct plan){ 2, true, true, 1, times() / 10, 0 });
}

/* Fewer, as each close takes several deadlines. */
TEST(close__beside_deadlines__no_hang_and_none_left)
{
	close_often((struct plan){ 1, true, false, 2, times() / 20, 20000 });
	close_often((struct plan){ 2, false, true, 2, times() / 20, 20000 });
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

/* Several, because a wake-up takes longer than all the rest. */
#define CANCELLED 8u

struct cancelled {
	struct skua_fiber fiber; /* first: a fiber is its cancelled */
	struct pair pair;
	unsigned wrong;
};

/* Cancels fibers, again and again. */
struct canceller {
	struct skua_runtime *rt;
	struct cancelled all[CANCELLED];
	unsigned rounds, wrong;
};

static void read_until_cancelled(struct skua_fiber *self)
{
	struct cancelled *it = (struct cancelled *)self;
	char byte;
	ssize_t n;

	while ((n = skua_io_read(it->pair.ends[0], &byte, 1,
				 SKUA_FOREVER_NS)) == 1)
		;
	it->wrong += n != -ECANCELED;
}

/* The fiber waits, or is about to, beside an event. Return: was a call wrong? */
static bool cancel_one(struct cancelled *it, unsigned turn, bool is_fiber)
{
	ssize_t n = 1;

	while (turn % 4 == 0 &&
	       (io_word(it->pair.ends[0], IO_READ) & IO_OWNER) != IO_ARMED) {
		if (is_fiber)
			skua_yield();
		else
			sched_yield();
	}
	/* Fibers that are cancelled leave bytes, until there is no room. */
	if (turn % 3 == 0)
		n = skua_io_write_try(it->pair.ends[1], "x", 1);
	if (skua_task_cancel(&it->fiber.task))
		return true;
	return n != 1 && n != -EAGAIN;
}

static int cancel_often(struct user *user)
{
	struct canceller *it = user->object;

	for (unsigned i = 0; i < it->rounds; i++) {
		for (unsigned k = 0; k < CANCELLED; k++) {
			struct skua_fiber *fiber = &it->all[k].fiber;

			it->wrong += skua_fiber_init(fiber,
						     read_until_cancelled, 0) ||
				     skua_task_spawn(it->rt, &fiber->task);
		}
		for (unsigned k = 0; k < CANCELLED; k++)
			it->wrong +=
				cancel_one(&it->all[k], i + k, user->is_fiber);
		for (unsigned k = 0; k < CANCELLED; k++)
			it->wrong +=
				skua_task_join(&it->all[k].fiber.task) != 0;
	}
	return 0;
}

TEST(cancel__100000_times__no_hang_and_nothing_is_left)
{
	struct canceller it = { .rt = runtime_new(2, 0),
				.rounds = times() / CANCELLED / 2 };

	/* ThreadSanitizer takes milliseconds for a fiber. */
	if (SANITIZED)
		it.rounds /= 10;
	for (unsigned k = 0; k < CANCELLED; k++)
		pair_open(it.rt, &it.all[k].pair, PAIR_UNIX);
	for (unsigned is_fiber = 0; is_fiber < 2; is_fiber++)
		user_run(it.rt, is_fiber, cancel_often, &it);
	assert_int_equal(it.wrong, 0);
	for (unsigned k = 0; k < CANCELLED; k++) {
		struct pair *pair = &it.all[k].pair;

		assert_int_equal(it.all[k].wrong, 0);
		assert_int_equal(io_word(pair->ends[0], IO_READ) & IO_OWNER,
				 IO_FREE);
		pair_close(pair);
	}
	destroy(it.rt);
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
