/* SPDX-License-Identifier: MIT */
/**
 * boundary.h - no exception passes from the program through the library
 *
 * Functions of the program return to the library. If an exception or
 * pthread_exit() left one of them through the library's frames, their work would
 * stay half done: a task that is being polled for ever, a job whose stack is gone.
 * A function of the library that calls one of the program therefore marks its
 * frame. The unwinder asks each frame whether it has a handler before it unwinds
 * any; a marked frame prints what happened and refuses the search
 * (boundary_report.h). The C++ runtime then calls std::terminate, while the stack
 * still shows the throw. A mark costs no instruction.
 *
 * Rejected: functions with __attribute__((cleanup)), compiled with -fexceptions,
 * which run only if there is a handler further down, and after the stack of the
 * throw is gone; and noexcept in a C++ file, which needs the C++ runtime.
 */
#ifndef SKUA_CORE_BASE_BOUNDARY_H
#define SKUA_CORE_BASE_BOUNDARY_H

/*
 * BOUNDARY - mark the frame of the calling function
 * @kind: which function of the program it calls: one of those that
 *        boundary_report.c lists
 *
 * It stands after the call: then that is no tail call, and the frame is there. A
 * test finds the calls, and refuses those without it: tests/house/boundary.py.
 * 0x1b: the address of the personality routine is relative, in four bytes. The
 * compiler merges the marks of functions that it inlines: a file marks one kind, or
 * has functions that are not inlined into each other.
 */
#ifdef __GCC_HAVE_DWARF2_CFI_ASM
#define BOUNDARY(kind) \
	__asm__ volatile(".cfi_personality 0x1b, boundary_" #kind)
#else
#define BOUNDARY(kind) ((void)0)
#endif

#endif
