/* SPDX-License-Identifier: MIT */
/**
 * target_memory.h - what the parts of a target share: memory, and complaints
 *
 * Memory is read by a function that a test may take the place of.
 */
#ifndef SKUA_BPF_TARGET_MEMORY_H
#define SKUA_BPF_TARGET_MEMORY_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

/* Reading: all or nothing; returns 0, -EFAULT, -ESRCH or -EFBIG (the budget is
 * spent: target_budget.h). A pause is for the
 * process to go on meanwhile. */
struct target_memory {
	int (*read)(void *context, uint64_t address, void *to, size_t bytes);
	void (*pause)(void *context);
	void *context;
};

/* A mapping; its path is never followed without a check of the file's kind. */
struct target_mapping {
	uint64_t start;
	uint64_t end;
	uint64_t offset; /* in the file */
	uint64_t inode;  /* 0: of no file */
	dev_t device;    /* of the file system, as the kernel has it */
	bool readable;
	bool executable;
	char *path; /* "" if there is none; " (deleted)" at the end says so */
};

struct target_complaint {
	char text[320];
};

/* target_fail - say why. Return: @code */
int target_fail(struct target_complaint *complaint, int code,
		const char *format, ...) __attribute__((format(printf, 3, 4)));

/* target_printable - make it ASCII that does nothing to a terminal, and end it
 * within @size bytes */
void target_printable(char *text, size_t size);

/* target_is_over - after that code nothing more can be read */
static inline bool target_is_over(int code)
{
	return code == -ESRCH || code == -EFBIG;
}

/* target_add - an address so far behind another. Return: false: there is none */
static inline bool target_add(uint64_t address, uint64_t bytes, uint64_t *out)
{
	return !__builtin_add_overflow(address, bytes, out);
}

static inline int target_copy(const struct target_memory *memory,
			      uint64_t address, void *to, size_t bytes)
{
	uint64_t end;

	if (!target_add(address, bytes, &end))
		return -EFAULT;
	return memory->read(memory->context, address, to, bytes);
}

#endif
