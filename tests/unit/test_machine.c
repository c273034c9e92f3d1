/* SPDX-License-Identifier: MIT */
/* test_machine.c - what is read of a machine: of many that are described in
 * tests/topology, of this one, and of nonsense */
#include "tests/unit/machines.h"

#include <fts.h>
#include <inttypes.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "skua/topology.h"
#include "topology/machine.h"
#include "topology/machine_cache.h"
#include "topology/snapshot.h"

/* ---- help ------------------------------------------------------------------ */

/* A file of that content; its name is good until the next call. */
static const char *file_of(const char *text, size_t length)
{
	static char name[64];
	static int file = -1;

	if (file >= 0)
		close(file);
	file = memfd_create("machine", MFD_CLOEXEC);
	assert_true(file >= 0);
	assert_int_equal(write(file, text, length), length);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", file);
	return name;
}

static struct machine *load_text(const char *text)
{
	struct machine *machine = NULL;
	struct skua_error err = { 0, "" };
	int code = machine_load(&machine, file_of(text, strlen(text)), &err);

	if (code)
		fail_msg("%d: %s", code, err.text);
	return machine;
}

static void write_cpu(FILE *to, const struct skua_cpu *cpu)
{
	fprintf(to, "cpu %u core %u llc %u node %u capacity %u%s\n", cpu->cpu,
		cpu->core, cpu->llc, cpu->node, cpu->capacity,
		cpu->isolated ? " isolated" : "");
}

/* As machines.py writes what is expected. */
static char *describe(const struct machine *machine)
{
	unsigned count = machine->node_count;
	size_t size;
	char *text;
	FILE *to = open_memstream(&text, &size);

	for (unsigned i = 0; i < machine->cpu_count; i++)
		write_cpu(to, &machine->cpus[i]);
	for (unsigned i = 0; i < count; i++) {
		const struct skua_numa_node *node = &machine->nodes[i];

		fprintf(to, "node %u cpus %u memory %" PRIu64 ":", node->node,
			node->cpus, node->memory_bytes);
		for (unsigned j = 0; j < count; j++)
			fprintf(to, " %u", machine->distances[i * count + j]);
		fputc('\n', to);
	}
	fclose(to);
	return text;
}

static void check_description(const char *text, const char *expected)
{
	struct machine *machine = load_text(text);
	char *found = describe(machine);

	assert_string_equal(found, expected);
	free(found);
	machine_free(machine);
}

static char *read_whole(const char *path)
{
	FILE *file = fopen(path, "r");
	char *text = NULL;
	size_t size = 0;

	assert_non_null(file);
	assert_true(getdelim(&text, &size, '\0', file) > 0);
	fclose(file);
	return text;
}

/* ---- machines -------------------------------------------------------------- */

static void check_machine(const char *snapshot)
{
	char path[256];
	struct machine *machine;
	struct skua_error err = { 0, "" };
	char *found, *expected;
	int length = (int)(strlen(snapshot) - strlen(".snapshot"));

	if (machine_load(&machine, snapshot, &err))
		fail_msg("%s", err.text);
	snprintf(path, sizeof(path), "%.*s.expected", length, snapshot);
	found = describe(machine);
	expected = read_whole(path);
	if (strcmp(found, expected) != 0)
		fail_msg("%s: found\n%s\ninstead of\n%s", snapshot, found,
			 expected);
	free(found);
	free(expected);
	machine_free(machine);
}

TEST(machine_load__each_snapshot__as_it_was_made)
{
	machines_each(check_machine);
}

TEST(machine_load__this_machine__has_the_allowed_cpus)
{
	struct machine *machine;
	struct cpu_list allowed;

	assert_int_equal(machine_load(&machine, "/", NULL), 0);
	assert_int_equal(cpu_list_allowed(&allowed), 0);
	for (unsigned i = 0; i < allowed.count; i++) {
		const struct skua_cpu *cpu =
			machine_cpu(machine, allowed.cpus[i]);

		assert_non_null(cpu);
		assert_int_equal(cpu->cpu, allowed.cpus[i]);
		assert_int_equal(
			machine_distance(machine, cpu->node, cpu->node),
			SKUA_DISTANCE_HERE);
	}
	assert_null(machine_cpu(machine, CPU_LIST_LIMIT));
	cpu_list_free(&allowed);
	machine_free(machine);
}

