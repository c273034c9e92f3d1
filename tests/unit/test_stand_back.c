/* SPDX-License-Identifier: MIT */
/**
 * test_stand_back.c - callers of a channel that lose a ticket to another one
 *
 * The channel is compiled with a clock that each look moves on by LOOK_NS, and with a
 * compare-exchange that fails when a test wants. During a look, a rival may take tickets. So
 * nothing here depends on real time, or on the other threads of the machine.
 */
#include "core/base/clock.h"
#include "core/channel/alone.h"
#include "core/channel/item.h"
#include "core/wait/await.h"
#include "tests/unit/users.h"

#define LOOK_NS 100u

static inline bool real_cas(atomic_u64 *word, uint64_t *seen, uint64_t wanted)
{
	return atomic_cas_relaxed(word, seen, wanted);
}

static uint64_t fake_ns(void);
static bool lose_or_win(atomic_u64 *word, uint64_t *seen, uint64_t wanted);

#define clock_now_ns() fake_ns()
#undef atomic_cas_relaxed
#define atomic_cas_relaxed(word, seen, wanted) \
	lose_or_win((word), (seen), (wanted))
#include "core/channel/channel.c"
#undef clock_now_ns

#define CAPACITY 4u
#define ROOM     2u /* of an item, for a compiler that does not know its size */
#define MOST_NS \
	UINT64_C(1000000) /* a caller that stands so long never returns */

static struct skua_channel channel;
static uint64_t memory[SKUA_CHANNEL_BYTES(CAPACITY, 8) / 8];

static unsigned losses; /* compare-exchanges that will fail */
static unsigned spared; /* others that come before these */
static uint64_t
	now_ns; /* moves only while a caller of the channel stands back */
static unsigned looks_per_ticket; /* of the rival; 0: there is none */
static unsigned looks;
static bool closes; /* the rival closes the channel */

static void set_up(void)
{
	assert_int_equal(skua_channel_init(&channel, memory, CAPACITY, 8), 0);
	losses = spared = looks = looks_per_ticket = 0;
	now_ns = 0;
	closes = false;
}

static bool lose_or_win(atomic_u64 *word, uint64_t *seen, uint64_t wanted)
{
	if (losses == 0 || spared > 0) {
		spared -= spared > 0;
		return real_cas(word, seen, wanted);
	}
	losses--;
	*seen = atomic_load_relaxed(word);
	return false;
}

/* Take a ticket of each side. */
static void rival_moves(void)
{
	unsigned kept = losses;
	uint64_t item[ROOM] = { 99 };

	losses = 0;
	assert_int_equal(ring_send_locked(&channel, item), 0);
	assert_int_equal(ring_receive_locked(&channel, item), 0);
	losses = kept;
}

/* Does nobody hold the list lock? */
static bool is_free(struct skua_waiters *waiters)
{
	bool taken = waiters_try_lock(waiters_word(waiters));

	if (taken)
		waiters_unlock(waiters);
	return taken;
}

/* A look at the clock. A caller that stands back holds no list lock, and goes on some time. */
static uint64_t fake_ns(void)
{
	assert_true(is_free(&channel.receivers) && is_free(&channel.senders));
	assert_true(now_ns < MOST_NS);
	if (closes)
		(void)skua_channel_close(&channel);
	if (looks_per_ticket > 0 && ++looks % looks_per_ticket == 0)
		rival_moves();
	return now_ns += LOOK_NS;
}

static int send_one(void)
{
	uint64_t item[ROOM] = { 1 };

	return skua_channel_send_try(&channel, item);
}

static int receive_one(void)
{
	uint64_t item[ROOM];

	return skua_channel_receive_try(&channel, item);
}

/* ---- how long ---------------------------------------------------------------- */

static void assert_stood(uint64_t ns)
{
	assert_true(now_ns >= ns);
	/* A look more at the beginning of each turn, and at its end. */
	assert_true(now_ns <= ns + ns / STAND_BACK_NS * 2 * LOOK_NS);
}

