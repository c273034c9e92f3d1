/* SPDX-License-Identifier: MIT */
/* ranks_policies.h - the policies that the simulation of ranks compares */
#ifndef SKUA_BENCH_MPI_RANKS_POLICIES_H
#define SKUA_BENCH_MPI_RANKS_POLICIES_H

#include "bench/mpi/protocol.h"

/* struct ranks_policy - a policy and its name */
struct ranks_policy {
	const char *name, *doc;
	struct protocol_policy policy;
};

/* The policies; the last one has no name. */
extern const struct ranks_policy ranks_policies[];

/* ranks_policy_find - return the policy with this name, or NULL */
const struct ranks_policy *ranks_policy_find(const char *name);

#endif
