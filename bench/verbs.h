/* SPDX-License-Identifier: MIT */
/* verbs.h - what skua-bench can be told to do */
#ifndef SKUA_BENCH_VERBS_H
#define SKUA_BENCH_VERBS_H

/* Exit codes, as all commands of the project have them. */
enum {
	EXIT_OK = 0,
	EXIT_FAILED = 1, /* it could not run, or a result was wrong */
	EXIT_USAGE = 2,
};

/*
 * A verb gets its own arguments, argv[0] being the verb, and returns an exit
 * code. Results go to stdout, all else to stderr.
 */
int verb_list(int argc, char **argv);
int verb_run(int argc, char **argv);
int verb_report(int argc, char **argv);

#endif
