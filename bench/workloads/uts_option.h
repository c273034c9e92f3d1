/* SPDX-License-Identifier: MIT */
/* uts_option.h - the option --tree of the workloads that search trees */
#ifndef SKUA_BENCH_WORKLOADS_UTS_OPTION_H
#define SKUA_BENCH_WORKLOADS_UTS_OPTION_H

#include "bench/kernels/uts_tree.h"
#include "bpf/cli/args.h"

/* uts_option_set - set *@tree to the name @text, or refuse it */
static inline error_t uts_option_set(const char **tree, char *text)
{
	if (uts_tree_find(text) == NULL)
		return args_refuse("--tree is '%s'; allowed: %s", text,
				   UTS_TREE_NAMES);
	*tree = text;
	return 0;
}

#endif
