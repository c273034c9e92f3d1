/* SPDX-License-Identifier: MIT */
/* recording_about.h - describes a recording that begins now, for its file */
#ifndef SKUA_BPF_RECORDING_ABOUT_H
#define SKUA_BPF_RECORDING_ABOUT_H

#include "bpf/target/target.h"
#include "probes/trace_file.h"

/* recording_meta - describe the process, and the time */
struct trace_meta recording_meta(const struct target *target);

/* recording_origin - describe the rank, the machine and its clock */
struct trace_origin recording_origin(const struct target *target);

#endif
