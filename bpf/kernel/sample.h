/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/**
 * sample.h - what the program sample and its tool tell each other
 *
 * A sample is what a thread of the process did when a clock of its CPU ticked.
 */
#ifndef SKUA_BPF_KERNEL_SAMPLE_H
#define SKUA_BPF_KERNEL_SAMPLE_H

#include <linux/types.h>

#define SAMPLE_FRAMES       127 /* PERF_MAX_STACK_DEPTH: more the kernel refuses */
#define SAMPLE_WORKERS      16384
#define SAMPLE_BUFFER_BYTES (8 << 20)

/* Where words of a worker are in the memory of the process; poll and type, in its
 * task. */
struct sample_worker {
	__u64 tid;
	__u64 state;
	__u64 task;
	__u64 poll;
	__u64 type;
};

/* What the thread is. */
enum sample_of {
	SAMPLE_TASK,
	SAMPLE_STATE,  /* a worker without a task */
	SAMPLE_OTHER,  /* no worker */
	SAMPLE_UNKNOWN /* a worker whose words cannot be read */
};

/* The beginning of a sample; frames follow, the innermost first. */
struct sample {
	__u32 of;     /* enum sample_of */
	__u32 state;  /* enum area_state */
	__u64 type;   /* of the task; 0: none */
	__u64 poll;   /* its poll function */
	__u32 kernel; /* not 0: the kernel worked for the thread */
	__u32 count;  /* of frames */
	__u64 frames[SAMPLE_FRAMES];
};

#endif
