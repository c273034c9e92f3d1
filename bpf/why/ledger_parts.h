/* SPDX-License-Identifier: MIT */
/* ledger_parts.h - the steps of a worker: what it did, in the order of time */
#ifndef SKUA_BPF_LEDGER_PARTS_H
#define SKUA_BPF_LEDGER_PARTS_H

#include "bpf/why/ledger.h"

enum ledger_doing {
	LEDGER_LOST, /* unknown: events are missing */
	LEDGER_BETWEEN,
	LEDGER_ON_WAY, /* just waking up */
	LEDGER_POLL,
	LEDGER_JOB,
	LEDGER_PARK,
	LEDGER_SEARCH, /* a search that found work */
};

/* The activity of a worker from @from_ns until the next step. */
struct ledger_step {
	uint64_t from_ns;
	uint8_t doing; /* enum ledger_doing */
	bool injected; /* it has just taken tasks from the injection queue */
	bool unseen;   /* it began before the recording */
	uint32_t name; /* of a poll or job; of a search: the victim's track */
};

/* The steps of a track. Slices are nested; @open has one of each depth. */
struct ledger_steps {
	struct ledger_step *steps;
	size_t count, room;
	struct ledger_step *open;
	size_t depth, open_room;
	size_t search; /* step of the last search */
	size_t late; /* 1 + index in ledger.lates of the one in progress; 0: none */
	uint32_t tid;
};

#endif
