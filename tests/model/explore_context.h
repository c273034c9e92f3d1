/* SPDX-License-Identifier: MIT */
/**
 * explore_context.h - switch between stacks
 *
 * An execution switches some dozen times and lasts a few microseconds. x86-64 and AArch64
 * therefore have their own switch of about 2 ns, which saves only the callee-saved
 * registers. Elsewhere, or with -DEXPLORE_UCONTEXT, <ucontext.h> is used: it makes a system
 * call for each switch, and is some hundred times slower.
 */
#ifndef SKUA_TESTS_MODEL_EXPLORE_CONTEXT_H
#define SKUA_TESTS_MODEL_EXPLORE_CONTEXT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if !defined(EXPLORE_UCONTEXT) && \
	((defined(__x86_64__) && defined(__LP64__)) || defined(__aarch64__))

struct registers {
	void *stack_pointer;
};

/* Save the caller's registers on its stack, and its stack pointer in *from;
 * continue on the stack @to. */
void context_swap(void **from, void *to);

#ifdef __x86_64__
#define CONTEXT_WORDS 8 /* r15 r14 r13 r12 rbx rbp, return address, padding */
#define CONTEXT_ENTRY 6
__asm__(".text\n"
	".globl context_swap\n"
	".type context_swap,@function\n"
	"context_swap:\n"
	"	push %rbp\n"
	"	push %rbx\n"
	"	push %r12\n"
	"	push %r13\n"
	"	push %r14\n"
	"	push %r15\n"
	"	mov %rsp,(%rdi)\n"
	"	mov %rsi,%rsp\n"
	"	pop %r15\n"
	"	pop %r14\n"
	"	pop %r13\n"
	"	pop %r12\n"
	"	pop %rbx\n"
	"	pop %rbp\n"
	"	ret\n"
	".size context_swap,.-context_swap\n");
#else
#define CONTEXT_WORDS 20 /* x19-x30, d8-d15 */
#define CONTEXT_ENTRY 11 /* x30, the return address */
__asm__(".text\n"
	".globl context_swap\n"
	".type context_swap,%function\n"
	"context_swap:\n"
	"	sub sp, sp, #160\n"
	"	stp x19, x20, [sp, #0]\n"
	"	stp x21, x22, [sp, #16]\n"
	"	stp x23, x24, [sp, #32]\n"
	"	stp x25, x26, [sp, #48]\n"
	"	stp x27, x28, [sp, #64]\n"
	"	stp x29, x30, [sp, #80]\n"
	"	stp d8, d9, [sp, #96]\n"
	"	stp d10, d11, [sp, #112]\n"
	"	stp d12, d13, [sp, #128]\n"
	"	stp d14, d15, [sp, #144]\n"
	"	mov x9, sp\n"
	"	str x9, [x0]\n"
	"	mov sp, x1\n"
	"	ldp x19, x20, [sp, #0]\n"
	"	ldp x21, x22, [sp, #16]\n"
	"	ldp x23, x24, [sp, #32]\n"
	"	ldp x25, x26, [sp, #48]\n"
	"	ldp x27, x28, [sp, #64]\n"
	"	ldp x29, x30, [sp, #80]\n"
	"	ldp d8, d9, [sp, #96]\n"
	"	ldp d10, d11, [sp, #112]\n"
	"	ldp d12, d13, [sp, #128]\n"
	"	ldp d14, d15, [sp, #144]\n"
	"	add sp, sp, #160\n"
	"	ret\n"
	".size context_swap,.-context_swap\n");
#endif

static inline void registers_switch(struct registers *from,
				    struct registers *to)
{
	context_swap(&from->stack_pointer, to->stack_pointer);
}

static inline void registers_make(struct registers *registers, void *stack,
				  size_t bytes, void (*entry)(void))
{
	uintptr_t top = ((uintptr_t)stack + bytes) & ~(uintptr_t)15;
	uintptr_t *frame = (uintptr_t *)top - CONTEXT_WORDS;

	memset(frame, 0, CONTEXT_WORDS * sizeof(*frame));
	frame[CONTEXT_ENTRY] = (uintptr_t)entry;
	registers->stack_pointer = frame;
}

#else

#include <ucontext.h>

struct registers {
	ucontext_t saved;
};

static inline void registers_switch(struct registers *from,
				    struct registers *to)
{
	swapcontext(&from->saved, &to->saved);
}

static inline void registers_make(struct registers *registers, void *stack,
				  size_t bytes, void (*entry)(void))
{
	getcontext(&registers->saved);
	registers->saved.uc_stack.ss_sp = stack;
	registers->saved.uc_stack.ss_size = bytes;
	registers->saved.uc_link = NULL;
	makecontext(&registers->saved, entry, 0);
}

#endif

/* AddressSanitizer must be told which stack is in use. */
#if defined(__SANITIZE_ADDRESS__)
#define CONTEXT_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CONTEXT_ASAN 1
#endif
#endif

#ifdef CONTEXT_ASAN
#include <sanitizer/asan_interface.h>
#else
#define ASAN_UNPOISON_MEMORY_REGION(address, bytes)         ((void)0)
#define __sanitizer_start_switch_fiber(fake, stack, bytes)  ((void)(fake))
#define __sanitizer_finish_switch_fiber(fake, stack, bytes) ((void)(stack))
#endif

struct context {
	struct registers registers;
	const void *stack; /* the driver's is known after the first switch */
	size_t bytes;
	struct context *left; /* the context that switched here */
};

/* context_make - prepare @context: the first switch to it calls @entry, which must begin
 * with context_arrive() and never return */
static inline void context_make(struct context *context, void *stack,
				size_t bytes, void (*entry)(void))
{
	context->stack = stack;
	context->bytes = bytes;
	ASAN_UNPOISON_MEMORY_REGION(stack, bytes); /* of abandoned frames */
	registers_make(&context->registers, stack, bytes, entry);
}

static inline void context_arrive(struct context *context, void *fake)
{
	__sanitizer_finish_switch_fiber(fake, &context->left->stack,
					&context->left->bytes);
	(void)context;
	(void)fake;
}

static inline void context_switch(struct context *from, struct context *to)
{
	void *fake = NULL;

	to->left = from;
	__sanitizer_start_switch_fiber(&fake, to->stack, to->bytes);
	registers_switch(&from->registers, &to->registers);
	context_arrive(from, fake);
}

#endif
