/* SPDX-License-Identifier: MIT */
/**
 * stress_groups.c - members that end, waits and cancels, all at once
 *
 * Owners have a group each, again and again: foreign threads that wait with
 * skua_group_wait() or, again and again, skua_group_wait_until(), and tasks that
 * wait with skua_group_wait_poll(), or give that up and do it again. Members
 * spawn further members, yield, or wait until they are cancelled; one of them,
 * or the owner, cancels. Half of the groups let their members go. Each member
 * ends once, and before the wait does; what it wrote is seen after the wait; and
 * memory is poisoned then, or when the member is let go, and looked at before its
 * next use. There is no timeout: a group whose end is lost hangs the
 * program.
 */
#include <errno.h>
#include <sched.h>
#include <skua/skua.h>
#include <stdalign.h>
#include <string.h>

#include "core/base/rng.h"
#include "tests/stress/stress.h"

#define OWNERS  16u /* half of them threads, half tasks */
#define THREADS (OWNERS / 2)
#define MEMBERS 24u /* of a group */
#define FIRST   6u  /* that the owner spawns */
#define POISON  0xa5

struct member {
	struct skua_task task;
	struct owner *owner;
	struct rng rng;
	unsigned yields;
	bool waits; /* for its cancellation */
};

struct owner {
	struct skua_task task; /* of an owner that is one */
	struct rng rng;
	uint64_t rounds;
	bool releases; /* its group lets members go */
	bool waiting;  /* the task's: a round is under way */
	/* Members so far, of this round. Writers: the spawners. */
	alignas(CACHE_PAIR) atomic_u32 used;
	struct skua_group group;
	struct member members[MEMBERS];
	unsigned ended[MEMBERS]; /* plain: written by members, read by owners */
};

static struct skua_runtime *rt;
static struct owner owners[OWNERS];
static atomic_u64 ended; /* members, of all rounds */
static atomic_u32 stopping;
static uint64_t wanted;

static void check(int code, const char *what)
{
	if (code != 0)
		stress_fail("%s: %d", what, code);
}

/* ---- members ------------------------------------------------------------ */

static enum skua_poll member_poll(struct skua_task *task);

static void spawn_member(struct owner *owner, struct rng *rng)
{
	/* Relaxed: each takes a member of its own. */
	uint32_t i = atomic_fetch_add_relaxed(&owner->used, 1);
	struct member *member;
	const unsigned char *bytes;

	if (i >= MEMBERS)
		return;
	member = &owner->members[i];
	bytes = (const unsigned char *)member;
	for (size_t at = 0; at < sizeof(*member); at++) {
		if (bytes[at] != POISON)
			stress_fail("member %u: byte %zu written after the end",
				    i, at);
	}
	check(skua_task_init(&member->task, member_poll), "init");
	member->owner = owner;
	rng_init(&member->rng, rng_below(rng, UINT32_MAX));
	member->yields = rng_below(rng, 4);
	member->waits = rng_below(rng, 16) == 0;
	check(skua_group_spawn(&owner->group, &member->task), "group_spawn");
}

static enum skua_poll member_poll(struct skua_task *task)
{
	struct member *member = (struct member *)task;
	struct owner *owner = member->owner;

	if (member->yields > 0) {
		member->yields--;
		if (rng_below(&member->rng, 2))
			spawn_member(owner, &member->rng);
		return SKUA_YIELD;
	}
	if (member->waits && !skua_task_cancelled(task))
		return SKUA_PENDING;
	if (owner->ended[member - owner->members]++ != 0)
		stress_fail("a member ended twice");
	/* Relaxed: a count. */
	atomic_fetch_add_relaxed(&ended, 1);
	return SKUA_DONE;
}

/* ---- owners ------------------------------------------------------------- */

static bool stops(void)
{
	/* Relaxed: a thread that does not see it makes one more round. */
	return atomic_load_relaxed(&stopping) != 0;
}

static void begin_round(struct owner *owner)
{
	atomic_store_relaxed(&owner->used, 0);
	for (unsigned i = 0; i < FIRST; i++)
		spawn_member(owner, &owner->rng);
}

/* After a wait nobody else touches the group or its members. */
static void end_round(struct owner *owner)
{
	uint32_t used = atomic_load_relaxed(&owner->used);

	for (unsigned i = 0; i < MEMBERS; i++) {
		if (owner->ended[i] != (i < used))
			stress_fail("member %u of %u: ended %u times", i, used,
				    owner->ended[i]);
		owner->ended[i] = 0;
		if (!owner->releases)
			memset(&owner->members[i], POISON,
			       sizeof(owner->members[i]));
	}
	owner->rounds++;
	if (atomic_load_relaxed(&ended) >= wanted)
		atomic_store_relaxed(&stopping, 1);
}

/* A member itself, so that the cancel is not beside the end of the wait. */
struct canceller {
	struct skua_task task;
	struct owner *owner;
};

static enum skua_poll cancel_poll(struct skua_task *task)
{
	struct canceller *canceller = (struct canceller *)task;

