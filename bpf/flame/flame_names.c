/* SPDX-License-Identifier: MIT */
/* flame_names.c - see flame_names.h */
#include "bpf/cli/grow.h"
#include "bpf/flame/flame_names.h"

#include <stdlib.h>
#include <string.h>

#define MAX_IMAGES 4096u
#define MAX_TYPES  4096u
#define RULES      8192u /* size of the cache of rules, by address */

struct type {
	uint64_t type, poll;
	char name[TARGET_NAME];
};

/* A cached rule, or the fact that there is none. Addresses with the same slot
 * replace each other. */
struct known_rule {
	uint64_t address;
	bool known;
	struct flame_rule rule;
};

struct flame_names {
	struct target *target;
	struct image *images[MAX_IMAGES];
	size_t image_count;
	struct type *types;
	size_t type_count, type_room;
	bool looked; /* mappings were read again */
	struct reader *reader;
	struct known_rule rules[RULES];
};

/* ---- functions ------------------------------------------------------------- */

/* Return: NULL if there is no memory, or there are too many images. */
static struct image *find_image(struct flame_names *names,
				const struct target_mapping *mapping)
{
	struct image *image;

	for (size_t i = 0; i < names->image_count; i++)
		if (image_is_of(names->images[i], mapping))
			return names->images[i];
	image = names->image_count < MAX_IMAGES
			? image_open(names->target, names->reader, mapping)
			: NULL;
	if (image)
		names->images[names->image_count++] = image;
	return image;
}

static const struct target_mapping *find_mapping(struct flame_names *names,
						 uint64_t address)
{
	const struct target_mapping *mapping =
		target_mapping_at(names->target, address);

	if (mapping || names->looked)
		return mapping;
	names->looked = true;
	return target_read_maps(names->target) == 0
		       ? target_mapping_at(names->target, address)
		       : NULL;
}

/* Return: NULL if no executable code is there. */
static const struct target_mapping *find_code(struct flame_names *names,
					      uint64_t address)
{
	const struct target_mapping *mapping = find_mapping(names, address);

	return mapping && mapping->executable ? mapping : NULL;
}

bool flame_names_find(struct flame_names *names, uint64_t address,
		      struct flame_function *out)
{
	const struct target_mapping *mapping = find_code(names, address);
	struct image *image = mapping ? find_image(names, mapping) : NULL;

	*out = (struct flame_function){ .name = "[no memory]",
					.address = address };
	if (image)
		image_find(image, mapping, address, out);
	return mapping != NULL;
}

void flame_names_line(struct flame_names *names, uint64_t address,
		      struct line *out)
{
	const struct target_mapping *mapping = find_code(names, address);
	struct image *image = mapping ? find_image(names, mapping) : NULL;

	memset(out, 0, sizeof(*out));
	if (image)
		image_line(image, mapping, address, out);
}

void flame_names_hurry(struct flame_names *names)
{
	reader_hurry(names->reader);
}

/* ---- stacks ---------------------------------------------------------------- */

/* Return: NULL if there is no rule. */
static const struct flame_rule *find_rule(struct flame_names *names,
					  uint64_t address)
{
	struct known_rule *known = &names->rules[address % RULES];
	const struct target_mapping *mapping;
	struct image *image;

	if (known->address != address) {
		mapping = find_code(names, address);
		image = mapping ? find_image(names, mapping) : NULL;
		known->address = address;
		known->known = image && image_rule(image, mapping, address,
						   &known->rule);
	}
	return known->known ? &known->rule : NULL;
}

/* Read a word of the stack. Return: false if it was not copied. */
static bool read_stack(const struct flame_thread *thread, uint64_t from,
		       uint64_t address, uint64_t *out)
{
	uint64_t at = address - from;

	if (thread->bytes < sizeof(*out) || at > thread->bytes - sizeof(*out))
		return false;
	memcpy(out, thread->stack + at, sizeof(*out));
	return true;
}

/* The rule of functions that keep a frame pointer. */
static const struct flame_rule by_frame_pointer = { .base = FLAME_FP,
						    .base_offset = 16,
						    .back = FLAME_SAVED,
						    .back_offset = -8,
						    .fp = FLAME_SAVED,
						    .fp_offset = -16 };

