/* SPDX-License-Identifier: MIT */
/* trace_sinks.h - the output formats of files of events */
#ifndef SKUA_BPF_TRACE_SINKS_H
#define SKUA_BPF_TRACE_SINKS_H

#include <stdio.h>

#include "bpf/recording/trace_set.h"

/*
 * Each function writes all events of a newly opened set to a file. The caller flushes the
 * file and checks it for errors. Return: 0; an error of trace_play() for the file @set->bad.
 */

/* trace_to_perfetto - write Perfetto's protocol buffers */
int trace_to_perfetto(struct trace_set *set, FILE *file);

/* trace_to_chrome - write an object of the Trace Event Format, in JSON */
int trace_to_chrome(struct trace_set *set, FILE *file);

/* trace_to_summary - write tables of task types and of workers, for people */
int trace_to_summary(struct trace_set *set, FILE *file);

#endif
