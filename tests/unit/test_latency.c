/* SPDX-License-Identifier: MIT */
/* test_latency.c - latencies: how they are measured, and which caches they cut */
#include "tests/unit/support.h"

#include <pthread.h>

#include "topology/latency_pingpong.h"
#include "topology/latency_groups.h"
#include "topology/latency_measure.h"
#include "topology/machine_measure.h"

/* Long enough for anything: a test that ends by the clock fails. */
#define LONG_NS  UINT64_C(100000000000)
#define MAX_CPUS 70u

/* ---- threads that are placed otherwise, or refused -------------------------- */

/* In place of the library's calls: see tests/CMakeLists.txt. */
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr,
			  void *(*run)(void *), void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr,
			  void *(*run)(void *), void *arg);
int __real_pthread_attr_setaffinity_np(pthread_attr_t *attr, size_t size,
				       const cpu_set_t *set);
int __wrap_pthread_attr_setaffinity_np(pthread_attr_t *attr, size_t size,
				       const cpu_set_t *set);

static bool unpinned;        /* so that there may be more threads than CPUs */
static unsigned refused_cpu; /* no thread is created for it, nor for later */
static bool refuses_later, refuses_next;
static unsigned created;

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr,
			  void *(*run)(void *), void *arg)
{
	if (refuses_next)
		return EAGAIN;
	created++;
	return __real_pthread_create(thread, attr, run, arg);
}

int __wrap_pthread_attr_setaffinity_np(pthread_attr_t *attr, size_t size,
				       const cpu_set_t *set)
{
	bool refused = CPU_ISSET_S(refused_cpu, size, set);

	refuses_next = refused || (refuses_later && refuses_next);
	return unpinned ? 0
			: __real_pthread_attr_setaffinity_np(attr, size, set);
}

static int reset(void **state)
{
	(void)state;
	unpinned = refuses_later = refuses_next = false;
	refused_cpu = CPU_LIST_LIMIT;
	created = 0;
	return 0;
}

EACH_TEST(reset, NULL);

/* ---- machines and matrices -------------------------------------------------- */

static unsigned numbers[MAX_CPUS];

static struct cpu_list first_cpus(unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		numbers[i] = i;
	return (struct cpu_list){ numbers, count };
}

/* Of so many CPUs, each a core, with one node and one cache. */
static struct machine *machine_new(unsigned cpus)
{
	struct machine *machine = calloc(1, sizeof(*machine));

	machine->cpus = calloc(cpus, sizeof(*machine->cpus));
	machine->nodes = calloc(1, sizeof(*machine->nodes));
	machine->cpu_count = machine->nodes[0].cpus = cpus;
	machine->node_count = 1;
	machine->remarks = strdup("");
	for (unsigned i = 0; i < cpus; i++)
		machine->cpus[i].cpu = machine->cpus[i].core = i;
	return machine;
}

/* As a measurement: @near within groups of @size neighbours, else @far; and up to a
 * tenth more, by chance. */
static struct latency *matrix_new(unsigned cpus, unsigned size, uint32_t near,
				  uint32_t far)
{
	struct cpu_list list = first_cpus(cpus);
	struct latency *latency = latency_make(&list);
	uint32_t chance = 1;

	for (unsigned i = 0; i < cpus; i++) {
		for (unsigned k = 0; k < i; k++) {
			uint32_t ns = i / size == k / size ? near : far;

			chance = chance * 1664525 + 1013904223;
			latency_set(latency, i, k,
				    ns + ns * (chance >> 24) / 2560);
		}
	}
	return latency;
}

/* Split, and compare: the cache of each CPU, in order. */
static void check_split(struct machine *machine, const struct latency *latency,
			int split, const unsigned *llcs, const char *remark)
{
	assert_int_equal(latency_groups_split(machine, latency), split);
	for (unsigned i = 0; i < machine->cpu_count; i++)
		assert_int_equal(machine->cpus[i].llc, llcs[i]);
	if (!strstr(machine->remarks, remark) ||
	    (split == 0 && machine->remarks[0]))
		fail_msg("remarks: %s", machine->remarks);
}

static void end(struct machine *machine, struct latency *latency)
{
	machine_free(machine);
	latency_free(latency);
}

static const unsigned one_cache[MAX_CPUS];