	check(skua_group_cancel(&canceller->owner->group), "group_cancel");
	return SKUA_DONE;
}

static struct canceller cancellers[OWNERS];

static void spawn_canceller(struct owner *owner)
{
	struct canceller *canceller = &cancellers[owner - owners];

	check(skua_task_init(&canceller->task, cancel_poll), "init");
	canceller->owner = owner;
	check(skua_group_spawn(&owner->group, &canceller->task), "group_spawn");
}

static void member_release(struct skua_task *task)
{
	struct member *member = (struct member *)task;
	struct owner *owner = member->owner;

	if (task->poll == cancel_poll)
		return;
	if (owner->ended[member - owner->members] != 1)
		stress_fail("a member was released before its end, or again");
	memset(member, POISON, sizeof(*member));
}

/* Wait in steps of up to 50 us. */
static void wait_until(struct owner *owner)
{
	int code;

	do {
		uint64_t ns = rng_below(&owner->rng, 50000);

		code = skua_group_wait_until(&owner->group, skua_now_ns() + ns);
	} while (code == -ETIMEDOUT);
	check(code, "group_wait_until");
}

static void *owner_thread(void *arg)
{
	struct owner *owner = *(struct owner **)arg;

	do {
		begin_round(owner);
		if (rng_below(&owner->rng, 2))
			sched_yield();
		if (rng_below(&owner->rng, 2))
			check(skua_group_cancel(&owner->group), "cancel");
		else
			spawn_canceller(owner);
		if (rng_below(&owner->rng, 2))
			check(skua_group_wait(&owner->group), "group_wait");
		else
			wait_until(owner);
		end_round(owner);
	} while (!stops());
	return NULL;
}

/* Give the wait up, half of the time, to begin again. */
static enum skua_poll wait_or_not(struct owner *owner)
{
	int code;

	if (rng_below(&owner->rng, 2))
		return SKUA_PENDING;
	code = skua_group_wait_cancel(&owner->task, &owner->group);
	if (code == -EALREADY)
		return SKUA_PENDING;
	check(code, "group_wait_cancel");
	return SKUA_YIELD;
}

static enum skua_poll owner_poll(struct skua_task *task)
{
	struct owner *owner =
		(struct owner *)((char *)task - offsetof(struct owner, task));
	int code;

	if (!owner->waiting) {
		owner->waiting = true;
		begin_round(owner);
		spawn_canceller(owner);
	}
	code = skua_group_wait_poll(task, &owner->group);
	if (code == -EAGAIN)
		return wait_or_not(owner);
	check(code, "group_wait_poll");
	end_round(owner);
	owner->waiting = false;
	return stops() ? SKUA_DONE : SKUA_YIELD;
}

/* ---- rounds ------------------------------------------------------------- */

static uint64_t run_runtime(unsigned workers)
{
	struct skua_config config = { .size = sizeof(config),
				      .workers = workers,
				      .queue_capacity = 16 };
	struct owner *threads[THREADS];
	struct skua_error err;
	uint64_t rounds = 0;

	if (skua_runtime_create(&rt, &config, &err) != 0)
		stress_fail("create: %s", err.text);
	atomic_store_relaxed(&stopping, 0);
	atomic_store_relaxed(&ended, 0);
	for (unsigned i = 0; i < OWNERS; i++) {
		struct owner *owner = &owners[i];

		memset(owner, 0, sizeof(*owner));
		memset(owner->members, POISON, sizeof(owner->members));
		rng_init(&owner->rng, i);
		check(skua_group_init(&owner->group, rt), "group_init");
		owner->releases = i % 2;
		if (owner->releases)
			check(skua_group_set_release(&owner->group,
						     member_release),
			      "group_set_release");
		check(skua_task_init(&owner->task, owner_poll), "init");
		if (i < THREADS)
			threads[i] = owner;
		else
			check(skua_task_spawn(rt, &owner->task), "spawn");
	}
	stress_threads(THREADS, owner_thread, threads, sizeof(threads[0]));
	for (unsigned i = THREADS; i < OWNERS; i++)
		check(skua_task_join(&owners[i].task), "join");
	check(skua_runtime_drain(rt), "drain");
	for (unsigned i = 0; i < OWNERS; i++)
		rounds += owners[i].rounds;
	check(skua_runtime_destroy(rt), "destroy");
	return rounds;
}

int main(void)
{
	static const unsigned workers[] = { 1, 2, 3, 64, 200 };
	/* A member costs some hundred ns: a tenth of the usual number. */
	uint64_t ops = stress_ops() / 10;
	uint64_t done = 0;
	uint64_t rounds = 0;

	for (unsigned round = 0; done < ops || round < 5; round++) {
		wanted = ops / 5 + 1;
		rounds += run_runtime(workers[round % 5]);
		done += atomic_load_relaxed(&ended);
	}
	printf("groups: %" PRIu64 " members of %" PRIu64
	       " groups, each ended once and before its group\n",
	       done, rounds);
	return 0;
}
