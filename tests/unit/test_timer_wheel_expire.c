/* SPDX-License-Identifier: MIT */
/* test_timer_wheel_expire.c - in which order; how much in one call */
#include "core/queue/timer_wheel.h"
#include "tests/unit/support.h"
#include "tests/unit/timer_wheel_fixture.h"

/* ---- order -------------------------------------------------------------- */

/* All of @n timers are due at @now: each comes once. */
static void expect_all(struct fixture *f, uint64_t now, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		assert_non_null(expire_one(&f->wheel, now));
	for (unsigned i = 0; i < n; i++)
		assert_false(timer_entry_queued(&f->timers[i]));
	expect_none(f, now);
}

EACH_TEST(set_up, tear_down);

TEST(timer_wheel__same_deadline__all_come)
{
	struct fixture *f = *state;

	for (size_t s = 0; s < COUNT_OF(starts) - 3; s++) {
		for (unsigned bit = 9; bit < 56; bit += 4) {
			uint64_t deadline = (starts[s] + (UINT64_C(1) << bit)) /
					    GRAIN * GRAIN;

			restart(f, starts[s]);
			for (unsigned i = 0; i < TIMERS; i++)
				timer_wheel_add(&f->wheel, &f->timers[i],
						deadline);
			expect_none(f, deadline - 1);
			expect_all(f, deadline, TIMERS);
		}
	}
}

TEST(timer_wheel__same_deadline_from_afar__all_come)
{
	struct fixture *f = *state;
	uint64_t deadline = 77 * S / GRAIN * GRAIN;
	unsigned n = 0;

	/* Each is added a third nearer than the one before, into ever lower
	 * levels, whichever moved down by then. */
	for (uint64_t left = deadline; left > 0; left -= left / 3 + 1) {
		expect_none(f, deadline - left);
		add(f, n++, deadline);
	}
	assert_true(n > 50);
	expect_all(f, deadline, n);
}

TEST(timer_wheel__one_slot_of_level_1__in_order_of_grain)
{
	struct fixture *f = *state;
	uint64_t base = 100 * width(1);

	/* 8 in each of 32 grains. */
	for (unsigned i = 0; i < TIMERS; i++)
		timer_wheel_add(&f->wheel, &f->timers[i],
				base + i * 37 % TIMERS / 8 * GRAIN);
	check(&f->wheel);
	assert_int_equal(level_of(&f->timers[0]), 2);
	for (unsigned rank = 0; rank < TIMERS; rank++) {
		uint64_t due = base + rank / 8 * GRAIN;
		/* In the second half, all are due at once. */
		uint64_t now = rank < TIMERS / 2 ? due : base + S;
		const struct timer_entry *entry;

		assert_int_equal(timer_wheel_next(&f->wheel), due);
		if (rank < TIMERS / 2 && rank % 8 == 0)
			expect_none(f, due - 1);
		entry = expire_one(&f->wheel, now);
		assert_int_equal((unsigned)(entry - f->timers) * 37 % TIMERS /
					 8,
				 rank / 8);
	}
	expect_none(f, base + S);
}

TEST(timer_wheel__levels_overlap__in_order_of_grain)
{
	struct fixture *f = *state;
	uint64_t base = 64 * width(0);

	/* Added in level 1, and not moved down as time stands still. */
	add(f, 0, base + 10 * GRAIN);
	add(f, 1, base + 30 * GRAIN);
	assert_int_equal(level_of(&f->timers[0]), 1);
	f->wheel.cursor = f->wheel.now = 40;
	add(f, 2, base + 5 * GRAIN);
	add(f, 3, base + 20 * GRAIN);
	add(f, 4, base + 35 * GRAIN);
	assert_int_equal(level_of(&f->timers[2]), 0);
	expect_one(f, base + 40 * GRAIN, 2);
	expect_one(f, base + 40 * GRAIN, 0);
	expect_one(f, base + 40 * GRAIN, 3);
	expect_one(f, base + 40 * GRAIN, 1);
	expect_one(f, base + 40 * GRAIN, 4);
	expect_none(f, base + 40 * GRAIN);
}

/* ---- between the calls that hand out ------------------------------------ */

TEST(timer_wheel_expire__due_cancelled__skipped)
{
	struct fixture *f = *state;

	/* In one grain, in others of the slot; in other slots and levels. */
	for (unsigned i = 0; i < 3; i++)
		add(f, i, 5 * MS);
	for (unsigned i = 3; i < 6; i++)
		add(f, i, 5 * MS + i * GRAIN);
	add(f, 6, 6 * MS);
	add(f, 7, S);
	add(f, 8, 9 * S);
	expect_one(f, 10 * S, 0);
	assert_true(timer_wheel_cancel(&f->wheel, &f->timers[1]));
	assert_true(timer_wheel_cancel(&f->wheel, &f->timers[5]));
	assert_true(timer_wheel_cancel(&f->wheel, &f->timers[6]));
	assert_true(timer_wheel_cancel(&f->wheel, &f->timers[8]));
	check(&f->wheel);
	expect_one(f, 10 * S, 2);
	assert_true(timer_wheel_cancel(&f->wheel, &f->timers[3]));
	assert_true(timer_wheel_cancel(&f->wheel, &f->timers[4]));
	expect_one(f, 10 * S, 7);
	expect_none(f, 10 * S);
	assert_int_equal(check(&f->wheel), 0);
}