/* The rule of a function that uses no stack. */
static const struct flame_rule of_leaf = {
#ifdef __x86_64__
	.base_offset = 8,
	.back = FLAME_SAVED,
	.back_offset = -8,
#else
	.back = FLAME_SAME, /* in the register */
#endif
	.fp = FLAME_SAME,
};

/* Step to the caller. @from: the address where the copied stack begins. The
 * stack pointer never decreases, so that the loop ends. */
static bool go_out(struct flame_thread *thread, uint64_t from,
		   const struct flame_rule *rule)
{
	uint64_t base = (rule->base == FLAME_FP ? thread->fp : thread->sp) +
			(uint64_t)rule->base_offset;
	uint64_t back = thread->back, fp = thread->fp;

	if (base < thread->sp || rule->back == FLAME_NOWHERE ||
	    (rule->back == FLAME_SAVED &&
	     !read_stack(thread, from, base + (uint64_t)rule->back_offset,
			 &back)) ||
	    (rule->fp == FLAME_SAVED &&
	     !read_stack(thread, from, base + (uint64_t)rule->fp_offset, &fp)))
		return false;
	/* Only a function that has made no call still has its return address in
	 * a register. */
	if (back == 0 || (base == thread->sp && back == thread->ip))
		return false;
	thread->ip = back;
	thread->sp = base;
	thread->fp = fp;
	thread->back = 0;
	return true;
}

/* Step to the caller without a table. The innermost function may be written in
 * assembly and have no frame pointer of its own. */
static bool guess_out(struct flame_names *names, struct flame_thread *at,
		      uint64_t from, bool innermost)
{
	struct flame_thread caller = *at;
	bool found = go_out(&caller, from, &by_frame_pointer) &&
		     find_code(names, caller.ip - 1);

	if (!found && innermost) {
		caller = *at;
		found = go_out(&caller, from, &of_leaf) &&
			find_code(names, caller.ip - 1);
	}
	if (found)
		*at = caller;
	return found;
}

unsigned flame_names_unwind(struct flame_names *names,
			    const struct flame_thread *thread, uint64_t poll,
			    struct flame_function *out, unsigned most,
			    bool *whole)
{
	struct flame_thread at = *thread;
	unsigned count = 0;

	*whole = false;
	while (count < most) {
		/* A return address is that after the call, so look up the byte
		 * before it. */
		uint64_t address = at.ip - (count > 0);
		const struct flame_rule *rule;

		if (!flame_names_find(names, address, &out[count]))
			break;
		*whole = poll != 0 && out[count].start == poll;
		count++;
		rule = find_rule(names, address);
		if (*whole ||
		    !(rule ? go_out(&at, thread->sp, rule)
			   : guess_out(names, &at, thread->sp, count == 1)))
			break;
	}
	return count;
}

/* ---- types ----------------------------------------------------------------- */

const char *flame_names_type(struct flame_names *names, uint64_t type,
			     uint64_t poll)
{
	struct type *more;

	for (size_t i = 0; i < names->type_count; i++)
		if (names->types[i].type == type &&
		    names->types[i].poll == poll)
			return names->types[i].name;
	if (names->type_count == MAX_TYPES)
		return "(other types)";
	if (!grow(&names->types, sizeof(*more), names->type_count,
		  &names->type_room))
		return "(other types)";
	more = &names->types[names->type_count++];
	more->type = type;
	more->poll = poll;
	target_name(names->target, type, poll, more->name);
	return more->name;
}

/* ---- interface ------------------------------------------------------------- */

void flame_names_look_again(struct flame_names *names)
{
	names->looked = false;
}

struct flame_names *flame_names_new(struct target *target)
{
	struct flame_names *names = calloc(1, sizeof(*names));

	if (!names)
		return NULL;
	names->target = target;
	names->reader = reader_new(READER_LIMITS);
	if (!names->reader) {
		free(names);
		return NULL;
	}
	return names;
}

void flame_names_free(struct flame_names *names)
{
	if (!names)
		return;
	for (size_t i = 0; i < names->image_count; i++)
		image_close(names->images[i]);
	reader_free(names->reader);
	free(names->types);
	free(names);
}
