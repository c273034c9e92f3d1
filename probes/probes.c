/* SPDX-License-Identifier: MIT */
/**
 * probes.c - a nop for each probe, and its ELF note
 *
 * The notes have the form that <sys/sdt.h> of SystemTap (version 3) writes, but do not
 * need that header. They are not loaded into memory. The arguments stay in the registers
 * in which they are passed, so that a tracer finds them in the same place with every
 * compiler. The nop has one byte: some kernels may patch a longer one into a call, which
 * would write below the stack of a function without a frame.
 */
#include "probes/probes.h"

#if PROBES_EXIST

#if defined(__x86_64__)
#define ARG1 "rdi"
#define ARG2 "rsi"
#define ARG3 "rdx"
#define ARG4 "rcx"
#define AT   "@%%"
#else
#define ARG1 "x0"
#define ARG2 "x1"
#define ARG3 "x2"
#define ARG4 "x3"
#define AT   "@"
#endif

/*
 * A note has: the lengths of name and content, and the type, 3; the name; the addresses of
 * the nop, of a mark that tells how far a prelinked file was moved, and of the semaphore;
 * then provider, probe and arguments as strings. An argument is its size in bytes,
 * negative if it is signed, and its place.
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

/* The mark: one in a file, even if other libraries in it have probes. */
__asm__(
	"	.pushsection .stapsdt.base, \"aG\", \"progbits\", .stapsdt.base, comdat\n"
	"	.weak _.stapsdt.base\n"
	"	.hidden _.stapsdt.base\n"
	"_.stapsdt.base:\n"
	"	.space 1\n"
	"	.size _.stapsdt.base, 1\n"
	"	.popsection\n");
/* clang-format on */

#define PLACES_1 "8" AT ARG1
#define PLACES_2 PLACES_1 " 8" AT ARG2
#define PLACES_3 PLACES_2 " 8" AT ARG3
#define PLACES_4 PLACES_3 " 8" AT ARG4

/* Register variables hold their values where an asm statement uses them. */
#define IN_REGISTER(name, where, value) \
	register uint64_t name __asm__(where) = (value)

/* Never inlined, so that each probe has one place. */
#define STUB(name, count)                                                     \
	uint16_t skua_##name##_semaphore                                      \
		__attribute__((used, section(".probes")));                    \
	__attribute__((noinline, cold)) void probe_##name##_hit(              \
		uint64_t first, uint64_t second, uint64_t third,              \
		uint64_t fourth)                                              \
	{                                                                     \
		IN_REGISTER(a, ARG1, first);                                  \
		IN_REGISTER(b, ARG2, second);                                 \
		IN_REGISTER(c, ARG3, third);                                  \
		IN_REGISTER(d, ARG4, fourth);                                 \
		__asm__ volatile(NOTE(#name, PLACES_##count)::"r"(a), "r"(b), \
				 "r"(c), "r"(d));                             \
	}

#else

#define STUB(name, count)                                        \
	void probe_##name##_hit(uint64_t first, uint64_t second, \
				uint64_t third, uint64_t fourth) \
	{                                                        \
		(void)first;                                     \
		(void)second;                                    \
		(void)third;                                     \
		(void)fourth;                                    \
	}

#endif

PROBES(STUB)
