/* SPDX-License-Identifier: MIT */
/**
 * model_io.c - threads that read a descriptor, close it, and deliver its events
 *
 * The code of core/io/, with the kernel of io_world.h. The threads that read wait as outside
 * threads do, and the memory of each wait is freed when its call returns.
 *
 * The last cases are the protocol as it was first designed, with two mistakes.
 * tests/model/mutants.toml has further broken variants.
 */
#include "tests/model/io_world.h"

/* ---- threads ------------------------------------------------------------------ */

static void setup(void)
{
	world_reset();
	explore_watch(&the_slot, sizeof(the_slot));
}

static void setup_empty(void)
{
	setup();
	world_empty();
}

/* As in a child process: its parent has attached the descriptor. */
static void setup_forked(void)
{
	setup();
	atomic_init(&the_slot.generation, GENERATION_BEFORE);
}

/* The descriptor is empty for all that the library knows: the bytes have come, and no thread
 * has looked for their event. */
static void setup_came(unsigned bytes)
{
	setup_empty();
	atomic_init(&queue, bytes);
	atomic_init(&events, EVENT | EPOLLIN);
	sent = bytes;
}

static void setup_one_came(void)
{
	setup_came(1);
}

static void setup_two_came(void)
{
	setup_came(2);
}

static void sends_twice(void)
{
	send_byte(EPOLLIN);
	send_byte(EPOLLIN);
	sent = 2;
}

/* A byte and the end, with one event. */
static void sends_last(void)
{
	send_byte(EPOLLIN | EPOLLRDHUP);
	sent = 1;
}

static void reaps_both(void)
{
	reap(2);
}

static void reads(void)
{
	explore_assert(read_by(0, 2, SKUA_FOREVER_NS) == 1);
	explore_assert(explore_read(letter) == 1);
}

/* Two bytes, with one read or two: the first may be short. */
static void reads_two(void)
{
	while (got < 2)
		explore_assert(read_by(0, 2, SKUA_FOREVER_NS) > 0);
}

static void reads_single(void)
{
	while (got < 2)
		explore_assert(read_by(0, 1, SKUA_FOREVER_NS) == 1);
}

static void reads_to_the_end(void)
{
	ssize_t n;

	while ((n = read_by(0, 2, SKUA_FOREVER_NS)) > 0)
		;
	explore_assert(n == 0);
}

/* Gives up, perhaps, and tries again. */
static void reads_late(void)
{
	ssize_t n = read_by(0, 2, SOON_NS);

	explore_assert(n == 1 || n == -ETIMEDOUT);
	if (n == -ETIMEDOUT)
		reads();
}

/* The byte came before the deadline, whether its event has been seen or not. */
static void reads_in_time(void)
{
	explore_assert(read_by(0, 2, SOON_NS) == 1);
}

static void reads_in_time_unless_closed(void)
{
	ssize_t n = read_by(0, 2, SOON_NS);

	explore_assert(n == 1 || n == -EBADF);
}

/* One of two readers, each of which takes one byte of two. */
static void reads_one_by(unsigned i, uint64_t deadline_ns)
{
	codes[i] = (int)read_by(i, 1, deadline_ns);
}

static void reads_one_in_time(void)
{
	reads_one_by(0, SOON_NS);
}

static void reads_another(void)
{
	reads_one_by(1, SKUA_FOREVER_NS);
}

static void reads_unless_closed(void)
{
	ssize_t n = read_by(0, 2, SKUA_FOREVER_NS);

	explore_assert(n == 1 || n == -EBADF);
	codes[0] = (int)n;
}

/* Another thread may read at that moment. */
static void reads_beside(void)
{
	ssize_t n = read_by(0, 2, SKUA_FOREVER_NS);

	explore_assert(n == 1 || n == -EBADF || n == -EBUSY);
}

static void reads_late_unless_closed(void)
{
	ssize_t n = read_by(0, 2, SOON_NS);

	explore_assert(n == 1 || n == -EBADF || n == -ETIMEDOUT);
	codes[0] = (int)n;
}

static void tries_unless_closed(void)
{
	char bytes[2];
	ssize_t n;

	waiter_begin(1);
	n = skua_io_read_try(io, bytes, 2);
	explore_assert(n == 1 || n == -EBADF || n == -EAGAIN || n == -EBUSY);
	if (n > 0)
		got += (uint64_t)n;
}

static void closes_it(void)
{
	codes[1] = skua_io_close(io);
	explore_assert(codes[1] == 0 || codes[1] == -EBADF);
}

