/* SPDX-License-Identifier: MIT */
/**
 * trigger.h - a condition that ends a recording: skua record --last --on
 *
 * The counters of the process are read once a second, and compared with those of
 * the second before.
 */
#ifndef SKUA_BPF_TRIGGER_H
#define SKUA_BPF_TRIGGER_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "bpf/target/target.h"

/* Between two looks. */
#define TRIGGER_NS UINT64_C(1000000000)

struct trigger_runtime; /* what was seen of a runtime */

/**
 * struct trigger - zero it before trigger_parse()
 * @stall: a poll is reported as a stall
 * @polls, @waits: this part of the polls, or of the waits in queues, takes longer
 *         than @limit_ns
 * @why: once it has fired: what was seen
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
 * trigger_parse - in a parser: a condition
 * @text: stall, or as p99>2ms, polls:p99.9>500us, waits:p50>1ms
 *
 * Return: 0, or EINVAL after args_refuse().
 */
error_t trigger_parse(struct trigger *trigger, const char *text);

/* trigger_can_come - false: stalls are waited for, and no runtime has a limit */
bool trigger_can_come(const struct trigger *trigger,
		      const struct target *target);

/**
 * trigger_look - has it come? The first look only sees how things are
 *
 * Return: 1: it has; 0; -ENOMEM; -ESRCH as target_take_snapshot().
 */
int trigger_look(struct trigger *trigger, struct target *target);

void trigger_free(struct trigger *trigger);

#endif
