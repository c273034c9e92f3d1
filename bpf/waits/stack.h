/* SPDX-License-Identifier: MIT */
/* stack.h - the functions that a suspended fiber is in */
#ifndef SKUA_BPF_WAITS_STACK_H
#define SKUA_BPF_WAITS_STACK_H

#include "bpf/flame/flame_names.h"
#include "bpf/target/target_fibers.h"

#define STACK_FRAMES 64u

/**
 * stack_read - find the functions of a fiber, the innermost first
 * @out: receives at most STACK_FRAMES functions
 *
 * Leaves out the function with which the library suspends the fiber and those that begin
 * its stack.
 *
 * Return: the number of functions; 0: the fiber runs, or its stack cannot be read.
 */
unsigned stack_read(struct target *target, struct flame_names *names,
		    const struct target_fiber *fiber,
		    struct flame_function *out);

/* stack_print - print the functions, each on a line, with their source lines */
void stack_print(struct flame_names *names,
		 const struct flame_function *functions, unsigned count);

#endif