static void closes_too(void)
{
	codes[2] = skua_io_close(io);
	explore_assert(codes[2] == 0 || codes[2] == -EBADF);
}

static void shuts_down(void)
{
	int code = skua_io_shutdown(io, EPOLLRDHUP);

	explore_assert(code == 0 || code == -EBADF);
}

/* The number is the caller's alone. */
static void detaches(void)
{
	codes[1] = skua_io_detach(io);
	explore_assert(codes[1] == FD);
	model_close();
}

/* The kernel uses the number again, and the next reader puts a wait into the slot. */
static void detaches_and_attaches(void)
{
	struct skua_wait *wait = &waiters[3].waits[0];
	struct skua_io before = io;
	struct skua_io again;
	bool ready;

	codes[1] = skua_io_detach(before);
	explore_assert(codes[1] == FD);
	explore_write(open_fd, 2);
	explore_assert(attach_kind(&pool, FD, IO_SOCKET, 0, &again) == 0);
	explore_assert(again.serial != before.serial);
	explore_assert(slot_claim(&the_slot, IO_READ, again.serial, &ready) ==
		       0);
	explore_assert(
		slot_arm(&the_slot, IO_READ, wait, IO_DELAYED | IO_READY) == 0);
	explore_assert(slot_withdraw(&the_slot, IO_READ, again.serial, 0));
}

/* Any thread may attach it as soon as it is detached. */
static void attaches_when_free(void)
{
	struct skua_io again;

	while ((codes[2] = attach_kind(&pool, FD, IO_SOCKET, 0, &again)) ==
	       -EEXIST)
		cpu_relax();
	explore_assert(codes[2] == 0 && again.serial == io.serial + 1);
}

static void only_detaches(void)
{
	codes[1] = skua_io_detach(io);
	explore_assert(codes[1] == FD);
}

static void attach_by(unsigned i)
{
	struct skua_io again;

	codes[i] = attach_kind(&pool, FD, IO_SOCKET, 0, &again);
	explore_assert(codes[i] == 0 || codes[i] == -EEXIST);
}

static void attaches(void)
{
	attach_by(1);
}

static void attaches_too(void)
{
	attach_by(2);
}

/* The runtime is destroyed. */
static void destroys(void)
{
	int first;

	attach_close_all(&pool, &first);
	explore_write(driver, 0);
}

/* ---- accept, with a descriptor missing ---------------------------------------- */

static ssize_t accept_model(struct io_call *call)
{
	int code = model_accept();

	if (code == -EMFILE)
		return call_delay(call, code);
	call_no_delay(call);
	return code;
}

static void accepts(void)
{
	struct io_call call = {
		.operation = accept_model, .io = io, .way = IO_READ, .cost = 1
	};

	waiter_begin(0);
	codes[0] = (int)call_await(&call, SKUA_FOREVER_NS);
	if (codes[0] > 0)
		got++;
	explore_assert(codes[0] == 1 || codes[0] == -EBADF);
}

/* Each of two threads tries once. The one may use what the other has left in the slot. */
static void accept_by(unsigned i)
{
	struct io_call call = {
		.operation = accept_model, .io = io, .way = IO_READ, .cost = 1
	};

	waiter_begin(i);
	codes[i] = (int)call_try(&call);
	explore_assert(codes[i] == 1 || codes[i] == -EAGAIN ||
		       codes[i] == -EBUSY);
}

static void tries_to_accept(void)
{
	accept_by(0);
}

static void tries_to_accept_too(void)
{
	accept_by(1);
}

static void setup_missing(void)
{
	setup();
	atomic_init(&missing, 1);
}

static void setup_missing_one_of_two(void)
{
	setup_missing();
	atomic_init(&queue, 2);
}

/* ---- checks ------------------------------------------------------------------- */

static void all_got(void)
{
	explore_assert(got == sent);
	explore_assert(OF(atomic_load_relaxed(&queue)) == 0);
}

/* A reader whose deadline passes leaves the bytes to another one only if that one has begun
 * its call. */
static void each_byte_read_or_left(void)
{
	explore_assert(got + OF(atomic_load_relaxed(&queue)) == sent);
	explore_assert(codes[1] == 1 || (codes[1] == -EBUSY && codes[0] == 1));
	explore_assert(codes[0] == 1 || codes[0] == -EBUSY ||
		       (codes[0] == -ETIMEDOUT && codes[1] == 1));
	explore_assert((atomic_load_relaxed(&the_slot.word[IO_READ]) &
			IO_OWNER) == IO_FREE);
}

