/* SPDX-License-Identifier: MIT */
/* arithmetic.h - the control bits of floating-point arithmetic, such as the rounding mode */
#ifndef SKUA_CORE_BASE_ARITHMETIC_H
#define SKUA_CORE_BASE_ARITHMETIC_H

#include <stdint.h>

/* As the processor stores them. mxcsr also has the flags of exceptions, which are no control
 * bits. */
struct arithmetic {
#if defined(__x86_64__)
	uint32_t mxcsr;
	uint16_t x87_control;
	uint16_t unused;
#elif defined(__aarch64__)
	uint64_t fpcr;
#endif
};

/* arithmetic_here - read the control bits of the calling thread. On x86-64 this takes 2 to
 * 4 ns (stmxcsr), within which the processor does nothing else. */
static inline struct arithmetic arithmetic_here(void)
{
	struct arithmetic here = { 0 };

#if defined(__x86_64__)
	__asm__ volatile("stmxcsr %0" : "=m"(here.mxcsr));
	__asm__ volatile("fnstcw %0" : "=m"(here.x87_control));
#elif defined(__aarch64__)
	__asm__ volatile("mrs %0, fpcr" : "=r"(here.fpcr));
#endif
	return here;
}

#endif
