// SPDX-License-Identifier: MIT
//
// check.hpp - counts the conditions that do not hold, and prints the first ones; a type that
// needs more alignment than malloc() gives; the error that a call throws
#ifndef TESTS_CPP_CHECK_HPP
#define TESTS_CPP_CHECK_HPP

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <system_error>

static std::atomic<int> wrong(0);

#define CHECK(condition)                                                    \
	do {                                                                \
		if (!(condition) && wrong.fetch_add(1) < 10)                \
			std::printf("line %d: %s\n", __LINE__, #condition); \
	} while (0)

// The code of the error that a call throws; 0: it throws none.
template <class F> int error_of(F &&call)
{
	try {
		call();
	} catch (const std::system_error &e) {
		return e.code().value();
	}
	return 0;
}

struct alignas(64) Wide {
	long n = 0;

	bool aligned() const
	{
		// volatile: the compiler knows the alignment of the type.
		volatile uintptr_t at = reinterpret_cast<uintptr_t>(this);
		return at % alignof(Wide) == 0;
	}
};

#endif
