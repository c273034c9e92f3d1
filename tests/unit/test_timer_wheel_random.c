/* SPDX-License-Identifier: MIT */
/* test_timer_wheel_random.c - never early, never lost, in order: at random */
#include "core/queue/timer_wheel.h"

#include <string.h>

#include "core/base/rng.h"
#include "tests/unit/support.h"
#include "tests/unit/timer_wheel_check.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* More than move in one call, so that a slot moves in parts. */
#define TIMERS (TIMER_WHEEL_MOVES + 128)

/* ---- against a sorted list ---------------------------------------------- */

#define MODEL_OPS (SANITIZED ? 200000u : 1000000u)

struct model {
	struct timer_wheel wheel;
	struct timer_slot slots[TIMER_WHEEL_SLOTS_TOTAL];
	struct rng rng;
	bool cancels;
	bool more; /* was left to do by the latest expire */
	bool far;  /* deadlines and steps of up to years; else of seconds */
	uint64_t now;
	uint64_t added;                     /* how many, ever */
	uint64_t cancelled;                 /* the same */
	uint64_t expired;                   /* the same */
	unsigned live;                      /* length of the list */
	struct timer_entry *sorted[TIMERS]; /* as they should come out */
	struct timer_entry timers[TIMERS];
	uint64_t grains[TIMERS]; /* the model's own, by timer */
};

static size_t index_of(const struct model *m, const struct timer_entry *entry)
{
	return (size_t)(entry - m->timers);
}

static uint64_t grain_of(const struct model *m, unsigned rank)
{
	return m->grains[index_of(m, m->sorted[rank])];
}

static uint64_t random_64(struct model *m)
{
	return (uint64_t)rng_next(&m->rng) << 32 | rng_next(&m->rng);
}

/* A span with any number of bits up to @most, all as likely. */
static uint64_t random_span(struct model *m, unsigned most)
{
	unsigned bits = rng_below(&m->rng, most + 1);

	return bits == 0 ? 0 : random_64(m) >> (64 - bits);
}

static uint64_t saturated(uint64_t a, uint64_t b)
{
	return a > NEVER - b ? NEVER : a + b;
}

static uint64_t random_deadline(struct model *m)
{
	uint64_t t;

	switch (rng_below(&m->rng, 16)) {
	case 0: /* passed */
		t = random_span(m, 40);
		return t > m->now ? 0 : m->now - t;
	case 1: /* the same as another */
	case 2:
	case 3:
		if (m->live > 0)
			return time_of(
				grain_of(m, rng_below(&m->rng, m->live)));
		return m->now;
	case 4: /* at the edge of a slot */
	case 5:
		t = width(rng_below(&m->rng, m->far ? TIMER_WHEEL_LEVELS : 3));
		return saturated(m->now / t * t, t) - rng_below(&m->rng, 2);
	case 6: /* years, or never */
		t = random_span(m, m->far ? 64 : 30);
		return m->far && t % 8 == 0 ? NEVER : saturated(m->now, t);
	default: /* up to 1 or 17 s */
		return saturated(m->now, random_span(m, m->far ? 34 : 30));
	}
}

static uint64_t random_now(struct model *m)
{
	uint64_t t;

	switch (rng_below(&m->rng, 64)) {
	case 0: /* as a sleeper */
		t = timer_wheel_next(&m->wheel);
		return t == NEVER || t < m->now ? m->now : t;
	case 1: /* just before */
		t = timer_wheel_next(&m->wheel);
		return t == NEVER || t <= m->now ? m->now : t - 1;
	case 2: /* the edge of a slot */
		t = width(rng_below(&m->rng, m->far ? 5 : 2));
		return saturated(m->now / t * t, t);
	case 3: /* up to 17 ms, or a minute */
		return saturated(m->now, random_span(m, m->far ? 36 : 24));
	case 4: /* seldom, up to 26 days */
		if (m->far && rng_below(&m->rng, 64) == 0)
			return saturated(m->now, random_span(m, 51));
		return m->now;
	default:
		return saturated(m->now, random_span(m, 20));
	}
}

