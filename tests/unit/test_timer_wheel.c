/* SPDX-License-Identifier: MIT */
/* test_timer_wheel.c - timers at each distance; cancels; what order */
#include "core/timer_wheel.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/timer_wheel_check.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

#define TIMERS 256u

struct fixture {
	struct timer_wheel wheel;
	struct timer_entry timers[TIMERS];
};

/* Where the cursor is in its slots when a test begins. */
static const uint64_t starts[] = {
	0,
	1,
	(UINT64_C(1) << TIMER_WHEEL_BASE_BITS) - 1,
	UINT64_C(1) << TIMER_WHEEL_BASE_BITS,
	63 * S + 12345,
	(UINT64_C(1) << 58) - 1,
	UINT64_C(0x0123456789abcdef),
	NEVER - 1,
	NEVER,
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	if (!f)
		return -1;
	timer_wheel_init(&f->wheel, 0);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	free(*state);
	return 0;
}

static void restart(struct fixture *f, uint64_t now)
{
	timer_wheel_init(&f->wheel, now);
	for (unsigned i = 0; i < TIMERS; i++)
		timer_entry_init(&f->timers[i]);
}

static unsigned level_of(const struct timer_entry *entry)
{
	return (entry->slot - 1) / TIMER_WHEEL_SLOTS;
}

static void expect_none(struct fixture *f, uint64_t now)
{
	assert_null(timer_wheel_expire(&f->wheel, now));
	assert_int_equal(f->wheel.cursor_ns, now);
	assert_true(now == NEVER || timer_wheel_next(&f->wheel) > now);
	check(&f->wheel);
}

static void expect_one(struct fixture *f, uint64_t now, unsigned i)
{
	assert_ptr_equal(timer_wheel_expire(&f->wheel, now), &f->timers[i]);
	assert_false(timer_entry_queued(&f->timers[i]));
	check(&f->wheel);
}

static void add(struct fixture *f, unsigned i, uint64_t deadline)
{
	timer_wheel_add(&f->wheel, &f->timers[i], deadline);
	assert_true(timer_entry_queued(&f->timers[i]));
	assert_int_equal(f->timers[i].deadline_ns, deadline);
	check(&f->wheel);
}

/* ---- one timer ---------------------------------------------------------- */

static void timer_wheel__new__is_empty(void **state)
{
	struct fixture *f = *state;

	for (size_t s = 0; s < COUNT_OF(starts); s++) {
		restart(f, starts[s]);
		assert_int_equal(timer_wheel_next(&f->wheel), NEVER);
		expect_none(f, starts[s]);
		expect_none(f, NEVER);
	}
}

static void timer_entry__zeroed_or_initialised__is_not_queued(void **state)
{
	struct fixture *f = *state;
	struct timer_entry entry;

	assert_false(timer_entry_queued(&f->timers[0]));
	memset(&entry, 0xff, sizeof(entry));
	timer_entry_init(&entry);
	assert_false(timer_entry_queued(&entry));
	assert_false(timer_wheel_cancel(&f->wheel, &entry));
}

/* One timer at @deadline: next says so, and it comes then, not before. */
static void expect_exact(struct fixture *f, uint64_t start, uint64_t deadline)
{
	restart(f, start);
	add(f, 0, deadline);
	assert_int_equal(timer_wheel_next(&f->wheel), deadline);
	if (deadline > start) {
		expect_none(f, start);
		expect_none(f, start + (deadline - start) / 2);
		expect_none(f, deadline - 1);
		assert_int_equal(timer_wheel_next(&f->wheel), deadline);
	}
	expect_one(f, deadline > start ? deadline : start, 0);
	expect_none(f, deadline > start ? deadline : start);
	assert_int_equal(timer_wheel_next(&f->wheel), NEVER);
}

static void timer_wheel__around_each_level__exact(void **state)
{
	struct fixture *f = *state;

	for (size_t s = 0; s < COUNT_OF(starts); s++)
		for (unsigned bit = 0; bit < 64; bit++)
			for (uint64_t off = 0; off < 5; off++) {
				uint64_t ahead = (UINT64_C(1) << bit) + off - 2;

				if (ahead <= NEVER - starts[s])
					expect_exact(f, starts[s],
						     starts[s] + ahead);
			}
}

