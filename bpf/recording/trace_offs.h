/* SPDX-License-Identifier: MIT */
/**
 * trace_offs.h - when threads had no CPU, of the switches in a file
 *
 * Built of what trace_file.c reads, which is hostile: any numbers, in any order.
 */
#ifndef SKUA_BPF_TRACE_OFFS_H
#define SKUA_BPF_TRACE_OFFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probes/trace_file.h"

enum trace_off_kind {
	TRACE_OFF_NOT,     /* it runs */
	TRACE_OFF_ASLEEP,  /* waits for something */
	TRACE_OFF_WAKING,  /* something came, and its CPU was idle */
	TRACE_OFF_WAITS,   /* it would go on, but another has its CPU */
	TRACE_OFF_STOPPED, /* by a signal, or a debugger */
	TRACE_OFF_UNKNOWN, /* it was not watched, or switches were lost */
};

/**
 * struct trace_off - a thread without a CPU
 * @from_ns, @until_ns: CLOCK_MONOTONIC
 * @kind: enum trace_off_kind
 * @other: if it waits: a thread that has its CPU, or 0
 * @comm: likewise: printable ASCII
 * @left_ns: when it left its CPU, or was woken; @from_ns, unless another got the CPU
 *           since
 * @again_ns: when it left again, and the return between them was not seen: it ran
 *            for a while, nobody knows how long; 0: it was seen
 */
struct trace_off {
	uint64_t from_ns;
	uint64_t until_ns;
	uint64_t left_ns;
	uint64_t again_ns;
	uint32_t kind;
	uint32_t other;
	char comm[16];
};

struct trace_off_thread;
struct trace_off_epoch;

/* Zero it before the first use. */
struct trace_offs {
	struct trace_switch *switches;
	size_t count, room;
	struct trace_off_epoch *epochs; /* in which all switches are there */
	size_t epoch_count, epoch_room;
	struct trace_off *offs; /* by thread, then by time */
	size_t off_count, off_room;
	struct trace_off_thread *threads; /* sorted */
	size_t thread_count, thread_room;
	uint64_t lost;
	uint64_t unseen; /* that must have been, between two others */
};

/* trace_offs_span - a chunk begins; what is impossible is left out, and its
 * switches are then, too. Return: 0; -ENOMEM; -EINVAL */
int trace_offs_span(struct trace_offs *offs, const struct trace_switches *head);

/* trace_offs_add - one of its switches. Return: 0, -ENOMEM */
int trace_offs_add(struct trace_offs *offs, const struct trace_switch *what);

/* trace_offs_settle - all are there. Return: 0, -ENOMEM */
int trace_offs_settle(struct trace_offs *offs);
void trace_offs_free(struct trace_offs *offs);

/* trace_offs_any - was any thread watched at any time? */
static inline bool trace_offs_any(const struct trace_offs *offs)
{
	return offs->epoch_count > 0;
}

/**
 * struct trace_off_look - a thread, whose times are gone through upward
 */
struct trace_off_look {
	const struct trace_offs *offs;
	const struct trace_off *next, *end;
	size_t epoch;
};

struct trace_off_look trace_offs_look(const struct trace_offs *offs,
				      uint32_t tid, uint64_t from_ns);

/**
 * trace_off_at - what it was at that time
 * @ns: not before those of other calls
 * @until_ns: receives until when
 * @off: receives it, if that is not TRACE_OFF_NOT or TRACE_OFF_UNKNOWN
 *
 * Where nobody was watched at all, all run.
 */
enum trace_off_kind trace_off_at(struct trace_off_look *look, uint64_t ns,
				 uint64_t *until_ns,
				 const struct trace_off **off);

#endif
