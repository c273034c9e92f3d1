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
#include "bench/kernels.h"
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
	unsigned n;      /* of fib, and of region's calls of it */
	uint64_t answer; /* of fib, nqueens and skynet */
	double area;     /* of integrate */
	double *warm;    /* what the calls of region took, by round */
	double *cold;
	unsigned calls; /* of either so far, in the timed rounds */
	struct matmul_product product;
	uint32_t *numbers; /* of cilksort */
	uint32_t *spare;
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
	void (*fib)(struct harness *h);
	void (*integrate)(struct harness *h);
	void (*nqueens)(struct harness *h);
	void (*skynet)(struct harness *h);
	void (*matmul)(struct harness *h);
	void (*cilksort)(struct harness *h);
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

/* The function of integrate, and what is below the line between two points. */
static inline double harness_function(double x)
{
	return (x * x + 1) * x;
}

static inline double harness_trapezoid(double x0, double y0, double x1,
				       double y1)
{
	return (y0 + y1) * (x1 - x0) / 2;
}

/* ---- rounds --------------------------------------------------------------- */

struct harness_case {
	const char *name;
	const char *description;
	void (*round)(struct harness *h); /* NULL: region */
	bool (*check)(const struct harness *h);
	uint64_t ops; /* 0: the nodes of the tree */
	char params[64];
	void (*prepare)(struct harness *h);
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

static bool harness_check_number(const char *name, uint64_t answer,
				 uint64_t expected)
{
	if (answer == expected)
		return true;
	fprintf(stderr, "%s: %ju, not %ju\n", name, (uintmax_t)answer,
		(uintmax_t)expected);
	return false;
}

static uint64_t harness_fib(unsigned n)
{
	uint64_t a = 0, b = 1;

	for (; n > 0; n--) {
		uint64_t next = a + b;

		a = b;
		b = next;
	}
	return a;
}

static bool harness_check_fib(const struct harness *h)
{
	return harness_check_number("fib", h->answer, harness_fib(h->n));
}

static bool harness_check_nqueens(const struct harness *h)
{
	return harness_check_number("nqueens", h->answer, NQUEENS_WAYS);
}

static bool harness_check_skynet(const struct harness *h)
{
	return harness_check_number("skynet", h->answer,
				    (uint64_t)SKYNET_LEAVES *
					    (SKYNET_LEAVES - 1) / 2);
}

/* About what calculus says. */
static bool harness_check_integrate(const struct harness *h)
{
	double square = (double)INTEGRATE_N * INTEGRATE_N;
	double area = square * square / 4 + square / 2;

	if (h->area > area * (1 - 1e-6) && h->area < area * (1 + 1e-6))
		return true;
	fprintf(stderr, "integrate: %.17g, not %.17g\n", h->area, area);
	return false;
}

static bool harness_check_region(const struct harness *h)
{
	return harness_check_number("region: wrong answers", h->counts.nodes,
				    0);
}

static void *harness_memory(size_t bytes)
{
	void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);

	if (memory == NULL) {
		fputs("no memory\n", stderr);
		exit(1);
	}
	return memory;
}

#define HARNESS_MATRIX ((size_t)MATMUL_N * MATMUL_N)

static void harness_prepare_matmul(struct harness *h)
{
	if (h->product.c == NULL) {
		double *a = (double *)harness_memory(HARNESS_MATRIX * 8);
		double *b = (double *)harness_memory(HARNESS_MATRIX * 8);

		matmul_fill(a, b, MATMUL_N);
		h->product.a = a;
		h->product.b = b;
		h->product.c = (double *)harness_memory(HARNESS_MATRIX * 8);
		h->product.size = MATMUL_N;
		h->product.stride = MATMUL_N;
	}
	memset(h->product.c, 0, HARNESS_MATRIX * 8);
}

static bool harness_check_matmul(const struct harness *h)
{
	return matmul_check(h->product.c, h->product.a, h->product.b, MATMUL_N);
}

static void harness_prepare_cilksort(struct harness *h)
{
	if (h->numbers == NULL) {
		size_t bytes = (size_t)CILKSORT_N * sizeof(uint32_t);

		h->numbers = (uint32_t *)harness_memory(bytes);
		h->spare = (uint32_t *)harness_memory(bytes);
		memset(h->spare, 0, bytes);
	}
	cilksort_fill(h->numbers, CILKSORT_N);
}

static bool harness_check_cilksort(const struct harness *h)
{
	return cilksort_check(h->numbers, CILKSORT_N);
}

static int harness_compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double harness_call(const struct harness_peer *peer, struct harness *h)
{
	uint64_t start = clock_ns(), ns;

	peer->fib(h);
	ns = clock_ns() - start;
	h->counts.nodes += h->answer != harness_fib(h->n);
	return (double)ns;
}

