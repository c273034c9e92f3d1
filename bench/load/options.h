/* SPDX-License-Identifier: MIT */
/* options.h - the options of skua-load */
#ifndef SKUA_BENCH_LOAD_OPTIONS_H
#define SKUA_BENCH_LOAD_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "bench/load/requests.h"

/* The options of the command line. A rate of 0 is "max". */
struct options {
	const char *host;
	uint64_t port, connections, pipeline, keys, value_size, seed, pid;
	double rate, seconds, warm_up, grace;
	uint64_t parts[REQUEST_KINDS];
	bool rate_given, fill, sleep, json;
};

/* options_parse - set @options to the defaults, and parse the arguments. Return: 0; -EINVAL
 * after printing the error */
int options_parse(struct options *options, int argc, char **argv);

#endif
