/* SPDX-License-Identifier: MIT */
/*
 * target_demangle.c - see target_demangle.h
 *
 * A reference in a mangled name repeats earlier parts, so that each may double the
 * output. libiberty emits the output in pieces; put() stops it when the buffer is full.
 * A search through a parameter pack emits nothing, so that the buffer does not bound it:
 * names that have one pay for the longest search first.
 *
 * Rejected: __cxa_demangle(), which has no bound for its memory.
 */
#include "bpf/target/target_demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Cost of a step or a piece of output, in units of target_budget.h. */
#define STEP_COST UINT64_C(64)

/* The longest output, before the arguments of templates are removed. */
#define LONGEST 512u

struct output {
	char text[LONGEST];
	size_t used;
	jmp_buf full;
};

static void put(const char *piece, size_t bytes, void *context)
{
	struct output *out = context;
	size_t room = LONGEST - 1 - out->used;

	memcpy(out->text + out->used, piece, bytes < room ? bytes : room);
	out->used += bytes < room ? bytes : room;
	if (bytes > room)
		longjmp(out->full, 1);
}

/* Whether the name contains codes of parameter packs or fold expressions. */
static bool has_pattern(const char *name)
{
	return strstr(name, "Dp") || strstr(name, "sp") || strstr(name, "sZ") ||
	       strstr(name, "sP") || strstr(name, "fl") || strstr(name, "fr") ||
	       strstr(name, "fL") || strstr(name, "fR");
}

/* Return an upper bound of steps: each S_ or T_ may repeat everything before
 * it. */
static uint64_t count_steps(const char *name, size_t length)
{
	unsigned doublings = 0;

	if (!has_pattern(name))
		return length + LONGEST;
	for (const char *at = name; *at; at++)
		doublings += *at == 'S' || *at == 'T';
	return doublings < 32 ? (uint64_t)length << doublings : UINT64_MAX;
}

static bool is_affordable(struct target_budget *budget, const char *name)
{
	size_t length = strnlen(name, TARGET_MANGLED);
	uint64_t steps;

	if (strncmp(name, "_Z", 2) != 0 || length == TARGET_MANGLED)
		return false;
	steps = count_steps(name, length);
	return steps < UINT64_MAX / STEP_COST &&
	       target_budget_spend(budget, STEP_COST * steps);
}

/* Write the demangled name. The longjmp() out of libiberty leaks nothing, as it
 * keeps all its data on the stack. */
static bool write_name(const char *name, struct output *out)
{
	volatile bool known = true;

	if (setjmp(out->full) == 0)
		known = cplus_demangle_v3_callback(name, DMGL_NO_OPTS, put,
						   out) != 0;
	out->text[out->used] = '\0';
	return known;
}

/* ---- room -------------------------------------------------------------------- */

/* Skip "operator<<" and the like, in which brackets are no template's. Return:
 * the position after it, or @at if there is no operator. */
static const char *skip_operator(const char *text, const char *at)
{
	static const char word[] = "operator";

	if (strncmp(at, word, strlen(word)) != 0 ||
	    (at > text && at[-1] != ':'))
		return at;
	at += strlen(word);
	return at + strspn(at, "<=>-");
}

/* Remove the arguments of templates from @text: foo<int>::poll becomes
 * foo<>::poll. */
static void drop_arguments(char *text)
{
	unsigned depth = 0;
	char *to = text;

	for (const char *at = text; *at;) {
		const char *next = skip_operator(text, at);

		if (next == at)
			next++;
		depth -= next - at == 1 && *at == '>' && depth > 0;
		if (depth == 0) {
			memmove(to, at, (size_t)(next - at));
			to += next - at;
		}
		depth += next - at == 1 && *at == '<';
		at = next;
	}
	if (depth > 0) /* the text was cut inside brackets */
		*to++ = '>';
	*to = '\0';
}

bool target_demangle(struct target_budget *budget, const char *name, char *text,
		     size_t size)
{
	struct output out = { .used = 0 };
	bool known = is_affordable(budget, name) && write_name(name, &out);

	if (known && out.used >= size)
		drop_arguments(out.text);
	snprintf(text, size, "%s", known ? out.text : name);
	return known;
}
