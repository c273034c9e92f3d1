/* SPDX-License-Identifier: MIT */
/* target_text.h - texts in the memory of a process */
#ifndef SKUA_BPF_TARGET_TARGET_TEXT_H
#define SKUA_BPF_TARGET_TARGET_TEXT_H

#include "bpf/target/target.h"
#include "bpf/target/target_memory.h"

/* target_text - copy a text of the program, such as a label. @address: 0: there is none.
 * @text: TARGET_NAME bytes; receives printable ASCII, and is empty if the text cannot be read */
static inline void target_text(struct target *target, uint64_t address,
			       char *text)
{
	text[0] = '\0';
	/* A short one may be at the end of its mapping. */
	for (size_t bytes = TARGET_NAME - 1; address && bytes > 0 && !*text;
	     bytes /= 2)
		if (target_read(target, address, text, bytes) != 0)
			text[0] = '\0';
		else
			text[bytes] = '\0';
	target_printable(text, TARGET_NAME);
}

#endif
