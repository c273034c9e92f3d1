/* SPDX-License-Identifier: MIT */
/**
 * test_affinity.c - CPUs are taken away from a runtime and given back
 *
 * The kernel is played here: the program is linked with --wrap for its calls, so
 * that there are eight CPUs whatever there is, in a control group that changes,
 * and threads that somebody moves. Of its workers each is made to look when the
 * test wants it.
 */
#include <pthread.h>

#include "core/loop/current.h"
#include "core/runtime/runtime.h"
#include "tests/unit/tasks.h"

#define CPUS    8u
#define WORKERS 8u

/* ---- the kernel ------------------------------------------------------------ */

static struct {
	pthread_mutex_t lock;
	bool forgets;            /* before 6.2 */
	uint64_t group;          /* the CPUs of the control group */
	uint64_t asked[WORKERS]; /* when a thread's affinity was set last */
	uint64_t given[WORKERS];
	struct quota quota;
} kernel = { .lock = PTHREAD_MUTEX_INITIALIZER };

static int kernel_set(unsigned i, uint64_t cpus)
{
	int code = -1;

	pthread_mutex_lock(&kernel.lock);
	if (cpus & kernel.group) {
		kernel.asked[i] = cpus;
		kernel.given[i] = cpus & kernel.group;
		code = 0;
	}
	pthread_mutex_unlock(&kernel.lock);
	errno = code ? EINVAL : errno;
	return code;
}

static uint64_t kernel_get(unsigned i)
{
	uint64_t cpus;

	pthread_mutex_lock(&kernel.lock);
	cpus = kernel.given[i];
	pthread_mutex_unlock(&kernel.lock);
	return cpus;
}

static void kernel_change_group(uint64_t cpus)
{
	pthread_mutex_lock(&kernel.lock);
	kernel.group = cpus;
	for (unsigned i = 0; i < WORKERS; i++) {
		kernel.given[i] = kernel.asked[i] & cpus;
		if (kernel.given[i] == 0 || kernel.forgets)
			kernel.given[i] = cpus;
	}
	pthread_mutex_unlock(&kernel.lock);
}

int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set);
int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set)
{
	const struct worker *worker = current_here();
	uint64_t cpus = worker ? kernel_get(worker->index) : kernel.group;

	(void)pid;
	CPU_ZERO_S(size, set);
	for (unsigned cpu = 0; cpu < CPUS; cpu++) {
		if (cpus >> cpu & 1)
			CPU_SET_S(cpu, size, set);
	}
	return 0;
}

int __wrap_sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *set);
int __wrap_sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *set)
{
	uint64_t cpus = 0;

	(void)pid;
	for (unsigned cpu = 0; cpu < CPUS; cpu++)
		cpus |= (uint64_t)(CPU_ISSET_S(cpu, size, set) != 0) << cpu;
	return kernel_set(current_here()->index, cpus);
}

int __wrap_pthread_attr_setaffinity_np(pthread_attr_t *attr, size_t size,
				       const cpu_set_t *set);
int __wrap_pthread_attr_setaffinity_np(pthread_attr_t *attr, size_t size,
				       const cpu_set_t *set)
{
	(void)attr;
	(void)size;
	(void)set;
	return 0;
}

int __wrap_quota_read(struct quota *out, const char *root,
		      struct skua_error *err);
int __wrap_quota_read(struct quota *out, const char *root,
		      struct skua_error *err)
{
	(void)root;
	(void)err;
	*out = kernel.quota;
	return 0;
}

/* ---- a runtime there ------------------------------------------------------- */

static struct skua_runtime *rt;
static atomic_u32 logged;
/* The last line about a worker; the join of the worker's looker publishes it. */
static char last_line[100];

static void note_log(void *ctx, enum skua_log_level level, const char *text)
{
	(void)ctx;
	if (!strstr(text, "worker ") && !strstr(text, "time"))
		return;
	atomic_fetch_add_relaxed(&logged, level <= SKUA_LOG_INFO);
	snprintf(last_line, sizeof(last_line), "%s", text);
}

static const struct skua_hooks hooks = { .log = note_log };

static int begin(struct skua_config cfg)
{
	struct skua_error err = { 0, "" };
	int code;

	cfg.size = sizeof(cfg);
	cfg.hooks = &hooks;
	kernel.group = 0xff;
	kernel.quota = (struct quota){ 0, 0 };
	code = skua_runtime_create(&rt, &cfg, &err);
	if (code)
		fail_msg("%s", err.text);
	for (unsigned i = 0; i < rt->config.workers; i++) {
		struct placement_range range =
			rt->config.placement.workers[i].own;

		kernel.asked[i] = 0;
		for (unsigned n = 0; n < range.count; n++)
			kernel.asked[i] |=
				UINT64_C(1)
				<< rt->config.placement.cpus[range.first + n];
		kernel.given[i] = kernel.asked[i];
	}
	atomic_store_relaxed(&logged, 0);
	return 0;
}

