/* SPDX-License-Identifier: MIT */
/* explore.c - run the cases of a model test and report */
#include "tests/model/explore.h"
#include "tests/model/explore_memory.h"
#include "tests/model/explore_search.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DEFAULT_PREEMPTIONS 3
#define DEFAULT_STALE       2
#define DEFAULT_MAX         20000000

#define TRACE_MAX 200 /* lines */

#define SKIPPED 77

#if defined(__SANITIZE_THREAD__)
#define HAVE_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HAVE_THREAD_SANITIZER 1
#endif
#endif

/* The environment's requests; NULL where it is silent. */
static struct {
	const char *preemptions;
	const char *stale;
	const char *max;
	const char *random;
	const char *share;
	const char *fewer;
	const char *replay;
	const char *trace;
	const char *sound;
} environment;

/* The case under way. */
static struct {
	const char *program;
	const struct explore_case *now;
	unsigned bounds[BUDGETS];
	uint64_t executions;
	uint64_t max;
	bool tracing;
	unsigned traced;   /* lines */
	unsigned spinning; /* the thread that the last line was a spin of */
} run;

/* The result of a case. */
struct result {
	struct outcome outcome;
	double seconds;
	bool exhausted; /* every execution within the bounds was tried */
};

static double now_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static uint64_t number(const char *text, uint64_t otherwise)
{
	return text ? strtoull(text, NULL, 0) : otherwise;
}

/* Which part of the random executions: 1 in so many. */
static uint64_t share_of_random(void)
{
	uint64_t share = number(environment.share, 1);

	return (share ? share : 1) * (number(environment.fewer, 0) + 1);
}

void trace(const struct explore_site *site, const char *step,
	   const volatile void *address, uint64_t value, const char *note)
{
	const char *slash;
	bool spin;

	if (!run.tracing || thread_current() == 0)
		return;
	spin = strcmp(step, "spin") == 0;
	if (spin && run.spinning == thread_current())
		return; /* once is enough */
	run.spinning = spin ? thread_current() : 0;
	if (++run.traced >= TRACE_MAX) {
		if (run.traced == TRACE_MAX)
			printf("    and so on\n");
		return;
	}
	slash = strrchr(site->file, '/');
	printf("    T%u  %-6s %-33s %04x %#18" PRIx64 "  %-8s %s:%d\n",
	       thread_current(), step, site->text,
	       (unsigned)((uintptr_t)address & 0xffff), value, note,
	       slash ? slash + 1 : site->file, site->line);
}

/* assert() in the code under test */
void __assert_fail(const char *assertion, const char *file, unsigned line,
		   const char *function)
{
	static struct explore_site site;

	(void)function;
	site = (struct explore_site){ file, (int)line, assertion };
	explore_fail(&site, "assertion failed");
}

static void fixture(void)
{
	unsigned count = 0;

	run.now->setup();
	for (; count < EXPLORE_THREADS && run.now->threads[count]; count++)
		memory_start(thread_start(run.now->threads[count]));
	thread_wait_all();
	for (unsigned id = 1; id <= count; id++)
		memory_join(id);
	if (run.now->check)
		run.now->check();
}

static struct outcome execute(void)
{
	memory_reset();
	race_reset();
	search_begin();
	run.executions++;
	run.traced = 0;
	run.spinning = 0;
	return thread_run(fixture);
}

/* Repeats the execution just made, traced; it must come out the same. */
static struct outcome execute_again(struct outcome before)
{
	struct outcome after;

	search_repeat();
	run.tracing = true;
	after = execute();
	run.tracing = false;
	if (after.failure != before.failure)
		after.failure = "not deterministic: setup leaves state behind";
	return after;
}

static enum search_mode mode(void)
{
	if (environment.replay)
		return SEARCH_REPLAY;
	if (environment.random || run.now->random)
		return SEARCH_RANDOM;
	return SEARCH_ALL;
}

/* A bound: from the environment, else from the case, else the default. */
static unsigned bound(const char *text, unsigned of_case, unsigned otherwise)
{
	return (unsigned)number(text, of_case ? of_case : otherwise);
}

/* Lower a bound by @fewer, but not below 1. */
static unsigned lowered(unsigned bound, unsigned fewer)
{
	return bound > fewer + 1 ? bound - fewer : 1;
}

/* The bounds of a case. Fewer preemptions, or where there is only one, fewer stale
 * loads; only where all interleavings must pass: a defect that the case expects may
 * need them all. */
static void set_bounds(const struct explore_case *c)
{
	unsigned preemptions = bound(environment.preemptions, c->preemptions,
				     DEFAULT_PREEMPTIONS);
	unsigned stale = bound(environment.stale, c->stale, DEFAULT_STALE);
	unsigned fewer = bound(environment.fewer, 0, 0);

	if (fewer > 0 && !c->random && c->expect == EXPLORE_PASSES) {
		if (preemptions > 1)
			preemptions = lowered(preemptions, fewer);
		else if (stale > 1)
			stale = lowered(stale, fewer);
	}
	run.bounds[BUDGET_PREEMPTIONS] = preemptions;
	run.bounds[BUDGET_STALE] = stale;
}