TEST(timer_wheel_expire__added_meanwhile__come_too)
{
	struct fixture *f = *state;
	uint64_t now = 10 * MS / GRAIN * GRAIN;

	for (unsigned i = 0; i < 3; i++)
		add(f, i, 5 * MS + i * GRAIN);
	add(f, 3, 7 * MS);
	expect_one(f, now, 0);
	add(f, 4, 0);       /* passed long ago */
	add(f, 5, 6 * MS);  /* passed, between two that are queued */
	add(f, 6, now);     /* due this very moment */
	add(f, 7, now + 1); /* not due */
	add(f, 0, 8 * MS);  /* the one just handed out */
	expect_one(f, now, 1);
	expect_one(f, now, 2);
	expect_one(f, now, 3);
	/* Those that were added count as now. */
	for (unsigned i = 0; i < 4; i++)
		assert_true(expire_one(&f->wheel, now) != &f->timers[7]);
	expect_none(f, now);
	expect_one(f, now + GRAIN, 7);
}

TEST(timer_wheel_expire__readded_due_for_ever__others_come)
{
	static const uint64_t passed[] = { 0, MS, 3 * MS };
	struct fixture *f = *state;

	for (size_t p = 0; p < COUNT_OF(passed); p++) {
		restart(f, 0);
		add(f, 0, MS);
		add(f, 1, MS + GRAIN);
		add(f, 2, 2 * MS);
		expect_one(f, 3 * MS / GRAIN * GRAIN, 0);
		/* As one that yields: due now, after the others. */
		add(f, 0, passed[p]);
		expect_one(f, 3 * MS, 1);
		expect_one(f, 3 * MS, 2);
		for (unsigned round = 0; round < 10; round++) {
			expect_one(f, 3 * MS + GRAIN, 0);
			add(f, 0, passed[p]);
		}
	}
}

/* ---- how many ------------------------------------------------------------- */

TEST(timer_wheel_expire__more_than_most__says_so)
{
	struct fixture *f = *state;
	struct timer_entry *due[TIMERS];
	bool more;

	for (unsigned i = 0; i < 10; i++)
		add(f, i, i < 5 ? MS : 2 * MS);
	assert_int_equal(timer_wheel_expire(&f->wheel, MS, due, 4, &more), 0);
	assert_false(more);
	assert_int_equal(timer_wheel_expire(&f->wheel, S, due, 4, &more), 4);
	assert_true(more);
	assert_int_equal(timer_wheel_expire(&f->wheel, S, due, 4, &more), 4);
	assert_true(more);
	/* Exactly as many as there is room for. */
	assert_int_equal(timer_wheel_expire(&f->wheel, S, due, 2, &more), 2);
	assert_false(more);
	assert_ptr_equal(due[1], &f->timers[9]);
	assert_int_equal(timer_wheel_expire(&f->wheel, S, due, 4, &more), 0);
	assert_false(more);
	assert_int_equal(check(&f->wheel), 0);
}

#define MANY    500000u
#define MAX_DUE 64u

/* How many of @many, from @from on, are not in slot @at any more. */
static unsigned moved_on(const struct timer_entry *many, unsigned from,
			 uint32_t at)
{
	unsigned n = 0;

	while (from + n < MANY && many[from + n].slot != at)
		n++;
	return n;
}

TEST(timer_wheel__500000_in_a_grain__each_call_is_bounded)
{
	struct fixture *f = *state;
	struct timer_entry *many = calloc(MANY, sizeof(*many));
	struct timer_entry *due[MAX_DUE];
	unsigned moved = 0, came = 0;
	uint32_t at;
	bool more = true;

	assert_non_null(many);
	for (unsigned i = 0; i < MANY; i++)
		timer_wheel_add(&f->wheel, &many[i], S);
	at = many[0].slot;
	/* They leave their slot in order, as nothing else has touched it. */
	while (more) {
		unsigned count = timer_wheel_expire(&f->wheel, S + MS, due,
						    MAX_DUE, &more);
		unsigned now_moved = moved_on(many, moved, at);

		assert_true(count == MAX_DUE || !more);
		assert_true(now_moved <= TIMER_WHEEL_MOVES);
		moved += now_moved;
		came += count;
	}
	assert_int_equal(moved, MANY);
	assert_int_equal(came, MANY);
	assert_int_equal(check(&f->wheel), 0);
	free(many);
}

