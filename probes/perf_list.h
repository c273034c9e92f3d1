/* SPDX-License-Identifier: MIT */
/* perf_list.h - the events that this machine has, by libpfm's names */
#ifndef SKUA_PROBES_PERF_LIST_H
#define SKUA_PROBES_PERF_LIST_H

/**
 * perf_list - call @show for each event
 * @pattern: a part of the names, in any case; NULL: all
 * @show: gets the name, "PMU::EVENT", and a line that describes it
 *
 * Left out is what the kernel knows that it cannot count here. Return: how many
 * there were; -ENOSYS: libpfm knows no events.
 */
int perf_list(const char *pattern,
	      void (*show)(const char *name, const char *text, void *arg),
	      void *arg);

#endif
