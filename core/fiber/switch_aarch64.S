/* SPDX-License-Identifier: MIT */
/*
 * switch_aarch64.S - see switch.h; struct saved in switch.c is the frame
 *
 * The switch ends in a return, not in an indirect jump as on x86-64: with branch targets
 * checked (BTI), a jump to a return address would fault.
 */
#ifdef __aarch64__

	.text

/* int fiber_switch(void **from, void *to, int value) */
	.p2align 4
	.globl fiber_switch
	.hidden fiber_switch
	.type fiber_switch, %function
fiber_switch:
	.cfi_startproc
	hint #34 /* bti c */
	sub sp, sp, #176
	.cfi_def_cfa_offset 176
	stp x19, x20, [sp, #0]
	.cfi_offset x19, -176
	.cfi_offset x20, -168
	stp x21, x22, [sp, #16]
	.cfi_offset x21, -160
	.cfi_offset x22, -152
	stp x23, x24, [sp, #32]
	.cfi_offset x23, -144
	.cfi_offset x24, -136
	stp x25, x26, [sp, #48]
	.cfi_offset x25, -128
	.cfi_offset x26, -120
	stp x27, x28, [sp, #64]
	.cfi_offset x27, -112
	.cfi_offset x28, -104
	stp x29, x30, [sp, #80]
	.cfi_offset x29, -96
	.cfi_offset x30, -88
	stp d8, d9, [sp, #96]
	stp d10, d11, [sp, #112]
	stp d12, d13, [sp, #128]
	stp d14, d15, [sp, #144]
	mrs x9, fpcr
	str x9, [sp, #160]
	mov x10, sp
	str x10, [x0]
	mov w0, w2
.Lcontinue:
	ldr x11, [x1, #160]
	cmp x9, x11
	b.eq 1f
	msr fpcr, x11
	/* The frame is laid out like the one that was left. */
1:	mov sp, x1
	ldp x19, x20, [sp, #0]
	ldp x21, x22, [sp, #16]
	ldp x23, x24, [sp, #32]
	ldp x25, x26, [sp, #48]
	ldp x27, x28, [sp, #64]
	ldp x29, x30, [sp, #80]
	ldp d8, d9, [sp, #96]
	ldp d10, d11, [sp, #112]
	ldp d12, d13, [sp, #128]
	ldp d14, d15, [sp, #144]
	add sp, sp, #176
	.cfi_def_cfa_offset 0
	.cfi_restore x30
	ret
	.cfi_endproc
	.size fiber_switch, . - fiber_switch

/* _Noreturn void fiber_switch_last(void *to, int (*then)(void *), void *arg) */
	.p2align 4
	.globl fiber_switch_last
	.hidden fiber_switch_last
	.type fiber_switch_last, %function
fiber_switch_last:
	.cfi_startproc
	hint #34
	mov sp, x0
	.cfi_def_cfa_offset 176
	.cfi_offset x29, -96
	.cfi_offset x30, -88
	mov x19, x0
	mov x0, x2
	blr x1
	mov x1, x19
	mrs x9, fpcr
	b .Lcontinue
	.cfi_endproc
	.size fiber_switch_last, . - fiber_switch_last

/* The first code on a stack: call the function in x19 with the argument in x20. A
 * backtrace ends here, because no frame called this. */
	.p2align 4
	.globl fiber_trampoline
	.hidden fiber_trampoline
	.type fiber_trampoline, %function
fiber_trampoline:
	.cfi_startproc
	.cfi_undefined x30
	hint #34
	mov x0, x20
	blr x19
	brk #0
	.cfi_endproc
	.size fiber_trampoline, . - fiber_trampoline

#ifdef __ARM_FEATURE_BTI_DEFAULT
	.section .note.gnu.property, "a"
	.p2align 3
	.long 4, 16, 5
	.asciz "GNU"
	.long 0xc0000000, 4, 1, 0
#endif
#endif

	.section .note.GNU-stack, "", %progbits
