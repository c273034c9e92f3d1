/* SPDX-License-Identifier: MIT */
/* verbs.h - the verbs of skua-bench */
#ifndef SKUA_BENCH_VERBS_H
#define SKUA_BENCH_VERBS_H

#include "bpf/cli/args.h" /* exit codes */

/*
 * A verb receives the arguments from its own name on (argv[0] is the verb), and returns
 * an exit code. Results go to stdout, all other output to stderr.
 */
int verb_list(int argc, char **argv);
int verb_run(int argc, char **argv);
int verb_report(int argc, char **argv);
int verb_compare(int argc, char **argv);

#endif
