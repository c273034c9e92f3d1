/* SPDX-License-Identifier: MIT */
/* ledger_parts.h - what a worker did, one thing behind the other */
#ifndef SKUA_BPF_LEDGER_PARTS_H
#define SKUA_BPF_LEDGER_PARTS_H

#include "bpf/why/ledger.h"

enum ledger_doing {
	LEDGER_LOST, /* nothing is known of it */
	LEDGER_BETWEEN,
	LEDGER_ON_WAY, /* it slept before */
	LEDGER_POLL,
	LEDGER_JOB,
	LEDGER_PARK,
	LEDGER_SEARCH, /* that found something */
};

/* From then to the next. */
struct ledger_step {
	uint64_t from_ns;
	uint8_t doing; /* enum ledger_doing */
	bool injected; /* it has just taken from the injection queue */
	bool unseen;   /* it began before it was looked at */
	uint32_t name; /* of a poll or job; of a search: the victim's track */
};

/* Slices are in slices: one of each depth is open. */
struct ledger_steps {
	struct ledger_step *steps;
	size_t count, room;
	struct ledger_step *open;
	size_t depth, open_room;
	size_t search; /* the step of the last one */
	size_t late;   /* behind that of ledger.lates which it is in; 0: none */
	uint32_t tid;
};

#endif
