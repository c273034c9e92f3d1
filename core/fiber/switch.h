/* SPDX-License-Identifier: MIT */
/**
 * switch.h - leave one stack and continue on another
 *
 * A context is the address of the registers that a switch has saved on the stack that it
 * left. Only the registers that a call preserves are saved, and the control bits of
 * floating-point arithmetic, which the ABI preserves, too. Those are loaded only where
 * they differ: a load takes as long as the whole switch. Sticky flags of exceptions are
 * not control bits, and stay as the last computation left them.
 *
 * A read of the bits (stmxcsr) takes 3.4 ns on a Zen 5, as long as the rest of the switch;
 * fnstcw takes 0.3 ns. So on x86-64, the switch into a fiber relies on what the last switch out of one
 * has left behind, if nothing else has run on the thread since (fiber_poll()). The switch out
 * of a fiber has to read them: its function may have changed them.
 *
 * Rejected: loads without a read and a comparison. On a Zen 5 they take nothing. But on an
 * Ice Lake, each load of other sticky flags takes 25 ns. Rejected: to rely on the bits that
 * the thread had when it became a worker. After a poll that left other bits behind, a fiber
 * would run with those.
 *
 * The switch continues by an indirect jump, because a return would be predicted wrongly
 * each time: the predictor remembers the calls of the other stack (13 ns against 4).
 */
#ifndef SKUA_CORE_FIBER_SWITCH_H
#define SKUA_CORE_FIBER_SWITCH_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "core/base/arithmetic.h"

/**
 * fiber_switch - save the registers, and continue in another context
 * @from: receives the context of the caller
 * @to: the context to continue, which no other thread may continue as well
 * @value: what the switch that saved @to returns
 *
 * Return: the @value of the switch that continues the caller, perhaps on another thread.
 */
int fiber_switch(void **from, void *to, int value)
	__attribute__((visibility("hidden")));

/**
 * fiber_switch_enter - as fiber_switch() with a value of 0, but without a read of the control
 * bits
 * @here: the control bits of the caller, read before and not changed since
 */
#if defined(__x86_64__)
int fiber_switch_enter(void **from, void *to, struct arithmetic here)
	__attribute__((visibility("hidden")));
#else
static inline int fiber_switch_enter(void **from, void *to,
				     struct arithmetic here)
{
	(void)here;
	return fiber_switch(from, to, 0);
}
#endif

/* fiber_context_arithmetic - return the control bits that a switch has saved with the context;
 * where fiber_switch_enter() does not use them, 0 */
static inline struct arithmetic fiber_context_arithmetic(const void *context)
{
	struct arithmetic saved = { 0 };

#if defined(__x86_64__)
	memcpy(&saved, context, sizeof(saved));
#else
	(void)context;
#endif
	return saved;
}

/**
 * fiber_switch_last - continue in another context for good
 * @then: called with @arg on the stack of @to before that continues
 *
 * The switch that saved @to returns what @then returns.
 */
_Noreturn void fiber_switch_last(void *to, int (*then)(void *arg), void *arg)
	__attribute__((visibility("hidden")));

/**
 * fiber_switch_prepare - make the first context of a stack
 * @top: the end of the stack, a multiple of 16
 * @entry: called on that stack with @arg; must not return
 */
void *fiber_switch_prepare(void *top, void (*entry)(void *arg), void *arg);

/* fiber_switch_allowed - false if the processor checks return addresses against a shadow
 * stack, which a switch would have to switch as well */
bool fiber_switch_allowed(void);

#endif
