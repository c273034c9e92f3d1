/* SPDX-License-Identifier: MIT */
/* verbs.h - what skua-bench can be told to do */
#ifndef SKUA_BENCH_VERBS_H
#define SKUA_BENCH_VERBS_H

#include "bpf/cli/args.h" /* exit codes */

/*
 * A verb gets its own arguments, argv[0] being the verb, and returns an exit
 * code. Results go to stdout, all else to stderr.
 */
int verb_list(int argc, char **argv);
int verb_run(int argc, char **argv);
int verb_report(int argc, char **argv);
int verb_compare(int argc, char **argv);

#endif