static void model_add(struct model *m)
{
	unsigned i = rng_below(&m->rng, TIMERS);
	uint64_t deadline = random_deadline(m);
	uint64_t grain = grain_due(m->now, deadline);
	unsigned at = m->live;

	if (timer_entry_queued(&m->timers[i]))
		return;
	while (at > 0 && grain_of(m, at - 1) > grain)
		at--;
	memmove(&m->sorted[at + 1], &m->sorted[at],
		(m->live - at) * sizeof(m->sorted[0]));
	m->sorted[at] = &m->timers[i];
	m->live++;
	m->added++;
	m->grains[i] = grain;
	timer_wheel_add(&m->wheel, &m->timers[i], deadline);
}

static void model_remove(struct model *m, unsigned at)
{
	m->live--;
	memmove(&m->sorted[at], &m->sorted[at + 1],
		(m->live - at) * sizeof(m->sorted[0]));
}

static void model_cancel(struct model *m)
{
	unsigned i = rng_below(&m->rng, TIMERS);
	bool queued = timer_entry_queued(&m->timers[i]);

	for (unsigned at = 0; at < m->live; at++) {
		if (m->sorted[at] == &m->timers[i]) {
			assert_true(queued);
			model_remove(m, at);
			m->cancelled++;
			break;
		}
		assert_true(at + 1 < m->live || !queued);
	}
	assert_int_equal(timer_wheel_cancel(&m->wheel, &m->timers[i]), queued);
}

/* The next bound holds; it is exact if nothing was ever cancelled, and nothing
 * is left to do. */
static void model_next(const struct model *m)
{
	uint64_t next = timer_wheel_next(&m->wheel);

	if (m->live == 0)
		assert_int_equal(next, NEVER);
	else if (m->now == NEVER)
		assert_int_equal(next, 0);
	else if (m->cancelled == 0 && !m->more)
		assert_int_equal(next, time_of(grain_of(m, 0)));
	else
		assert_true(next <= time_of(grain_of(m, 0)));
}

/* The timer that came out is one of those that are due first. */
static void model_came(struct model *m, const struct timer_entry *entry)
{
	unsigned at = 0;

	while (at < m->live && m->sorted[at] != entry)
		at++;
	assert_true(at < m->live);
	assert_false(timer_entry_queued(entry));
	assert_int_equal(grain_of(m, at), grain_of(m, 0));
	assert_true(grain_of(m, at) <= grain_at(m->now));
	model_remove(m, at);
	m->expired++;
}

/* Hand out what is due; now and then add and cancel between. */
static void model_expire(struct model *m)
{
	struct timer_entry *due[8];
	bool more = true;

	m->now = random_now(m);
	while (more) {
		unsigned most = 1 + rng_below(&m->rng, COUNT_OF(due));
		unsigned count =
			timer_wheel_expire(&m->wheel, m->now, due, most, &more);

		assert_true(count <= most);
		for (unsigned i = 0; i < count; i++)
			model_came(m, due[i]);
		m->more = more;
		if (!more)
			break;
		if (rng_below(&m->rng, 4) == 0)
			model_add(m);
		if (m->cancels && rng_below(&m->rng, 4) == 0)
			model_cancel(m);
		model_next(m);
	}
	assert_int_equal(m->wheel.cursor, grain_at(m->now));
	/* None is lost, none is late. */
	assert_true(m->live == 0 || grain_of(m, 0) > grain_at(m->now));
	assert_true(timer_wheel_next(&m->wheel) > m->now || m->now == NEVER);
}

