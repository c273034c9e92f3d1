/* SPDX-License-Identifier: MIT */
/* trace_sinks.h - what the events of a file are made into */
#ifndef SKUA_BPF_TRACE_SINKS_H
#define SKUA_BPF_TRACE_SINKS_H

#include <stdio.h>

#include "bpf/recording/trace_file.h"

/*
 * Each: all events of a trace that was just opened, to a file that the caller
 * flushes and looks at for errors. Return: 0, or that of trace_play().
 */

/* trace_to_perfetto - as Perfetto's protocol buffers */
int trace_to_perfetto(struct trace *trace, FILE *file);

/* trace_to_chrome - as an object of the Trace Event Format, in JSON */
int trace_to_chrome(struct trace *trace, FILE *file);

/* trace_to_summary - as a table for people: of types of tasks, and of workers */
int trace_to_summary(struct trace *trace, FILE *file);

#endif
