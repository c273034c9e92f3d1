/* SPDX-License-Identifier: MIT */
/* trace_names.h - texts for the objects that tasks wait for */
#ifndef SKUA_BPF_TRACE_NAMES_H
#define SKUA_BPF_TRACE_NAMES_H

#include <stdint.h>

#include "bpf/recording/trace_file.h"

/* trace_wait_name - write what a wait is for, such as "mutex accounts" or "event 0x55d4",
 * to @text, of TRACE_WAIT_TEXT bytes. Return: @text */
#define TRACE_WAIT_TEXT 96u
char *trace_wait_name(const struct trace *trace, uint32_t kind, uint64_t object,
		      char *text);

/* trace_object_name - the same for the object alone: "channel orders", not "channel orders,
 * to send" */
char *trace_object_name(const struct trace *trace, uint32_t kind,
			uint64_t object, char *text);

#endif
