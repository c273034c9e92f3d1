/* SPDX-License-Identifier: MIT */
/**
 * fuzz_demangle.c - any text as the name of a function
 *
 * What is shown is a text that fits; a name that is refused is shown as it is; and what
 * is done for it is paid for: a name that takes longer than it paid for is found by the
 * limit of time of the run.
 */
#include <string.h>

#include "bpf/target/target_demangle.h"
#include "tests/fuzz/fuzz.h"

#define GUARD 0x5a

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct target_budget budget;
	char name[TARGET_MANGLED + 2], text[64 + 1];
	size_t room;

	if (size < 1 || size > TARGET_MANGLED + 1)
		return -1; /* says nothing new */
	room = 1 + data[0] % 64;
	memcpy(name, data + 1, size - 1);
	name[size - 1] = '\0';
	memset(text, GUARD, sizeof(text));
	target_budget_begin(&budget);
	if (!target_demangle(&budget, name, text, room))
		fuzz_check(strncmp(text, name, room - 1) == 0,
			   "\"%s\" is shown as \"%s\"", name, text);
	fuzz_check(memchr(text, '\0', room), "no end within %zu", room);
	fuzz_check(text[room] == GUARD, "beyond %zu", room);
	return 0;
}
