/* SPDX-License-Identifier: MIT */
/* stack.c - see stack.h */
#include "bpf/waits/stack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The most bytes of a stack that are read. */
#define MAX_BYTES ((size_t)64 << 10)

/* The registers that a fiber saved: PROBES.md. */
#if defined(__x86_64__)
struct saved {
	uint64_t control, r15, r14, r13, r12, rbx, rbp, ip;
};

static struct flame_thread thread_of(uint64_t context, const void *bytes)
{
	struct saved saved;

	memcpy(&saved, bytes, sizeof(saved));
	return (struct flame_thread){
		.ip = saved.ip,
		.sp = context + sizeof(saved),
		.fp = saved.rbp,
	};
}
#elif defined(__aarch64__)
struct saved {
	uint64_t x[12]; /* x19 to x30 */
	uint64_t d[8], fpcr, unused;
};

static struct flame_thread thread_of(uint64_t context, const void *bytes)
{
	struct saved saved;

	memcpy(&saved, bytes, sizeof(saved));
	return (struct flame_thread){
		.ip = saved.x[11],
		.sp = context + sizeof(saved),
		.fp = saved.x[10],
		.back = saved.x[11],
	};
}
#else
struct saved {
	uint64_t none;
};

static struct flame_thread thread_of(uint64_t context, const void *bytes)
{
	(void)context, (void)bytes;
	return (struct flame_thread){ .ip = 0 };
}
#endif

unsigned stack_read(struct target *target, struct flame_names *names,
		    const struct target_fiber *fiber,
		    struct flame_function *out)
{
	uint64_t from = fiber->context, bytes = fiber->high - from;
	struct flame_thread thread;
	unsigned char *copy;
	unsigned count = 0;
	bool whole;

	if (fiber->worker || from < fiber->low || from >= fiber->high ||
	    bytes < sizeof(struct saved))
		return 0;
	if (bytes > MAX_BYTES)
		bytes = MAX_BYTES;
	copy = malloc(bytes);
	if (copy && target_read(target, from, copy, bytes) == 0) {
		thread = thread_of(from, copy);
		thread.stack = copy + sizeof(struct saved);
		thread.bytes = bytes - sizeof(struct saved);
		count = flame_names_unwind(names, &thread, 0, out, STACK_FRAMES,
					   &whole);
	}
	free(copy);
	return count;
}

void stack_print(struct flame_names *names,
		 const struct flame_function *functions, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		struct line line;

		flame_names_line(names, functions[i].address, &line);
		printf("    %s", functions[i].name);
		if (line.number)
			printf("  %s:%d", line.source, line.number);
		printf("\n");
	}
}