static void prepare(const struct explore_case *c)
{
	char *count = NULL;
	uint64_t seed = 0;

	run.now = c;
	run.executions = 0;
	run.max = c->random ? c->random : DEFAULT_MAX;
	if (c->random && c->expect == EXPLORE_PASSES)
		run.max /= share_of_random();
	set_bounds(c);
	if (environment.random) {
		seed = strtoull(environment.random, &count, 0);
		run.max = number(*count == ',' ? count + 1 : NULL, 10000);
	}
	run.max = number(environment.max, run.max);
	search_start(mode(), run.bounds, seed);
	if (environment.replay && !search_set_path(environment.replay))
		printf("EXPLORE_REPLAY: not a path: %s\n", environment.replay);
	run.tracing = environment.replay != NULL;
}

static struct result explore(const struct explore_case *c)
{
	struct result result = { .exhausted = false };
	double start = now_seconds();

	prepare(c);
	do {
		result.outcome = execute();
		if (result.outcome.failure)
			break;
		result.exhausted = !search_next();
	} while (!result.exhausted && run.executions < run.max);
	result.seconds = now_seconds() - start;
	run.tracing = false;
	return result;
}

static void print_failure(struct outcome outcome)
{
	printf("  %s: %s, thread %u, %s:%d\n  replay: EXPLORE_PREEMPTIONS=%u"
	       " EXPLORE_STALE=%u EXPLORE_REPLAY=",
	       outcome.failure, outcome.site->text, outcome.thread,
	       outcome.site->file, outcome.site->line,
	       run.bounds[BUDGET_PREEMPTIONS], run.bounds[BUDGET_STALE]);
	search_print_path();
	printf(" %s %s\n", run.program, run.now->name);
}

/* Is it the bug that the case was made for? */
static bool same_bug(const struct outcome *outcome, const char *bug)
{
	return !bug || strstr(outcome->failure, bug) ||
	       strstr(outcome->site->text, bug);
}

/* The verdict on a case, and whether it is the right one. */
static const char *judge(const struct result *result, bool *good)
{
	const struct explore_case *c = run.now;
	const char *failure = result->outcome.failure;

	*good = false;
	if (c->expect == EXPLORE_FINDS_BUG) {
		if (!failure && environment.random) {
			*good = true; /* a random search may miss it */
			return "not met at random";
		}
		if (!failure)
			return "MISSED";
		if (!same_bug(&result->outcome, c->bug))
			return "FOUND SOMETHING ELSE";
		*good = true;
		return "found";
	}
	if (failure)
		return "FAILED";
	*good = result->exhausted || mode() != SEARCH_ALL || c->bounded;
	if (mode() == SEARCH_REPLAY)
		return "replayed, passed";
	if (mode() == SEARCH_RANDOM)
		return "random executions, passed";
	return result->exhausted ? "complete"
				 : "BOUNDED: stopped at the most executions";
}

static bool run_case(const struct explore_case *c)
{
	struct result result = explore(c);
	uint64_t executions = run.executions;
	bool good;
	const char *verdict = judge(&result, &good);

	if (result.outcome.failure && (!good || environment.trace)) {
		if (!environment.replay)
			result.outcome = execute_again(result.outcome);
		print_failure(result.outcome);
	}
	printf("%s %-42s %9" PRIu64 " executions %6.2f s  preemptions %u,"
	       " stale %u: %s",
	       good ? "ok  " : "FAIL", c->name, executions, result.seconds,
	       run.bounds[BUDGET_PREEMPTIONS], run.bounds[BUDGET_STALE],
	       verdict);
	if (result.outcome.failure)
		printf(": %s: %s", result.outcome.failure,
		       result.outcome.site->text);
	putchar('\n');
	fflush(stdout);
	return good;
}

static bool asked_for(const struct explore_case *c, int argc, char **argv)
{
	if (environment.sound && c->expect == EXPLORE_FINDS_BUG)
		return false;
	bool but = argc > 1 && strcmp(argv[1], "--but") == 0;

	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], c->name) == 0)
			return !but;
	return argc <= 1 || but;
}

static void read_environment(void)
{
	environment.preemptions = getenv("EXPLORE_PREEMPTIONS");
	environment.stale = getenv("EXPLORE_STALE");
	environment.max = getenv("EXPLORE_MAX");
	environment.random = getenv("EXPLORE_RANDOM");
	environment.share = getenv("EXPLORE_SHARE");
	environment.fewer = getenv("EXPLORE_FEWER");
	environment.replay = getenv("EXPLORE_REPLAY");
	environment.trace = getenv("EXPLORE_TRACE");
	environment.sound = getenv("EXPLORE_SOUND");
}

int explore_main(int argc, char **argv, const struct explore_case *cases,
		 size_t count)
{
	bool good = true;
	size_t ran = 0;

#ifdef HAVE_THREAD_SANITIZER
	printf("skipped: ThreadSanitizer does not follow coroutines\n");
	return SKIPPED;
#endif
	run.program = argv[0];
	read_environment();
	for (size_t i = 0; i < count; i++) {
		if (!asked_for(&cases[i], argc, argv))
			continue;
		good &= run_case(&cases[i]);
		ran++;
	}
	if (ran == 0)
		printf("skipped: no case of that name\n");
	if (ran == 0)
		return SKIPPED;
	return good ? 0 : 1;
}
