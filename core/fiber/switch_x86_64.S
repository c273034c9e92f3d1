/* SPDX-License-Identifier: MIT */
/* switch_x86_64.S - see switch.h; struct saved in switch.c is what it pushes */
#ifdef __x86_64__

	.text

/* int fiber_switch(void **from, void *to, int value) */
	.p2align 4
	.globl fiber_switch
	.hidden fiber_switch
	.type fiber_switch, @function
fiber_switch:
	.cfi_startproc
	endbr64
	pushq %rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset rbp, 0
	pushq %rbx
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset rbx, 0
	pushq %r12
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset r12, 0
	pushq %r13
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset r13, 0
	pushq %r14
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset r14, 0
	pushq %r15
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset r15, 0
	subq $8, %rsp
	.cfi_adjust_cfa_offset 8
.Lread: /* fiber_switch_enter() may go on here. */
	stmxcsr (%rsp)
	fnstcw 4(%rsp)
	movq %rsp, (%rdi)
	movl %edx, %eax
	/* 0xffc0: the control bits. The others are the flags of exceptions. */
	movl (%rsp), %ecx
	xorl (%rsi), %ecx
	testl $0xffc0, %ecx
	jnz .Lload_mxcsr
.Lcompare_x87:
	movzwl 4(%rsp), %ecx
	cmpw 4(%rsi), %cx
	jne .Lload_x87
.Lcontinue:
	/* The frame is laid out like the one that was left. */
	movq %rsi, %rsp
	addq $8, %rsp
	.cfi_adjust_cfa_offset -8
	popq %r15
	.cfi_adjust_cfa_offset -8
	.cfi_restore r15
	popq %r14
	.cfi_adjust_cfa_offset -8
	.cfi_restore r14
	popq %r13
	.cfi_adjust_cfa_offset -8
	.cfi_restore r13
	popq %r12
	.cfi_adjust_cfa_offset -8
	.cfi_restore r12
	popq %rbx
	.cfi_adjust_cfa_offset -8
	.cfi_restore rbx
	popq %rbp
	.cfi_adjust_cfa_offset -8
	.cfi_restore rbp
	popq %rcx
	.cfi_adjust_cfa_offset -8
	.cfi_register rip, rcx
	/* Without tracking: a return address has no endbr64. */
	notrack jmp *%rcx
	.cfi_endproc

/* The slow part apart: it is the same frame as before .Lcontinue. */
	.p2align 4
.Lrare:
	.cfi_startproc
	.cfi_def_cfa_offset 64
	.cfi_offset rip, -8
	.cfi_offset rbp, -16
	.cfi_offset rbx, -24
	.cfi_offset r12, -32
	.cfi_offset r13, -40
	.cfi_offset r14, -48
	.cfi_offset r15, -56
.Lload_mxcsr:
	/* The control bits of the context, and the flags as they are. */
	movl (%rsi), %ecx
	xorl (%rsp), %ecx
	andl $0xffc0, %ecx
	xorl (%rsp), %ecx
	movl %ecx, -8(%rsp)
	ldmxcsr -8(%rsp)
	jmp .Lcompare_x87
.Lload_x87:
	fldcw 4(%rsi)
	jmp .Lcontinue
	.cfi_endproc
	.size fiber_switch, . - fiber_switch

/* int fiber_switch_enter(void **from, void *to, struct arithmetic here)
 *
 * The same frame as that of fiber_switch(), with the control bits from @here. If those of
 * @to differ, the caller's are read after all, because the flags of exceptions are kept. */
	.p2align 4
	.globl fiber_switch_enter
	.hidden fiber_switch_enter
	.type fiber_switch_enter, @function
