/* SPDX-License-Identifier: MIT */
/* test_victims.c - the victims that a thief tries, in which order */
#include "core/idle/victims.h"

#include "tests/near.h"
#include "tests/unit/machines.h"
#include "topology/steal_order.h"

#define WORKERS 12u
#define NODES   3u
#define SEEDS   200u

static struct work_line lines[WORKERS + 1];
static struct work_map map;
static struct work_flag flags[WORKERS];
static const struct llc_groups *groups;

static int begin(void **state)
{
	(void)state;
	groups = near_groups(WORKERS, NODES);
	work_map_init(&map, lines, groups->count + 1);
	for (unsigned i = 0; i < WORKERS; i++)
		work_flag_init(&flags[i], &map, groups->places[i].group,
			       groups->places[i].bit);
	return 0;
}

EACH_TEST(begin, NULL);

static void raise_all(enum work_kind kind)
{
	for (unsigned i = 0; i < WORKERS; i++)
		work_flag_raise_owner(&flags[i], kind);
}

static struct victims search_of(unsigned thief, struct rng *rng,
				enum victims_reach reach)
{
	struct victims v = { .groups = groups,
			     .map = &map,
			     .rng = rng,
			     .reach = reach,
			     .samples = 2,
			     .own_line = groups->places[thief].group,
			     .own_bit = UINT64_C(1)
					<< groups->places[thief].bit };

	victims_begin(&v);
	return v;
}

static unsigned worker_of(struct victim victim)
{
	return groups->groups[victim.line].workers[victim.bit];
}

TEST(victims__all__each_other_once_and_near_ones_first)
{
	raise_all(WORK_TASKS);
	for (unsigned seed = 0; seed < SEEDS; seed++) {
		unsigned thief = seed % WORKERS, tried = 0;
		bool seen[WORKERS] = { false }, far = false;
		struct rng rng;
		struct victim victim;

		rng_init(&rng, seed);
		for (struct victims v = search_of(thief, &rng, VICTIMS_ALL);
		     victims_next(&v, &victim); tried++) {
			unsigned i = worker_of(victim);

			assert_true(i != thief && !seen[i]);
			seen[i] = true;
			assert_int_equal(victim.far,
					 i % NODES != thief % NODES);
			assert_true(victim.far || !far);
			far = victim.far;
		}
		assert_int_equal(tried, WORKERS - 1);
	}
}

TEST(victims__node__none_of_another)
{
	raise_all(WORK_TASKS);
	for (unsigned seed = 0; seed < SEEDS; seed++) {
		unsigned thief = seed % WORKERS, tried = 0;
		struct rng rng;
		struct victim victim;

		rng_init(&rng, seed);
		for (struct victims v = search_of(thief, &rng, VICTIMS_NODE);
		     victims_next(&v, &victim); tried++)
			assert_int_equal(worker_of(victim) % NODES,
					 thief % NODES);
		assert_int_equal(tried, WORKERS / NODES - 1);
	}
}

TEST(victims__sample__some_of_others)
{
	bool seen[WORKERS] = { false };

	raise_all(WORK_TASKS);
	for (unsigned seed = 0; seed < SEEDS; seed++) {
		unsigned far = 0;
		struct rng rng;
		struct victim victim;

		rng_init(&rng, seed);
		for (struct victims v = search_of(0, &rng, VICTIMS_SAMPLE);
		     victims_next(&v, &victim);) {
			far += victim.far;
			seen[worker_of(victim)] = true;
		}
		/* Two groups of four. */
		assert_int_equal(far, 8);
	}
	for (unsigned i = 1; i < WORKERS; i++)
		assert_true(seen[i]);
}

/* A thief does not try a worker without a bit in the map. */
TEST(victims__no_bit__not_tried)
{
	struct rng rng;
	struct victim victim;
	struct victims v;

	rng_init(&rng, 1);
	v = search_of(0, &rng, VICTIMS_ALL);
	assert_false(victims_next(&v, &victim));
	assert_false(victims_next(&v, &victim));
	work_flag_raise_owner(&flags[0], WORK_TASKS);
	work_flag_raise_owner(&flags[5], WORK_TASKS);
	work_flag_raise_owner(&flags[7], WORK_JOBS);
	v = search_of(0, &rng, VICTIMS_ALL);
	assert_true(victims_next(&v, &victim));
	assert_int_equal(worker_of(victim), 5);
	assert_false(victims_next(&v, &victim));
	work_flag_lower_owner(&flags[5], WORK_TASKS);
	v = search_of(0, &rng, VICTIMS_ALL);
	assert_false(victims_next(&v, &victim));
}

