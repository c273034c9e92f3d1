/* SPDX-License-Identifier: MIT */
/**
 * offcpu.h - when threads had no CPU, of the switches in a file
 *
 * Built of what trace_file.c reads, which is hostile: any numbers, in any order.
 */
#ifndef SKUA_BPF_RECORDING_OFFCPU_H
#define SKUA_BPF_RECORDING_OFFCPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probes/trace_file.h"

enum offcpu_kind {
	OFFCPU_NOT,     /* it runs */
	OFFCPU_ASLEEP,  /* waits for something */
	OFFCPU_WAKING,  /* something came, and its CPU was idle */
	OFFCPU_WAITS,   /* it would go on, but another has its CPU */
	OFFCPU_STOPPED, /* by a signal, or a debugger */
	OFFCPU_UNKNOWN, /* it was not watched, or switches were lost */
};

/**
 * struct offcpu_span - a thread without a CPU
 * @from_ns, @until_ns: CLOCK_MONOTONIC
 * @kind: enum offcpu_kind
 * @other: if it waits: a thread that has its CPU, or 0
 * @comm: likewise: printable ASCII
 * @left_ns: when it left its CPU, or was woken; @from_ns, unless another got the CPU
 *           since
 * @again_ns: when it left again, and the return between them was not seen: it ran
 *            for a while, nobody knows how long; 0: it was seen
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
	struct offcpu_epoch *epochs; /* in which all switches are there */
	size_t epoch_count, epoch_room;
	struct offcpu_span *offs; /* by thread, then by time */
	size_t off_count, off_room;
	struct offcpu_thread *threads; /* sorted */
	size_t thread_count, thread_room;
	uint64_t lost;
	uint64_t unseen; /* that must have been, between two others */
};

/* offcpu_span - a chunk begins; what is impossible is left out, and its
 * switches are then, too. Return: 0; -ENOMEM; -EINVAL */
int offcpu_span(struct offcpu *offs, const struct trace_switches *head);

/* offcpu_add - one of its switches. Return: 0, -ENOMEM */
int offcpu_add(struct offcpu *offs, const struct trace_switch *what);

/* offcpu_settle - all are there. Return: 0, -ENOMEM */
int offcpu_settle(struct offcpu *offs);
void offcpu_free(struct offcpu *offs);

/* offcpu_any - was any thread watched at any time? */
static inline bool offcpu_any(const struct offcpu *offs)
{
	return offs->epoch_count > 0;
}

/**
 * struct offcpu_look - a thread, whose times are gone through upward
 */
struct offcpu_look {
	const struct offcpu *offs;
	const struct offcpu_span *next, *end;
	size_t epoch;
};

struct offcpu_look offcpu_look(const struct offcpu *offs, uint32_t tid,
			       uint64_t from_ns);

/**
 * offcpu_at - what it was at that time
 * @ns: not before those of other calls
 * @until_ns: receives until when
 * @off: receives it, if that is not OFFCPU_NOT or OFFCPU_UNKNOWN
 *
 * Where nobody was watched at all, all run.
 */
enum offcpu_kind offcpu_at(struct offcpu_look *look, uint64_t ns,
			   uint64_t *until_ns, const struct offcpu_span **off);

#endif
