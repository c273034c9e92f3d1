/* SPDX-License-Identifier: MIT */
/* target_fibers.c - see target_fibers.h */
#include "bpf/target/target_fibers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/cli/clock.h"
#include "bpf/cli/grow.h"
#include "bpf/cli/sorted.h"

/* Limits of what a process may claim. */
#define MAX_NODES    1024u
#define MAX_ARENAS   65536u
#define MAX_ATTEMPTS 8u
#define FIBER_BYTES  512u

struct reader {
	struct target *target;
	const struct target_runtime *runtime;
	unsigned index; /* of the runtime */
	struct target_fibers *out;
	size_t room;
};

struct target_party target_party(uint64_t word)
{
	uint64_t address = word & ~(AREA_HOLDER_THREAD | AREA_HOLDER_FLAGS);

	return word & AREA_HOLDER_THREAD
		       ? (struct target_party){ .thread = address }
		       : (struct target_party){ .task = address };
}

/* ---- waits -------------------------------------------------------------------- */

bool target_read_wait(struct target *target, uint64_t address,
		      struct target_wait *out)
{
	*out = (struct target_wait){ .address = 0 };
	if (!address ||
	    target_read(target, address, &out->armed, sizeof(out->armed)) ||
	    target_read(target, out->armed.verb, &out->verb,
			sizeof(out->verb)) ||
	    out->verb.kind == AREA_WAITS_NOTHING ||
	    out->verb.kind >= AREA_WAITS_COUNT)
		return false;
	out->address = address;
	return true;
}

/* ---- a fiber ------------------------------------------------------------------- */

/* The words of a fiber. */
struct words {
	uint64_t type, state, fn, context, wait;
};

/* Read the words of a fiber with one read. Return: 0; -EFAULT. */
static int read_words(struct reader *r, uint64_t address, struct words *out)
{
	const struct target_runtime *rt = r->runtime;
	const struct {
		uint64_t offset;
		uint64_t *to;
	} fields[] = {
		{ rt->task_type, &out->type },
		{ rt->task_state, &out->state },
		{ rt->fiber_fn, &out->fn },
		{ rt->fiber_context, &out->context },
		{ rt->fiber_wait, &out->wait },
	};
	const unsigned count = sizeof(fields) / sizeof(*fields);
	unsigned char bytes[FIBER_BYTES];
	uint64_t end = 0;
	int code;

	for (unsigned i = 0; i < count; i++) {
		if (fields[i].offset > FIBER_BYTES - sizeof(uint64_t))
			return -EFAULT;
		if (end < fields[i].offset + sizeof(uint64_t))
			end = fields[i].offset + sizeof(uint64_t);
	}
	code = target_read(r->target, address, bytes, end);
	for (unsigned i = 0; !code && i < count; i++)
		memcpy(fields[i].to, bytes + fields[i].offset,
		       sizeof(uint64_t));
	return code;
}

/* Read the wait of a fiber. A wait that is over is left out: its memory was used again. */
static void read_wait(struct reader *r, struct target_fiber *fiber,
		      const struct words *words)
{
	if (target_read_wait(r->target, words->wait, &fiber->wait) &&
	    fiber->wait.armed.waiter != fiber->address)
		fiber->wait = (struct target_wait){ .address = 0 };
}

/* Add the fiber of a stack, if there is one. Return: 0, or a code that ends all. */
static int add_fiber(struct reader *r, uint64_t address)
{
	struct target_fibers *out = r->out;
	struct target_fiber *fiber;
	struct area_stack stack;
	struct words words;
	int code = target_read(r->target, address, &stack, sizeof(stack));

	if (code == -EFAULT || (!code && !stack.fiber))
		return 0; /* a stack without memory, or without a fiber */
	if (!code)
		code = read_words(r, stack.fiber, &words);
	if (code)
		return code == -EFAULT ? 0 : code;
	if (out->count == TARGET_MAX_FIBERS) {
		out->more = true;
		return 0;
	}
	if (!grow(&out->list, sizeof(*fiber), out->count, &r->room))
		return -ENOMEM;
	fiber = &out->list[out->count++];
	*fiber = (struct target_fiber){
		.address = stack.fiber,
		.runtime = r->index,
		.type = words.type,
		.fn = words.fn,
		.state = words.state,
		.context = words.context,
		.low = stack.low,
		.high = address,
	};
	read_wait(r, fiber, &words);
	return 0;
}