/* As bench/region.c. Return: the median of the warm calls. */
static double harness_region(const struct harness_peer *peer, struct harness *h)
{
	double *warm = h->warm + h->calls, *cold = h->cold + h->calls;
	double sorted[REGION_CALLS];

	for (unsigned i = 0; i < REGION_CALLS; i++)
		warm[i] = harness_call(peer, h);
	for (unsigned i = 0; i < REGION_CALLS; i++) {
		clock_spin_until(clock_ns() + REGION_GAP_US * 1000);
		cold[i] = harness_call(peer, h);
	}
	memcpy(sorted, warm, sizeof(sorted));
	qsort(sorted, REGION_CALLS, sizeof(*sorted), harness_compare);
	return sorted[(REGION_CALLS - 1) / 2];
}

static void harness_print_latency(const char *name, double *calls,
				  unsigned count)
{
	static const struct {
		const char *name;
		double part;
	} of[] = { { "p50", .5 },
		   { "p90", .9 },
		   { "p99", .99 },
		   { "p999", .999 },
		   { "p9999", .9999 } };

	qsort(calls, count, sizeof(*calls), harness_compare);
	printf(",\"%s\":{", name);
	for (unsigned i = 0; i < sizeof(of) / sizeof(of[0]); i++)
		printf("%s\"%s\":%.0f", i > 0 ? "," : "", of[i].name,
		       calls[(unsigned)(of[i].part * (count - 1))]);
	putchar('}');
}

static double harness_median(const double *times, unsigned n)
{
	return (times[(n - 1) / 2] + times[n / 2]) / 2;
}

static void harness_print_text(const struct harness_peer *peer,
			       const struct harness *h,
			       const struct harness_case *c,
			       const double *times, bool ok)
{
	unsigned n = h->rounds;

	printf("%s %s: %s %s, %u workers: %.1f ns/op (%.1f to %.1f in "
	       "%u rounds of %ju ops), %s\n",
	       peer->name, peer->version, c->name, c->params, h->workers,
	       harness_median(times, n), times[0], times[n - 1], n,
	       (uintmax_t)c->ops, ok ? "ok" : "WRONG RESULT");
}

static void harness_print_json(const struct harness_peer *peer,
			       const struct harness *h,
			       const struct harness_case *c,
			       const double *times, bool ok)
{
	unsigned n = h->rounds;

	printf("{\"peer\":\"%s\",\"version\":\"%s\",\"workload\":\"%s\","
	       "\"params\":%s,\"workers\":%u,\"rounds\":%u,\"ops\":%ju,"
	       "\"ns_per_op\":%.2f,\"min\":%.2f,\"max\":%.2f,\"ok\":%s",
	       peer->name, peer->version, c->name, c->params, h->workers, n,
	       (uintmax_t)c->ops, harness_median(times, n), times[0],
	       times[n - 1], ok ? "true" : "false");
	if (h->calls > 0) {
		harness_print_latency("latency_ns", h->warm, h->calls);
		harness_print_latency("cold_latency_ns", h->cold, h->calls);
	}
	puts("}");
}

/* Return: the time of an operation. */
static double harness_round(const struct harness_peer *peer, struct harness *h,
			    const struct harness_case *c)
{
	uint64_t start;

	if (c->round == NULL)
		return harness_region(peer, h);
	start = clock_ns();
	c->round(h);
	return (double)(clock_ns() - start) / (double)c->ops;
}

/* A round of warm-up, and the timed ones. Return: was every result right? */
static bool harness_measure(const struct harness_peer *peer, struct harness *h,
			    const struct harness_case *c)
{
	static double times[HARNESS_ROUNDS_MAX];
	bool ok = true;

	if (c->round == NULL) {
		size_t bytes = (size_t)h->rounds * REGION_CALLS * 8;

		h->warm = (double *)harness_memory(bytes);
		h->cold = (double *)harness_memory(bytes);
	}
	if (peer->start != NULL)
		peer->start(h);
	for (unsigned round = 0; round <= h->rounds; round++) {
		double time;

		memset(h->runs, 0, sizeof(h->runs));
		memset(h->results, 0xff, sizeof(h->results));
		memset(&h->counts, 0, sizeof(h->counts));
		h->answer = UINT64_MAX;
		h->area = -1;
		if (c->prepare != NULL)
			c->prepare(h);
		time = harness_round(peer, h, c);
		ok = c->check(h) && ok;
		if (round == 0)
			continue;
		times[round - 1] = time;
		if (c->round == NULL)
			h->calls += REGION_CALLS;
	}
	qsort(times, h->rounds, sizeof(*times), harness_compare);
	if (h->json)
		harness_print_json(peer, h, c, times, ok);
	else
		harness_print_text(peer, h, c, times, ok);
	return ok;
}

/* ---- command line --------------------------------------------------------- */

#define HARNESS_CASES 12u

