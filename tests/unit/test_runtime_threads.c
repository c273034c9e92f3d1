/* SPDX-License-Identifier: MIT */
/* test_runtime_threads.c - names, CPUs and signals of the workers */
#include "tests/unit/process.h"
#include "topology/cpu_list.h"

/* ---- what /proc says of a thread ----------------------------------------- */

/* The first line of a file of a thread that begins with @key; false if the
 * thread is gone. */
static bool read_line(const char *tid, const char *file, const char *key,
		      char *line, size_t size)
{
	char path[300];
	bool found = false;
	FILE *stream;

	snprintf(path, sizeof(path), "/proc/self/task/%s/%s", tid, file);
	stream = fopen(path, "r");
	while (stream && !found && fgets(line, (int)size, stream))
		found = strncmp(line, key, strlen(key)) == 0;
	if (stream)
		fclose(stream);
	line[strcspn(line, "\n")] = '\0';
	return found;
}

#define TID_SIZE 256 /* of a name in a folder */

/* The thread "skua-@worker", as it is in /proc; "" if there is none. */
static void look_for_worker(unsigned worker, char tid[TID_SIZE])
{
	DIR *dir = opendir("/proc/self/task");
	struct dirent *entry;
	char name[32];
	char line[64];

	assert_non_null(dir);
	snprintf(name, sizeof(name), "skua-%u", worker);
	tid[0] = '\0';
	while (!tid[0] && (entry = readdir(dir)) != NULL) {
		line[0] = '\0';
		if (read_line(entry->d_name, "comm", "", line, sizeof(line)) &&
		    strcmp(line, name) == 0)
			snprintf(tid, TID_SIZE, "%s", entry->d_name);
	}
	closedir(dir);
}

/* A worker names itself, once it runs. */
static void find_worker(unsigned worker, char tid[TID_SIZE])
{
	for (;;) {
		look_for_worker(worker, tid);
		if (tid[0])
			return;
		sched_yield();
	}
}

static void worker_status(unsigned worker, const char *key, char *value,
			  size_t size)
{
	char line[4096] = "";
	char tid[TID_SIZE];

	find_worker(worker, tid);
	assert_true(read_line(tid, "status", key, line, sizeof(line)));
	snprintf(value, size, "%s", line + strlen(key) + 1); /* the tab */
}

static void expect_worker_cpus(unsigned worker, const unsigned *cpus,
			       unsigned count)
{
	char text[4096];
	struct cpu_list list;

	worker_status(worker, "Cpus_allowed_list:", text, sizeof(text));
	assert_int_equal(cpu_list_parse(&list, text), 0);
	assert_int_equal(list.count, count);
	assert_memory_equal(list.cpus, cpus, count * sizeof(*cpus));
	cpu_list_free(&list);
}

/* ---- threads: names, CPUs, signals -------------------------------------- */

static struct skua_runtime *runtime_of(unsigned workers, const char *cpus,
				       unsigned flags)
{
	return RUNTIME(.workers = workers, .cpus = cpus, .flags = flags);
}

ALL_TESTS(process_settle, NULL);

TEST(runtime_create__any__workers_have_their_names)
{
	const struct belongings before = belongings();
	struct skua_runtime *rt = runtime_new(12, 0);
	char tid[TID_SIZE];

	assert_int_equal(count_entries("/proc/self/task"), before.threads + 12);
	for (unsigned worker = 0; worker < 12; worker++)
		find_worker(worker, tid);
	look_for_worker(12, tid);
	assert_string_equal(tid, "");
	end(rt, before);
}

TEST(runtime_create__a_worker_each_cpu__pinned_one_by_one)
{
	const struct belongings before = belongings();
	struct cpu_list allowed;
	struct skua_runtime *rt;

	assert_int_equal(cpu_list_allowed(&allowed), 0);
	rt = runtime_of(allowed.count, NULL, 0);
	for (unsigned i = 0; i < allowed.count; i++)
		expect_worker_cpus(i, &allowed.cpus[i], 1);
	end(rt, before);
	cpu_list_free(&allowed);
}

