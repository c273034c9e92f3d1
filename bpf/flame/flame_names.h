/* SPDX-License-Identifier: MIT */
/**
 * flame_names.h - the names of functions and task types of a process, and the callers
 * of a function
 *
 * Each file is read once, when the first of its functions is asked for. All that is
 * read is hostile; names may have any bytes.
 */
#ifndef SKUA_BPF_FLAME_NAMES_H
#define SKUA_BPF_FLAME_NAMES_H

#include "bpf/flame/flame_image.h"

struct flame_names;

/* The state of a thread: registers, and its stack from the stack pointer on. */
struct flame_thread {
	uint64_t ip, sp, fp;
	uint64_t
		back; /* the register that has it, where there is one (aarch64) */
	const unsigned char *stack;
	size_t bytes;
};

/* flame_names_new - NULL: no memory. @target: borrowed */
struct flame_names *flame_names_new(struct target *target);
void flame_names_free(struct flame_names *names);

/* flame_names_look_again - what is not mapped is looked for once more, one time */
void flame_names_look_again(struct flame_names *names);

/* flame_names_find - the function that has that address in it. Return: false:
 * nothing that can be executed is there */
bool flame_names_find(struct flame_names *names, uint64_t address,
		      struct flame_function *out);

/* flame_names_line - where the code at an address comes from */
void flame_names_line(struct flame_names *names, uint64_t address,
		      struct line *out);

/* flame_names_hurry - somebody waits for the end: as reader_hurry() */
void flame_names_hurry(struct flame_names *names);

/**
 * flame_names_unwind - the functions that a thread is in
 * @poll: to end at this function, if it is there; or 0
 * @out: receives at most @most, the innermost first
 * @whole: receives whether the last is @poll
 *
 * By the tables of the files, and where there are none by frame pointers. Return: how
 * many.
 */
unsigned flame_names_unwind(struct flame_names *names,
			    const struct flame_thread *thread, uint64_t poll,
			    struct flame_function *out, unsigned most,
			    bool *whole);

/* flame_names_type - what to call tasks: target_name(), remembered */
const char *flame_names_type(struct flame_names *names, uint64_t type,
			     uint64_t poll);

#endif
