/* SPDX-License-Identifier: MIT */
/**
 * flame_lines.h - in which lines of which sources the code of an ELF file is
 *
 * A child reads the file's debug information. It has the file and a socket, 64 MiB of
 * memory, 2 s of CPU time and only the system calls that it needs: a hostile file can
 * falsify its own lines, and nothing else. Threads: the process has one.
 */
#ifndef SKUA_BPF_FLAME_LINES_H
#define SKUA_BPF_FLAME_LINES_H

#include <stdint.h>

#define LINES_SOURCE 256u

/* A line, from 1, of a source, whose path is cut at its beginning if it is too long, and
 * is printable ASCII; 0: it is not known. */
struct line {
	int number;
	char source[LINES_SOURCE];
};

struct lines;

/* lines_open - of a file, which is borrowed until this returns. Return: NULL if no
 * child could be started */
struct lines *lines_open(int fd);

/* lines_close - end the child; @lines may be NULL */
void lines_close(struct lines *lines);

/**
 * lines_find - where the code at an address of the file comes from
 * @patience_ns: how long to wait, at most; what was waited is taken off. The child is
 *               killed if it has not answered by then
 */
void lines_find(struct lines *lines, uint64_t address, uint64_t *patience_ns,
		struct line *out);

#endif