static void model_run(uint64_t seed, bool cancels, bool far)
{
	struct model *m = calloc(1, sizeof(*m));
	struct timer_entry *entry;

	assert_non_null(m);
	rng_init(&m->rng, seed);
	m->cancels = cancels;
	m->far = far;
	m->now = seed * 17 * S + seed;
	timer_wheel_init(&m->wheel, m->slots, m->now);
	for (unsigned op = 0; op < MODEL_OPS; op++) {
		switch (rng_below(&m->rng, 4)) {
		case 0:
		case 1:
			model_add(m);
			break;
		case 2:
			if (m->cancels)
				model_cancel(m);
			break;
		default:
			model_expire(m);
		}
		model_next(m);
		if (op % 1024 == 0)
			assert_int_equal(check(&m->wheel), m->live);
	}
	m->now = NEVER;
	while ((entry = expire_one(&m->wheel, NEVER)) != NULL)
		model_came(m, entry);
	assert_int_equal(m->live, 0);
	assert_int_equal(m->added, m->cancelled + m->expired);
	assert_true(m->expired > MODEL_OPS / 20);
	check(&m->wheel);
	free(m);
}

TEST(timer_wheel__random_operations__as_a_sorted_list)
{
	for (uint64_t seed = 0; seed < 4; seed++) {
		model_run(seed, true, true);
		model_run(seed, true, false);
	}
}

/* Without far ones, which would pile up. */
TEST(timer_wheel__random_without_cancels__next_is_exact)
{
	for (uint64_t seed = 4; seed < 8; seed++)
		model_run(seed, false, false);
}

/* A worker that sleeps until next: each timer comes at its very grain, and it
 * wakes in vain at most once for each that was cancelled. */
TEST(timer_wheel__sleeper__exact_and_rarely_in_vain)
{
	static struct timer_wheel wheel;
	static struct timer_slot slots[TIMER_WHEEL_SLOTS_TOTAL];
	static struct timer_entry timers[TIMERS];
	struct rng rng;
	uint64_t now = 0, expired = 0, cancelled = 0, wakes = 0;

	timer_wheel_init(&wheel, slots, 0);
	rng_init(&rng, 1);
	for (unsigned round = 0; round < 200000; round++) {
		struct timer_entry *any = &timers[rng_below(&rng, TIMERS)];
		unsigned bits = 4 + rng_below(&rng, 30);

		if (timer_wheel_cancel(&wheel, any))
			cancelled++;
		timer_wheel_add(&wheel, any,
				now + GRAIN +
					(rng_next(&rng) >> (34 - bits) / 2));
		if (rng_below(&rng, 2)) {
			uint64_t next = timer_wheel_next(&wheel);

			assert_true(next > now);
			now = next;
			wakes++;
			while ((any = expire_one(&wheel, now))) {
				assert_int_equal(any->grain, now / GRAIN);
				expired++;
			}
		}
	}
	assert_true(wakes <= expired + cancelled);
	assert_true(expired > 10000);
	check(&wheel);
}

/* ---- many --------------------------------------------------------------- */

#define MANY 200000u

/* As many as a busy service has, on steps of a busy worker. */
TEST(timer_wheel__many_over_10_s__each_once_in_order)
{
	static struct timer_wheel wheel;
	static struct timer_slot slots[TIMER_WHEEL_SLOTS_TOTAL];
	struct timer_entry *many = calloc(MANY, sizeof(*many));
	struct timer_entry *entry;
	uint64_t last = 0;
	unsigned came = 0;
	struct rng rng;

	assert_non_null(many);
	timer_wheel_init(&wheel, slots, 0);
	rng_init(&rng, 3);
	for (unsigned i = 0; i < MANY; i++)
		timer_wheel_add(&wheel, &many[i],
				rng_next(&rng) * UINT64_C(10) / 4);
	for (unsigned i = 0; i < MANY; i += 2)
		assert_true(timer_wheel_cancel(&wheel, &many[i]));
	check(&wheel);
	for (uint64_t now = 0; now < 11 * S; now += 300 * US) {
		while ((entry = expire_one(&wheel, now)) != NULL) {
			assert_true(entry->grain <= now / GRAIN);
			assert_true(entry->grain >= last);
			assert_true(now < 300 * US ||
				    entry->grain > (now - 300 * US) / GRAIN);
			assert_int_equal((entry - many) % 2, 1);
			last = entry->grain;
			came++;
		}
	}
	assert_int_equal(came, MANY / 2);
	assert_int_equal(check(&wheel), 0);
	free(many);
}
