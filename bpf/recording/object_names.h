/* SPDX-License-Identifier: MIT */
/**
 * object_names.h - the names of locks, of other objects that tasks wait for, and of holders, and
 * the texts of labels, for a recording
 *
 * A name is read when an event first mentions the address. So a holder that has ended by
 * then, or a lock whose memory is used again, may get a wrong name or none.
 */
#ifndef SKUA_BPF_RECORDING_OBJECT_NAMES_H
#define SKUA_BPF_RECORDING_OBJECT_NAMES_H

#include "bpf/recording/addresses.h"
#include "bpf/target/target.h"
#include "probes/events.h"
#include "probes/trace_file.h"

/* The most objects, holders and labels, together, that get a name. */
#define OBJECT_NAMES_MAX 32768u

/* Zero it before the first use. @known: addresses whose names were looked for already;
 * @named: the names of locks, of all runtimes: the numbers are addresses of texts; @heads:
 * where the list of each runtime is, and its first name when it was read; @more: some
 * locks or holders got no name, because there are more than OBJECT_NAMES_MAX. */
struct object_names {
	struct addresses known, named;
	bool more;
	unsigned reads; /* of names and heads, so far */
	struct object_names_head {
		uint64_t list, first;
	} heads[TARGET_MAX_RUNTIMES];
};

/**
 * object_names_write - write the names that an event makes necessary
 * @runtime: of the thread that wrote the event
 *
 * Return: 0; -ENOMEM; the error of the writer.
 */
int object_names_write(struct object_names *names, struct target *target,
		       const struct target_runtime *runtime,
		       struct trace_writer *writer, const struct event *event);

void object_names_free(struct object_names *names);

#endif
