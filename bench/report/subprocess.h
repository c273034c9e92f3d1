/* SPDX-License-Identifier: MIT */
/* subprocess.h - run a program and keep its output */
#ifndef SKUA_BENCH_REPORT_SUBPROCESS_H
#define SKUA_BENCH_REPORT_SUBPROCESS_H

/**
 * struct subprocess - a program that has ended
 * @code: its exit code, or 128 plus the number of the signal that killed it
 * @out, @err: its output on stdout and on stderr, owned, ended by a zero byte
 */
struct subprocess {
	int code;
	char *out;
	char *err;
};

/**
 * subprocess_run - run a program to its end
 * @path: path of the program
 * @argv: arguments, as for execv(); the program inherits our environment
 * @child: receives exit code and output; subprocess_free() it if the call succeeds
 *
 * Return: 0; -errno if it could not be started.
 */
int subprocess_run(const char *path, char *const *argv,
		   struct subprocess *child);

void subprocess_free(struct subprocess *child);

/**
 * subprocess_last_line - return the last line of a text that is not empty, or ""
 *
 * Ends @text after that line. Return: a pointer into @text.
 */
const char *subprocess_last_line(char *text);

#endif
