/* SPDX-License-Identifier: MIT */
/**
 * test_io_timers.c - how late timers are beside descriptors
 *
 * Timers are measured without descriptors, beside idle ones, and while connections are
 * busy, in turn; the least of the ratios counts, which other processes hardly change. A
 * driver that rounds its sleep to milliseconds, or that leaves timers to other workers, makes
 * it five times as large. SKUA_TEST_SET=long: twenty times as many timers.
 */
#include "tests/unit/echo.h"

#define NAPS   100u
#define BLOCKS 5u
#define ECHOS  4u

/* A fiber that sleeps again and again. */
struct napper {
	struct skua_fiber fiber; /* first: a fiber is its napper */
	unsigned naps, early, failed;
	uint64_t *late_ns; /* one for each nap */
};

static void nap_often(struct skua_fiber *self)
{
	struct napper *it = (struct napper *)self;

	for (unsigned i = 0; i < it->naps; i++) {
		uint64_t due_ns = skua_now_ns() + nap_length_ns(i);
		uint64_t now_ns;

		it->failed += skua_sleep_until(due_ns) != 0;
		now_ns = skua_now_ns();
		it->early += now_ns < due_ns;
		it->late_ns[i] = now_ns - due_ns;
	}
}

static unsigned naps(void)
{
	const char *set = getenv("SKUA_TEST_SET");

	return set && strcmp(set, "long") == 0 ? 20 * NAPS : NAPS;
}

static struct quantiles nap(struct skua_runtime *rt)
{
	struct napper it = { .naps = naps() };
	struct quantiles q;

	it.late_ns = calloc(it.naps, sizeof(*it.late_ns));
	assert_non_null(it.late_ns);
	assert_int_equal(skua_fiber_init(&it.fiber, nap_often, 0), 0);
	spawn(rt, &it.fiber.task);
	join(&it.fiber.task);
	assert_int_equal(it.early, 0);
	assert_int_equal(it.failed, 0);
	q = quantiles_of(it.late_ns, it.naps);
	free(it.late_ns);
	return q;
}

/* The same naps, by a thread without a runtime, for comparison. */
static struct quantiles kernel_naps(void)
{
	unsigned count = naps();
	uint64_t *late_ns = calloc(count, sizeof(*late_ns));
	struct quantiles q;

	assert_non_null(late_ns);
	nap_by_kernel(late_ns, count);
	q = quantiles_of(late_ns, count);
	free(late_ns);
	return q;
}

/* A client of some echoes. It sleeps between two turns, so that there are events while
 * workers sleep. */
struct client {
	struct echo echoes[ECHOS];
	atomic_u32 over;
	uint64_t turns;
};

static void *ask_all(void *arg)
{
	struct client *it = arg;

	while (!atomic_load_relaxed(&it->over)) {
		echo_turn(&it->echoes[it->turns++ % ECHOS]);
		if (it->turns % 16 == 0)
			usleep(200);
	}
	return NULL;
}

static void print(const char *name, struct quantiles q)
{
	printf("%s: late by p50 %.1f us, p99 %.1f us, most %.1f us\n", name,
	       (double)q.p50_ns / 1e3, (double)q.p99_ns / 1e3,
	       (double)q.most_ns / 1e3);
}

static double smaller(double ratio, struct quantiles beside,
		      struct quantiles alone)
{
	double next = (double)beside.p50_ns / (double)alone.p50_ns;

	return next < ratio ? next : ratio;
}

static void measure(unsigned workers)
{
	double least_idle = 1e9, least_busy = 1e9;
	struct quantiles alone, idle, busy;
	uint64_t turns = 0;

	for (unsigned i = 0; i < BLOCKS; i++) {
		struct skua_runtime *rt = runtime_new(workers, 0);
		struct client client = { .turns = 0 };
		pthread_t thread;

		alone = nap(rt);
		for (unsigned n = 0; n < ECHOS; n++)
			echo_start(rt, &client.echoes[n]);
		idle = nap(rt);
		assert_int_equal(
			pthread_create(&thread, NULL, ask_all, &client), 0);
		busy = nap(rt);
		atomic_store_relaxed(&client.over, 1);
		assert_int_equal(pthread_join(thread, NULL), 0);
		turns += client.turns;
		for (unsigned n = 0; n < ECHOS; n++)
			echo_end(&client.echoes[n]);
		destroy(rt);
		least_idle = smaller(least_idle, idle, alone);
		least_busy = smaller(least_busy, busy, alone);
	}
	printf("%u workers, %llu echoes\n", workers, (unsigned long long)turns);
	print("the kernel's", kernel_naps());
	print("alone", alone);
	print("beside idle descriptors", idle);
	print("beside busy descriptors", busy);
	printf("least ratios of p50 %.2f and %.2f\n", least_idle, least_busy);
	assert_true(turns > 0);
	assert_true(least_idle < 4.0);
	assert_true(least_busy < 4.0);
}

/* The leader itself sleeps until the timer. */
TEST(timers__of_one_worker__as_exact_beside_descriptors)
{
	measure(1);
}

/* The sentinel does, beside the leader. */
TEST(timers__of_two_workers__as_exact_beside_descriptors)
{
	measure(2);
}
