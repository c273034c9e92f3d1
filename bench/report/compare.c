/* SPDX-License-Identifier: MIT */
/* compare.c - see compare.h */
#include "bench/report/compare.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/cli/args.h"
#include "bench/report/subprocess.h"
#include "bench/harness/clock.h"
#include "bench/harness/output.h"

/* Guesses. The help text of `report` says how long a report takes with them. */
#define ROUNDS             3
#define ALTERNATIONS_QUICK 3
#define ROUNDS_QUICK       1
/* With --quick, a case begins no further alternation after this time. */
#define ENOUGH_NS UINT64_C(3000000000)

#define REPEATS_MAX 3
/* The exit code of a peer that cannot run a workload here. */
#define EXIT_SKIPPED 77

/* ---- the command of a side ------------------------------------------------ */

enum { WORDS = 32, WORD_BYTES = 64 };

struct command {
	const char *path;
	char word[WORDS][WORD_BYTES];
	char *argv[WORDS + 1];
	unsigned count;
};

__attribute__((format(printf, 2, 3))) static void add(struct command *command,
						      const char *format, ...)
{
	char *word = command->word[command->count];
	va_list list;

	if (command->count == WORDS)
		return;
	va_start(list, format);
	vsnprintf(word, WORD_BYTES, format, list);
	va_end(list);
	command->argv[command->count++] = word;
	command->argv[command->count] = NULL;
}

/* Add the options @changed to the command. The name of an option is its key
 * in "params"; an option that is true is a flag, without a value. */
static void add_options(struct command *command, json_t *changed)
{
	const char *key;
	json_t *value;

	json_object_foreach(changed, key, value)
	{
		add(command, "--%s", key);
		if (json_is_string(value))
			add(command, "%s", json_string_value(value));
		else if (json_is_integer(value))
			add(command, "%" JSON_INTEGER_FORMAT,
			    json_integer_value(value));
	}
}

static const char *path_of(const struct comparison *cmp, unsigned side)
{
	return side == COMPARE_SKUA ? cmp->self
				    : cmp->peers.peer[side - 1].path;
}

static void make_command(struct command *command, const struct comparison *cmp,
			 const struct compare_case *c, unsigned side)
{
	command->count = 0;
	command->path = path_of(cmp, side);
	add(command, "%s", compare_name(cmp, side));
	add(command, "run");
	add(command, "%s", c->workload->name);
	add(command, "--json");
	add(command, "--workers");
	add(command, "%u", c->workers);
	add(command, "--rounds");
	add(command, "%u", cmp->quick ? ROUNDS_QUICK : ROUNDS);
	add_options(command, c->changed);
}

/* ---- a run ---------------------------------------------------------------- */

/* Run a command, and repeat it while its runs are noisy, up to REPEATS_MAX
 * times. Return: 0 or -errno. */
static int run_quietly(struct comparison *cmp, const struct command *command,
		       struct subprocess *child, bool *noisy)
{
	for (unsigned repeats = 0;; repeats++) {
		bool quiet = calibrate_quiet(&cmp->calibration);
		int err = subprocess_run(command->path, command->argv, child);

		if (err != 0)
			return err;
		cmp->runs++;
		*noisy = !calibrate_quiet(&cmp->calibration) || !quiet;
		if (!*noisy || child->code != 0)
			return 0;
		if (repeats == REPEATS_MAX || cmp->noisy >= COMPARE_NOISY_MAX) {
			cmp->noisy++;
			return 0;
		}
		cmp->repeated++;
		subprocess_free(child);
	}
}

__attribute__((format(printf, 2, 3))) static void
fail(struct compare_side *side, const char *format, ...)
{
	va_list list;

	side->state = COMPARE_FAILED;
	va_start(list, format);
	vsnprintf(side->reason, sizeof(side->reason), format, list);
	va_end(list);
}

/* Return whether @result is that of the requested workload, options and
 * workers. */
