// SPDX-License-Identifier: MIT
//
// check.hpp - counts the conditions that do not hold, and prints the first ones
#ifndef TESTS_CPP_CHECK_HPP
#define TESTS_CPP_CHECK_HPP

#include <atomic>
#include <cstdio>

static std::atomic<int> wrong(0);

#define CHECK(condition)                                                    \
	do {                                                                \
		if (!(condition) && wrong.fetch_add(1) < 10)                \
			std::printf("line %d: %s\n", __LINE__, #condition); \
	} while (0)

#endif