/* ---- caches that are cut ---------------------------------------------------- */

TEST(split__two_groups_told_as_one__two_caches)
{
	static const unsigned llcs[] = { 0, 0, 0, 0, 4, 4, 4, 4 };
	struct machine *machine = machine_new(8);
	struct latency *latency = matrix_new(8, 4, 23, 100);

	check_split(machine, latency, 1, llcs,
		    "the cache of CPU 0 is several groups of CPUs by latency, "
		    "up to 2");
	assert_non_null(strstr(machine->remarks, "each: 0-3; 4-7"));
	end(machine, latency);
}

TEST(split__groups_that_are_no_neighbours__named_by_their_first)
{
	static const unsigned llcs[] = { 0, 1, 0, 1, 0, 1 };
	struct machine *machine = machine_new(6);
	struct latency *latency = matrix_new(6, 6, 23, 23);

	for (unsigned i = 0; i < 6; i++)
		for (unsigned k = 0; k < i; k++)
			latency_set(latency, i, k, i % 2 == k % 2 ? 23 : 90);
	check_split(machine, latency, 1, llcs,
		    "up to 23 ns apart within and 90 ns or more between; "
		    "a cache each: 0,2,4; 1,3,5");
	end(machine, latency);
}

TEST(split__each_cache_by_itself__only_what_is_one_stays)
{
	static const unsigned llcs[] = { 0, 0, 0, 0, 4, 4, 6, 6 };
	struct machine *machine = machine_new(8);
	struct latency *latency = matrix_new(8, 4, 30, 120);

	for (unsigned i = 4; i < 8; i++)
		machine->cpus[i].llc = 4;
	for (unsigned i = 4; i < 6; i++)
		for (unsigned k = 6; k < 8; k++)
			latency_set(latency, i, k, 80);
	check_split(machine, latency, 1, llcs, "the cache of CPU 4 is");
	end(machine, latency);
}

TEST(split__told_finer_than_measured__never_joined)
{
	static const unsigned llcs[] = { 0, 0, 2, 2, 4, 4, 6, 6 };
	struct machine *machine = machine_new(8);
	struct latency *latency = matrix_new(8, 4, 30, 120);

	for (unsigned i = 0; i < 8; i++)
		machine->cpus[i].llc = i / 2 * 2;
	check_split(machine, latency, 0, llcs, "");
	end(machine, latency);
}

TEST(split__siblings_and_groups__groups)
{
	static const unsigned llcs[] = { 0, 0, 0, 0, 4, 4, 4, 4 };
	struct machine *machine = machine_new(8);
	struct latency *latency = matrix_new(8, 4, 23, 100);

	/* The machine is silent of them. */
	for (unsigned i = 0; i < 8; i += 2)
		latency_set(latency, i, i + 1, 8);
	check_split(machine, latency, 1, llcs, "0-3; 4-7");
	end(machine, latency);
}

TEST(split__groups_within_sockets__the_groups)
{
	static const unsigned llcs[] = { 0, 0, 2, 2, 4, 4, 6, 6 };
	struct machine *machine = machine_new(8);
	struct latency *latency = matrix_new(8, 2, 25, 90);

	for (unsigned i = 0; i < 4; i++)
		for (unsigned k = 4; k < 8; k++)
			latency_set(latency, i, k, 200);
	check_split(machine, latency, 1, llcs, "0-1; 2-3; 4-5; 6-7");
	end(machine, latency);
}

TEST(split__cores_with_siblings__follow_their_core)
{
	static const unsigned llcs[] = { 0, 0, 2, 2, 0, 0, 2, 2 };
	struct machine *machine = machine_new(8);
	struct latency *latency = matrix_new(4, 2, 50, 130);

	for (unsigned i = 4; i < 8; i++)
		machine->cpus[i].core = i - 4;
	check_split(machine, latency, 1, llcs, "0-1,4-5; 2-3,6-7");
	end(machine, latency);
}

TEST(split__cpus_that_were_not_measured__stay_together)
{
	static const unsigned llcs[] = { 0, 0, 2, 2, 4, 4 };
	struct machine *machine = machine_new(6);
	struct latency *latency = matrix_new(4, 2, 50, 130);

	check_split(machine, latency, 1, llcs,
		    "0-1; 2-3; and, not measured, 4-5");
	end(machine, latency);
}