/* ---- snapshots ------------------------------------------------------------- */

TEST(snapshot_save__this_machine__read_alike)
{
	struct machine *machine;
	char *here, *text;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	assert_int_equal(snapshot_save(file, "/", NULL), 0);
	fclose(file);
	assert_int_equal(machine_load(&machine, "/", NULL), 0);
	here = describe(machine);
	check_description(text, here);
	free(here);
	free(text);
	machine_free(machine);
}

TEST(snapshot_save__nothing_there__enoent)
{
	struct skua_error err = { 0, "" };
	FILE *file = tmpfile();

	assert_int_equal(snapshot_save(file, "/proc/self/fd", &err), -ENOENT);
	assert_string_equal(err.text, "/proc/self/fd: nothing describes a "
				      "machine there");
	fclose(file);
}

/* fts_open() fails while it is set. */
static bool no_walk;

FTS *__real_fts_open(char *const *paths, int options,
		     int (*compare)(const FTSENT **, const FTSENT **));
FTS *__wrap_fts_open(char *const *paths, int options,
		     int (*compare)(const FTSENT **, const FTSENT **));
FTS *__wrap_fts_open(char *const *paths, int options,
		     int (*compare)(const FTSENT **, const FTSENT **))
{
	if (!no_walk)
		return __real_fts_open(paths, options, compare);
	errno = ENOMEM;
	return NULL;
}

TEST(snapshot_save__this_machine_cannot_be_read__error_names_its_root)
{
	struct skua_error err = { 0, "" };
	FILE *file = tmpfile();

	no_walk = true;
	assert_int_equal(snapshot_save(file, "/", &err), -ENOMEM);
	no_walk = false;
	assert_string_equal(err.text, "/: Cannot allocate memory");
	fclose(file);
}

TEST(topology_save__fails__removes_only_a_file_of_its_own)
{
	char folder[] = "/tmp/skua-machine-XXXXXX";
	char file[64], link[64];
	struct stat found;

	assert_non_null(mkdtemp(folder));
	snprintf(file, sizeof(file), "%s/file", folder);
	snprintf(link, sizeof(link), "%s/link", folder);
	assert_int_equal(skua_topology_save(file, "/proc/self/fd", NULL),
			 -ENOENT);
	assert_int_equal(lstat(file, &found), -1);
	assert_int_equal(symlink("/dev/null", link), 0);
	assert_int_equal(skua_topology_save(link, "/proc/self/fd", NULL),
			 -ENOENT);
	assert_int_equal(lstat(link, &found), 0);
	assert_int_equal(skua_topology_save(link, NULL, NULL), 0);
	assert_int_equal(remove(link), 0);
	assert_int_equal(rmdir(folder), 0);
}

struct refused {
	const char *text, *error;
};

TEST(machine_load__malformed_snapshot__says_the_line)
{
	static const struct refused cases[] = {
		{ "a\tb\nno tab here\n",
		  "line 2: no tab; a line is a path, a tab and a value" },
		{ "# of\n\n\tvalue\n",
		  "line 3: the path is empty or begins with a slash" },
		{ "/sys/a\tb\n",
		  "line 1: the path is empty or begins with a slash" },
		{ "a\tb\\t\n",
		  "line 1: a backslash; only \\n and \\\\ are allowed" },
		{ "a\tb\\",
		  "line 1: a backslash; only \\n and \\\\ are allowed" },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct machine *machine;
		struct skua_error err = { 0, "" };
		const char *text = cases[i].text;

		assert_int_equal(machine_load(&machine,
					      file_of(text, strlen(text)),
					      &err),
				 -EINVAL);
		assert_null(machine);
		assert_int_equal(err.code, -EINVAL);
		assert_non_null(strstr(err.text, cases[i].error));
	}
}