/* The line behind the groups has jobs of threads that are no workers. */
TEST(victims__jobs_of_others__behind_the_own_group)
{
	struct work_flag external;
	struct rng rng;
	struct victim victim;
	struct victims v;

	rng_init(&rng, 1);
	work_flag_init(&external, &map, groups->count, 3);
	work_flag_raise_owner(&external, WORK_JOBS);
	work_flag_raise_owner(&flags[3], WORK_JOBS);
	work_flag_raise_owner(&flags[1], WORK_JOBS);
	v = search_of(0, &rng, VICTIMS_ALL);
	v.kind = WORK_JOBS;
	victims_begin(&v);
	assert_true(victims_next(&v, &victim));
	assert_int_equal(worker_of(victim), 3);
	assert_true(victims_next(&v, &victim));
	assert_int_equal(victim.line, groups->count);
	assert_int_equal(victim.bit, 3);
	assert_true(victims_next(&v, &victim));
	assert_int_equal(worker_of(victim), 1);
	assert_false(victims_next(&v, &victim));
}

/* Each is the first of its tier about as often as any other. */
TEST(victims__equally_near__any_of_them_first)
{
	unsigned first[WORKERS] = { 0 };

	raise_all(WORK_TASKS);
	for (unsigned seed = 0; seed < 10 * SEEDS; seed++) {
		struct rng rng;
		struct victim victim;
		struct victims v;

		rng_init(&rng, seed);
		v = search_of(0, &rng, VICTIMS_ALL);
		assert_true(victims_next(&v, &victim));
		first[worker_of(victim)]++;
	}
	/* Three others, of which the rotation favours the first. */
	for (unsigned i = NODES; i < WORKERS; i += NODES)
		assert_true(first[i] > 0);
}

/* ---- as it is shown --------------------------------------------------------- */

/* One thief in the output of `skua topo`, as the tier of each worker. */
static void find_tiers(unsigned *tiers, const struct machine *machine,
		       const unsigned *cpus, unsigned workers, unsigned thief)
{
	struct steal_order order;
	unsigned tier = 0;

	assert_int_equal(
		steal_order_make(&order, machine, cpus, workers, thief), 0);
	for (unsigned i = 0; i < order.count; i++) {
		while (i == order.tiers[tier].end)
			tier++;
		tiers[order.victims[i]] = tier;
	}
	steal_order_free(&order);
}

static void follow_order(const struct machine *machine, const unsigned *cpus,
			 unsigned thief, unsigned *tiers)
{
	const struct llc_place *place = &groups->places[thief];
	unsigned tier = 0, tried = 0;
	struct rng rng;
	struct victim victim;
	struct victims v;

	find_tiers(tiers, machine, cpus, groups->worker_count, thief);
	rng_init(&rng, thief);
	v = (struct victims){ .groups = groups,
			      .map = &map,
			      .rng = &rng,
			      .reach = VICTIMS_ALL,
			      .own_line = place->group,
			      .own_bit = UINT64_C(1) << place->bit,
			      .siblings = place->siblings };
	for (victims_begin(&v); victims_next(&v, &victim); tried++) {
		unsigned i = worker_of(victim);

		assert_true(tiers[i] >= tier);
		tier = tiers[i];
	}
	assert_int_equal(tried, groups->worker_count - 1);
}

static void follow_on(const char *path)
{
	struct machine *machine;
	struct llc_groups made;
	unsigned count, *cpus, *tiers;
	struct work_line *all;

	assert_int_equal(machine_load(&machine, path, NULL), 0);
	count = machine->cpu_count;
	cpus = calloc(count, sizeof(*cpus));
	tiers = calloc(count, sizeof(*tiers));
	for (unsigned i = 0; i < count; i++)
		cpus[i] = machine->cpus[i].cpu;
	assert_int_equal(llc_groups_make(&made, machine, cpus, count), 0);
	all = aligned_alloc(CACHE_PAIR, (made.count + 1) * sizeof(*all));
	groups = &made;
	work_map_init(&map, all, made.count + 1);
	for (unsigned i = 0; i < count; i++)
		atomic_fetch_or_relaxed(
			&all[made.places[i].group].bits[WORK_TASKS],
			UINT64_C(1) << made.places[i].bit);
	for (unsigned thief = 0; thief < count; thief += 1 + count / 16)
		follow_order(machine, cpus, thief, tiers);
	llc_groups_free(&made);
	machine_free(machine);
	free(cpus);
	free(tiers);
	free(all);
}

/* The order that is shown of a machine is the one in which workers search. */
TEST(victims__made_machines__in_the_order_that_is_shown)
{
	machines_each(follow_on);
}
