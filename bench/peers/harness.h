/* SPDX-License-Identifier: MIT */
/**
 * harness.h - what the peers written in C and C++ have in common
 *
 * The command line, rounds and JSON of skua-bench (bench/measure.c), and the
 * data that its fork-join cases work on. Each peer is one file, which includes
 * this once; it says how its scheduler runs a case.
 */
#ifndef SKUA_BENCH_PEERS_HARNESS_H
#define SKUA_BENCH_PEERS_HARNESS_H

#include <ctype.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/clock.h"
#include "bench/compute.h"
#ifdef __cplusplus
extern "C" {
#endif
#include "bench/uts_tree.h"
#ifdef __cplusplus
}
#endif

#define HARNESS_ROUNDS_MAX  10000u
#define HARNESS_WORKERS_MAX 1024u

#define SPAWN_TASKS  10000u
#define SPAWN_REPEAT 20u
#define CHAIN_TASKS  1000u
#define CHAIN_REPEAT 100u
#define MAP_ITEMS    10000u
#define MAP_COST     1u

/* Counts how often a task ran; on a cache line of its own. The count is the
 * task's own, and not atomic: as bench/empty_tasks.h. */
struct harness_runs {
	uint64_t runs;
	char padding[56];
};

struct harness_result {
	uint64_t number;
	uint64_t value;
};

struct harness_counts {
	uint64_t nodes;
	uint64_t leaves;
	uint32_t depth;
};

/* What a case works on, and what the command line said. */
struct harness {
	unsigned workers;
	unsigned rounds;
	bool json;
	const struct uts_tree *tree;
	struct harness_runs runs[SPAWN_TASKS]; /* one a task */
	struct harness_result results[MAP_ITEMS];
	struct harness_counts counts;
};

/**
 * struct harness_peer - the scheduler, and how it runs each case once
 * @start: before the first round; may be NULL
 *
 * The cases are those of bench/: a function is called for a whole round.
 */
struct harness_peer {
	const char *name;
	const char *version;
	void (*start)(struct harness *h);
	void (*parallel_map)(struct harness *h);
	void (*uts)(struct harness *h);
	void (*spawn_many_local)(struct harness *h);
	void (*spawn_many_worker)(struct harness *h);
	void (*chained_spawn)(struct harness *h);
};

/* ---- for the cases -------------------------------------------------------- */

static inline void harness_map_item(struct harness *h, uint64_t number)
{
	h->results[number].value = compute(number, MAP_COST);
	h->results[number].number = number;
}

static inline struct harness_counts harness_count(const struct uts_node *node,
						  uint32_t children)
{
	struct harness_counts counts;

	counts.nodes = 1;
	counts.leaves = children == 0;
	counts.depth = node->depth;
	return counts;
}

static inline void harness_add(struct harness_counts *sum,
			       const struct harness_counts *counts)
{
	sum->nodes += counts->nodes;
	sum->leaves += counts->leaves;
	if (counts->depth > sum->depth)
		sum->depth = counts->depth;
}

/* ---- rounds --------------------------------------------------------------- */

struct harness_case {
	const char *name;
	const char *description;
	void (*round)(struct harness *h);
	bool (*check)(const struct harness *h);
	uint64_t ops; /* 0: the nodes of the tree */
	char params[64];
};

static bool harness_check_runs(const struct harness *h, unsigned tasks,
			       uint64_t expected)
{
	for (unsigned i = 0; i < tasks; i++) {
		if (h->runs[i].runs == expected)
			continue;
		fprintf(stderr, "task %u ran %ju times, not %ju\n", i,
			(uintmax_t)h->runs[i].runs, (uintmax_t)expected);
		return false;
	}
	return true;
}

static bool harness_check_spawn(const struct harness *h)
{
	return harness_check_runs(h, SPAWN_TASKS, SPAWN_REPEAT);
}

static bool harness_check_chain(const struct harness *h)
{
	return harness_check_runs(h, CHAIN_TASKS, CHAIN_REPEAT);
}

static bool harness_check_map(const struct harness *h)
{
	for (uint64_t i = 0; i < MAP_ITEMS; i++) {
		if (h->results[i].number == i &&
		    h->results[i].value == compute(i, MAP_COST))
			continue;
		fprintf(stderr, "parallel_map: item %ju is wrong\n",
			(uintmax_t)i);
		return false;
	}
	return true;
}

static bool harness_check_uts(const struct harness *h)
{
	const struct uts_tree *tree = h->tree;

	if (h->counts.nodes == tree->nodes &&
	    h->counts.leaves == tree->leaves && h->counts.depth == tree->depth)
		return true;
	fprintf(stderr, "uts %s: %ju nodes, %ju leaves, depth %u\n", tree->name,
		(uintmax_t)h->counts.nodes, (uintmax_t)h->counts.leaves,
		h->counts.depth);
	return false;
}