/* A task of one worker that makes it look, or tells whether it has. */
struct looker {
	struct skua_task task;
	bool ask, looked;
};

static enum skua_poll look_poll(struct skua_task *task)
{
	struct looker *looker = (struct looker *)task;
	struct worker *worker = current_here();

	if (looker->ask)
		worker->affinity_due_ns = 0;
	looker->looked = worker->affinity_due_ns != 0;
	return SKUA_DONE;
}

/* Have the worker look, and wait until it has. */
static void look(unsigned i)
{
	struct looker looker = { .ask = true };

	do {
		skua_task_init(&looker.task, look_poll);
		assert_int_equal(skua_task_spawn_on(rt, i, &looker.task), 0);
		assert_int_equal(skua_task_join(&looker.task), 0);
		looker.ask = false;
	} while (!looker.looked);
}

static void all_look(void)
{
	for (unsigned i = 0; i < rt->config.workers; i++)
		look(i);
}

static uint32_t oversubscribed(void)
{
	return atomic_load_relaxed(&rt->pool.idle.sharing_cpus) +
	       atomic_load_relaxed(&rt->pool.idle.quota_limited);
}

/* Two hexadecimal digits of each worker's CPUs, one by one. */
static void expect_cpus(const char *expected, uint32_t sharing)
{
	char text[3 * WORKERS + 1] = "";

	for (unsigned i = 0; i < rt->config.workers; i++)
		sprintf(text + strlen(text), "%s%02x", i ? " " : "",
			(unsigned)kernel_get(i));
	assert_string_equal(text, expected);
	assert_int_equal(oversubscribed(), sharing);
}

static void finish(void)
{
	assert_int_equal(skua_runtime_destroy(rt), 0);
}

/* As taskset -a: all threads. */
static void move_all(uint64_t cpus)
{
	for (unsigned i = 0; i < WORKERS; i++)
		kernel_set(i, cpus);
}

/* ---- control groups -------------------------------------------------------- */

TEST(group__shrinks_and_grows__home_again)
{
	begin((struct skua_config){ .cpus = "0-3" });
	kernel_change_group(0x03);
	all_look();
	expect_cpus("01 02 03 03", 2);
	assert_int_equal(atomic_load_relaxed(&logged), 2);
	assert_string_equal(last_line, "worker 3 may not use its CPUs any "
				       "more, and shares 2 CPUs with others");
	kernel_change_group(0xff);
	if (!kernel.forgets) /* which remembers, if it was let */
		expect_cpus("01 02 04 08", 2);
	all_look();
	all_look();
	expect_cpus("01 02 04 08", 0);
	assert_int_equal(atomic_load_relaxed(&logged), 4);
	finish();
}

TEST(group__unchanged__nothing_is_done)
{
	begin((struct skua_config){ .cpus = "0-3" });
	all_look();
	expect_cpus("01 02 04 08", 0);
	kernel_change_group(0x0f);
	all_look();
	expect_cpus("01 02 04 08", 0);
	assert_int_equal(atomic_load_relaxed(&logged), 0);
	finish();
}

TEST(group__moves_elsewhere__a_cpu_each_and_home_again)
{
	begin((struct skua_config){ .cpus = "0-3" });
	kernel_change_group(0xf0);
	all_look();
	expect_cpus("10 20 40 80", 0);
	/* In part: two go home. The others keep what they have, unless the kernel
	 * has forgotten that: then what was chosen comes first. */
	kernel_change_group(0x3c);
	all_look();
	all_look();
	expect_cpus(kernel.forgets ? "0c 0c 04 08" : "10 20 04 08",
		    kernel.forgets ? 2 : 0);
	kernel_change_group(0x0f);
	all_look();
	all_look();
	expect_cpus("01 02 04 08", 0);
	finish();
}

TEST(group__fewer_workers_than_cpus__takes_a_free_one)
{
	begin((struct skua_config){ .workers = 2 });
	expect_cpus("01 02", 0);
	kernel_change_group(0xfa);
	all_look();
	expect_cpus("08 02", 0);
	kernel_change_group(0x22);
	all_look();
	expect_cpus("20 02", 0);
	kernel_change_group(0x02);
	all_look();
	expect_cpus("02 02", 1);
	kernel_change_group(0xff);
	all_look();
	expect_cpus("01 02", 0);
	finish();
}

