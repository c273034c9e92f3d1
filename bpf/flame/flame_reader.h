/* SPDX-License-Identifier: MIT */
/**
 * flame_reader.h - a child process that reads what compilers wrote of the code in ELF
 * files: the lines of sources, and how to find a function's caller
 *
 * libdw believes a file: a hostile one makes it read and write out of bounds, and take
 * any memory. The child has nothing to lose: it holds the files and a socket, and has
 * limits of memory and CPU time and only the system calls that it needs. A hostile file
 * can falsify what is said of the files of its process, and nothing else.
 *
 * One child serves all files. If it ends, another starts, up to three, and the child's
 * last question is not asked of that file again. After SIGINT or SIGTERM, which a verb
 * has blocked, or reader_hurry(), all answers together may take READER_LAST_NS.
 *
 * Rejected: one child for each file. They would have to share the limits, or a process
 * could take the memory of as many children as it has mapped files.
 *
 * Threads: the process has one, which starts the child by fork().
 */
#ifndef SKUA_BPF_FLAME_READER_H
#define SKUA_BPF_FLAME_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/flame/flame_rules.h"

#define READER_SOURCE  256u
#define READER_LAST_NS UINT64_C(50000000)

/* A line, from 1, of a source, whose path is cut at its beginning if it is too long, and
 * is printable ASCII; 0: it is not known. */
struct line {
	int number;
	char source[READER_SOURCE];
};

/* The limits of the child. */
struct reader_limits {
	uint64_t bytes;       /* of memory, for all files */
	unsigned cpu_seconds; /* for all answers */
};

/* For files of a process that is looked at. */
#define READER_LIMITS ((struct reader_limits){ UINT64_C(64) << 20, 2 })

struct reader;

/* reader_new - the child starts with the first question. Return: NULL: no memory */
struct reader *reader_new(struct reader_limits limits);

/* reader_free - end the child; @reader may be NULL */
void reader_free(struct reader *reader);

/* reader_hurry - somebody waits for the end */
void reader_hurry(struct reader *reader);

/**
 * reader_add - a file to ask about
 * @fd: borrowed until reader_free()
 *
 * Return: its number for the calls below, or -1: no memory.
 */
int reader_add(struct reader *reader, int fd);

/* reader_line - where the code at an address of the file comes from */
void reader_line(struct reader *reader, int file, uint64_t address,
		 struct line *out);

/* reader_rule - how to find the caller of the code at an address of the file. Return:
 * false: the file does not tell */
bool reader_rule(struct reader *reader, int file, uint64_t address,
		 struct flame_rule *out);

#endif
