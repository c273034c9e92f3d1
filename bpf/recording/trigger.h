/* SPDX-License-Identifier: MIT */
/**
 * trigger.h - a condition that ends a recording: skua record --last --on
 *
 * The counters of the process are read once a second, and compared with those read one
 * second earlier.
 */
#ifndef SKUA_BPF_TRIGGER_H
#define SKUA_BPF_TRIGGER_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "bpf/target/target.h"

/* Time between two checks. */
#define TRIGGER_NS UINT64_C(1000000000)

struct trigger_runtime; /* the last counters of a runtime */

/**
 * struct trigger - a condition; zero it before trigger_parse()
 * @stall: fires if a stall is reported
 * @polls, @waits: fires if quantile @part of the polls, or of the waits in queues, is
 *                 above @limit_ns
 * @why: after it has fired: the reason, as text
 */
struct trigger {
	bool stall;
	bool polls, waits;
	double part;
	uint64_t limit_ns;
	char why[160];
	struct trigger_runtime *runtimes;
	unsigned count;
	size_t room;
};

/**
 * trigger_parse - parse a condition, from within an option parser
 * @text: stall, or for example p99>2ms, polls:p99.9>500us, waits:p50>1ms
 *
 * Return: 0, or EINVAL after args_refuse().
 */
error_t trigger_parse(struct trigger *trigger, const char *text);

/* trigger_can_come - return false if the condition is a stall, there are
 * runtimes, and none of them has a limit for polls */
bool trigger_can_come(const struct trigger *trigger,
		      const struct target *target);

/**
 * trigger_look - check whether the condition is met. The first check of a runtime only
 * stores its counters
 *
 * Return: 1: it is met; 0: not; -ENOMEM; -ESRCH, as target_take_snapshot().
 */
int trigger_look(struct trigger *trigger, struct target *target);

void trigger_free(struct trigger *trigger);

#endif
