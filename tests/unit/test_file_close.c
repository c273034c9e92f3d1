/* SPDX-License-Identifier: MIT */
/*
 * test_file_close.c - closes that take long, by io_uring and, without it, by the blocking pool;
 * and closes that are interrupted
 *
 * The program is linked with --wrap for uring_take(), to change results of the kernel.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/socket.h>

#include "core/runtime/runtime.h"
#include "tests/unit/users.h"

/* A connection: the close of one end waits until the other one has read all. */
struct lingering {
	struct skua_runtime *rt;
	int closed, other;
	atomic_u32 closing;
};

static void lingering_begin(struct lingering *it)
{
	const struct linger linger = { .l_onoff = 1, .l_linger = 3600 };
	struct sockaddr_in address = { .sin_family = AF_INET };
	socklen_t size = sizeof(address);
	static const char data[1 << 16];
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(listener, (void *)&address, size), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(getsockname(listener, (void *)&address, &size), 0);
	it->closed = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(connect(it->closed, (void *)&address, size), 0);
	it->other = accept(listener, NULL, NULL);
	assert_true(it->other >= 0);
	close(listener);
	while (send(it->closed, data, sizeof(data), MSG_DONTWAIT) > 0)
		;
	assert_int_equal(setsockopt(it->closed, SOL_SOCKET, SO_LINGER, &linger,
				    sizeof(linger)),
			 0);
}

static int close_slowly(struct user *it)
{
	struct lingering *lingering = it->object;

	/* Release: pairs with the acquire in the test. */
	atomic_store_release(&lingering->closing, 1);
	return skua_file_close(lingering->rt, lingering->closed,
			       SKUA_FOREVER_NS);
}

static int read_to_the_end(struct user *it)
{
	struct lingering *lingering = it->object;
	char data[1 << 12];
	ssize_t got;

	do {
		got = read(lingering->other, data, sizeof(data));
	} while (got > 0);
	return (int)got;
}

/* If the close held up the only worker, nobody would read, and the test would not end. */
TEST(close__that_takes_long__does_not_hold_up_its_worker)
{
	struct user closer = { .number = 0 };
	struct lingering it = { .closing = 0 };

	it.rt = runtime_new(1, 0);
	lingering_begin(&it);
	user_start(&closer, it.rt, true, close_slowly, &it);
	/* Acquire: pairs with the release in close_slowly(). */
	while (!atomic_load_acquire(&it.closing))
		sched_yield();
	assert_int_equal(user_run(it.rt, true, read_to_the_end, &it), 0);
	assert_int_equal(user_end(&closer), 0);
	close(it.other);
	destroy(it.rt);
}

/* ---- closes that are interrupted ---------------------------------------------------- */

/* The number that the operation in progress closes; -1: none. */
static int interrupted = -1;

unsigned __real_uring_take(struct uring *ring, struct uring_done *out,
			   unsigned count);
unsigned __wrap_uring_take(struct uring *ring, struct uring_done *out,
			   unsigned count);
unsigned __wrap_uring_take(struct uring *ring, struct uring_done *out,
			   unsigned count)
{
	unsigned taken = __real_uring_take(ring, out, count);

	if (taken == 0 || interrupted < 0)
		return taken;
	assert_int_equal(out[0].result, 0);
	out[0].result = -EINTR;
	/* Another thread gets the number, which is free. */
	assert_int_equal(fcntl(interrupted, F_GETFD), -1);
	assert_int_equal(dup2(STDOUT_FILENO, interrupted), interrupted);
	return taken;
}

/* A file whose flush a signal has interrupted, as those of network filesystems. A second close
 * would meet the descriptor of another thread. */
TEST(close__interrupted__closed_once)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	bool ring = files_has_ring(&rt->files);

	if (ring) {
		interrupted = dup(STDOUT_FILENO);
		assert_int_equal(
			skua_file_close(rt, interrupted, SKUA_FOREVER_NS), 0);
		assert_true(fcntl(interrupted, F_GETFD) >= 0);
		close(interrupted);
		interrupted = -1;
	}
	destroy(rt);
	if (!ring)
		skip_aloud("io_uring is not built in, or refused");
}
