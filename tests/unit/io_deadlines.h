/* SPDX-License-Identifier: MIT */
/* io_deadlines.h - a deadline, and a read, of tests of descriptors */
#ifndef SKUA_TESTS_UNIT_IO_DEADLINES_H
#define SKUA_TESTS_UNIT_IO_DEADLINES_H

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/uio.h>

#include "skua/fork.h"
#include "tests/unit/pairs.h"

#define SOON_NS UINT64_C(3000000)

static inline uint64_t soon(void)
{
	return skua_now_ns() + SOON_NS;
}

static inline int read_one(struct user *it)
{
	unsigned char byte = 0;
	ssize_t n = skua_io_read(*(struct skua_io *)it->object, &byte, 1,
				 SKUA_FOREVER_NS);

	return n == 1 ? byte : (int)n - 1000;
}

#endif
