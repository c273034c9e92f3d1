/* SPDX-License-Identifier: MIT */
/* verbs.h - what the skua command can be told to do */
#ifndef SKUA_BPF_VERBS_H
#define SKUA_BPF_VERBS_H

#include "bench/args.h" /* exit codes */

/*
 * A verb gets its own arguments, argv[0] being the verb, and returns an exit
 * code. Results go to stdout, all else to stderr.
 */
int verb_topo(int argc, char **argv);

#endif
