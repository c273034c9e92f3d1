/* SPDX-License-Identifier: MIT */
/**
 * recording.h - record the events of a process in a file
 *
 * Messages for the user go to stderr, with @verb as their prefix.
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
 * struct recording - a recording; zero it, and set the first group of fields
 * @verb: name of the command for messages: "record"
 * @name: name of the file for messages
 * @seconds: how long to record; 0: until a signal
 * @last: copy the rings only once, at the end, and nothing before
 * @on: end the recording when @trigger fires; needs @last
 * @trigger: the condition, if @on is set
 * @stop_signal: blocked; ends the recording as SIGTERM does, but not its last copy; 0: none
 * @max_bytes: end when the file has this many bytes, or a few megabytes more; 0: no limit
 *
 * @signals: the signals that end the recording; blocked
 * @signalled: number of these signals received
 * @end_ns: when the recording ends by itself, CLOCK_MONOTONIC
 * @cpu_ns: CPU time of this thread at which the search for rings, or the last round, must
 *          end; 0: the recording goes on
 * @cut: the last round did not copy all events
 */
struct recording {
	const char *verb;
	const char *name;
	double seconds;
	bool last;
	bool on;
	struct trigger trigger;
	int stop_signal;
	uint64_t max_bytes;

	sigset_t signals;
	unsigned signalled;
	uint64_t end_ns;
	uint64_t cpu_ns;
	bool cut;
	struct target *target;
	struct trace_writer writer;
	struct rings *rings;
	struct switches *switches; /* NULL: switches are not recorded */
	enum trace_reason reason;
	uint64_t start_ns;
};

/* recording_complain - print the line "WHAT: WHY"; either may be empty. Return:
 * EXIT_FAILED */
int recording_complain(const struct recording *r, const char *what,
		       const char *why);

/* recording_open - choose a process, as pick_process() does, unless @target is set. Return:
 * an exit code, like all functions below; the reason has been printed */
int recording_open(struct recording *r, uint64_t pid);

/* recording_start - begin a file. @fd: recording_close() closes it */
int recording_start(struct recording *r, int fd);

/* recording_switches - record thread switches as well, from now on. Return: 0,
 * or -errno for programs_reason() */
int recording_switches(struct recording *r);

/* recording_run - record until the end; then the file is complete. The signals
 * that end a recording stay blocked afterwards */
int recording_run(struct recording *r);

/* recording_report - print how much was written, and what is missing */
void recording_report(const struct recording *r);

/* recording_is_empty - return true if no worker wrote any event */
bool recording_is_empty(const struct recording *r);

/* recording_report_streams - print a part of recording_report(): the workers
 * without events, or with lost events, and why */
void recording_report_streams(const struct recording *r);

/* recording_report_limit - print a part of recording_report(): that the
 * recording ended early, if it did */
void recording_report_limit(const struct recording *r);

void recording_close(struct recording *r);

#endif