static int harness_compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void harness_print(const struct harness_peer *peer,
			  const struct harness *h, const struct harness_case *c,
			  const double *times, bool ok)
{
	unsigned n = h->rounds;
	double median = (times[(n - 1) / 2] + times[n / 2]) / 2;

	if (h->json)
		printf("{\"peer\":\"%s\",\"version\":\"%s\",\"workload\":\"%s\","
		       "\"params\":%s,\"workers\":%u,\"rounds\":%u,\"ops\":%ju,"
		       "\"ns_per_op\":%.2f,\"min\":%.2f,\"max\":%.2f,"
		       "\"ok\":%s}\n",
		       peer->name, peer->version, c->name, c->params,
		       h->workers, n, (uintmax_t)c->ops, median, times[0],
		       times[n - 1], ok ? "true" : "false");
	else
		printf("%s %s: %s %s, %u workers: %.1f ns/op (%.1f to %.1f in "
		       "%u rounds of %ju ops), %s\n",
		       peer->name, peer->version, c->name, c->params,
		       h->workers, median, times[0], times[n - 1], n,
		       (uintmax_t)c->ops, ok ? "ok" : "WRONG RESULT");
}

/* A round of warm-up, and the timed ones. Return: was every result right? */
static bool harness_measure(const struct harness_peer *peer, struct harness *h,
			    const struct harness_case *c)
{
	static double times[HARNESS_ROUNDS_MAX];
	bool ok = true;

	if (peer->start != NULL)
		peer->start(h);
	for (unsigned round = 0; round <= h->rounds; round++) {
		uint64_t start, ns;

		memset(h->runs, 0, sizeof(h->runs));
		memset(h->results, 0xff, sizeof(h->results));
		memset(&h->counts, 0, sizeof(h->counts));
		start = clock_ns();
		c->round(h);
		ns = clock_ns() - start;
		ok = c->check(h) && ok;
		if (round > 0)
			times[round - 1] = (double)ns / (double)c->ops;
	}
	qsort(times, h->rounds, sizeof(*times), harness_compare);
	harness_print(peer, h, c, times, ok);
	return ok;
}

/* ---- command line --------------------------------------------------------- */

#define HARNESS_CASES 5u

/* Who complains: "skua-peer-tbb run uts". */
static char harness_who[64];

__attribute__((noreturn, format(printf, 1, 2))) static void
harness_refuse(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs(harness_who, stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	exit(2);
}

static unsigned harness_number(const char *option, const char *text,
			       unsigned max)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (!isdigit((unsigned char)text[0]) || *end != '\0' || n < 1 ||
	    n > max)
		harness_refuse(": %s is '%s'; allowed: 1 to %u", option, text,
			       max);
	return (unsigned)n;
}

static bool harness_is(const char *word, const char *option)
{
	size_t length = strlen(option);

	return strncmp(word, option, length) == 0 &&
	       (word[length] == '\0' || word[length] == '=');
}

/* The value of an option: joined by "=", or the next word. */
static const char *harness_value(const char *option, int *i, char **argv)
{
	const char *rest = argv[*i] + strlen(option);
	const char *value = *rest == '=' ? rest + 1 : argv[++*i];

	if (value == NULL)
		harness_refuse(": %s needs a value", option);
	return value;
}

static void harness_option(struct harness *h, bool tree, int *i, char **argv)
{
	const char *word = argv[*i], *value;

	if (harness_is(word, "--workers")) {
		value = harness_value("--workers", i, argv);
		h->workers =
			harness_number("--workers", value, HARNESS_WORKERS_MAX);
	} else if (harness_is(word, "--rounds")) {
		value = harness_value("--rounds", i, argv);
		h->rounds =
			harness_number("--rounds", value, HARNESS_ROUNDS_MAX);
	} else if (tree && harness_is(word, "--tree")) {
		value = harness_value("--tree", i, argv);
		h->tree = uts_tree_find(value);
		if (h->tree == NULL)
			harness_refuse(": --tree is '%s'; allowed: %s", value,
				       UTS_TREE_NAMES);
	} else if (strcmp(word, "--json") == 0) {
		h->json = true;
	} else if (harness_is(word, "--json")) {
		harness_refuse(": %s: --json takes no value", word);
	} else if (word[0] == '-') {
		harness_refuse(": no option '%s'; allowed: --workers --rounds "
			       "--json%s",
			       word, tree ? " --tree" : "");
	} else {
		harness_refuse(": unexpected argument '%s'", word);
	}
}

static const char *harness_names(const struct harness_case *cases)
{
	static char names[200];

	for (unsigned i = 0; i < HARNESS_CASES; i++) {
		if (i > 0)
			strcat(names, ", ");
		strcat(names, cases[i].name);
	}
	return names;
}

