/* SPDX-License-Identifier: MIT */
/* why_time.c - wall-clock times of a recording, to compare with logs */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "bpf/why/why.h"

#define SECOND UINT64_C(1000000000)

const char *why_time(const struct trace *trace, uint64_t ns, char *text)
{
	const struct trace_about *about = trace_about(trace);
	uint64_t wall =
		about->meta.realtime_ns + (ns - about->meta.start.monotonic_ns);
	time_t seconds = (time_t)(wall / SECOND);
	char date[WHY_TIME - 8];
	struct tm tm;

	text[0] = '\0';
	if (about->timeless || about->meta.realtime_ns == 0)
		return text;
	if (gmtime_r(&seconds, &tm) &&
	    strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &tm) > 0)
		snprintf(text, WHY_TIME, "%s.%06" PRIu64 "Z", date,
			 wall % SECOND / 1000);
	return text;
}

const char *why_when(const struct why *why, uint64_t ns, char *text)
{
	uint64_t start = trace_about(why->trace)->meta.start.monotonic_ns;

	if (!why_time(why->trace, ns, text)[0])
		snprintf(text, WHY_TIME, "%.6f s",
			 ((double)ns - (double)start) / 1e9);
	return text;
}