static void accepted_or_not(void)
{
	uint64_t left = OF(atomic_load_relaxed(&queue));

	explore_assert((codes[0] == 1) + (codes[1] == 1) + (int)left == 2);
	explore_assert((atomic_load_relaxed(&the_slot.word[IO_READ]) &
			IO_OWNER) == IO_FREE);
}

static void closed_once(void)
{
	explore_assert(closes == 1 && open_fd == 0);
	explore_assert(atomic_load_relaxed(&the_slot.holders) == 0);
	explore_assert(got + OF(atomic_load_relaxed(&queue)) == sent);
}

static void closed_by_one(void)
{
	closed_once();
	explore_assert((codes[1] == 0) + (codes[2] == 0) == 1);
}

static void attached_anew(void)
{
	uint64_t now = atomic_load_relaxed(&the_slot.word[IO_READ]);

	explore_assert(open_fd == 2 && closes == 0);
	explore_assert(atomic_load_relaxed(&the_slot.holders) == (IO_LIVE | 3));
	explore_assert(slot_serial(now) == io.serial + 1);
	explore_assert(!(now & (IO_CLOSING | IO_OWNER)));
}

static void attached_by_one(void)
{
	explore_assert((codes[1] == 0) + (codes[2] == 0) == 1);
	explore_assert(atomic_load_relaxed(&the_slot.holders) == (IO_LIVE | 3));
	explore_assert(slot_serial(atomic_load_relaxed(
			       &the_slot.word[IO_READ])) == io.serial + 1);
}

static void attached_again(void)
{
	explore_assert(atomic_load_relaxed(&the_slot.holders) == (IO_LIVE | 3));
}

/* ---- as it was designed ------------------------------------------------------- */

/*
 * The word is 0, 1 (ready), or the address of a wait. A1: a short read changes it from 1 to 0
 * after the read. A2: the phase of the wait alone decides between grant and withdrawal.
 */
static atomic_u64 word;

static void designed_event(void)
{
	uint64_t old = atomic_exchange_acq_rel(&word, 1);
	struct skua_wait *wait = (struct skua_wait *)(uintptr_t)old;
	uint32_t phase = WAIT_ARMED;

	if (old > 1 &&
	    atomic_cas_acq_rel(wait_phase(wait), &phase, WAIT_GRANTED))
		futex_wake(wait_phase(wait), 1);
}

static void reaps_as_designed(void)
{
	for (unsigned n = 2; n > 0;) {
		uint32_t all = atomic_exchange_acq_rel(&events, 0);

		if (all == 0)
			futex_wait(&events, 0);
		else
			designed_event();
		n -= all / EVENT;
	}
}

/* Return: false at the deadline. */
static bool designed_wait(uint64_t deadline_ns)
{
	struct skua_wait *wait = &me->waits[me->calls++];
	uint64_t none = 0, it = (uintptr_t)wait;
	uint32_t phase = WAIT_ARMED;
	bool granted = true;

	atomic_store_relaxed(wait_phase(wait), WAIT_ARMED);
	if (!atomic_cas_acq_rel(&word, &none, it))
		return true;
	while (granted && phase_of(wait) != WAIT_GRANTED) {
		if (deadline_ns == SKUA_FOREVER_NS)
			futex_wait(wait_phase(wait), WAIT_ARMED);
		else if (!has_passed(deadline_ns))
			futex_wait_until(wait_phase(wait), WAIT_ARMED,
					 deadline_ns);
		else if (atomic_cas_acq_rel(wait_phase(wait), &phase,
					    WAIT_IDLE))
			granted = false;
	}
	if (!granted)
		atomic_cas_acq_rel(&word, &it, 0);
	explore_free(wait, sizeof(*wait));
	return granted;
}

static ssize_t designed_read(uint64_t deadline_ns)
{
	for (;;) {
		uint64_t ready = 1;
		ssize_t n =
			atomic_load_acquire(&word) ? model_read(2) : -EAGAIN;

		if (n == 1)
			atomic_cas_acq_rel(&word, &ready, 0);
		if (n != -EAGAIN)
			return n;
		if (!atomic_cas_acq_rel(&word, &ready, 0) &&
		    !designed_wait(deadline_ns))
			return -ETIMEDOUT;
	}
}

static void reads_two_as_designed(void)
{
	waiter_begin(0);
	while (got < 2)
		got += (uint64_t)designed_read(SKUA_FOREVER_NS);
}

