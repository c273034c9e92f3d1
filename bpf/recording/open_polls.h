/* SPDX-License-Identifier: MIT */
/**
 * open_polls.h - polls that had begun before the recording
 *
 * A worker in such a poll notices only at its end that it must record: of a poll that
 * does not end there is no event. It is seen to go on, from outside.
 */
#ifndef SKUA_BPF_RECORDING_OPEN_POLLS_H
#define SKUA_BPF_RECORDING_OPEN_POLLS_H

#include <stdbool.h>

#include "bpf/target/target.h"
#include "probes/trace_file.h"

/**
 * struct open_poll - of a worker
 * @seen: of its times the latter is 0 until it was seen twice
 * @polls: the number of the poll
 * @open: as far as is known it goes on
 */
struct open_poll {
	struct trace_before seen;
	uint64_t polls;
	bool open;
};

/* open_poll_begin - @worker of @runtime may be in a poll; it is that stream */
void open_poll_begin(struct open_poll *before, struct target *target,
		     const struct target_runtime *runtime, unsigned worker,
		     uint32_t stream);

/* open_poll_check - is it still? To be called as long as it is open. @runtime may be NULL:
 * it has gone */
void open_poll_check(struct open_poll *before, struct target *target,
		     const struct target_runtime *runtime, unsigned worker);

#endif
