/* SPDX-License-Identifier: MIT */
/**
 * target_memory.h - memory access and complaints, shared by the parts of a
 * target
 *
 * Memory is read through a function pointer, so that tests can replace it.
 */
#ifndef SKUA_BPF_TARGET_MEMORY_H
#define SKUA_BPF_TARGET_MEMORY_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

/* @read: copy all bytes or fail. Return: 0, -EFAULT, -ESRCH or -EFBIG (the
 * budget is spent: target_budget.h). @pause: wait a moment, so that the process
 * can go on. */
struct target_memory {
	int (*read)(void *context, uint64_t address, void *to, size_t bytes);
	void (*pause)(void *context);
	void *context;
};

/* A mapping. Do not open its path without a check of the file's kind. */
struct target_mapping {
	uint64_t start;
	uint64_t end;
	uint64_t offset; /* in the file */
	uint64_t inode;  /* 0: no file is mapped */
	dev_t device;    /* file system's device, as /proc/PID/maps shows it */
	bool readable;
	bool executable;
	char *path; /* "" if none; the kernel appends " (deleted)" */
};

struct target_complaint {
	char text[320];
};

/* target_fail - write the reason of a failure. Return: @code */
int target_fail(struct target_complaint *complaint, int code,
		const char *format, ...) __attribute__((format(printf, 3, 4)));

/* target_printable - replace all bytes except printable ASCII by '?', as they
 * could control a terminal; terminate the text within @size bytes */
void target_printable(char *text, size_t size);

/* target_is_over - return whether the code means that nothing more can be
 * read */
static inline bool target_is_over(int code)
{
	return code == -ESRCH || code == -EFBIG;
}

/* target_add - add @bytes to an address. Return: false on overflow */
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
