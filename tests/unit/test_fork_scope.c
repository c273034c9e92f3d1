/* SPDX-License-Identifier: MIT */
/* test_fork_scope.c - any number of forks, joined together */
#include "tests/unit/fib.h"
#include "tests/unit/tasks.h"

struct tally {
	struct skua_job job; /* first: a job is its tally */
	unsigned runs;
};

struct tallies {
	struct tally *tally;
	size_t count;
	struct skua_ctx outer;
};

static void tally_run(struct skua_ctx ctx, struct skua_job *job)
{
	(void)ctx;
	((struct tally *)job)->runs++;
}

static void scope_fork_all(struct skua_ctx ctx, void *arg)
{
	struct tallies *it = arg;
	struct skua_scope scope = skua_scope_begin(ctx);

	for (size_t i = 0; i < it->count; i++)
		skua_scope_fork(&scope, &it->tally[i].job);
	skua_scope_join(&scope);
	assert_ptr_equal(scope.ctx.head, ctx.head);
	/* Once more. */
	for (size_t i = 0; i < it->count; i++)
		skua_scope_fork(&scope, &it->tally[i].job);
	skua_scope_join(&scope);
}

static void expect_tallied(unsigned workers, size_t count)
{
	struct skua_runtime *rt = runtime_new(workers, 0);
	struct tallies it = { .tally = calloc(count + 1, sizeof(*it.tally)),
			      .count = count };

	assert_non_null(it.tally);
	for (size_t i = 0; i < count; i++)
		it.tally[i].job.run = tally_run;
	assert_int_equal(skua_run(rt, scope_fork_all, &it), 0);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(it.tally[i].runs, 2);
	free(it.tally);
	destroy(rt);
}

TEST(scope__any_number_of_jobs__each_run_once)
{
	static const size_t counts[] = { 0, 1, 2, 7, 1000, 100000 };

	for (unsigned workers = 1; workers <= 3; workers++) {
		for (unsigned i = 0; i < COUNT_OF(counts); i++)
			expect_tallied(workers, counts[i]);
	}
}

TEST(scope__more_jobs_than_there_is_room_for__each_run_once)
{
	expect_tallied(2, SKUA_MAX_FORKS + 5);
}

/* Jobs that fork themselves: those for which there is no room run at once, with
 * room for what they fork. */
struct forking_job {
	struct skua_job job; /* first: run() casts back */
	struct tally tally[3];
};

static void forking_run(struct skua_ctx ctx, struct skua_job *job)
{
	struct forking_job *it = (struct forking_job *)job;
	struct skua_scope scope = skua_scope_begin(ctx);

	for (unsigned i = 0; i < 3; i++) {
		it->tally[i].job.run = tally_run;
		skua_scope_fork(&scope, &it->tally[i].job);
	}
	assert_int_equal(fib(scope.ctx, 5), 5);
	skua_scope_join(&scope);
}

#define FORKING (SKUA_MAX_FORKS / 2 + 1000)

static void fork_many_that_fork(struct skua_ctx ctx, void *arg)
{
	struct forking_job *jobs = arg;
	struct skua_scope scope = skua_scope_begin(ctx);

	for (size_t i = 0; i < FORKING; i++) {
		jobs[i].job.run = forking_run;
		skua_scope_fork(&scope, &jobs[i].job);
	}
	skua_scope_join(&scope);
}

TEST(scope__no_room_for_jobs_that_fork__each_run_once)
{
	struct forking_job *jobs = calloc(FORKING, sizeof(*jobs));

	for (unsigned workers = 1; workers <= 2; workers++) {
		struct skua_runtime *rt = runtime_new(workers, 0);

		assert_int_equal(skua_run(rt, fork_many_that_fork, jobs), 0);
		for (size_t i = 0; i < FORKING; i++)
			for (unsigned k = 0; k < 3; k++)
				assert_int_equal(jobs[i].tally[k].runs,
						 workers);
		destroy(rt);
	}
	free(jobs);
}
