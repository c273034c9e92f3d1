/* SPDX-License-Identifier: MIT */
/* members.h - members of a group that are let go as they end, and are counted */
#ifndef SKUA_TESTS_UNIT_MEMBERS_H
#define SKUA_TESTS_UNIT_MEMBERS_H

#include "tests/unit/tasks.h"

/* A member on the heap, and what the test wants to know of all. */
struct tally {
	atomic_u32 polls;
	atomic_u32 releases;
	atomic_u32 cancelled;
	struct skua_group *group;
	struct skua_runtime *rt;
};

struct member {
	struct skua_task task; /* first: a task is its member */
	struct tally *tally;
	bool waits;      /* for its cancellation */
	unsigned spawns; /* more, from its release function */
};

static inline enum skua_poll member_poll(struct skua_task *self)
{
	struct member *it = (struct member *)self;

	atomic_fetch_add_relaxed(&it->tally->polls, 1);
	if (it->waits && !skua_task_cancelled(self))
		return SKUA_PENDING;
	if (skua_task_cancelled(self))
		atomic_fetch_add_relaxed(&it->tally->cancelled, 1);
	return SKUA_DONE;
}

static inline struct member *member_new(struct tally *tally, bool waits)
{
	struct member *it = calloc(1, sizeof(*it));

	assert_non_null(it);
	*it = (struct member){ .task = SKUA_TASK_INIT(member_poll),
			       .tally = tally,
			       .waits = waits };
	return it;
}

static inline void member_spawn(struct tally *tally, bool waits)
{
	struct member *it = member_new(tally, waits);

	assert_int_equal(skua_group_spawn(tally->group, &it->task), 0);
}

static inline void member_release(struct skua_task *task)
{
	struct member *it = (struct member *)task;
	struct tally *tally = it->tally;
	unsigned spawns = it->spawns;

	free(it);
	atomic_fetch_add_release(&tally->releases, 1);
	if (spawns > 0) {
		it = member_new(tally, false);
		it->spawns = spawns - 1;
		assert_int_equal(skua_group_spawn(tally->group, &it->task), 0);
	}
}

static inline uint32_t releases(struct tally *tally)
{
	return atomic_load_acquire(&tally->releases);
}

static inline void wait_for_releases(struct tally *tally, uint32_t count)
{
	while (releases(tally) < count)
		sched_yield();
}

static inline void setup(struct tally *tally, struct skua_group *group,
			 struct skua_runtime *rt)
{
	*tally = (struct tally){ .group = group, .rt = rt };
	assert_int_equal(skua_group_init(group, rt), 0);
	assert_int_equal(skua_group_set_release(group, member_release), 0);
}

/* members_new - a group without members, on a runtime of its own */
static inline struct skua_runtime *
members_new(unsigned workers, struct tally *tally, struct skua_group *group)
{
	struct skua_runtime *rt = runtime_new(workers, 0);

	setup(tally, group, rt);
	return rt;
}

#endif