#define HARNESS_TEXT_OF(text) #text
#define HARNESS_TEXT(macro)   HARNESS_TEXT_OF(macro)
/* As the option --n of skua-bench. */
#define HARNESS_N(n) "{\"n\":" HARNESS_TEXT(n) "}"

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

static void harness_option(struct harness *h, const struct harness_case *c,
			   int *i, char **argv)
{
	const char *word = argv[*i], *value;
	bool tree = c->ops == 0, n = c->round == NULL;

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
	} else if (n && harness_is(word, "--n")) {
		value = harness_value("--n", i, argv);
		h->n = harness_number("--n", value, 40);
	} else if (strcmp(word, "--json") == 0) {
		h->json = true;
	} else if (harness_is(word, "--json")) {
		harness_refuse(": %s: --json takes no value", word);
	} else if (word[0] == '-') {
		harness_refuse(": no option '%s'; allowed: --workers --rounds "
			       "--json%s%s",
			       word, tree ? " --tree" : "", n ? " --n" : "");
	} else {
		harness_refuse(": unexpected argument '%s'", word);
	}
}

static const char *harness_names(const struct harness_case *cases)
{
	static char names[400];

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

	snprintf(harness_who + used, sizeof(harness_who) - used, " run");
	c = harness_find(cases, argv[0]);
	used = strlen(harness_who);
	snprintf(harness_who + used, sizeof(harness_who) - used, " %s",
		 c->name);
	h.workers = cpus < 1 ? 1 : (unsigned)cpus;
	if (h.workers > HARNESS_WORKERS_MAX)
		h.workers = HARNESS_WORKERS_MAX;
	h.rounds = 5;
	h.tree = uts_tree_find("T1");
	h.n = c->round == NULL ? REGION_N : FIB_N;
	for (int i = 1; argv[i] != NULL; i++)
		harness_option(&h, c, &i, argv);
	if (c->round == NULL)
		snprintf(c->params, sizeof(c->params),
			 "{\"n\":%u,\"calls\":%u,\"gap\":%u}", h.n,
			 REGION_CALLS, REGION_GAP_US);
	if (c->ops == 0) {
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
		  peer->parallel_map, harness_check_map, MAP_ITEMS, "", NULL },
		{ "uts", "Search an unbalanced tree, a task a node", peer->uts,
		  harness_check_uts, 0, "", NULL },
		{ "spawn_many_local",
		  "Spawn 10,000 empty tasks from outside, wait for all",
		  peer->spawn_many_local, harness_check_spawn,
		  SPAWN_TASKS * SPAWN_REPEAT, "", NULL },
		{ "spawn_many_worker",
		  "Spawn 10,000 empty tasks from inside, wait for all",
		  peer->spawn_many_worker, harness_check_spawn,
		  SPAWN_TASKS * SPAWN_REPEAT, "", NULL },
		{ "chained_spawn", "Each of 1,000 tasks spawns the next one",
		  peer->chained_spawn, harness_check_chain,
		  CHAIN_TASKS * CHAIN_REPEAT, "", NULL },
		{ "fib", "Fibonacci numbers by definition, a fork a call",
		  peer->fib, harness_check_fib, harness_fib(FIB_N + 1) - 1,
		  HARNESS_N(FIB_N), NULL },
		{ "integrate",
		  "Integrate x^3 + x, halving intervals, a fork a halving",
		  peer->integrate, harness_check_integrate, INTEGRATE_FORKS,
		  HARNESS_N(INTEGRATE_N), NULL },
		{ "nqueens", "Place queens on a board, a fork a place",
		  peer->nqueens, harness_check_nqueens, NQUEENS_FORKS,
		  HARNESS_N(NQUEENS_N), NULL },
		{ "skynet", "Add up the leaves of a tree, ten forks a node",
		  peer->skynet, harness_check_skynet, SKYNET_FORKS,
		  HARNESS_N(SKYNET_N), NULL },
		{ "matmul", "Multiply matrices by quarters, down to 32 x 32",
		  peer->matmul, harness_check_matmul, MATMUL_BLOCKS,
		  HARNESS_N(MATMUL_N), harness_prepare_matmul },
		{ "cilksort",
		  "Merge sort that merges by forks, down to 2,048 numbers",
		  peer->cilksort, harness_check_cilksort, CILKSORT_N,
		  HARNESS_N(CILKSORT_N), harness_prepare_cilksort },
		{ "region", "A short call that forks, from outside the workers",
		  NULL, harness_check_region, REGION_CALLS, "", NULL },
	};
	/* clang-format on */
	const char *verb = argv[1];

	snprintf(cases[0].params, sizeof(cases[0].params),
		 "{\"items\":%u,\"cost\":%u}", MAP_ITEMS, MAP_COST);
	for (unsigned i = 2; i < 5; i++) {
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
		       "uts also takes --tree %s; region: --n N.\n",
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