#define CROWD (40 * TIMER_WHEEL_MOVES)

/* As many timers as one slot of level 3 has room for. */
static struct timer_entry *add_crowd(struct fixture *f, uint64_t begin)
{
	struct timer_entry *crowd = calloc(CROWD, sizeof(*crowd));

	assert_non_null(crowd);
	for (unsigned i = 0; i < CROWD; i++)
		timer_wheel_add(&f->wheel, &crowd[i],
				begin + i * (width(3) / CROWD));
	return crowd;
}

/* How many timers were moved or handed out since the last call; take note of
 * where they are. */
static unsigned touched(const struct timer_entry *crowd, uint32_t *slots)
{
	unsigned n = 0;

	for (unsigned i = 0; i < CROWD; i++) {
		n += crowd[i].slot != slots[i];
		slots[i] = crowd[i].slot;
	}
	return n;
}

TEST(timer_wheel__crowded_slot_after_a_sleep__bounded)
{
	static uint32_t slots[CROWD];
	struct fixture *f = *state;
	uint64_t begin = 40 * width(3);
	struct timer_entry *crowd = add_crowd(f, begin);
	struct timer_entry *due[MAX_DUE];
	unsigned came = 0, calls = 0;
	bool more = true;

	touched(crowd, slots);
	while (more) {
		unsigned count = timer_wheel_expire(&f->wheel, begin + width(3),
						    due, MAX_DUE, &more);

		assert_true(touched(crowd, slots) <=
			    TIMER_WHEEL_MOVES + MAX_DUE);
		assert_true(!more ||
			    timer_wheel_next(&f->wheel) < begin + width(3));
		for (unsigned i = 0; i < count; i++)
			assert_ptr_equal(due[i], &crowd[came++]);
		calls++;
	}
	assert_int_equal(came, CROWD);
	assert_true(calls > 2 * CROWD / (TIMER_WHEEL_MOVES + MAX_DUE));
	assert_int_equal(check(&f->wheel), 0);
	free(crowd);
}

/* How many timers are in the list of slot @at. */
static unsigned crowd_in(const struct timer_wheel *w, unsigned at)
{
	const struct timer_link *list = &w->slots[at].list;
	const struct timer_link *link;
	unsigned count = 0;

	for (link = list->next; link != list; link = link->next)
		count++;
	return count;
}

TEST(timer_wheel__crowded_slot__moves_down_before_it_begins)
{
	struct fixture *f = *state;
	uint64_t begin = 40 * width(3);
	struct timer_entry *crowd = add_crowd(f, begin);
	unsigned at = 3 * TIMER_WHEEL_SLOTS + 40;
	unsigned left = CROWD;

	expect_none(f, begin - width(3) - 1);
	assert_int_equal(crowd_in(&f->wheel, at), CROWD);
	/* A call now and then, and no call moves many. */
	for (uint64_t now = begin - width(3); now < begin; now += 100 * US) {
		unsigned before = left;

		assert_null(expire_one(&f->wheel, now));
		left = crowd_in(&f->wheel, at);
		assert_true(before - left <= TIMER_WHEEL_MOVES);
	}
	assert_int_equal(left, 0);
	check(&f->wheel);
	for (unsigned i = 0; i < CROWD; i++)
		assert_ptr_equal(expire_one(&f->wheel, begin + width(3)),
				 &crowd[i]);
	expect_none(f, begin + width(3));
	free(crowd);
}

/* ---- misuse ------------------------------------------------------------- */

#ifdef NDEBUG
TEST(timer_wheel_expire__time_goes_back__is_clamped)
{
	struct fixture *f = *state;

	add(f, 0, 2 * MS);
	assert_null(expire_one(&f->wheel, MS));
	assert_null(expire_one(&f->wheel, 0));
	assert_int_equal(f->wheel.now, grain_at(MS));
	expect_one(f, 2 * MS + GRAIN, 0);
}
#else
static void add_twice(void)
{
	static struct timer_wheel wheel;
	static struct timer_slot slots[TIMER_WHEEL_SLOTS_TOTAL];
	static struct timer_entry entry;

	timer_wheel_init(&wheel, slots, 0);
	timer_wheel_add(&wheel, &entry, S);
	timer_wheel_add(&wheel, &entry, S);
}

static void go_back(void)
{
	static struct timer_wheel wheel;
	static struct timer_slot slots[TIMER_WHEEL_SLOTS_TOTAL];

	timer_wheel_init(&wheel, slots, S);
	expire_one(&wheel, S - GRAIN);
}

TEST(timer_wheel__misuse__asserts)
{
	assert_true(aborts(add_twice));
	assert_true(aborts(go_back));
}
#endif