static void timer_wheel__each_slot_of_each_level__exact(void **state)
{
	struct fixture *f = *state;

	for (size_t s = 0; s < COUNT_OF(starts); s++)
		for (unsigned level = 0; level < TIMER_WHEEL_LEVELS; level++)
			for (uint64_t n = 1; n <= TIMER_WHEEL_SLOTS; n++) {
				uint64_t number = starts[s] / width(level) + n;
				uint64_t deadline = number * width(level);

				if (deadline / width(level) != number)
					continue; /* beyond 64 bits */
				expect_exact(f, starts[s], deadline - 1);
				expect_exact(f, starts[s], deadline);
			}
}

static void timer_wheel_add__window_ends__goes_one_level_up(void **state)
{
	struct fixture *f = *state;

	for (unsigned level = 0; level + 1 < TIMER_WHEEL_LEVELS; level++) {
		/* The cursor at the begin and at the end of its slot: the
		 * window is the same. */
		uint64_t begin = 5 * width(level + 1);
		uint64_t end = begin + TIMER_WHEEL_SLOTS * width(level);

		for (unsigned late = 0; late < 2; late++) {
			restart(f, begin + late * (width(level) - 1));
			add(f, 0, end - 1);
			add(f, 1, end);
			assert_int_equal(level_of(&f->timers[0]), level);
			assert_int_equal(level_of(&f->timers[1]), level + 1);
		}
	}
}

static void timer_wheel__wraps_of_each_level__exact(void **state)
{
	struct fixture *f = *state;

	for (unsigned level = 0; level + 2 < TIMER_WHEEL_LEVELS; level++) {
		uint64_t step = width(level) * 21 + width(level) / 3;
		uint64_t now = 0;

		restart(f, 0);
		/* Each timer comes round after three steps, near the end of
		 * the window. */
		for (unsigned i = 0; i < 3; i++)
			add(f, i, (i + 1) * step);
		for (unsigned round = 0; round < 300; round++) {
			now += step;
			expect_none(f, now - 1);
			assert_int_equal(timer_wheel_next(&f->wheel), now);
			expect_one(f, now, round % 3);
			add(f, round % 3, now + 3 * step);
		}
	}
}

static void timer_wheel_add__deadline_passed__due_at_once(void **state)
{
	struct fixture *f = *state;

	restart(f, 10 * S);
	add(f, 0, 10 * S);
	add(f, 1, 10 * S - 1);
	add(f, 2, 0);
	add(f, 3, 10 * S + 1);
	assert_int_equal(timer_wheel_next(&f->wheel), 0);
	expect_one(f, 10 * S, 2);
	expect_one(f, 10 * S, 1);
	expect_one(f, 10 * S, 0);
	expect_none(f, 10 * S);
	expect_one(f, 10 * S + 1, 3);
}

static void timer_wheel__time_and_deadline_0__due(void **state)
{
	struct fixture *f = *state;

	add(f, 0, 0);
	add(f, 1, 1);
	assert_int_equal(timer_wheel_next(&f->wheel), 0);
	expect_one(f, 0, 0);
	expect_none(f, 0);
	expect_one(f, 1, 1);
}

/* ---- far away ----------------------------------------------------------- */

static void timer_wheel__never__stays_until_the_end_of_time(void **state)
{
	struct fixture *f = *state;

	add(f, 0, NEVER);
	add(f, 1, NEVER - 1);
	add(f, 2, NEVER);
	for (uint64_t now = 1; now < NEVER / 2; now *= 2) {
		expect_none(f, now);
		assert_int_equal(timer_wheel_next(&f->wheel), NEVER - 1);
	}
	expect_none(f, NEVER - 2);
	expect_one(f, NEVER - 1, 1);
	expect_none(f, NEVER - 1);
	assert_int_equal(timer_wheel_next(&f->wheel), NEVER);
	assert_true(timer_wheel_cancel(&f->wheel, &f->timers[2]));
	expect_one(f, NEVER, 0);
	expect_none(f, NEVER);
	add(f, 3, NEVER);
	expect_one(f, NEVER, 3);
}