TEST(split__noise_within__still_cut)
{
	static const unsigned llcs[] = { 0, 0, 0, 0, 0, 0, 0, 0,
					 8, 8, 8, 8, 8, 8, 8, 8 };
	struct machine *machine = machine_new(16);
	struct latency *latency = matrix_new(16, 8, 25, 100);

	latency_set(latency, 0, 3, 500); /* one of 28 pairs */
	latency_set(latency, 9, 12, 40); /* in the gap */
	check_split(machine, latency, 1, llcs, "0-7; 8-15");
	end(machine, latency);
}

TEST(split__some_unknown__still_cut)
{
	static const unsigned llcs[] = { 0, 0, 0, 0, 4, 4, 4, 4 };
	struct machine *machine = machine_new(8);
	struct latency *latency = matrix_new(8, 4, 25, 100);

	latency_set(latency, 0, 1, 0);
	latency_set(latency, 4, 7, 0);
	for (unsigned i = 4; i < 8; i++)
		latency_set(latency, 3, i, 0);
	check_split(machine, latency, 1, llcs, "0-3; 4-7");
	end(machine, latency);
}

/* ---- caches that are left as told ------------------------------------------- */

struct unclear {
	unsigned cpus, size;
	uint32_t near, far;
};

TEST(split__no_clear_gap__as_told)
{
	static const struct unclear cases[] = {
		{ 16, 16, 50, 50 },  { 16, 8, 50, 60 }, /* a large mesh */
		{ 16, 8, 100, 125 }, { 8, 2, 8, 50 },   /* siblings alone */
		{ 8, 4, 12, 20 },                       /* below 10 ns */
		{ 8, 1, 60, 60 },    { 2, 1, 60, 60 },
		{ 3, 2, 20, 90 },    { 1, 1, 60, 60 },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct machine *machine = machine_new(cases[i].cpus);
		struct latency *latency =
			matrix_new(cases[i].cpus, cases[i].size, cases[i].near,
				   cases[i].far);

		check_split(machine, latency, 0, one_cache, "");
		end(machine, latency);
	}
}

/* CPUs that are slow by themselves, as beside other load, are no group. */
TEST(split__one_slow_cpu__as_told)
{
	struct machine *machine = machine_new(8);
	struct latency *latency = matrix_new(8, 8, 25, 25);

	for (unsigned i = 0; i < 8; i++)
		if (i != 5)
			latency_set(latency, 5, i, 90);
	check_split(machine, latency, 0, one_cache, "");
	end(machine, latency);
}

TEST(split__much_noise__as_told)
{
	struct machine *machine = machine_new(8);
	struct latency *latency = matrix_new(8, 4, 25, 100);

	latency_set(latency, 0, 3, 500); /* one of 6 pairs */
	check_split(machine, latency, 0, one_cache, "");
	end(machine, latency);
}

TEST(split__too_much_unknown__as_told)
{
	struct machine *machine = machine_new(8);
	struct latency *latency = matrix_new(8, 4, 25, 100);

	/* Nothing of one CPU. */
	for (unsigned i = 0; i < 7; i++)
		latency_set(latency, 7, i, 0);
	check_split(machine, latency, 0, one_cache, "");
	latency_free(latency);
	/* Nothing between the groups. */
	latency = matrix_new(8, 4, 25, 100);
	for (unsigned i = 0; i < 16; i++)
		latency_set(latency, i / 4, 4 + i % 4, i == 0 ? 100 : 0);
	check_split(machine, latency, 0, one_cache, "");
	latency_free(latency);
	/* Nothing at all. */
	latency = matrix_new(8, 4, 0, 0);
	check_split(machine, latency, 0, one_cache, "");
	end(machine, latency);
}

/* ---- doubts ----------------------------------------------------------------- */

TEST(doubtful__one_cache_for_all__if_told_by_a_hypervisor)
{
	struct machine *machine = machine_new(8);

	assert_true(latency_groups_doubtful(machine, true));
	assert_false(latency_groups_doubtful(machine, false));
	machine->guessed = true;
	assert_true(latency_groups_doubtful(machine, false));
	machine_free(machine);
}