TEST(machine_load__a_zero_byte__einval)
{
	struct machine *machine;
	struct skua_error err = { 0, "" };

	assert_int_equal(machine_load(&machine, file_of("a\tb\0c", 5), &err),
			 -EINVAL);
	assert_non_null(strstr(err.text, "a byte is 0; a snapshot is text"));
}

TEST(machine_load__no_cpu__enoent)
{
	const char *const roots[] = { "/proc/self/fd", NULL };

	for (size_t i = 0; i < 2; i++) {
		struct machine *machine;
		struct skua_error err = { 0, "" };

		assert_int_equal(
			machine_load(&machine,
				     roots[i] ? roots[i] : file_of("", 0),
				     &err),
			-ENOENT);
		assert_null(machine);
		assert_non_null(strstr(err.text, "no CPU is described"));
	}
}

TEST(machine_load__no_such_root__its_error)
{
	struct machine *machine;
	struct skua_error err = { 0, "" };

	assert_int_equal(machine_load(&machine, "/nowhere", &err), -ENOENT);
	assert_string_equal(err.text, "/nowhere: No such file or directory");
	assert_int_equal(machine_load(&machine, "/dev/null", &err), -EINVAL);
	assert_string_equal(err.text, "/dev/null: neither a folder nor a file");
}

/* ---- nonsense -------------------------------------------------------------- */

#define CPU  "sys/devices/system/cpu/"
#define NODE "sys/devices/system/node/"

/* The machine made of an impossible description, and a part of the remark. */
struct nonsense {
	const char *text, *expected, *remark;
};

TEST(machine_load__nonsense__guesses_and_says_so)
{
	static const struct nonsense cases[] = {
		/* A CPU that is said to be online, and one that has a folder. */
		{ CPU "online\t0,7\n" CPU "cpu0/a\t\n" CPU "cpu1/online\t1\n",
		  "cpu 0 core 0 llc 0 node 0 capacity 0\n"
		  "node 0 cpus 1 memory 0: 10\n",
		  "sysfs does not tell the caches" },
		{ CPU "online\t0-x\n" CPU "cpu3/a\t\n",
		  "cpu 3 core 3 llc 3 node 0 capacity 0\n"
		  "node 0 cpus 1 memory 0: 10\n",
		  CPU "online is no list of CPUs: ignored" },
		{ CPU "online\t0-1\n" CPU
		      "cpu0/topology/core_cpus_list\t1\n" CPU
		      "cpu0/cache/index3/level\t3\n" CPU
		      "cpu0/cache/index3/shared_cpu_list\t0-1\n",
		  "cpu 0 core 0 llc 0 node 0 capacity 0\n"
		  "node 0 cpus 1 memory 0: 10\n",
		  "core_cpus_list does not have CPU 0 itself: ignored" },
		{ CPU "online\t0-1\n" NODE "node0/cpulist\t0-1\n" NODE
		      "node4/cpulist\t1\n",
		  "cpu 0 core 0 llc 0 node 0 capacity 0\n"
		  "cpu 1 core 1 llc 0 node 0 capacity 0\n"
		  "node 0 cpus 2 memory 0: 10 20\n"
		  "node 4 cpus 0 memory 0: 20 10\n",
		  "CPU 1 is listed in node 0 and in node 4: the "
		  "first one counts" },
		{ CPU "online\t0-1\n" NODE "node3/cpulist\t1\n",
		  "cpu 0 core 0 llc 0 node 3 capacity 0\n"
		  "cpu 1 core 1 llc 0 node 3 capacity 0\n"
		  "node 3 cpus 2 memory 0: 10\n",
		  "CPU 0 is listed in no node: node 3 counts" },
		{ CPU "online\t0\n" NODE "node0/cpulist\t0\n" NODE
		      "node0/distance\t10 5\n" NODE "node1/distance\t30 10\n",
		  "cpu 0 core 0 llc 0 node 0 capacity 0\n"
		  "node 0 cpus 1 memory 0: 10 20\n"
		  "node 1 cpus 0 memory 0: 30 10\n",
		  "distance is '10 5'; allowed are 2 numbers, 10 for "
		  "the node itself" },
		{ CPU "online\t0\n" NODE "node0/distance\t10 20\n",
		  "cpu 0 core 0 llc 0 node 0 capacity 0\n"
		  "node 0 cpus 1 memory 0: 10\n",
		  "distance is '10 20'; allowed are 1 numbers" },
		/* Siblings that share no cache are none. */
		{ CPU "online\t0-1\n" CPU "cpu0/topology/core_cpus\t3\n" CPU
		      "cpu0/cache/index0/level\t1\n" CPU
		      "cpu0/cache/index0/shared_cpu_map\t1\n" CPU
		      "cpu1/cache/index0/level\t1\n" CPU
		      "cpu1/cache/index0/shared_cpu_map\t2\n",
		  "cpu 0 core 0 llc 0 node 0 capacity 0\n"
		  "cpu 1 core 1 llc 1 node 0 capacity 0\n"
		  "node 0 cpus 2 memory 0: 10\n",
		  "" },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct machine *machine = load_text(cases[i].text);
		char *found = describe(machine);

		assert_string_equal(found, cases[i].expected);
		assert_non_null(strstr(machine->remarks, cases[i].remark));
		free(found);
		machine_free(machine);
	}
}

