/* SPDX-License-Identifier: MIT */
/**
 * recording.h - has a process record, and copies what comes to a file
 *
 * Remarks for people go to stderr, with @verb as their prefix.
 */
#ifndef SKUA_BPF_RECORDING_H
#define SKUA_BPF_RECORDING_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "bpf/recording/rings.h"
#include "bpf/recording/switches.h"
#include "bpf/recording/trigger.h"
#include "bpf/target/target.h"
#include "probes/trace_file.h"

/**
 * struct recording - zero it, and set these
 * @verb: "record"
 * @name: of the file, for messages
 * @seconds: 0: until a signal
 * @last: what is in the rings at the end, and nothing before
 * @trigger: what ends it, if on is set; with @last
 * @max_bytes: end when the file has so many, or a few megabytes more; 0: no limit
 *
 * @signals: that end it; blocked
 * @signalled: how many of them came
 * @end_ns: when it ends by itself, CLOCK_MONOTONIC
 * @cpu_ns: once it has ended: this thread's CPU time at which the last round ends;
 *          0: it goes on
 * @cut: the last round did not copy all that was there
 */
struct recording {
	const char *verb;
	const char *name;
	double seconds;
	bool last;
	bool on;
	struct trigger trigger;
	uint64_t max_bytes;

	sigset_t signals;
	unsigned signalled;
	uint64_t end_ns;
	uint64_t cpu_ns;
	bool cut;
	struct target *target;
	struct trace_writer writer;
	struct rings *rings;
	struct switches *switches; /* NULL: without */
	enum trace_reason reason;
	uint64_t start_ns;
};

/* recording_complain - a line: WHAT: WHY; either may be empty. Return: EXIT_FAILED */
int recording_complain(const struct recording *r, const char *what,
		       const char *why);

/* recording_open - choose a process, as pick_process(). Return: an exit code, as all
 * below, and the reason was printed */
int recording_open(struct recording *r, uint64_t pid);

/* recording_start - begin a file; @fd: closed by recording_close() */
int recording_start(struct recording *r, int fd);

/* recording_switches - with them, from now on. Return: 0, or -errno for
 * programs_reason() */
int recording_switches(struct recording *r);

/* recording_run - until it is over; the file is complete then. The signals that end
 * it are blocked from then on */
int recording_run(struct recording *r);

/* recording_report - what was written, and what is missing */
void recording_report(const struct recording *r);

/* recording_is_empty - has no worker noted any event? */
bool recording_is_empty(const struct recording *r);

/* recording_report_streams - of recording_report(): the workers without events, or with
 * lost ones, and why */
void recording_report_streams(const struct recording *r);

/* recording_report_limit - of that, whether it ended before it should, if it did */
void recording_report_limit(const struct recording *r);

void recording_close(struct recording *r);

#endif