TEST(stand_back__no_ticket_lost__does_not_look_at_the_clock)
{
	set_up();
	assert_int_equal(send_one(), 0);
	assert_int_equal(receive_one(), 0);
	assert_int_equal(receive_one(), -EAGAIN);
	assert_int_equal(now_ns, 0);
}

TEST(stand_back__ticket_lost__returns_after_one_turn)
{
	set_up();
	losses = 1;
	assert_int_equal(send_one(), 0);
	assert_stood(STAND_BACK_NS);
	now_ns = 0;
	losses = 1;
	assert_int_equal(receive_one(), 0);
	assert_stood(STAND_BACK_NS);
	assert_int_equal(skua_channel_length(&channel), 0);
}

/* The rival takes STAND_BACK_TICKETS or more in each turn. */
TEST(stand_back__rival_takes_many__longer_turns_up_to_the_longest)
{
	const uint64_t turns_ns =
		STAND_BACK_NS + 2 * STAND_BACK_NS + STAND_BACK_MAX_NS;

	for (unsigned lost = 1; lost < 10; lost++) {
		set_up();
		looks_per_ticket = 2;
		losses = lost;
		assert_int_equal(send_one(), 0);
		assert_stood(lost * turns_ns);
		now_ns = 0;
		losses = lost;
		assert_int_equal(receive_one(), 0);
		assert_stood(lost * turns_ns);
		assert_int_equal(skua_channel_length(&channel), 0);
	}
}

TEST(stand_back__rival_takes_few__short_turns)
{
	set_up();
	looks_per_ticket = 8;
	losses = 3;
	assert_int_equal(send_one(), 0);
	assert_stood(UINT64_C(3) * STAND_BACK_NS);
}

TEST(stand_back__closed_meanwhile__epipe)
{
	set_up();
	losses = 1;
	closes = true;
	assert_int_equal(send_one(), -EPIPE);
	assert_stood(STAND_BACK_NS);
}

/* ---- under a list lock ------------------------------------------------------- */

static int waits_to_send(struct user *it)
{
	uint64_t item[ROOM] = { 2 };

	return skua_channel_send(it->object, item, SKUA_FOREVER_NS);
}

static int waits_to_receive(struct user *it)
{
	uint64_t item[ROOM] = { 0 };
	int code = skua_channel_receive(it->object, item, SKUA_FOREVER_NS);

	return code ? code : (int)item[0];
}

/* A receive sends on behalf of a sender that waits, and loses the ticket of that. */
TEST(stand_back__serves_a_sender__never_stands_back)
{
	struct user sender = { .number = 0 };

	set_up();
	for (unsigned i = 0; i < CAPACITY; i++)
		assert_int_equal(send_one(), 0);
	user_start(&sender, NULL, false, waits_to_send, &channel);
	wait_for_waiters(&channel.senders, 1);
	spared = 1;
	losses = 3;
	assert_int_equal(receive_one(), 0);
	assert_int_equal(user_end(&sender), 0);
	assert_int_equal(losses, 0);
	assert_int_equal(now_ns, 0);
	assert_int_equal(skua_channel_length(&channel), CAPACITY);
}

/* As above. The receiver waits while a sender is between its slot and its look at the flags:
 * otherwise the sender would hand its item over. It waits alone, and enters the list to be
 * served. */
TEST(stand_back__serves_a_receiver__never_stands_back)
{
	struct user receiver = { .number = 0 };
	uint64_t item[ROOM] = { 3 };

	set_up();
	user_start(&receiver, NULL, false, waits_to_receive, &channel);
	while (!alone_waits(&channel))
		sched_yield();
	assert_int_equal(ring_send(&channel, item), 0);
	losses = 3;
	settle(&channel);
	assert_int_equal(user_end(&receiver), 3);
	assert_int_equal(losses, 0);
	assert_int_equal(now_ns, 0);
	assert_int_equal(skua_channel_length(&channel), 0);
}
