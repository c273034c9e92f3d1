/* SPDX-License-Identifier: MIT */
/**
 * fuzz_runtime.c - any program of calls of the runtime
 *
 * The first byte says on what: a caller-driven runtime, where each result is
 * known (driven.c), or, of one in sixteen, a runtime with threads, where what
 * holds under every interleaving is checked (threaded.c).
 */
#include "tests/fuzz/driven.h"

#define MAX_INPUT 1024u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, data + size };

	if (size > MAX_INPUT)
		return -1; /* longer ones say nothing new */
	if (fuzz_below(&in, 16) == 15)
		threaded_run(&in);
	else
		driven_run(&in);
	return 0;
}
