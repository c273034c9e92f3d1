/* SPDX-License-Identifier: MIT */
/**
 * target_fibers.h - the fibers of a process, and what they wait for
 *
 * Read from the stacks that the debug area lists, so the program needs no help: it may be
 * stripped, and may have stopped before anybody looked. As the process runs meanwhile,
 * each fiber is read at a moment of its own.
 */
#ifndef SKUA_BPF_TARGET_TARGET_FIBERS_H
#define SKUA_BPF_TARGET_TARGET_FIBERS_H

#include "bpf/target/target.h"

/* The most fibers of a process that are read; the others are left out. */
#define TARGET_MAX_FIBERS 102400u

/* A waiter or a holder. */
struct target_party {
	uint64_t task; /* its address; 0: it is a thread, or nobody */
	uint64_t
		thread; /* address of its struct area_thread; 0: it is a task, or nobody */
};

/**
 * struct target_wait - a wait, as it was read
 * @address: of its struct area_armed; 0: none
 * @armed, @verb: copies; @verb.kind is below AREA_WAITS_COUNT
 */
struct target_wait {
	uint64_t address;
	struct area_armed armed;
	struct area_verb verb;
};

/**
 * struct target_fiber - a fiber that has a stack
 * @address: of the fiber and its task
 * @runtime: number of the runtime (target_runtime())
 * @worker: the index + 1 of the worker that polls it; 0: none does
 * @type, @fn: addresses of its type, or 0, and of its function
 * @label: address of its label, a text; 0: none
 * @state: AREA_STATE_... bits
 * @context: address of its saved registers
 * @low, @high: its stack
 * @wait: @wait.address is 0 if it does not wait, or waits for a waker of the program
 */
struct target_fiber {
	uint64_t address;
	unsigned runtime;
	unsigned worker;
	uint64_t type, fn, label;
	uint64_t state;
	uint64_t context;
	uint64_t low, high;
	struct target_wait wait;
};

struct target_fibers {
	uint64_t at_ns; /* CLOCK_MONOTONIC, before the read */
	struct target_fiber *list;
	unsigned count;
	bool more;  /* some were left out */
	bool known; /* the library tells of its fibers */
};

/**
 * target_fibers_read - read the fibers of all runtimes of a process
 * @out: release it with target_fibers_free(), also after a failure
 *
 * Return: also -EAGAIN (runtimes came or went, or a list of stacks changed at each
 * attempt to read it: call target_refresh() and try again).
 */
int target_fibers_read(struct target *target, struct target_fibers *out);
void target_fibers_free(struct target_fibers *fibers);

/* target_read_wait - read the wait at an address. Return: false: there is none */
bool target_read_wait(struct target *target, uint64_t address,
		      struct target_wait *out);

/* target_party - the waiter or holder that a word names */
struct target_party target_party(uint64_t word);

#endif