static void timer_wheel__jump_of_years__all_in_order(void **state)
{
	struct fixture *f = *state;
	uint64_t deadline = 1;
	unsigned n = 0;

	/* Some in each level, added in no order. */
	for (; n < TIMERS && deadline < 500 * YEAR; n++)
		deadline += deadline / 5 + 1;
	for (unsigned i = 0; i < n; i++)
		f->timers[i].deadline_ns = i * 7 % n; /* a permutation, below */
	assert_int_not_equal(n % 7, 0);
	for (unsigned i = 0; i < n; i++) {
		uint64_t rank = f->timers[i].deadline_ns;

		deadline = 1;
		while (rank-- > 0)
			deadline += deadline / 5 + 1;
		add(f, i, deadline);
	}
	deadline = 1;
	for (unsigned i = 0; i < n; i++) {
		struct timer_entry *entry;

		entry = timer_wheel_expire(&f->wheel, 501 * YEAR);
		assert_non_null(entry);
		assert_int_equal(entry->deadline_ns, deadline);
		deadline += deadline / 5 + 1;
	}
	expect_none(f, 501 * YEAR);
	expect_exact(f, 501 * YEAR, 501 * YEAR + 3 * MS);
}

static void timer_wheel__years_without_a_call__adds_are_exact(void **state)
{
	struct fixture *f = *state;

	/* The wheel's time is 0 still. */
	add(f, 0, 30 * YEAR + 10 * MS);
	add(f, 1, 30 * YEAR + 5 * MS);
	add(f, 2, 30 * YEAR + 5 * MS + 1);
	assert_int_equal(timer_wheel_next(&f->wheel), 30 * YEAR + 5 * MS);
	expect_none(f, 30 * YEAR);
	expect_one(f, 30 * YEAR + 5 * MS, 1);
	expect_none(f, 30 * YEAR + 5 * MS);
	expect_one(f, 30 * YEAR + 5 * MS + 1, 2);
	assert_int_equal(timer_wheel_next(&f->wheel), 30 * YEAR + 10 * MS);
	expect_one(f, 30 * YEAR + 10 * MS, 0);
}

/* ---- order -------------------------------------------------------------- */

static void timer_wheel__same_deadline__in_order_of_adding(void **state)
{
	struct fixture *f = *state;

	for (size_t s = 0; s < COUNT_OF(starts) - 3; s++) {
		for (unsigned bit = 4; bit < 56; bit += 4) {
			uint64_t deadline = starts[s] + (UINT64_C(1) << bit);

			restart(f, starts[s]);
			for (unsigned i = 0; i < TIMERS; i++)
				timer_wheel_add(&f->wheel, &f->timers[i],
						deadline);
			expect_none(f, deadline - 1);
			for (unsigned i = 0; i < TIMERS; i++)
				expect_one(f, deadline, i);
			expect_none(f, deadline);
		}
	}
}

static void timer_wheel__same_deadline_from_afar__in_order(void **state)
{
	struct fixture *f = *state;
	uint64_t deadline = 77 * S;
	unsigned n = 0;

	/* Each is added a third nearer than the one before, into ever lower
	 * levels, whichever moved down by then. */
	for (uint64_t left = deadline; left > 0; left -= left / 3 + 1) {
		expect_none(f, deadline - left);
		add(f, n++, deadline);
	}
	assert_true(n > 50);
	for (unsigned i = 0; i < n; i++)
		expect_one(f, deadline, i);
	expect_none(f, deadline);
}

static void timer_wheel__serial_wraps__keeps_order(void **state)
{
	struct fixture *f = *state;

	f->wheel.serial = UINT32_MAX - 2;
	add(f, 0, 10 * MS);
	expect_none(f, 9700 * US); /* 0 has not moved down when 1 is added */
	for (unsigned i = 1; i < 8; i++)
		add(f, i, 10 * MS);
	add(f, 8, 10 * MS - 1); /* makes the list unordered */
	expect_one(f, 10 * MS, 8);
	for (unsigned i = 0; i < 8; i++)
		expect_one(f, 10 * MS, i);
}

static void timer_wheel__all_in_one_slot__in_order_of_deadline(void **state)
{
	struct fixture *f = *state;
	uint64_t base = 100 * width(0);

	for (unsigned i = 0; i < TIMERS; i++)
		timer_wheel_add(&f->wheel, &f->timers[i],
				base + i * 37 % TIMERS);
	check(&f->wheel);
	/* 37 * 173 = 1 modulo 256 */
	for (unsigned rank = 0; rank < TIMERS / 2; rank++) {
		assert_int_equal(timer_wheel_next(&f->wheel), base + rank);
		expect_none(f, base + rank - 1);
		expect_one(f, base + rank, rank * 173 % TIMERS);
	}
	for (unsigned rank = TIMERS / 2; rank < TIMERS; rank++)
		expect_one(f, base + S, rank * 173 % TIMERS);
	expect_none(f, base + S);
}

