/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* block.h - what the program block and its tool tell each other: that a thread slept in
 * a poll */
#ifndef SKUA_BPF_KERNEL_BLOCK_H
#define SKUA_BPF_KERNEL_BLOCK_H

#include "sample.h"

/* From when on it slept, by CLOCK_MONOTONIC (0: it does not), and until it had a CPU
 * again, if it has one. */
struct block {
	__u64 from_ns;
	__u64 until_ns;
	__u32 tid; /* as gettid() is */
	__u32 before; /* not 0: since before anybody looked: the sample has but registers */
	struct sample sample;
};

#endif
