/* SPDX-License-Identifier: MIT */
/* verb_stacks.c - skua stacks: show the stacks of the fibers of a process */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/cli/args.h"
#include "bpf/cli/json.h"
#include "bpf/cli/sorted.h"
#include "bpf/target/pick_process.h"
#include "bpf/target/target_budget.h"
#include "bpf/target/target_text.h"
#include "bpf/verbs.h"
#include "bpf/waits/waits_print.h"

/* How often the process is read until its lists do not change meanwhile. */
#define MAX_ATTEMPTS 20u

struct options {
	uint64_t pid;
	bool json, each;
};

static const struct args_verb verb = {
	.doc = "Show the stack of each fiber of a process that is suspended, and "
	       "what it waits for. Fibers with the same type, state and stack "
	       "are shown once. The process is not stopped",
	ARGS_OPTIONS(
		{ .name = "each",
		  .key = 'e',
		  .doc = "Show each fiber",
		  .value = ARGS_FLAG,
		  .field = offsetof(struct options, each) },
		ARGS_JSON(struct options, "Print an object for each fiber"),
		ARGS_PID(struct options, PICK_PROCESS_HELP)),
};

/* A fiber with its stack. */
struct one {
	uint64_t type, fn, label,
		state; /* a group has these in common, and the functions */
	unsigned count;
	uint32_t fiber;
	struct flame_function *functions;
};

struct stacks {
	const struct options *options;
	struct waits waits;
	struct flame_names *names;
	struct one *list;
};

static int compare(const void *left, const void *right)
{
	const struct one *a = left, *b = right;
	int order = compare_numbers(a->type, b->type);

	if (!order)
		order = compare_numbers(a->fn, b->fn);
	if (!order)
		order = compare_numbers(a->label, b->label);
	if (!order)
		order = compare_numbers(a->state, b->state);
	if (!order)
		order = compare_numbers(a->count, b->count);
	for (unsigned i = 0; !order && i < a->count; i++)
		order = compare_numbers(
			a->functions[i].start + a->functions[i].address,
			b->functions[i].start + b->functions[i].address);
	return order;
}

/* Read the stack of a fiber. Return: false: no memory. */
static bool read_one(struct stacks *s, uint32_t fiber)
{
	const struct target_fiber *it = &s->waits.fibers.list[fiber];
	struct flame_function functions[STACK_FRAMES];
	struct one *one = &s->list[fiber];

	one->fiber = fiber;
	one->type = it->type;
	one->fn = it->fn;
	one->label = it->label;
	one->state = waits_fiber_kind(it);
	one->count = stack_read(s->waits.target, s->names, it, functions);
	if (one->count == 0)
		return true;
	one->functions = malloc(one->count * sizeof(*one->functions));
	if (one->functions)
		memcpy(one->functions, functions,
		       one->count * sizeof(*one->functions));
	return one->functions;
}

/* ---- printing -------------------------------------------------------------------- */

static void print(struct stacks *s, const struct one *one, unsigned count)
{
	const struct target_fiber *fiber = &s->waits.fibers.list[one->fiber];
	char name[TARGET_NAME], label[TARGET_NAME], state[WAITS_STATE];

	target_name(s->waits.target, fiber->type, fiber->fn, name);
	target_text(s->waits.target, fiber->label, label);
	if (count > 1)
		printf("%u fibers of %s", count, name);
	else
		printf("fiber 0x%" PRIx64 " of %s", fiber->address, name);
	if (label[0])
		printf(" (%s)", label);
	printf(": ");
	printf("%s%s\n", count > 1 ? "one " : "",
	       waits_fiber_state(&s->waits, one->fiber, state));
	stack_print(s->names, one->functions, one->count);
	if (one->count == 0 && !fiber->worker)
		printf("    (its stack changed meanwhile)\n");
	printf("\n");
}

static json_t *frames(struct stacks *s, const struct one *one)
{
	json_t *array = json_array();

	for (unsigned i = 0; i < one->count; i++) {
		struct line line;

		flame_names_line(s->names, one->functions[i].address, &line);
		json_array_append_new(
			array,
			json_pack("{s:s, s:o, s:s, s:i}", "function",
				  one->functions[i].name, "address",
				  json_count(one->functions[i].address),
				  "source", line.number ? line.source : "",
				  "line", line.number));
	}
	return array;
}

