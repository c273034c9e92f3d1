/* SPDX-License-Identifier: MIT */
/* waits_print.h - print the waits of a process */
#ifndef SKUA_BPF_WAITS_WAITS_PRINT_H
#define SKUA_BPF_WAITS_WAITS_PRINT_H

#include "bpf/waits/stack.h"
#include "bpf/waits/waits.h"

/* Bytes of the text of a state. */
#define WAITS_STATE (WAITS_WHAT + TARGET_NAME)

/* waits_text, waits_json - print the waits to stdout. @before: an earlier reading, for
 * waits_cycle(). @each: also list each waiter */
void waits_text(const struct waits *waits, const struct waits *before,
		struct flame_names *names, bool each);
void waits_json(const struct waits *waits, const struct waits *before,
		struct flame_names *names);

/* waits_fiber_kind - a number for what a fiber does or waits for */
uint32_t waits_fiber_kind(const struct target_fiber *fiber);

/* waits_fiber_state - write what a fiber does: "running on worker 1", "queued", "waits for
 * mutex 0x.. for 1.2 ms". @text: WAITS_STATE bytes. Return: @text */
const char *waits_fiber_state(const struct waits *waits, uint32_t fiber,
			      char *text);

#endif
