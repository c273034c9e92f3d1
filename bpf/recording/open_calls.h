/* SPDX-License-Identifier: MIT */
/**
 * open_calls.h - calls of skua_run() that began before the recording
 *
 * Such a call has no event of its begin, and perhaps none at all. The recorder therefore reads
 * the calls that go on from the debug area. A call that ends just when the recording begins may
 * have no event of its end either, so the last time when it was seen counts.
 */
#ifndef SKUA_BPF_RECORDING_OPEN_CALLS_H
#define SKUA_BPF_RECORDING_OPEN_CALLS_H

#include <stdbool.h>

#include "bpf/target/target.h"
#include "probes/trace_file.h"

/* @seen: its until_ns is 0 if the call was seen once. @open: as far as is known, it goes on */
struct open_call {
	struct trace_call seen;
	bool open;
};

/* @calls: by place */
struct open_calls {
	struct open_call calls[AREA_EXTERNALS];
};

/* open_calls_begin - note the calls of @runtime that go on; @stream is the stream of its outside
 * threads */
void open_calls_begin(struct open_calls *calls, struct target *target,
		      const struct target_runtime *runtime, uint32_t stream);

/* open_calls_check - check which of these calls still go on. @runtime: NULL if it has ended.
 * @last: also note the other calls that go on now, as seen at this time */
void open_calls_check(struct open_calls *calls, struct target *target,
		      const struct target_runtime *runtime, uint32_t stream,
		      bool last);

#endif