static bool is_asked(const struct compare_case *c, json_t *result)
{
	const char *name =
		json_string_value(json_object_get(result, "workload"));
	json_t *params = json_object_get(result, "params"), *value;
	const char *key;

	if (name == NULL || strcmp(name, c->workload->name) != 0 ||
	    json_integer_value(json_object_get(result, "workers")) !=
		    c->workers)
		return false;
	/* Compare only the members that both have: a peer lacks some, and
	 * has others of its own. */
	json_object_foreach(c->params, key, value)
	{
		json_t *theirs = json_object_get(params, key);

		if (theirs != NULL && !json_equal(value, theirs))
			return false;
	}
	return true;
}

/* Return the reason to reject this result; NULL: none. */
static const char *fault(const struct compare_case *c, json_t *result)
{
	if (!(json_number_value(json_object_get(result, "ns_per_op")) > 0))
		return "it printed no result";
	if (!is_asked(c, result))
		return "it printed the result of something else";
	if (!json_is_true(json_object_get(result, "ok")))
		return "its result was wrong";
	return NULL;
}

/* Record the outcome of a run; @result is NULL if it printed no JSON. */
static void judge(struct compare_side *side, const struct compare_case *c,
		  struct subprocess *child, json_t *result)
{
	const char *reason = fault(c, result);

	if (child->code == EXIT_SKIPPED) {
		side->state = COMPARE_SKIPPED;
		snprintf(side->reason, sizeof(side->reason), "%s",
			 subprocess_last_line(child->err));
		return;
	}
	if (child->code > 128)
		fail(side, "killed by signal %d", child->code - 128);
	else if (reason != NULL && child->code != 0)
		fail(side, "%s (exit code %d)", reason, child->code);
	else if (reason != NULL)
		fail(side, "%s", reason);
	else if (child->code != 0)
		fail(side, "exit code %d", child->code);
	if (side->state == COMPARE_FAILED)
		fputs(child->err, stderr);
}

static void keep(struct compare_side *side, const struct compare_case *c,
		 json_t *result, bool noisy)
{
	json_object_set_new(result, "alternation",
			    json_integer(c->alternations));
	json_object_set_new(result, "noisy", json_boolean(noisy));
	json_array_append_new(side->runs, result);
}

static void run_side(struct comparison *cmp, struct compare_case *c,
		     unsigned number)
{
	struct compare_side *side = &c->side[number];
	struct command command;
	struct subprocess child;
	json_t *result;
	bool noisy;
	int err;

	make_command(&command, cmp, c, number);
	err = run_quietly(cmp, &command, &child, &noisy);
	if (err != 0) {
		fail(side, "cannot run %s: %s", command.path, strerror(-err));
		return;
	}
	result = json_loads(child.out, 0, NULL);
	judge(side, c, &child, result);
	if (json_is_object(result))
		keep(side, c, result, noisy);
	else
		json_decref(result);
	subprocess_free(&child);
}

/* ---- a case --------------------------------------------------------------- */

/* Return whether this side has skipped the workload before. A peer that
 * skips a workload does so for all numbers of workers. */
static bool skipped_before(const struct comparison *cmp,
			   const struct compare_case *c, unsigned side)
{
	for (size_t i = 0; i < cmp->count; i++) {
		const struct compare_side *before = &cmp->cases[i].side[side];

		if (cmp->cases[i].workload != c->workload ||
		    before->state != COMPARE_SKIPPED)
			continue;
		return true;
	}
	return false;
}

/* Mark the sides that run this case. Return: whether any peer does. */
static bool choose_sides(const struct comparison *cmp, struct compare_case *c)
{
	bool any = false;

	c->side[COMPARE_SKUA].state = COMPARE_RAN;
	for (unsigned side = 1; side <= cmp->peers.count; side++) {
		if (!peers_has(&cmp->peers.peer[side - 1], c->workload->name) ||
		    skipped_before(cmp, c, side))
			continue;
		c->side[side].state = COMPARE_RAN;
		any = true;
	}
	return any;
}

static void alternate(struct comparison *cmp, struct compare_case *c)
{
	struct compare_side *skua = &c->side[COMPARE_SKUA];

	for (unsigned side = 0; side <= cmp->peers.count; side++)
		if (c->side[side].state == COMPARE_RAN &&
		    skua->state == COMPARE_RAN)
			run_side(cmp, c, side);
	c->alternations++;
}