TEST(doubtful__told_in_detail__no)
{
	struct machine *machine = machine_new(16);

	for (unsigned i = 8; i < 16; i++)
		machine->cpus[i].llc = 8;
	assert_false(latency_groups_doubtful(machine, true));
	/* But one in each node is no detail. */
	for (unsigned i = 8; i < 16; i++)
		machine->cpus[i].node = 1;
	assert_true(latency_groups_doubtful(machine, true));
	machine_free(machine);
}

TEST(doubtful__few_cores__no)
{
	struct machine *machine = machine_new(4);

	assert_false(latency_groups_doubtful(machine, true));
	machine_free(machine);
	/* Four cores with siblings. */
	machine = machine_new(8);
	for (unsigned i = 4; i < 8; i++)
		machine->cpus[i].core = i - 4;
	assert_false(latency_groups_doubtful(machine, true));
	machine_free(machine);
}

/* ---- measuring -------------------------------------------------------------- */

static void check_known(const struct latency *latency, unsigned but)
{
	unsigned count = latency->cpus.count;

	for (unsigned i = 0; i < count; i++) {
		for (unsigned k = 0; k < count; k++) {
			bool known = latency_between(latency, i, k) != 0;

			assert_int_equal(known, i != k && i != but && k != but);
			assert_int_equal(latency_between(latency, i, k),
					 latency_between(latency, k, i));
		}
	}
}

static void *play(void *arg)
{
	pingpong_play(arg);
	return NULL;
}

/* Threads that are placed anywhere: there may be more than CPUs. */
static void play_all(unsigned count, unsigned at_once)
{
	struct cpu_list cpus = first_cpus(count);
	struct latency *latency = latency_make(&cpus);
	struct pingpong c;

	assert_int_equal(pingpong_init(&c, latency), 0);
	c.rounds = 4;
	c.patience = 1;
	c.games_at_once = at_once;
	c.deadline_ns = pingpong_now_ns() + LONG_NS;
	for (unsigned i = 0; i < count; i++) {
		c.players[i].pingpong = &c;
		c.players[i].index = i;
		for (unsigned k = 0; k < i; k++)
			pingpong_pair(&c, i, k);
	}
	for (unsigned i = 0; i < count; i++)
		assert_int_equal(pthread_create(&c.players[i].thread, NULL,
						play, &c.players[i]),
				 0);
	for (unsigned i = 0; i < count; i++)
		pthread_join(c.players[i].thread, NULL);
	assert_int_equal(c.games, 0);
	check_known(latency, count);
	pingpong_free(&c);
	latency_free(latency);
}

TEST(pingpong__many_players__each_with_each)
{
	play_all(2, 1);
	play_all(3, 1);
	play_all(9, 1);
	play_all(9, 4);
	play_all(70, 35); /* more than a word has bits */
}

/* It does not wait for a thread that never comes. */
TEST(measure__a_cpu_refuses_its_thread__unknown)
{
	struct cpu_list cpus = first_cpus(3);
	struct latency *latency;

	unpinned = true;
	refused_cpu = 1;
	assert_int_equal(latency_measure(&latency, &cpus, LONG_NS), 0);
	assert_int_equal(created, 2);
	check_known(latency, 1);
	latency_free(latency);
}

TEST(measure__no_two_threads__eagain)
{
	struct cpu_list cpus = first_cpus(4);
	struct latency *latency;

	unpinned = refuses_later = true;
	refused_cpu = 1;
	assert_int_equal(latency_measure(&latency, &cpus, LONG_NS), -EAGAIN);
	assert_null(latency);
	assert_int_equal(created, 1);
	refused_cpu = 0;
	assert_int_equal(latency_measure(&latency, &cpus, LONG_NS), -EAGAIN);
	assert_int_equal(created, 1);
}

/* Ends in time, with whatever there is. */
TEST(measure__no_time__unknown)
{
	struct machine *machine;
	struct skua_error err = { 0, "" };
	struct cpu_list allowed;

	assert_int_equal(cpu_list_allowed(&allowed), 0);
	assert_int_equal(machine_load(&machine, "/", NULL), 0);
	if (machine_measure(machine, NULL, 1, &err) == 0) {
		if (allowed.count > 1 && machine->latency)
			assert_non_null(strstr(machine->remarks,
					       "not measured within 0 us"));
	} else {
		assert_int_equal(err.code, -EAGAIN);
	}
	machine_free(machine);
	cpu_list_free(&allowed);
}