static void reads_late_as_designed(void)
{
	waiter_begin(0);
	designed_read(SOON_NS);
}

static void setup_designed(void)
{
	setup();
	atomic_init(&word, 1);
}

static const struct explore_case cases[] = {
	{ EXPLORE_PASS("read", setup, all_got, sends, reads, reaps) },
	{ EXPLORE_PASS("read__empty_before", setup_empty, all_got, sends, reads,
		       reaps) },
	{ EXPLORE_PASS("short_read__event", setup, all_got, sends_twice,
		       reads_two, reaps_both),
	  EXPLORE_WITHIN(2, 2) },
	{ EXPLORE_PASS("single_bytes__event", setup, all_got, sends_twice,
		       reads_single, reaps_both),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("data_and_end__one_event", setup, all_got, sends_last,
		       reads_to_the_end, reaps),
	  EXPLORE_WITHIN(2, 2) },
	{ EXPLORE_PASS("deadline", setup, all_got, sends, reads_late, reaps),
	  EXPLORE_WITHIN(3, 1) },
	{ EXPLORE_PASS("deadline__byte_came_before", setup_one_came, all_got,
		       reads_in_time, reaps) },
	{ EXPLORE_PASS("deadline__byte_came_before__reader", setup_two_came,
		       each_byte_read_or_left, reads_one_in_time, reads_another,
		       reaps),
	  EXPLORE_WITHIN(3, 1) },
	{ EXPLORE_PASS("close__deadline__byte_came_before", setup_one_came,
		       closed_once, reads_in_time_unless_closed, closes_it) },
	{ EXPLORE_PASS("close__read", setup, closed_once, reads_unless_closed,
		       closes_it) },
	{ EXPLORE_PASS("close__read__event", setup_empty, closed_once, sends,
		       reads_unless_closed, reaps, closes_it),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("close__deadline__event", setup_empty, closed_once,
		       sends, reads_late_unless_closed, reaps, closes_it),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("close__try__read", setup, closed_once, reads_beside,
		       tries_unless_closed, closes_it),
	  EXPLORE_WITHIN(3, 1) },
	{ EXPLORE_PASS("close__close__read", setup, closed_by_one,
		       reads_unless_closed, closes_it, closes_too),
	  EXPLORE_WITHIN(3, 1) },
	{ EXPLORE_PASS("close__shutdown__try", setup, closed_once,
		       tries_unless_closed, shuts_down, closes_it) },
	{ EXPLORE_PASS("detach__read__try", setup, closed_once, reads_beside,
		       tries_unless_closed, detaches),
	  EXPLORE_WITHIN(3, 1) },
	{ EXPLORE_PASS("detach__shutdown", setup, closed_once, shuts_down,
		       detaches) },
	{ EXPLORE_PASS("destroy__close__try", setup, closed_once,
		       tries_unless_closed, closes_it, destroys),
	  EXPLORE_WITHIN(3, 1) },
	{ EXPLORE_PASS("destroy__read", setup, closed_once, reads_unless_closed,
		       destroys) },
	{ EXPLORE_PASS("reattach__stale_read__stale_event", setup_empty,
		       attached_anew, sends, reads_unless_closed, reaps,
		       detaches_and_attaches),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("reattach__stale_calls", setup, attached_anew,
		       reads_beside, tries_unless_closed, shuts_down,
		       detaches_and_attaches),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("attach__detach", setup, attached_again, only_detaches,
		       attaches_when_free) },
	{ EXPLORE_PASS("attach__attach__forked", setup_forked, attached_by_one,
		       attaches, attaches_too) },
	{ EXPLORE_PASS("delayed", setup_missing, all_got, sends, accepts,
		       reaps),
	  EXPLORE_WITHIN(2, 2) },
	{ EXPLORE_PASS("delayed__close", setup_missing, closed_once, accepts,
		       closes_it) },
	{ EXPLORE_PASS("try__try__missing", setup_missing_one_of_two,
		       accepted_or_not, tries_to_accept, tries_to_accept_too) },
	{ EXPLORE_BUG("designed_A1__read_erases_an_event", "lost wake-up",
		      setup_designed, NULL, sends_twice, reads_two_as_designed,
		      reaps_as_designed) },
	{ EXPLORE_BUG("designed_A2__grantor_uses_a_freed_wait", "freed",
		      setup_designed, NULL, sends_twice, reads_late_as_designed,
		      reaps_as_designed) },
};

EXPLORE_MAIN(cases)
