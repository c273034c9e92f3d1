/* SPDX-License-Identifier: MIT */
/**
 * probes.c - the nops, and the notes on them
 *
 * The notes are what <sys/sdt.h> of SystemTap would write (version 3), without
 * needing it. They are no part of what is loaded. The arguments are kept in
 * the registers in which they are passed, so that a tracer finds them in the
 * same place whoever compiled this. A nop of one byte: a longer one may be
 * patched into a call by some kernels, which would write below the stack of a
 * function that has no frame.
 */
#include "probes/probes.h"

#if PROBES_EXIST

#if defined(__x86_64__)
#define ARG1 "rdi"
#define ARG2 "rsi"
#define ARG3 "rdx"
#define AT   "@%%"
#else
#define ARG1 "x0"
#define ARG2 "x1"
#define ARG3 "x2"
#define AT   "@"
#endif

/*
 * A note: the lengths of name and content, and the type, 3; the name; the
 * addresses of the nop, of a mark that tells by how much a prelinked file was
 * moved, and of the semaphore; provider, probe and arguments as strings. An
 * argument is its size in bytes, negative if it is signed, and its place.
 */
/* clang-format off */
#define NOTE(name, arguments) \
	"990:	nop\n" \
	"	.pushsection .note.stapsdt, \"\", \"note\"\n" \
	"	.balign 4\n" \
	"	.4byte 992f - 991f, 994f - 993f, 3\n" \
	"991:	.asciz \"stapsdt\"\n" \
	"992:	.balign 4\n" \
	"993:	.8byte 990b\n" \
	"	.8byte _.stapsdt.base\n" \
	"	.8byte skua_" name "_semaphore\n" \
	"	.asciz \"skua\"\n" \
	"	.asciz \"" name "\"\n" \
	"	.asciz \"" arguments "\"\n" \
	"994:	.balign 4\n" \
	"	.popsection\n"

/* The mark: one in a file, whoever else has probes. */
__asm__(
	"	.pushsection .stapsdt.base, \"aG\", \"progbits\", .stapsdt.base, comdat\n"
	"	.weak _.stapsdt.base\n"
	"	.hidden _.stapsdt.base\n"
	"_.stapsdt.base:\n"
	"	.space 1\n"
	"	.size _.stapsdt.base, 1\n"
	"	.popsection\n");
/* clang-format on */

#define SEMAPHORE(name)                  \
	uint16_t skua_##name##_semaphore \
		__attribute__((used, section(".probes")))

/* Not to be inlined, so that each probe has one place. */
#define OUT_OF_LINE __attribute__((noinline, cold))

/* The registers hold what they are set to where an asm takes them. */
#define IN_REGISTER(type, name, where, value) \
	register type name __asm__(where) = (value)

SEMAPHORE(steal);
SEMAPHORE(park);
SEMAPHORE(unpark);
SEMAPHORE(overflow);

OUT_OF_LINE void probe_steal_hit(uint64_t thief, uint64_t victim, uint64_t n)
{
	IN_REGISTER(uint64_t, a, ARG1, thief);
	IN_REGISTER(uint64_t, b, ARG2, victim);
	IN_REGISTER(uint64_t, c, ARG3, n);

	__asm__ volatile(
		NOTE("steal", "8" AT ARG1 " 8" AT ARG2 " 8" AT ARG3)::"r"(a),
		"r"(b), "r"(c));
}

OUT_OF_LINE void probe_park_hit(uint64_t worker, uint64_t reason)
{
	IN_REGISTER(uint64_t, a, ARG1, worker);
	IN_REGISTER(uint64_t, b, ARG2, reason);

	__asm__ volatile(NOTE("park", "8" AT ARG1 " 8" AT ARG2)::"r"(a),
			 "r"(b));
}

OUT_OF_LINE void probe_unpark_hit(uint64_t worker, uint64_t parked_ns,
				  uint64_t waker)
{
	IN_REGISTER(uint64_t, a, ARG1, worker);
	IN_REGISTER(uint64_t, b, ARG2, parked_ns);
	IN_REGISTER(uint64_t, c, ARG3, waker);

	__asm__ volatile(
		NOTE("unpark", "8" AT ARG1 " 8" AT ARG2 " 8" AT ARG3)::"r"(a),
		"r"(b), "r"(c));
}

OUT_OF_LINE void probe_overflow_hit(uint64_t worker, uint64_t n)
{
	IN_REGISTER(uint64_t, a, ARG1, worker);
	IN_REGISTER(uint64_t, b, ARG2, n);

	__asm__ volatile(NOTE("overflow", "8" AT ARG1 " 8" AT ARG2)::"r"(a),
			 "r"(b));
}

#else

void probe_steal_hit(uint64_t thief, uint64_t victim, uint64_t n)
{
	(void)thief;
	(void)victim;
	(void)n;
}

void probe_park_hit(uint64_t worker, uint64_t reason)
{
	(void)worker;
	(void)reason;
}

void probe_unpark_hit(uint64_t worker, uint64_t parked_ns, uint64_t waker)
{
	(void)worker;
	(void)parked_ns;
	(void)waker;
}

void probe_overflow_hit(uint64_t worker, uint64_t n)
{
	(void)worker;
	(void)n;
}

#endif
