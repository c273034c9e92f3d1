/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* block.h - what the program block and its tool tell each other: that a thread slept in
 * a poll */
#ifndef SKUA_BPF_PROGRAMS_BLOCK_H
#define SKUA_BPF_PROGRAMS_BLOCK_H

#include "sample.h"

/* @from_ns: when the sleep began, by CLOCK_MONOTONIC; 0: awake. @until_ns: when the
 * thread got a CPU again. */
struct block {
	__u64 from_ns;
	__u64 until_ns;
	__u32 tid;    /* as gettid() is */
	__u32 before; /* not 0: it slept before; the sample has registers only */
	struct sample sample;
};

#endif
