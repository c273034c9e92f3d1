/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/**
 * sample.h - the data that the program `sample` and its tool exchange
 *
 * A sample describes the work of a thread of the process when a clock of its
 * CPU ticked.
 */
#ifndef SKUA_BPF_PROGRAMS_SAMPLE_H
#define SKUA_BPF_PROGRAMS_SAMPLE_H

#include <linux/types.h>

#define SAMPLE_WORKERS 16384
#define SAMPLE_COMM    16    /* bytes of a thread's name, with the 0 */
#define SAMPLE_KERNEL  127   /* functions of a kernel stack, at most */
#define SAMPLE_STACK   16384 /* bytes of a user stack, at most */
#define SAMPLE_PIECE \
	1024 /* bytes copied at once, while the memory is readable */

/* Addresses of a worker's words in the memory of the process; poll, type and flags: their
 * offsets in a task; fiber: that of the function in a fiber. flags is 0 if the library
 * does not tell of fibers. */
struct sample_worker {
	__u64 tid;
	__u64 state;
	__u64 task;
	__u64 poll;
	__u64 type;
	__u64 flags;
	__u64 fiber;
};

#define SAMPLE_FIBER 2 /* a bit of the flags */

/* The kind of a sampled thread. */
enum sample_of {
	SAMPLE_TASK,
	SAMPLE_STATE,  /* a worker without a task */
	SAMPLE_OTHER,  /* no worker */
	SAMPLE_UNKNOWN /* a worker whose words cannot be read */
};

/* One sample. Only the first @bytes of the stack are sent. */
struct sample {
	__u32 of;     /* enum sample_of */
	__u32 state;  /* enum area_state */
	__u64 type;   /* of the task; 0: none */
	__u64 poll;   /* its poll function, or the function of a fiber */
	__u32 kernel; /* not 0: the thread was in the kernel */
	__u32 bytes;  /* of the stack, from sp on */
	__u64 ip, sp, fp;
	__u64 back; /* return address, if in a register (aarch64) */
	char comm[SAMPLE_COMM];
	__u32 kernel_count; /* of kernel_stack; the innermost is first */
	__u32 reserved;
	__u64 kernel_stack[SAMPLE_KERNEL];
	__u8 stack[SAMPLE_STACK];
};

#endif