/* ---- the cache ------------------------------------------------------------- */

/* A snapshot with CPUs 0 to @last, in place of the one before. */
static void write_cpus(const char *path, unsigned last)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fprintf(file, CPU "online\t0-%u\n", last);
	fclose(file);
}

TEST(machine_cache_get__same_cpus__is_read_once)
{
	struct machine_cache cache = MACHINE_CACHE_INIT;
	struct machine *first, *second, *third;
	char path[] = "/tmp/skua_machine_XXXXXX";

	close(mkstemp(path));
	write_cpus(path, 1);
	assert_int_equal(machine_cache_get(&cache, path, &first), 0);
	assert_int_equal(machine_cache_get(&cache, path, &second), 0);
	assert_ptr_equal(first, second);
	/* A CPU came: the new users have it, and the old ones keep what they have. */
	write_cpus(path, 2);
	assert_int_equal(machine_cache_get(&cache, path, &third), 0);
	assert_int_equal(third->cpu_count, 3);
	assert_int_equal(first->cpu_count, 2);
	machine_free(first);
	machine_cache_clear(&cache);
	assert_int_equal(second->cpu_count, 2);
	assert_int_equal(third->cpu_count, 3);
	machine_free(second);
	machine_free(third);
	unlink(path);
}

TEST(machine_cache_get__while_another_thread_reads__reads_by_itself)
{
	struct machine_cache cache = MACHINE_CACHE_INIT;
	struct machine *first, *second;
	char path[] = "/tmp/skua_machine_XXXXXX";

	close(mkstemp(path));
	write_cpus(path, 1);
	assert_int_equal(machine_cache_get(&cache, path, &first), 0);
	pthread_mutex_lock(&cache.lock);
	assert_int_equal(machine_cache_get(&cache, path, &second), 0);
	pthread_mutex_unlock(&cache.lock);
	assert_ptr_not_equal(first, second);
	assert_int_equal(second->cpu_count, 2);
	machine_free(first);
	machine_free(second);
	machine_cache_clear(&cache);
	unlink(path);
}

TEST(machine_cache_get__no_such_root__its_error)
{
	struct machine_cache cache = MACHINE_CACHE_INIT;
	struct machine *machine;

	assert_int_equal(machine_cache_get(&cache, "/no/such/root", &machine),
			 -ENOENT);
	assert_null(machine);
}
