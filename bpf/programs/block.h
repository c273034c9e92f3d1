/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* block.h - the record by which the program `block` reports that a thread slept
 * in a poll */
#ifndef SKUA_BPF_PROGRAMS_BLOCK_H
#define SKUA_BPF_PROGRAMS_BLOCK_H

#include "sample.h"

/* struct block - one sleep
 * @from_ns: when the sleep began, by CLOCK_MONOTONIC; 0: awake
 * @until_ns: when the thread got a CPU again
 * @tid: as its gettid() returns it
 * @before: not 0: it slept already when recording began; the sample has
 *     registers only */
struct block {
	__u64 from_ns;
	__u64 until_ns;
	__u32 tid;
	__u32 before;
	struct sample sample;
};

#endif