static bool print_json(struct stacks *s, const struct one *one)
{
	const struct target_fiber *fiber = &s->waits.fibers.list[one->fiber];
	char name[TARGET_NAME], label[TARGET_NAME], state[WAITS_STATE];

	target_name(s->waits.target, fiber->type, fiber->fn, name);
	target_text(s->waits.target, fiber->label, label);
	return json_print(
		stdout,
		json_pack("{s:o, s:s, s:s*, s:s, s:o, s:o}", "fiber",
			  json_count(fiber->address), "type", name, "label",
			  label[0] ? label : NULL, "state",
			  waits_fiber_state(&s->waits, one->fiber, state),
			  "stack_bytes", json_count(fiber->high - fiber->low),
			  "frames", frames(s, one)),
		0);
}

static bool print_all(struct stacks *s)
{
	const unsigned count = s->waits.fibers.count;
	bool printed = true;

	if (s->options->json) {
		for (unsigned i = 0; printed && i < count; i++)
			printed = print_json(s, &s->list[i]);
		return printed;
	}
	if (!s->waits.fibers.known)
		printf("The library of this process does not tell of its "
		       "fibers: it is older than skua 0.2\n");
	else if (count == 0)
		printf("no fiber has a stack; skua flame shows the stacks of "
		       "tasks that are no fibers\n");
	if (!s->options->each && count > 0)
		qsort(s->list, count, sizeof(*s->list), compare);
	for (unsigned i = 0, end; i < count; i = end) {
		for (end = i + 1; !s->options->each && end < count &&
				  compare(&s->list[i], &s->list[end]) == 0;)
			end++;
		print(s, &s->list[i], end - i);
	}
	if (s->waits.fibers.more)
		printf("Only the first %u fibers were read\n", count);
	return true;
}

/* ---- the verb ------------------------------------------------------------------- */

static int read_all(struct target *target, struct stacks *s)
{
	int code = waits_read(target, &s->waits);

	for (unsigned i = 0; code == -EAGAIN && i < MAX_ATTEMPTS; i++) {
		waits_free(&s->waits);
		code = target_refresh(target);
		if (!code)
			code = waits_read(target, &s->waits);
	}
	s->names = code ? NULL : flame_names_new(target);
	s->list = code ? NULL
		       : calloc(s->waits.fibers.count + 1, sizeof(*s->list));
	if (!code && (!s->names || !s->list))
		code = -ENOMEM;
	for (uint32_t i = 0; !code && i < s->waits.fibers.count; i++)
		code = read_one(s, i) ? 0 : -ENOMEM;
	return code;
}

static int show(struct target *target, const struct options *options)
{
	struct stacks stacks = { .options = options };
	int code = read_all(target, &stacks);

	if (!code && !print_all(&stacks))
		code = -ENOMEM;
	if (code)
		fprintf(stderr, ARGS_PROGRAM " stacks: %s\n",
			code == -ENOMEM ? "no memory" : target_reason(target));
	for (uint32_t i = 0; stacks.list && i < stacks.waits.fibers.count; i++)
		free(stacks.list[i].functions);
	free(stacks.list);
	waits_free(&stacks.waits);
	flame_names_free(stacks.names);
	return code ? EXIT_FAILED : EXIT_OK;
}

int verb_stacks(int argc, char **argv)
{
	struct options options = { .json = false };
	struct target *target;
	int code;

	if (args_parse_verb(&verb, "stacks", argc, argv, &options) != 0)
		return EXIT_USAGE;
	code = pick_process(&target, "stacks", options.pid);
	if (code == EXIT_OK)
		target_budget_raise(target_budget_of(target),
				    TARGET_WORK_FIBERS);
	if (code == EXIT_OK && target_runtimes(target) == 0) {
		pick_process_remark(target, "stacks");
		code = EXIT_FAILED;
	}
	if (code == EXIT_OK)
		code = show(target, &options);
	target_close(target);
	return code;
}
