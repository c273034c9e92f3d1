/* SPDX-License-Identifier: MIT */
/* echo.h - an echo server of fibers, and a client that measures it */
#ifndef SKUA_TESTS_UNIT_ECHO_H
#define SKUA_TESTS_UNIT_ECHO_H

#include <sys/prctl.h>
#include <time.h>

#include "tests/unit/pairs.h"

/* A connection. The client's end is not attached: its calls block. */
struct echo {
	struct skua_fiber fiber; /* first: a fiber is its connection */
	struct skua_io io;
	int client;
	int code; /* that ended it */
};

static inline void echo_answers(struct skua_fiber *self)
{
	struct echo *it = (struct echo *)self;
	char data[64];
	ssize_t n;

	while ((n = skua_io_read(it->io, data, sizeof(data), SKUA_FOREVER_NS)) >
	       0) {
		it->code = skua_io_write_all(it->io, data, (size_t)n, NULL,
					     SKUA_FOREVER_NS);
		if (it->code)
			return;
	}
	it->code = (int)n;
}

static inline void echo_start(struct skua_runtime *rt, struct echo *it)
{
	int fds[2];

	fds_open(fds, PAIR_TCP);
	it->io = attached(rt, fds[0]);
	it->client = fds[1];
	assert_int_equal(skua_fiber_init(&it->fiber, echo_answers, 0), 0);
	spawn(rt, &it->fiber.task);
}

static inline void echo_end(struct echo *it)
{
	assert_int_equal(close(it->client), 0);
	join(&it->fiber.task);
	assert_int_equal(it->code, 0);
	io_close(it->io);
}

/* echo_turn - send a byte, and wait for it. Return: the time in nanoseconds */
static inline uint64_t echo_turn(const struct echo *it)
{
	uint64_t begin_ns = skua_now_ns();
	char byte = 'x';

	assert_int_equal(send(it->client, &byte, 1, 0), 1);
	assert_int_equal(recv(it->client, &byte, 1, 0), 1);
	return skua_now_ns() - begin_ns;
}

static inline int compare_ns(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Quantiles of the times of a block of turns. */
struct quantiles {
	uint64_t p50_ns, p99_ns, most_ns;
};

/* quantiles_of - the quantiles of @count times, which this sorts */
static inline struct quantiles quantiles_of(uint64_t *times_ns, unsigned count)
{
	qsort(times_ns, count, sizeof(*times_ns), compare_ns);
	return (struct quantiles){ times_ns[count / 2],
				   times_ns[count - 1 - count / 100],
				   times_ns[count - 1] };
}

/* nap_length_ns - return the length of nap @i of a measurement */
static inline uint64_t nap_length_ns(unsigned i)
{
	return 300000 + i % 100 * 10000;
}

/* nap_by_kernel - let the thread sleep @count times, without a runtime. @late_ns receives how
 * late each sleep ended. */
static inline void nap_by_kernel(uint64_t *late_ns, unsigned count)
{
	prctl(PR_SET_TIMERSLACK, 1ul); /* as workers do */
	for (unsigned i = 0; i < count; i++) {
		uint64_t due_ns = skua_now_ns() + nap_length_ns(i);
		struct timespec due = { (time_t)(due_ns / 1000000000),
					(long)(due_ns % 1000000000) };

		assert_int_equal(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME,
						 &due, NULL),
				 0);
		late_ns[i] = skua_now_ns() - due_ns;
	}
}

#endif