static void timer_wheel__levels_overlap_in_a_slot__in_order(void **state)
{
	struct fixture *f = *state;
	uint64_t base = 64 * width(0);

	/* Added in level 1, and not moved down as time stands still. */
	add(f, 0, base + 10);
	add(f, 1, base + 30);
	assert_int_equal(level_of(&f->timers[0]), 1);
	f->wheel.cursor_ns = f->wheel.now_ns = width(0);
	add(f, 2, base + 5);
	add(f, 3, base + 20);
	add(f, 4, base + 30);
	assert_int_equal(level_of(&f->timers[2]), 0);
	expect_one(f, base + 40, 2);
	expect_one(f, base + 40, 0);
	expect_one(f, base + 40, 3);
	expect_one(f, base + 40, 1);
	expect_one(f, base + 40, 4);
	expect_none(f, base + 40);
}

/* ---- cancel ------------------------------------------------------------- */

static void timer_wheel_cancel__in_each_level__is_not_handed_out(void **state)
{
	struct fixture *f = *state;

	for (unsigned level = 0; level < TIMER_WHEEL_LEVELS; level++) {
		uint64_t deadline = 40 * width(level);

		restart(f, 0);
		for (unsigned i = 0; i < 3; i++)
			add(f, i, deadline + i);
		assert_int_equal(level_of(&f->timers[1]), level);
		assert_true(timer_wheel_cancel(&f->wheel, &f->timers[1]));
		assert_false(timer_entry_queued(&f->timers[1]));
		assert_false(timer_wheel_cancel(&f->wheel, &f->timers[1]));
		assert_int_equal(timer_wheel_next(&f->wheel), deadline);
		check(&f->wheel);
		expect_one(f, deadline + 3, 0);
		expect_one(f, deadline + 3, 2);
		expect_none(f, deadline + 3);
	}
}

static void timer_wheel_cancel__last_of_a_slot__empties_it(void **state)
{
	struct fixture *f = *state;

	for (unsigned level = 0; level < TIMER_WHEEL_LEVELS; level++) {
		uint64_t deadline = 40 * width(level);

		restart(f, 0);
		add(f, 0, deadline);
		assert_true(timer_wheel_cancel(&f->wheel, &f->timers[0]));
		assert_int_equal(f->wheel.occupied[level], 0);
		assert_int_equal(timer_wheel_next(&f->wheel), NEVER);
		/* What the slot knew of the cancelled one is forgotten. */
		add(f, 0, deadline + 1);
		assert_int_equal(timer_wheel_next(&f->wheel), deadline + 1);
	}
}

/* Sleep as a worker does, from now on. Returns how often it woke in vain. */
static unsigned sleep_until(struct fixture *f, uint64_t now, unsigned i)
{
	unsigned vain = 0;

	for (;;) {
		uint64_t next = timer_wheel_next(&f->wheel);

		assert_true(next > now && next <= f->timers[i].deadline_ns);
		now = next;
		if (now == f->timers[i].deadline_ns) {
			expect_one(f, now, i);
			return vain;
		}
		expect_none(f, now);
		vain++;
	}
}

static void timer_wheel_next__earliest_cancelled__exact_after_one(void **state)
{
	struct fixture *f = *state;

	for (unsigned level = 0; level < TIMER_WHEEL_LEVELS; level++) {
		restart(f, 0);
		for (unsigned i = 0; i < 20; i++)
			add(f, i, 40 * width(level) + i * 300);
		for (unsigned i = 0; i < 19; i++)
			assert_true(
				timer_wheel_cancel(&f->wheel, &f->timers[i]));
		assert_true(sleep_until(f, 0, 19) <= 1);
	}
}

static void timer_wheel_cancel__in_another_slot__next_is_exact(void **state)
{
	struct fixture *f = *state;

	for (unsigned i = 0; i < 50; i++)
		add(f, i, (i + 1) * MS);
	for (unsigned i = 0; i < 49; i++) {
		assert_true(timer_wheel_cancel(&f->wheel, &f->timers[i]));
		assert_true(timer_wheel_next(&f->wheel) <= 50 * MS);
	}
	assert_true(sleep_until(f, 0, 49) <= 2);
}

