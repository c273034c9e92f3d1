/* SPDX-License-Identifier: MIT */
/**
 * offcpu.h - when threads had no CPU, from the switches in a file
 *
 * The switches come from trace_file.c and are hostile: any numbers, in any order.
 */
#ifndef SKUA_BPF_RECORDING_OFFCPU_H
#define SKUA_BPF_RECORDING_OFFCPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probes/trace_file.h"

enum offcpu_kind {
	OFFCPU_NOT,     /* runs */
	OFFCPU_ASLEEP,  /* waits for an event */
	OFFCPU_WAKING,  /* woken while its CPU was idle, does not run yet */
	OFFCPU_WAITS,   /* runnable, but another thread has its CPU */
	OFFCPU_STOPPED, /* by a signal or a debugger */
	OFFCPU_UNKNOWN, /* not watched, or switches were lost */
};

/**
 * struct offcpu_span - a time in which a thread had no CPU
 * @from_ns, @until_ns: CLOCK_MONOTONIC
 * @kind: enum offcpu_kind
 * @other: with OFFCPU_WAITS: a thread that has its CPU, or 0
 * @comm: with OFFCPU_WAITS: the name of that thread, printable ASCII
 * @left_ns: when it left its CPU, or was woken; differs from @from_ns only if the CPU
 *           went to another thread in between
 * @again_ns: 0, or when the thread left a CPU again although its return was not seen: it
 *            ran for an unknown time in between
 */
struct offcpu_span {
	uint64_t from_ns;
	uint64_t until_ns;
	uint64_t left_ns;
	uint64_t again_ns;
	uint32_t kind;
	uint32_t other;
	char comm[16];
};

struct offcpu_thread;
struct offcpu_epoch;

/* Zero it before the first use. */
struct offcpu {
	struct trace_switch *switches;
	size_t count, room;
	struct offcpu_epoch *epochs; /* times in which no switch is missing */
	size_t epoch_count, epoch_room;
	struct offcpu_span *offs; /* sorted by thread, then by time */
	size_t off_count, off_room;
	struct offcpu_thread *threads; /* sorted by tid */
	size_t thread_count, thread_room;
	uint64_t lost;
	uint64_t unseen; /* returns to a CPU that were not recorded */
};

/* offcpu_span - begin a chunk of switches. Return: 0; -ENOMEM; -EINVAL if its
 * times are impossible: then do not add its switches */
int offcpu_span(struct offcpu *offs, const struct trace_switches *head);

/* offcpu_add - add a switch of the chunk. Return: 0, -ENOMEM */
int offcpu_add(struct offcpu *offs, const struct trace_switch *what);

/* offcpu_settle - compute the spans after all switches were added. Return: 0,
 * -ENOMEM */
int offcpu_settle(struct offcpu *offs);
void offcpu_free(struct offcpu *offs);

/* offcpu_any - return true if threads were watched at any time */
static inline bool offcpu_any(const struct offcpu *offs)
{
	return offs->epoch_count > 0;
}

/**
 * struct offcpu_look - a cursor over the times of a thread, upward
 */
struct offcpu_look {
	const struct offcpu *offs;
	const struct offcpu_span *next, *end;
	size_t epoch;
};

struct offcpu_look offcpu_look(const struct offcpu *offs, uint32_t tid,
			       uint64_t from_ns);

/**
 * offcpu_at - return the state of a thread at a time
 * @ns: not before that of the previous call with this cursor
 * @until_ns: receives the time until which the state lasts
 * @off: receives the span, unless the state is OFFCPU_NOT or OFFCPU_UNKNOWN
 *
 * If switches were not recorded at all, all threads count as running.
 */
enum offcpu_kind offcpu_at(struct offcpu_look *look, uint64_t ns,
			   uint64_t *until_ns, const struct offcpu_span **off);

#endif