TEST(runtime_create__surplus_workers__may_use_all_chosen)
{
	const struct belongings before = belongings();
	struct cpu_list allowed;
	struct skua_runtime *rt;

	assert_int_equal(cpu_list_allowed(&allowed), 0);
	rt = runtime_of(allowed.count + 2, NULL, 0);
	for (unsigned i = 0; i < allowed.count; i++)
		expect_worker_cpus(i, &allowed.cpus[i], 1);
	for (unsigned i = allowed.count; i < allowed.count + 2; i++)
		expect_worker_cpus(i, allowed.cpus, allowed.count);
	end(rt, before);
	cpu_list_free(&allowed);
}

TEST(runtime_create__cpus_named__workers_stay_there)
{
	const struct belongings before = belongings();
	struct cpu_list allowed;
	struct skua_runtime *rt;
	unsigned *last;
	char text[16];

	assert_int_equal(cpu_list_allowed(&allowed), 0);
	last = &allowed.cpus[allowed.count - 1];
	snprintf(text, sizeof(text), "%u", *last);
	rt = runtime_of(0, text, 0);
	assert_int_equal(skua_runtime_workers(rt), 1);
	expect_worker_cpus(0, last, 1);
	end(rt, before);
	/* Unpinned and surplus ones, too. */
	for (unsigned flags = 0; flags <= SKUA_UNPINNED; flags++) {
		rt = runtime_of(3, text, flags);
		for (unsigned i = 0; i < 3; i++)
			expect_worker_cpus(i, last, 1);
		end(rt, before);
	}
	cpu_list_free(&allowed);
}

TEST(runtime_create__unpinned__all_may_use_all_chosen)
{
	const struct belongings before = belongings();
	struct cpu_list allowed;
	struct skua_runtime *rt;

	assert_int_equal(cpu_list_allowed(&allowed), 0);
	rt = runtime_of(3, NULL, SKUA_UNPINNED);
	for (unsigned i = 0; i < 3; i++)
		expect_worker_cpus(i, allowed.cpus, allowed.count);
	end(rt, before);
	cpu_list_free(&allowed);
}

TEST(runtime_create__narrow_affinity__is_never_widened)
{
	const struct belongings before = belongings();
	struct skua_runtime *rt;
	struct cpu_list allowed;
	cpu_set_t old;
	cpu_set_t one;

	assert_int_equal(cpu_list_allowed(&allowed), 0);
	if (sched_getaffinity(0, sizeof(old), &old) != 0 || allowed.count < 2) {
		cpu_list_free(&allowed);
		skip_aloud("needs two CPUs, and a cpu_set_t that holds them");
		return;
	}
	CPU_ZERO(&one);
	CPU_SET(allowed.cpus[1], &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	rt = runtime_of(2, NULL, 0);
	expect_worker_cpus(0, &allowed.cpus[1], 1);
	expect_worker_cpus(1, &allowed.cpus[1], 1);
	assert_int_equal(sched_setaffinity(0, sizeof(old), &old), 0);
	end(rt, before);
	cpu_list_free(&allowed);
}

/* SIGKILL and SIGSTOP cannot be blocked; 32 and 33 are the C library's. */
static bool may_be_blocked(int signal)
{
	return signal != SIGKILL && signal != SIGSTOP && signal != 32 &&
	       signal != 33;
}

/* Signals that a fault or a profiler raises. */
static bool is_the_threads_own(int signal)
{
	static const int own[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL,
				   SIGTRAP, SIGSYS, SIGPROF };

	for (size_t i = 0; i < COUNT_OF(own); i++) {
		if (own[i] == signal)
			return true;
	}
	return false;
}

TEST(runtime_create__any__workers_block_foreign_signals)
{
	const struct belongings before = belongings();
	struct skua_runtime *rt = runtime_new(2, 0);

	for (unsigned worker = 0; worker < 2; worker++) {
		unsigned long long blocked;
		char text[64];

		worker_status(worker, "SigBlk:", text, sizeof(text));
		blocked = strtoull(text, NULL, 16);
		for (int signal = 1; signal <= 64; signal++) {
			bool is_blocked = blocked >> (signal - 1) & 1;

			if (may_be_blocked(signal) &&
			    is_blocked == is_the_threads_own(signal))
				fail_msg("worker %u: signal %d", worker,
					 signal);
		}
	}
	end(rt, before);
}
