/* SPDX-License-Identifier: MIT */
/* verbs.h - what the skua command can be told to do */
#ifndef SKUA_BPF_VERBS_H
#define SKUA_BPF_VERBS_H

/* Exit codes, as all commands of the project have them. */
enum {
	EXIT_OK = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
};

/*
 * A verb gets its own arguments, argv[0] being the verb, and returns an exit
 * code. Results go to stdout, all else to stderr.
 */
int verb_topo(int argc, char **argv);

#endif
