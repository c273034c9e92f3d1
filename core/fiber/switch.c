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

#else
#error "fibers need a switch for this architecture: core/fiber/switch_*.S"
#endif