static struct harness_case *harness_find(struct harness_case *cases,
					 const char *name)
{
	if (name == NULL || name[0] == '-')
		harness_refuse(": a workload is needed before any options; "
			       "allowed: %s",
			       harness_names(cases));
	for (unsigned i = 0; i < HARNESS_CASES; i++)
		if (strcmp(cases[i].name, name) == 0)
			return &cases[i];
	harness_refuse(": no workload '%s'; allowed: %s", name,
		       harness_names(cases));
}

static bool harness_is_help(const char *word)
{
	return word != NULL &&
	       (strcmp(word, "--help") == 0 || strcmp(word, "-?") == 0 ||
		strcmp(word, "help") == 0);
}

static int harness_run(const struct harness_peer *peer,
		       struct harness_case *cases, char **argv)
{
	static struct harness h;
	size_t used = strlen(harness_who);
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	struct harness_case *c;
	bool uts;

	snprintf(harness_who + used, sizeof(harness_who) - used, " run");
	c = harness_find(cases, argv[0]);
	used = strlen(harness_who);
	snprintf(harness_who + used, sizeof(harness_who) - used, " %s",
		 c->name);
	uts = c->ops == 0;
	h.workers = cpus < 1 ? 1 : (unsigned)cpus;
	if (h.workers > HARNESS_WORKERS_MAX)
		h.workers = HARNESS_WORKERS_MAX;
	h.rounds = 5;
	h.tree = uts_tree_find("T1");
	for (int i = 1; argv[i] != NULL; i++)
		harness_option(&h, uts, &i, argv);
	if (uts) {
		c->ops = h.tree->nodes;
		snprintf(c->params, sizeof(c->params), "{\"tree\":\"%s\"}",
			 h.tree->name);
	}
	return harness_measure(peer, &h, c) ? 0 : 1;
}

/* harness_main - do what the command line says; an exit code: 0 all right, 1 a
 * wrong result, 2 usage */
static int harness_main(const struct harness_peer *peer, char **argv)
{
	/* clang-format off: a line, or two, a case. */
	struct harness_case cases[HARNESS_CASES] = {
		{ "parallel_map",
		  "Compute a function of many numbers, a task a number",
		  peer->parallel_map, harness_check_map, MAP_ITEMS, "" },
		{ "uts", "Search an unbalanced tree, a task a node", peer->uts,
		  harness_check_uts, 0, "" },
		{ "spawn_many_local",
		  "Spawn 10,000 empty tasks from outside, wait for all",
		  peer->spawn_many_local, harness_check_spawn,
		  SPAWN_TASKS * SPAWN_REPEAT, "" },
		{ "spawn_many_worker",
		  "Spawn 10,000 empty tasks from inside, wait for all",
		  peer->spawn_many_worker, harness_check_spawn,
		  SPAWN_TASKS * SPAWN_REPEAT, "" },
		{ "chained_spawn", "Each of 1,000 tasks spawns the next one",
		  peer->chained_spawn, harness_check_chain,
		  CHAIN_TASKS * CHAIN_REPEAT, "" },
	};
	/* clang-format on */
	const char *verb = argv[1];

	snprintf(cases[0].params, sizeof(cases[0].params),
		 "{\"items\":%u,\"cost\":%u}", MAP_ITEMS, MAP_COST);
	for (unsigned i = 2; i < HARNESS_CASES; i++) {
		bool chain = cases[i].check == harness_check_chain;

		snprintf(cases[i].params, sizeof(cases[i].params),
			 "{\"tasks\":%u,\"repeat\":%u}",
			 chain ? CHAIN_TASKS : SPAWN_TASKS,
			 chain ? CHAIN_REPEAT : SPAWN_REPEAT);
	}
	snprintf(harness_who, sizeof(harness_who), "skua-peer-%s", peer->name);
	if (verb == NULL)
		harness_refuse(": a verb is needed; allowed: list, run");
	if (harness_is_help(verb) || harness_is_help(argv[2])) {
		printf("Usage: %s list | run WORKLOAD [--workers N] "
		       "[--rounds R] [--json]\n"
		       "Measure %s %s on workloads of skua-bench: %s.\n"
		       "uts also takes --tree %s.\n",
		       harness_who, peer->name, peer->version,
		       harness_names(cases), UTS_TREE_NAMES);
		return 0;
	}
	if (strcmp(verb, "run") == 0)
		return harness_run(peer, cases, argv + 2);
	if (strcmp(verb, "list") != 0)
		harness_refuse(": no verb '%s'; allowed: list, run", verb);
	if (argv[2] != NULL)
		harness_refuse(" list: unexpected argument '%s'", argv[2]);
	for (unsigned i = 0; i < HARNESS_CASES; i++)
		printf("%-24s %s\n", cases[i].name, cases[i].description);
	return 0;
}

#endif
