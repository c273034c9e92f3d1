/* SPDX-License-Identifier: MIT */
/* uts_option.h - the option --tree of the workloads that search trees */
#ifndef SKUA_BENCH_WORKLOADS_UTS_OPTION_H
#define SKUA_BENCH_WORKLOADS_UTS_OPTION_H

#include "bench/kernels/uts_tree.h"
#include "bpf/cli/args.h"

/* uts_option_set - set *@tree if @text is the name of a tree. Return: 0; EINVAL after
 * args_refuse(). */
static inline error_t uts_option_set(const char **tree, char *text)
{
	if (uts_tree_find(text) == NULL)
		return args_refuse("--tree is '%s'; allowed: %s", text,
				   UTS_TREE_NAMES);
	*tree = text;
	return 0;
}

#endif