/* ---- the list ------------------------------------------------------------------ */

static int read_arenas(struct reader *r, uint64_t at)
{
	struct area_arena arena;
	int code = 0;

	/* Bounded, so that a circular list ends. */
	for (unsigned i = 0; at && i < MAX_ARENAS && !r->out->more; i++) {
		code = target_read(r->target, at, &arena, sizeof(arena));
		for (unsigned k = 0; !code && k < AREA_ARENA_STACKS; k++)
			if (arena.stacks[k])
				code = add_fiber(r, arena.stacks[k]);
		if (code)
			return code;
		at = arena.next;
	}
	return 0;
}

/* Read the stacks of a node. Return: also -EAGAIN: the list changed meanwhile. */
static int read_node(struct reader *r, uint64_t address)
{
	const unsigned before = r->out->count;
	struct area_stacks stacks, after;
	int code = target_read(r->target, address, &stacks, sizeof(stacks));

	if (code)
		return code;
	code = stacks.changes % 2 ? -EAGAIN : read_arenas(r, stacks.arenas);
	if (code && code != -EFAULT && code != -EAGAIN)
		return code;
	if (target_read(r->target, address, &after, sizeof(after)) != 0 ||
	    after.changes != stacks.changes)
		code = -EAGAIN;
	if (code == -EAGAIN)
		r->out->count = before;
	return code;
}

/* A task that a worker polls. */
struct polled {
	uint64_t task;
	unsigned worker;
};

static int compare(const void *left, const void *right)
{
	const struct polled *a = left, *b = right;

	return compare_numbers(a->task, b->task);
}

/* Find out which fibers, from number @from on, are being polled. Return: 0, or a code that
 * ends all. */
static int find_workers(struct reader *r, unsigned from)
{
	const uint32_t workers = r->runtime->area.worker_count;
	struct polled *polled = calloc(workers, sizeof(*polled));
	int code = polled ? 0 : -ENOMEM;

	for (unsigned w = 0; !code && w < workers; w++) {
		struct target_now now;

		code = target_look(r->target, r->runtime, w, &now);
		if (!code)
			polled[w] = (struct polled){ now.task, w };
	}
	if (!code)
		qsort(polled, workers, sizeof(*polled), compare);
	for (unsigned i = from; !code && i < r->out->count; i++) {
		const struct polled key = { .task = r->out->list[i].address };
		const struct polled *found = bsearch(&key, polled, workers,
						     sizeof(*polled), compare);

		r->out->list[i].worker = found ? found->worker + 1 : 0;
	}
	free(polled);
	return code;
}

static bool tells_fibers(const struct target_runtime *runtime)
{
	return runtime->fiber_wait != 0 &&
	       runtime->area.bytes >= offsetof(struct area_runtime, names) +
					      sizeof(runtime->area.names);
}

static int read_runtime(struct reader *r)
{
	const struct area_runtime *area = &r->runtime->area;
	const unsigned from = r->out->count;
	int code = 0;

	for (uint32_t n = 0; !code && n < area->stacks_count && n < MAX_NODES;
	     n++) {
		uint64_t at = area->stacks + n * (uint64_t)area->stacks_bytes;

		code = read_node(r, at);
		for (unsigned i = 1; code == -EAGAIN && i < MAX_ATTEMPTS; i++)
			code = read_node(r, at);
	}
	return code ? code : find_workers(r, from);
}

int target_fibers_read(struct target *target, struct target_fibers *out)
{
	struct reader reader = { .target = target, .out = out };
	int code = 0;

	*out = (struct target_fibers){ .at_ns = now_ns() };
	for (unsigned i = 0; !code && i < target_runtimes(target); i++) {
		reader.runtime = target_runtime(target, i);
		reader.index = i;
		if (tells_fibers(reader.runtime)) {
			out->known = true;
			code = read_runtime(&reader);
		}
	}
	return code;
}

void target_fibers_free(struct target_fibers *fibers)
{
	free(fibers->list);
	*fibers = (struct target_fibers){ .list = NULL };
}
