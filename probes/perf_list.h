/* SPDX-License-Identifier: MIT */
/* perf_list.h - list the events of this machine, by their names in libpfm */
#ifndef SKUA_PROBES_PERF_LIST_H
#define SKUA_PROBES_PERF_LIST_H

/**
 * perf_list - call @show for each event
 * @pattern: a part of the names, without regard to case; NULL: all
 * @show: gets the name, "PMU::EVENT", and a line that describes it
 *
 * Events that the kernel cannot count here are left out. Return: the number of events;
 * -ENOSYS: libpfm cannot be used.
 */
int perf_list(const char *pattern,
	      void (*show)(const char *name, const char *text, void *arg),
	      void *arg);

#endif
