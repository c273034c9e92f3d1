/* SPDX-License-Identifier: MIT */
/* verbs.h - the verbs of the skua command */
#ifndef SKUA_BPF_VERBS_H
#define SKUA_BPF_VERBS_H

#include "bpf/cli/args.h" /* exit codes */

/*
 * verb_NAME - run the verb NAME
 *
 * @argc, @argv: the verb's own arguments; argv[0] is the verb itself
 *
 * Results go to stdout, everything else to stderr.
 *
 * Return: an exit code of args.h.
 */
int verb_doctor(int argc, char **argv);
int verb_export(int argc, char **argv);
int verb_flame(int argc, char **argv);
int verb_metrics(int argc, char **argv);
int verb_perf(int argc, char **argv);
int verb_pin(int argc, char **argv);
int verb_record(int argc, char **argv);
int verb_stats(int argc, char **argv);
int verb_stacks(int argc, char **argv);
int verb_symbolize(int argc, char **argv);
int verb_tasks(int argc, char **argv);
int verb_top(int argc, char **argv);
int verb_topo(int argc, char **argv);
int verb_trace(int argc, char **argv);
int verb_unpin(int argc, char **argv);
int verb_waits(int argc, char **argv);
int verb_why(int argc, char **argv);

#endif
