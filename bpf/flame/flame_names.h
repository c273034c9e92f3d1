/* SPDX-License-Identifier: MIT */
/**
 * flame_names.h - the names of functions and task types of a process, and its stacks
 *
 * Each file is read once, when the first of its functions is needed. Everything read is
 * hostile; names may contain any bytes.
 */
#ifndef SKUA_BPF_FLAME_NAMES_H
#define SKUA_BPF_FLAME_NAMES_H

#include "bpf/flame/flame_image.h"

struct flame_names;

/* The registers of a thread, and its stack from the stack pointer on. */
struct flame_thread {
	uint64_t ip, sp, fp;
	/* The return address register, on machines that have one (aarch64). */
	uint64_t back;
	const unsigned char *stack;
	size_t bytes;
};

/* flame_names_new - create an empty cache of names. @target: borrowed. Return:
 * NULL if there is no memory */
struct flame_names *flame_names_new(struct target *target);
void flame_names_free(struct flame_names *names);

/* flame_names_look_again - allow one more read of the mappings, for the next
 * address that no known mapping contains */
void flame_names_look_again(struct flame_names *names);

/* flame_names_find - find the function that contains an address. Return: false
 * if no executable code is there */
bool flame_names_find(struct flame_names *names, uint64_t address,
		      struct flame_function *out);

/* flame_names_line - find the source line of the code at an address */
void flame_names_line(struct flame_names *names, uint64_t address,
		      struct line *out);

/* flame_names_hurry - limit the time for further answers, as reader_hurry()
 * does */
void flame_names_hurry(struct flame_names *names);

/**
 * flame_names_unwind - find the functions that a thread is in
 * @poll: stop at this function if the stack has it; 0: do not stop
 * @out: receives at most @most functions, the innermost first
 * @whole: receives true if the last one is @poll
 *
 * Uses the unwind tables of the files, and frame pointers where there is no table.
 * Return: the number of functions.
 */
unsigned flame_names_unwind(struct flame_names *names,
			    const struct flame_thread *thread, uint64_t poll,
			    struct flame_function *out, unsigned most,
			    bool *whole);

/* flame_names_type - return the name of a type of tasks, by target_name();
 * names are cached */
const char *flame_names_type(struct flame_names *names, uint64_t type,
			     uint64_t poll);

#endif