/* A set that a group or a user chose does not grow. */
TEST(group__grows_beyond_the_start__not_used)
{
	begin((struct skua_config){ .cpus = "2,3", .workers = 3 });
	expect_cpus("04 08 0c", 0);
	kernel_change_group(0x0f);
	kernel_change_group(0xff);
	all_look();
	expect_cpus("04 08 0c", 0);
	finish();
}

TEST(group__unpinned__within_what_was_chosen)
{
	begin((struct skua_config){ .cpus = "0-3", .flags = SKUA_UNPINNED });
	expect_cpus("0f 0f 0f 0f", 0);
	kernel_change_group(0x3c);
	all_look();
	expect_cpus("0c 0c 0c 0c", 4);
	kernel_change_group(0xff);
	all_look();
	all_look();
	expect_cpus("0f 0f 0f 0f", 0);
	finish();
}

/* ---- somebody moves threads ------------------------------------------------ */

TEST(moved__all_to_fewer__stay_there)
{
	begin((struct skua_config){ .cpus = "0-3" });
	move_all(0x03);
	all_look();
	all_look();
	expect_cpus("01 02 03 03", 2);
	/* One more, that was not chosen. */
	move_all(0x13);
	all_look();
	expect_cpus("01 02 03 03", 2);
	move_all(0xff);
	all_look();
	all_look();
	expect_cpus("01 02 04 08", 0);
	finish();
}

TEST(moved__one__stays_where_it_was_put)
{
	begin((struct skua_config){ .cpus = "0-3" });
	kernel_set(2, 0x02);
	all_look();
	all_look();
	expect_cpus("01 02 02 08", 1);
	kernel_set(2, 0x40);
	all_look();
	expect_cpus("01 02 40 08", 0);
	kernel_set(2, 0x44);
	all_look();
	expect_cpus("01 02 04 08", 0);
	finish();
}

TEST(moved__by_a_hook_to_other_cpus__none_shares)
{
	begin((struct skua_config){ .cpus = "0-3" });
	for (unsigned i = 0; i < 4; i++)
		kernel_set(i, UINT64_C(8) >> i);
	all_look();
	all_look();
	expect_cpus("08 04 02 01", 0);
	finish();
	begin((struct skua_config){ .cpus = "0-3", .flags = SKUA_UNPINNED });
	for (unsigned i = 0; i < 4; i++)
		kernel_set(i, UINT64_C(8) >> i);
	all_look();
	expect_cpus("08 04 02 01", 0);
	finish();
}

/* ---- the quota ------------------------------------------------------------- */

TEST(quota__below_the_cpus__all_of_a_cache_until_it_is_more)
{
	begin((struct skua_config){ .cpus = "2-4" });
	/* Of the machine below, nobody knows which CPUs it has: one cache. */
	if (rt->config.placement.workers[0].cache.count != 3) {
		finish();
		skip_aloud("the CPUs 2 to 4 of this machine share no cache");
		return;
	}
	expect_cpus("04 08 10", 0);
	kernel.quota = (struct quota){ 150, 100 };
	atomic_store_relaxed(&rt->affinity.quota_due_ns, 0);
	all_look();
	all_look();
	expect_cpus("1c 1c 1c", 1);
	kernel.quota = (struct quota){ 300, 100 };
	atomic_store_relaxed(&rt->affinity.quota_due_ns, 0);
	all_look();
	all_look();
	expect_cpus("04 08 10", 0);
	finish();
}

/* ---- whatever happens ------------------------------------------------------ */

/* At the end, with all CPUs back, each is at home; and nobody is ever where it
 * may not be. */
TEST(any__random_changes__home_in_the_end)
{
	struct rng rng;

	rng_init(&rng, kernel.forgets);
	for (unsigned round = 0; round < 300; round++) {
		unsigned workers = 1 + rng_below(&rng, WORKERS);

		begin((struct skua_config){ .workers = workers });
		for (unsigned change = 0; change < 5; change++) {
			kernel_change_group(1 + rng_below(&rng, 255));
			for (unsigned n = rng_below(&rng, 20); n > 0; n--)
				look(rng_below(&rng, workers));
		}
		kernel_change_group(0xff);
		all_look();
		all_look();
		for (unsigned i = 0; i < workers; i++)
			assert_int_equal(kernel_get(i), UINT64_C(1) << i);
		assert_int_equal(oversubscribed(), 0);
		finish();
	}
}

/* Once with a kernel that keeps what a thread asked for, and once with one that
 * forgets it. */
int main(void)
{
	int code = run_all_tests();

	kernel.forgets = true;
	return code | run_all_tests();
}