TEST(measure__this_machine__affinity_unchanged)
{
	struct cpu_list before, after;
	struct machine *machine;
	struct skua_error err = { 0, "" };
	sigset_t none, mask_after;

	assert_int_equal(cpu_list_allowed(&before), 0);
	sigemptyset(&none);
	pthread_sigmask(SIG_SETMASK, &none, NULL);
	assert_int_equal(machine_load(&machine, "/", NULL), 0);
	if (machine_measure(machine, NULL, LONG_NS, &err))
		fail_msg("%s", err.text);
	assert_int_equal(cpu_list_allowed(&after), 0);
	pthread_sigmask(SIG_SETMASK, NULL, &mask_after);
	assert_int_equal(before.count, after.count);
	assert_memory_equal(before.cpus, after.cpus,
			    before.count * sizeof(*before.cpus));
	for (int i = 1; i < NSIG; i++)
		assert_int_equal(sigismember(&mask_after, i), 0);
	if (machine->latency)
		check_known(machine->latency, machine->latency->cpus.count);
	else
		assert_non_null(
			strstr(machine->remarks, "latency not measured: "));
	cpu_list_free(&before);
	cpu_list_free(&after);
	machine_free(machine);
}

TEST(measure__one_cpu_within__nothing_and_said_so)
{
	struct cpu_list within;
	struct machine *machine;

	assert_int_equal(cpu_list_allowed(&within), 0);
	assert_int_equal(machine_load(&machine, "/", NULL), 0);
	within.count = 1;
	assert_int_equal(machine_measure(machine, &within, LONG_NS, NULL), 0);
	assert_null(machine->latency);
	assert_int_equal(created, 0);
	/* Behind what it says of sysfs. */
	assert_non_null(strstr(machine->remarks,
			       "latency not measured: at least two cores are "
			       "needed\n"));
	assert_int_equal(machine_latency(machine, 0, 1), 0);
	cpu_list_free(&within);
	machine_free(machine);
}

TEST(measure__another_machine__einval)
{
	struct skua_topology *topology;
	struct skua_error err = { 0, "" };

	assert_int_equal(
		skua_topology_load(&topology, MACHINES "bare.snapshot", NULL),
		0);
	assert_int_equal(skua_topology_measure(topology, 0, &err), -EINVAL);
	assert_string_equal(err.text,
			    "latency: only this machine can be measured; the "
			    "topology was not loaded from /");
	machine_measure_when((struct machine *)topology, NULL, MEASURE_ALWAYS);
	assert_int_equal(created, 0);
	skua_topology_free(topology);
}

TEST(measure__bad_arguments__einval)
{
	struct skua_topology *topology;
	struct skua_error err = { 0, "" };

	assert_int_equal(skua_topology_measure(NULL, 0, &err), -EINVAL);
	assert_string_equal(err.text, "topology is NULL");
	assert_int_equal(skua_topology_load(&topology, NULL, NULL), 0);
	assert_int_equal(
		skua_topology_measure(topology, SKUA_MAX_MEASURE_NS + 1, &err),
		-EINVAL);
	assert_string_equal(err.text, "budget_ns: 10000000001, allowed are 1 "
				      "to 10000000000, or 0 for 50000000");
	assert_int_equal(skua_topology_latency(topology, 0, 0), 0);
	assert_int_equal(skua_topology_latency(topology, 0, 65535), 0);
	skua_topology_free(topology);
}

TEST(measure__a_machine_of_more_cpus__latency_of_each_core)
{
	struct machine *machine = machine_new(6);

	unpinned = true;
	machine->here = true;
	/* Of these only as many as are allowed here. */
	for (unsigned i = 3; i < 6; i++)
		machine->cpus[i].core = i - 3;
	assert_int_equal(machine_measure(machine, NULL, LONG_NS, NULL), 0);
	for (unsigned i = 0; machine->latency && i < 6; i++)
		for (unsigned k = 0; k < 6; k++)
			assert_int_equal(
				machine_latency(machine, i, k),
				machine_latency(machine, i % 3, k % 3));
	machine_free(machine);
}