fiber_switch_enter:
	.cfi_startproc
	endbr64
	pushq %rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset rbp, 0
	pushq %rbx
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset rbx, 0
	pushq %r12
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset r12, 0
	pushq %r13
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset r13, 0
	pushq %r14
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset r14, 0
	pushq %r15
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset r15, 0
	pushq %rdx
	.cfi_adjust_cfa_offset 8
	movq %rsp, (%rdi)
	xorl %eax, %eax
	movq (%rsi), %rcx
	xorq %rdx, %rcx
	/* The control bits of both words. */
	movabsq $0xffff0000ffc0, %rdx
	testq %rdx, %rcx
	jnz .Lread_after_all
	movq %rsi, %rsp
	addq $8, %rsp
	.cfi_adjust_cfa_offset -8
	popq %r15
	.cfi_adjust_cfa_offset -8
	.cfi_restore r15
	popq %r14
	.cfi_adjust_cfa_offset -8
	.cfi_restore r14
	popq %r13
	.cfi_adjust_cfa_offset -8
	.cfi_restore r13
	popq %r12
	.cfi_adjust_cfa_offset -8
	.cfi_restore r12
	popq %rbx
	.cfi_adjust_cfa_offset -8
	.cfi_restore rbx
	popq %rbp
	.cfi_adjust_cfa_offset -8
	.cfi_restore rbp
	popq %rcx
	.cfi_adjust_cfa_offset -8
	.cfi_register rip, rcx
	notrack jmp *%rcx
	.cfi_endproc
	.size fiber_switch_enter, . - fiber_switch_enter

	.p2align 4
.Lread_after_all:
	.cfi_startproc
	.cfi_def_cfa_offset 64
	.cfi_offset rip, -8
	.cfi_offset rbp, -16
	.cfi_offset rbx, -24
	.cfi_offset r12, -32
	.cfi_offset r13, -40
	.cfi_offset r14, -48
	.cfi_offset r15, -56
	xorl %edx, %edx
	jmp .Lread
	.cfi_endproc

/* _Noreturn void fiber_switch_last(void *to, int (*then)(void *), void *arg)
 *
 * The frames of @to are unwound from its saved registers, as a call of it. */
	.p2align 4
	.globl fiber_switch_last
	.hidden fiber_switch_last
	.type fiber_switch_last, @function
fiber_switch_last:
	.cfi_startproc
	endbr64
	movq %rdi, %rsp
	.cfi_def_cfa_offset 64
	.cfi_offset rip, -8
	.cfi_offset rbp, -16
	.cfi_offset rbx, -24
	.cfi_offset r12, -32
	.cfi_offset r13, -40
	.cfi_offset r14, -48
	.cfi_offset r15, -56
	movq %rdi, %rbx
	movq %rdx, %rdi
	call *%rsi
	/* As at the end of fiber_switch(), where the registers of the frame that was left
	 * are those of the processor. */
	movq %rbx, %rsi
	movl (%rsi), %edx
	movzwl 4(%rsi), %r8d
	stmxcsr -8(%rsp)
	movl -8(%rsp), %ecx
	xorl %edx, %ecx
	testl $0xffc0, %ecx
	jz 1f
	andl $0xffc0, %ecx
	xorl %ecx, -8(%rsp)
	ldmxcsr -8(%rsp)
1:	fnstcw -8(%rsp)
	cmpw -8(%rsp), %r8w
	je 2f
	fldcw 4(%rsi)
2:	jmp .Lcontinue
	.cfi_endproc
	.size fiber_switch_last, . - fiber_switch_last

/* The first code on a stack: call the function in rbx with the argument in r12. A
 * backtrace ends here, because no frame called this. */
	.p2align 4
	.globl fiber_trampoline
	.hidden fiber_trampoline
	.type fiber_trampoline, @function
fiber_trampoline:
	.cfi_startproc
	.cfi_undefined rip
	endbr64
	movq %r12, %rdi
	xorl %ebp, %ebp
	call *%rbx
	ud2
	.cfi_endproc
	.size fiber_trampoline, . - fiber_trampoline

#if defined(__CET__) && (__CET__ & 1)
/* Indirect branches may be checked (IBT). Shadow stacks are not supported. */
	.section .note.gnu.property, "a"
	.p2align 3
	.long 4, 16, 5
	.asciz "GNU"
	.long 0xc0000002, 4, 1, 0
#endif
#endif

	.section .note.GNU-stack, "", @progbits
