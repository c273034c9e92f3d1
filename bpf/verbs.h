/* SPDX-License-Identifier: MIT */
/* verbs.h - what the skua command can be told to do */
#ifndef SKUA_BPF_VERBS_H
#define SKUA_BPF_VERBS_H

#include "bpf/cli/args.h" /* exit codes */

/*
 * A verb gets its own arguments, argv[0] being the verb, and returns an exit
 * code. Results go to stdout, all else to stderr.
 */
int verb_doctor(int argc, char **argv);
int verb_export(int argc, char **argv);
int verb_flame(int argc, char **argv);
int verb_metrics(int argc, char **argv);
int verb_perf(int argc, char **argv);
int verb_pin(int argc, char **argv);
int verb_record(int argc, char **argv);
int verb_stats(int argc, char **argv);
int verb_symbolize(int argc, char **argv);
int verb_tasks(int argc, char **argv);
int verb_top(int argc, char **argv);
int verb_topo(int argc, char **argv);
int verb_trace(int argc, char **argv);
int verb_unpin(int argc, char **argv);
int verb_why(int argc, char **argv);

#endif
