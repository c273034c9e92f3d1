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
 * The switch continues by an indirect jump, because a return would be predicted wrongly
 * each time: the predictor remembers the calls of the other stack (13 ns against 4).
 */
#ifndef SKUA_CORE_FIBER_SWITCH_H
#define SKUA_CORE_FIBER_SWITCH_H

#include <stdbool.h>
#include <stdint.h>

/**
 * fiber_switch - save the registers, and continue in another context
 * @from: receives the context of the caller
 * @to: the context to continue, which no other thread may continue as well
 * @value: what the switch that saved @to returns
 *
 * Return: the @value of the switch that continues the caller, perhaps on another thread.
 */
uintptr_t fiber_switch(void **from, void *to, uintptr_t value)
	__attribute__((visibility("hidden")));

/**
 * fiber_switch_prepare - make the first context of a stack
 * @top: the end of the stack, a multiple of 16
 * @entry: called on that stack with the value of the first switch to it; must not return
 */
void *fiber_switch_prepare(void *top, void (*entry)(uintptr_t value));

/* fiber_switch_allowed - false if the processor checks return addresses against a shadow
 * stack, which a switch would have to switch as well */
bool fiber_switch_allowed(void);

#endif