static void run_case(struct comparison *cmp, struct compare_case *c)
{
	unsigned most = cmp->quick ? ALTERNATIONS_QUICK : COMPARE_ALTERNATIONS;
	uint64_t start = clock_ns();

	do {
		alternate(cmp, c);
	} while (c->side[COMPARE_SKUA].state == COMPARE_RAN &&
		 c->alternations < most &&
		 !(cmp->quick && clock_ns() - start > ENOUGH_NS));
	for (unsigned side = 0; side <= cmp->peers.count; side++)
		cmp->failed += c->side[side].state == COMPARE_FAILED;
}

static void say_progress(const struct comparison *cmp,
			 const struct compare_case *c)
{
	char label[200];

	fprintf(stderr, "%s, %u worker%s, %u time%s: skua",
		output_label(c->workload->name, c->changed, label,
			     sizeof(label)),
		c->workers, c->workers == 1 ? "" : "s", c->alternations,
		c->alternations == 1 ? "" : "s");
	for (unsigned side = 1; side <= cmp->peers.count; side++)
		if (c->side[side].state != COMPARE_ABSENT)
			fprintf(stderr, ", %s%s", compare_name(cmp, side),
				c->side[side].state == COMPARE_FAILED
					? " (FAILED)"
				: c->side[side].state == COMPARE_SKIPPED
					? " (left out)"
					: "");
	fputc('\n', stderr);
}

static void free_case(struct compare_case *c)
{
	json_decref(c->params);
	json_decref(c->changed);
	for (unsigned side = 0; side < COMPARE_SIDES; side++)
		json_decref(c->side[side].runs);
}

static bool make_case(struct compare_case *c, const void *options)
{
	bool complete;

	c->params = c->workload->params(options);
	/* Do not pass options that have the default value, because not every
	 * peer has every option. */
	c->changed = output_changed(c->workload, c->params);
	complete = c->params != NULL && c->changed != NULL;
	for (unsigned side = 0; side < COMPARE_SIDES; side++) {
		c->side[side].runs = json_array();
		complete = complete && c->side[side].runs != NULL;
	}
	return complete;
}

int compare_case(struct comparison *cmp, const struct workload *workload,
		 const void *options, unsigned workers)
{
	struct compare_case c = { .workload = workload, .workers = workers };
	struct compare_case *cases;

	if (workload->serial != NULL && workload->serial(options))
		return 0;
	if (!choose_sides(cmp, &c))
		return 0;
	cases = realloc(cmp->cases, (cmp->count + 1) * sizeof(*cases));
	if (cases == NULL)
		return -ENOMEM;
	cmp->cases = cases;
	if (!make_case(&c, options)) {
		free_case(&c);
		return -ENOMEM;
	}
	run_case(cmp, &c);
	say_progress(cmp, &c);
	cmp->cases[cmp->count++] = c;
	return 0;
}

/* ---- all ------------------------------------------------------------------ */

const char *compare_name(const struct comparison *cmp, unsigned side)
{
	return side == COMPARE_SKUA ? "skua" : cmp->peers.peer[side - 1].name;
}

int compare_open(struct comparison *cmp, const char *folder, bool quick)
{
	int err;

	*cmp = (struct comparison){ .self = peers_self(), .quick = quick };
	err = cmp->self != NULL ? peers_find(&cmp->peers, folder) : -ENOENT;
	if (err != 0) {
		fprintf(stderr, ARGS_PROGRAM " report: no peers: %s\n",
			strerror(-err));
		return err;
	}
	for (unsigned i = 0; i < cmp->peers.count; i++)
		cmp->failed += cmp->peers.peer[i].workloads == NULL;
	if (cmp->peers.count > 0)
		calibrate_start(&cmp->calibration);
	return 0;
}

void compare_close(struct comparison *cmp)
{
	for (size_t i = 0; i < cmp->count; i++)
		free_case(&cmp->cases[i]);
	free(cmp->cases);
	free(cmp->self);
	peers_free(&cmp->peers);
}
