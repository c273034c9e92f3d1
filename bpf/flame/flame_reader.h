/* SPDX-License-Identifier: MIT */
/**
 * flame_reader.h - a child process that reads the debug data of ELF files: source lines,
 * and unwind rules
 *
 * libdw trusts a file: a hostile one makes it read and write out of bounds, and take
 * any amount of memory. The child therefore has nothing to lose: it holds the files and
 * a socket, has limits of memory and CPU time, and may use only the system calls that
 * it needs. A hostile file can falsify the answers about files of its own process, and
 * nothing else.
 *
 * One child serves all files. If it ends, another one starts, at most three in all, and
 * no question of the kind that ended it is asked about that file again. After SIGINT or
 * SIGTERM, which the verb has blocked, or after reader_hurry(), all further answers
 * together may take READER_LAST_NS.
 *
 * Rejected: one child for each file. They would have to share the limits, or a process
 * could use the memory of as many children as it has mapped files.
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

/* A line of a source file. @number: from 1; 0: unknown. @source: its path,
 * printable ASCII; a path that is too long loses its beginning. */
struct line {
	int number;
	char source[READER_SOURCE];
};

/* The limits of the child. */
struct reader_limits {
	uint64_t bytes;       /* of memory, for all files together */
	unsigned cpu_seconds; /* for all answers together */
};

/* Limits for files of another process. */
#define READER_LIMITS ((struct reader_limits){ UINT64_C(64) << 20, 2 })

struct reader;

/* reader_new - create a reader; the first question starts the child. Return:
 * NULL if there is no memory */
struct reader *reader_new(struct reader_limits limits);

/* reader_free - end the child; @reader may be NULL */
void reader_free(struct reader *reader);

/* reader_hurry - limit the time for all further answers to READER_LAST_NS,
 * because the user waits for the end */
void reader_hurry(struct reader *reader);

/**
 * reader_add - add a file to ask about
 * @fd: borrowed until reader_free()
 *
 * Return: its number for the calls below, or -1 if there is no memory.
 */
int reader_add(struct reader *reader, int fd);

/* reader_line - find the source line of the code at an address of the file */
void reader_line(struct reader *reader, int file, uint64_t address,
		 struct line *out);

/* reader_rule - find the unwind rule for an address of the file. Return: false
 * if there is none */
bool reader_rule(struct reader *reader, int file, uint64_t address,
		 struct flame_rule *out);

#endif