/* ---- between the calls that hand out ------------------------------------ */

static void timer_wheel_expire__pending_cancelled__skipped(void **state)
{
	struct fixture *f = *state;

	/* One slot, so that all but the first wait in due; then other slots
	 * and levels. */
	for (unsigned i = 0; i < 6; i++)
		add(f, i, 5 * MS + i);
	add(f, 6, 6 * MS);
	add(f, 7, S);
	add(f, 8, 9 * S);
	expect_one(f, 10 * S, 0);
	assert_int_equal(f->timers[1].slot, SLOT_DUE);
	assert_true(timer_wheel_cancel(&f->wheel, &f->timers[1]));
	assert_true(timer_wheel_cancel(&f->wheel, &f->timers[5]));
	assert_true(timer_wheel_cancel(&f->wheel, &f->timers[6]));
	assert_true(timer_wheel_cancel(&f->wheel, &f->timers[8]));
	assert_int_equal(timer_wheel_next(&f->wheel), 5 * MS + 2);
	check(&f->wheel);
	expect_one(f, 10 * S, 2);
	assert_true(timer_wheel_cancel(&f->wheel, &f->timers[3]));
	assert_true(timer_wheel_cancel(&f->wheel, &f->timers[4]));
	expect_one(f, 10 * S, 7);
	expect_none(f, 10 * S);
	assert_int_equal(f->wheel.count, 0);
}

static void timer_wheel_expire__added_meanwhile__come_too(void **state)
{
	struct fixture *f = *state;

	for (unsigned i = 0; i < 3; i++)
		add(f, i, 5 * MS + i);
	add(f, 3, 7 * MS);
	expect_one(f, 10 * MS, 0);
	add(f, 4, 0);           /* passed long ago */
	add(f, 5, 6 * MS);      /* passed, between two that are queued */
	add(f, 6, 10 * MS);     /* due this very moment */
	add(f, 7, 10 * MS + 1); /* not due */
	add(f, 0, 8 * MS);      /* the one just handed out */
	assert_int_equal(timer_wheel_next(&f->wheel), 0);
	expect_one(f, 10 * MS, 1); /* these two had been collected */
	expect_one(f, 10 * MS, 2);
	expect_one(f, 10 * MS, 4);
	expect_one(f, 10 * MS, 5);
	expect_one(f, 10 * MS, 3);
	expect_one(f, 10 * MS, 0);
	expect_one(f, 10 * MS, 6);
	expect_none(f, 10 * MS);
	expect_one(f, 10 * MS + 1, 7);
}

static void timer_wheel_expire__readded_due_for_ever__others_come(void **state)
{
	struct fixture *f = *state;

	add(f, 0, MS);
	add(f, 1, MS + 1);
	add(f, 2, 2 * MS);
	expect_one(f, 3 * MS, 0);
	add(f, 0, 3 * MS); /* as one that yields: due now, after the others */
	expect_one(f, 3 * MS, 1);
	expect_one(f, 3 * MS, 2);
	for (unsigned round = 0; round < 10; round++) {
		expect_one(f, 3 * MS, 0);
		add(f, 0, 3 * MS);
	}
}

/* ---- moving down ahead of time ------------------------------------------ */

#define CROWD (40 * TIMER_WHEEL_AHEAD)

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

static void timer_wheel__crowded_slot__moves_down_before_it_begins(void **state)
{
	struct fixture *f = *state;
	struct timer_entry *crowd = calloc(CROWD, sizeof(*crowd));
	uint64_t begin = 40 * width(3);
	unsigned at = 3 * TIMER_WHEEL_SLOTS + 40;
	unsigned left = CROWD;
	uint64_t last = 0;

	assert_non_null(crowd);
	for (unsigned i = 0; i < CROWD; i++)
		timer_wheel_add(&f->wheel, &crowd[i],
				begin + i * (width(3) / CROWD));
	expect_none(f, begin - width(3) - 1);
	assert_int_equal(crowd_in(&f->wheel, at), CROWD);
	/* A call each millisecond, and no call moves many. */
	for (uint64_t now = begin - width(3); now < begin; now += MS) {
		unsigned before = left;

		assert_null(timer_wheel_expire(&f->wheel, now));
		left = crowd_in(&f->wheel, at);
		assert_true(before - left <= TIMER_WHEEL_AHEAD);
	}
	assert_int_equal(left, 0);
	check(&f->wheel);
	for (unsigned i = 0; i < CROWD; i++) {
		struct timer_entry *entry =
			timer_wheel_expire(&f->wheel, begin + width(3));

		assert_ptr_equal(entry, &crowd[i]);
		assert_true(entry->deadline_ns >= last);
		last = entry->deadline_ns;
	}
	expect_none(f, begin + width(3));
	free(crowd);
}

