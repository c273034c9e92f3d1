/* SPDX-License-Identifier: MIT */
/**
 * boundary.h - let no exception pass from the program through the library
 *
 * A function of the program that the library calls must return. If an exception
 * or pthread_exit() left such a function through the library's frames, the
 * library's work would stay half done: a task would remain in its poll for
 * ever, or a thief would run a job whose stack is gone. Therefore each library
 * function that calls a function of the program marks its own frame. The
 * unwinder asks each frame whether it has a handler before it unwinds any. A
 * marked frame prints what happened and refuses the search (boundary_report.h).
 * For an exception, the C++ runtime then calls std::terminate, while the stack
 * still shows the throw; for pthread_exit(), the frame aborts the process. A
 * mark costs no instruction.
 *
 * Rejected: functions with __attribute__((cleanup)), compiled with
 * -fexceptions: they run only if an outer frame has a handler, and only after
 * the stack of the throw is gone. Also rejected: noexcept functions in a C++
 * file, which need the C++ runtime.
 */
#ifndef SKUA_CORE_BASE_BOUNDARY_H
#define SKUA_CORE_BASE_BOUNDARY_H

/*
 * BOUNDARY - mark the frame of the calling function
 * @kind: which function of the program it calls: one of the kinds that
 *        boundary_report.c lists
 *
 * Write it after the call: the call is then no tail call, so the frame exists
 * while the program's function runs. tests/house/boundary.py finds calls
 * without a mark.
 *
 * 0x1b: the address of the personality routine is relative and has four bytes.
 * The compiler merges the marks of functions that it inlines. So a file uses
 * only one kind, or its functions with different kinds are not inlined into
 * each other.
 */
#ifdef __GCC_HAVE_DWARF2_CFI_ASM
#define BOUNDARY(kind) \
	__asm__ volatile(".cfi_personality 0x1b, boundary_" #kind)
#else
#define BOUNDARY(kind) ((void)0)
#endif

#endif
