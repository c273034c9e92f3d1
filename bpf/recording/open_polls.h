/* SPDX-License-Identifier: MIT */
/**
 * open_polls.h - polls that began before the recording
 *
 * A worker notices only at the end of such a poll that it must record, so a poll that
 * does not end has no event. This command therefore watches the worker from outside.
 */
#ifndef SKUA_BPF_RECORDING_OPEN_POLLS_H
#define SKUA_BPF_RECORDING_OPEN_POLLS_H

#include <stdbool.h>

#include "bpf/target/target.h"
#include "probes/trace_file.h"

/**
 * struct open_poll - the poll that a worker was in when the recording began
 * @seen: the first and the last time the poll was seen; the last is 0 if it was seen once
 * @polls: the number of the poll
 * @open: as far as is known, the poll still goes on
 */
struct open_poll {
	struct trace_before seen;
	uint64_t polls;
	bool open;
};

/* open_poll_begin - note the poll that @worker of @runtime is in, if any;
 * @stream is the worker's stream */
void open_poll_begin(struct open_poll *before, struct target *target,
		     const struct target_runtime *runtime, unsigned worker,
		     uint32_t stream);

/* open_poll_check - check whether the poll still goes on; call it only while it
 * is open. @runtime: NULL if it has ended */
void open_poll_check(struct open_poll *before, struct target *target,
		     const struct target_runtime *runtime, unsigned worker);

#endif
