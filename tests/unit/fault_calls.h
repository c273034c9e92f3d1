/* SPDX-License-Identifier: MIT */
/* fault_calls.h - choose the faults of a test (tests/faults/), and go on after them */
#ifndef SKUA_TESTS_UNIT_FAULT_CALLS_H
#define SKUA_TESTS_UNIT_FAULT_CALLS_H

#include "tests/faults/io_faults.h"
#include "tests/unit/pairs.h"

#define BIT(kind) (1u << IO_FAULT_##kind)
#define HIDDEN    (BIT(EINTR) | BIT(EAGAIN) | BIT(SHORT) | BIT(ACCEPT))
#define ALL       (HIDDEN | BIT(MEMORY))

/* SKUA_TEST_SET=long: 100 times as much as under a sanitizer, else four times. */
static inline unsigned size_factor(void)
{
	const char *set = getenv("SKUA_TEST_SET");

	if (set && strcmp(set, "long") == 0)
		return 100;
	return SANITIZED ? 1 : 4;
}

/* The kinds of faults of a test, and how many of each there were before it. */
static unsigned kinds;
static uint64_t made_before[IO_FAULT_KINDS];

static inline void faults_begin(unsigned chosen, uint32_t seed)
{
	kinds = chosen;
	for (unsigned i = 0; i < IO_FAULT_KINDS; i++)
		made_before[i] = io_faults_made(i);
	io_faults_set(chosen, seed);
}

/* @expected: kinds of which the test must have had one */
static inline void faults_end(unsigned expected)
{
	io_faults_set(0, 0);
	for (unsigned i = 0; i < IO_FAULT_KINDS; i++)
		if (expected & kinds & 1u << i)
			assert_true(io_faults_made(i) > made_before[i]);
}

/* Is it an error that the caller learns of, and after which it can go on? */
static inline bool is_fault(ssize_t code)
{
	return (kinds & BIT(MEMORY)) &&
	       (code == -ENOMEM || code == -ENOBUFS || code == -ENOSPC ||
		code == -EMFILE || code == -EADDRNOTAVAIL);
}

/* attach_at_last - attach a descriptor, and again after each fault */
static inline int attach_at_last(struct skua_runtime *rt, int fd,
				 struct skua_io *io)
{
	int code;

	do
		code = skua_io_attach(rt, fd, 0, io);
	while (is_fault(code));
	return code;
}

#endif
