/* SPDX-License-Identifier: MIT */
/* echo_cases.h - the sizes of the workloads in which a client asks an echo server */
#ifndef SKUA_BENCH_CLIENTS_ECHO_CASES_H
#define SKUA_BENCH_CLIENTS_ECHO_CASES_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* The size of a request and of its answer, in bytes. */
#define ECHO_BYTES 64

#define ECHO_CLIENT_MODES "auto, spin, sleep"

/**
 * struct echo_case - a workload
 * @connections: connections that are open
 * @active: requests under way at any time
 * @requests: requests of a round
 * @latency: the time of an operation is the median latency of a request. Otherwise it is
 *           the CPU time that the server's threads use for a request
 */
struct echo_case {
	const char *name;
	unsigned connections;
	unsigned active;
	uint64_t requests;
	bool latency;
};

enum { ECHO_1, ECHO_50, ECHO_10K, ECHO_CASES };

static const struct echo_case echo_cases[ECHO_CASES] = {
	{ "echo_1", 1, 1, 10000, true },
	{ "echo_50", 50, 50, 50000, false },
	{ "echo_10k", 10000, 100, 50000, false },
};

/* echo_case_find - return the case of this name, or NULL */
static inline const struct echo_case *echo_case_find(const char *name)
{
	for (unsigned i = 0; i < ECHO_CASES; i++)
		if (strcmp(echo_cases[i].name, name) == 0)
			return &echo_cases[i];
	return NULL;
}

/* echo_client_mode - return whether a client has this mode */
static inline bool echo_client_mode(const char *mode)
{
	return strcmp(mode, "auto") == 0 || strcmp(mode, "spin") == 0 ||
	       strcmp(mode, "sleep") == 0;
}

#endif
