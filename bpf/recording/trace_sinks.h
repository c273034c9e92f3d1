/* SPDX-License-Identifier: MIT */
/* trace_sinks.h - the output formats of a file of events */
#ifndef SKUA_BPF_TRACE_SINKS_H
#define SKUA_BPF_TRACE_SINKS_H

#include <stdio.h>

#include "bpf/recording/trace_file.h"

/*
 * Each function writes all events of a newly opened trace to a file. The caller
 * flushes the file and checks it for errors. Return: 0, or that of trace_play().
 */

/* trace_to_perfetto - write Perfetto's protocol buffers */
int trace_to_perfetto(struct trace *trace, FILE *file);

/* trace_to_chrome - write an object of the Trace Event Format, in JSON */
int trace_to_chrome(struct trace *trace, FILE *file);

/* trace_to_summary - write tables of task types and of workers, for people */
int trace_to_summary(struct trace *trace, FILE *file);

#endif
