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
#define MAX_STACKS   (TARGET_MAX_FIBERS / 4 * 5) /* also those without a fiber */
#define MAX_ATTEMPTS 8u
#define FIBER_BYTES  512u

struct reader {
	struct target *target;
	const struct target_runtime *runtime;
	unsigned index; /* of the runtime */
	struct target_fibers *out;
	size_t room;
	uint64_t verb_at; /* address of the last verb; 0: none */
	struct area_verb verb;
};

struct target_party target_party(uint64_t word)
{
	uint64_t address = word & ~(AREA_HOLDER_THREAD | AREA_HOLDER_FLAGS);

	return word & AREA_HOLDER_THREAD
		       ? (struct target_party){ .thread = address }
		       : (struct target_party){ .task = address };
}

/* ---- waits -------------------------------------------------------------------- */

static bool is_verb(const struct area_verb *verb)
{
	return verb->kind != AREA_WAITS_NOTHING &&
	       verb->kind < AREA_WAITS_COUNT;
}

bool target_read_wait(struct target *target, uint64_t address,
		      struct target_wait *out)
{
	*out = (struct target_wait){ .address = 0 };
	if (!address ||
	    target_read(target, address, &out->armed, sizeof(out->armed)) ||
	    target_read(target, out->armed.verb, &out->verb,
			sizeof(out->verb)) ||
	    !is_verb(&out->verb))
		return false;
	out->address = address;
	return true;
}

/* ---- a fiber ------------------------------------------------------------------- */

/* The words of a fiber. */
struct words {
	uint64_t type, state, fn, context, wait, label;
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
		{ rt->fiber_label, &out->label },
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
	/* The others are checked before (tells_fibers()). */
	if (rt->fiber_label == 0)
		out->label = 0;
	return code;
}

/* Read the wait of a fiber. A wait that is over is left out: its memory was used again. The
 * verb is constant, and often that of the last fiber. */
static void read_wait(struct reader *r, struct target_fiber *fiber,
		      uint64_t address)
{
	struct target_wait *wait = &fiber->wait;

	if (!address ||
	    target_read(r->target, address, &wait->armed,
			sizeof(wait->armed)) != 0 ||
	    wait->armed.waiter != fiber->address)
		return;
	if (wait->armed.verb != r->verb_at) {
		r->verb_at = 0;
		if (target_read(r->target, wait->armed.verb, &r->verb,
				sizeof(r->verb)) != 0 ||
		    !is_verb(&r->verb))
			return;
		r->verb_at = wait->armed.verb;
	}
	wait->verb = r->verb;
	wait->address = address;
}

/* Add the fiber of a stack, if there is one. Return: 0, or a code that ends all. */
static int add_fiber(struct reader *r, uint64_t address)
{
	struct target_fibers *out = r->out;
	struct target_fiber *fiber;
	struct area_stack stack;
	struct words words;
	int code = target_read(r->target, address, &stack, sizeof(stack));

	/* A stack without memory, or without a fiber, or the memory has another use. */
	if (code == -EFAULT ||
	    (!code && (!stack.fiber || stack.low >= address)))
		return 0;
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
		.label = words.label,
		.fn = words.fn,
		.state = words.state,
		.context = words.context,
		.low = stack.low,
		.high = address,
	};
	read_wait(r, fiber, words.wait);
	return 0;
}

/* ---- the list ------------------------------------------------------------------ */

/* The stacks of a node. They are copied at one moment, and then read. */
struct addresses {
	uint64_t *list;
	size_t count, room;
};

static int copy_arenas(struct reader *r, uint64_t at, struct addresses *out)
{
	struct area_arena arena;

	/* Bounded, so that a circular list ends. */
	for (unsigned i = 0; at && i < MAX_ARENAS; i++, at = arena.next) {
		int code = target_read(r->target, at, &arena, sizeof(arena));

		if (code)
			return code;
		for (unsigned k = 0; k < AREA_ARENA_STACKS; k++) {
			if (!arena.stacks[k])
				continue;
			if (out->count == MAX_STACKS) {
				r->out->more = true;
				return 0;
			}
			if (!grow(&out->list, sizeof(*out->list), out->count,
				  &out->room))
				return -ENOMEM;
			out->list[out->count++] = arena.stacks[k];
		}
	}
	return 0;
}

/* Copy the list of a node's stacks. Return: also -EAGAIN: it changed meanwhile. */
static int copy_list(struct reader *r, uint64_t address, struct addresses *out)
{
	struct area_stacks stacks, after;
	int code = target_read(r->target, address, &stacks, sizeof(stacks));

	out->count = 0;
	if (code)
		return code;
	code = stacks.changes % 2 ? -EAGAIN
				  : copy_arenas(r, stacks.arenas, out);
	if (code && code != -EFAULT && code != -EAGAIN)
		return code;
	if (target_read(r->target, address, &after, sizeof(after)) != 0 ||
	    after.changes != stacks.changes)
		code = -EAGAIN;
	return code;
}

/* Read the fibers of a node. */
static int read_node(struct reader *r, uint64_t address)
{
	struct addresses stacks = { .list = NULL };
	int code;

	if (r->out->more)
		return 0; /* so that many nodes are not read in vain */
	code = copy_list(r, address, &stacks);
	for (unsigned i = 1; code == -EAGAIN && i < MAX_ATTEMPTS; i++)
		code = copy_list(r, address, &stacks);
	for (size_t i = 0; !code && i < stacks.count; i++)
		code = add_fiber(r, stacks.list[i]);
	free(stacks.list);
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