/* ---- misuse ------------------------------------------------------------- */

#ifdef NDEBUG
static void timer_wheel_expire__time_goes_back__is_clamped(void **state)
{
	struct fixture *f = *state;

	add(f, 0, 2 * MS);
	assert_null(timer_wheel_expire(&f->wheel, MS));
	assert_null(timer_wheel_expire(&f->wheel, 0));
	assert_int_equal(f->wheel.now_ns, MS);
	expect_one(f, 2 * MS, 0);
}
#else
/* Does @act end the process by SIGABRT, as a failed assert does? */
static bool aborts(void (*act)(void))
{
	const struct rlimit no_core = { 0, 0 };
	int status = 0;
	pid_t child;

	fflush(NULL);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		setrlimit(RLIMIT_CORE, &no_core);
		if (!freopen("/dev/null", "w", stderr))
			_exit(2);
		signal(SIGABRT, SIG_DFL);
		act();
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void add_twice(void)
{
	static struct timer_wheel wheel;
	static struct timer_entry entry;

	timer_wheel_init(&wheel, 0);
	timer_wheel_add(&wheel, &entry, S);
	timer_wheel_add(&wheel, &entry, S);
}

static void go_back(void)
{
	static struct timer_wheel wheel;

	timer_wheel_init(&wheel, S);
	timer_wheel_expire(&wheel, S - 1);
}

static void timer_wheel__misuse__asserts(void **state)
{
	(void)state;
	assert_true(aborts(add_twice));
	assert_true(aborts(go_back));
}
#endif

#define with_fixture(test) \
	cmocka_unit_test_setup_teardown(test, set_up, tear_down)

/* clang-format off */
static const struct CMUnitTest tests[] = {
	with_fixture(timer_wheel__new__is_empty),
	with_fixture(timer_entry__zeroed_or_initialised__is_not_queued),
	with_fixture(timer_wheel__around_each_level__exact),
	with_fixture(timer_wheel__each_slot_of_each_level__exact),
	with_fixture(timer_wheel_add__window_ends__goes_one_level_up),
	with_fixture(timer_wheel__wraps_of_each_level__exact),
	with_fixture(timer_wheel_add__deadline_passed__due_at_once),
	with_fixture(timer_wheel__time_and_deadline_0__due),
	with_fixture(timer_wheel__never__stays_until_the_end_of_time),
	with_fixture(timer_wheel__jump_of_years__all_in_order),
	with_fixture(timer_wheel__years_without_a_call__adds_are_exact),
	with_fixture(timer_wheel__same_deadline__in_order_of_adding),
	with_fixture(timer_wheel__same_deadline_from_afar__in_order),
	with_fixture(timer_wheel__serial_wraps__keeps_order),
	with_fixture(timer_wheel__all_in_one_slot__in_order_of_deadline),
	with_fixture(timer_wheel__levels_overlap_in_a_slot__in_order),
	with_fixture(timer_wheel_cancel__in_each_level__is_not_handed_out),
	with_fixture(timer_wheel_cancel__last_of_a_slot__empties_it),
	with_fixture(timer_wheel_next__earliest_cancelled__exact_after_one),
	with_fixture(timer_wheel_cancel__in_another_slot__next_is_exact),
	with_fixture(timer_wheel_expire__pending_cancelled__skipped),
	with_fixture(timer_wheel_expire__added_meanwhile__come_too),
	with_fixture(timer_wheel_expire__readded_due_for_ever__others_come),
	with_fixture(timer_wheel__crowded_slot__moves_down_before_it_begins),
#ifdef NDEBUG
	with_fixture(timer_wheel_expire__time_goes_back__is_clamped),
#else
	cmocka_unit_test(timer_wheel__misuse__asserts),
#endif
};
/* clang-format on */

int main(void)
{
	return cmocka_run_group_tests_name("timer_wheel", tests, NULL, NULL);
}
