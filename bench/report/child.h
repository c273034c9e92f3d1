/* SPDX-License-Identifier: MIT */
/* child.h - run a program and keep what it says */
#ifndef SKUA_BENCH_REPORT_CHILD_H
#define SKUA_BENCH_REPORT_CHILD_H

/**
 * struct child - how a program ended
 * @code: its exit code, or 128 and the signal that killed it
 * @out, @err: what it wrote, owned, ended by a zero byte
 */
struct child {
	int code;
	char *out;
	char *err;
};

/**
 * child_run - run a program to its end
 * @path: of the program
 * @argv: as for exec; the environment is ours
 * @child: receives the rest; child_free() it if the call succeeds
 *
 * Return: 0; -errno if it could not be started.
 */
int child_run(const char *path, char *const *argv, struct child *child);

void child_free(struct child *child);

/**
 * child_last_line - the last line of a text that is not empty, or ""
 *
 * Cuts the text off behind it. Return: within @text.
 */
const char *child_last_line(char *text);

#endif
