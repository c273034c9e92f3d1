/* SPDX-License-Identifier: MIT */
/* switch.c - see switch.h */
#include "core/fiber/switch.h"

#include <string.h>

/* Where a new stack begins: switch_<architecture>.S. */
void fiber_trampoline(void) __attribute__((visibility("hidden")));

#if defined(__x86_64__)

/* The words that fiber_switch() pushes, the lowest address first. */
struct saved {
	uint32_t mxcsr;
	uint16_t x87_control;
	uint16_t unused;
	uint64_t r15, r14, r13, r12, rbx, rbp;
	uint64_t continue_at;
};

void *fiber_switch_prepare(void *top, void (*entry)(void *arg), void *arg)
{
	struct saved *saved = (struct saved *)top - 1;

	memset(saved, 0, sizeof(*saved));
	/* A fiber begins with the settings of the thread that first polls it. */
	__asm__ volatile("stmxcsr %0" : "=m"(saved->mxcsr));
	__asm__ volatile("fnstcw %0" : "=m"(saved->x87_control));
	saved->rbx = (uintptr_t)entry;
	saved->r12 = (uintptr_t)arg;
	saved->continue_at = (uintptr_t)fiber_trampoline;
	return saved;
}

bool fiber_switch_allowed(void)
{
	uint64_t shadow = 0;

	/* rdsspq: leaves the register as it is if there is no shadow stack. */
	__asm__ volatile(".byte 0xf3, 0x48, 0x0f, 0x1e, 0xc8" : "+a"(shadow));
	return shadow == 0;
}

#elif defined(__aarch64__)

/* The frame of fiber_switch(). */
struct saved {
	uint64_t x[12]; /* x19 to x30 */
	uint64_t d[8];  /* d8 to d15 */
	uint64_t fpcr;
	uint64_t unused;
};

_Static_assert(sizeof(struct saved) == 176, "as in switch_aarch64.S");

void *fiber_switch_prepare(void *top, void (*entry)(void *arg), void *arg)
{
	struct saved *saved = (struct saved *)top - 1;

	memset(saved, 0, sizeof(*saved));
	__asm__ volatile("mrs %0, fpcr" : "=r"(saved->fpcr));
	saved->x[0] = (uintptr_t)entry;
	saved->x[1] = (uintptr_t)arg;
	saved->x[11] = (uintptr_t)fiber_trampoline;
	return saved;
}

bool fiber_switch_allowed(void)
{
	/* Shadow stacks of aarch64 (GCS) are off unless the program asks for them; a
	 * program with code that is not marked for them cannot. */
	return true;
}

#else
/* A build error, because a library that lacks a part of its interface would surprise at
 * run time. */
#error "fibers need a switch for this architecture: core/fiber/switch_*.S"
#endif
