/* SPDX-License-Identifier: MIT */
/* perf_list.c - see perf_list.h */
#include "probes/perf_list.h"

#include <errno.h>
#include <perfmon/pfmlib.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "probes/perf_event.h"

/* is_here - tell whether this machine may have an event
 *
 * True also for an event that is not allowed or that needs a unit mask. */
static bool is_here(const char *name)
{
	struct perf_event_attr attr;
	char why[128];
	int fd;

	if (perf_event_encode(name, &attr, why, sizeof(why)) != 0)
		return true;
	attr.disabled = 1;
	fd = perf_event_open_on(&attr, 0, -1);
	if (fd >= 0)
		close(fd);
	return fd != -ENOENT && fd != -EOPNOTSUPP && fd != -ENODEV;
}

struct listing {
	const char *pattern;
	void (*show)(const char *name, const char *text, void *arg);
	void *arg;
	int count;
};

static void list_event(struct listing *listing, const char *pmu, int index)
{
	pfm_event_info_t info = { .size = sizeof(info) };
	char name[256];

	if (pfm_get_event_info(index, PFM_OS_PERF_EVENT, &info) != PFM_SUCCESS)
		return;
	snprintf(name, sizeof(name), "%s::%s", pmu, info.name);
	if (listing->pattern != NULL &&
	    strcasestr(name, listing->pattern) == NULL)
		return;
	if (!is_here(name))
		return;
	listing->show(name, info.desc != NULL ? info.desc : "", listing->arg);
	listing->count++;
}

int perf_list(const char *pattern,
	      void (*show)(const char *name, const char *text, void *arg),
	      void *arg)
{
	struct listing listing = { pattern, show, arg, 0 };

	if (pfm_initialize() != PFM_SUCCESS)
		return -ENOSYS;
	for (int i = PFM_PMU_NONE + 1; i < PFM_PMU_MAX; i++) {
		pfm_pmu_info_t info = { .size = sizeof(info) };

		if (pfm_get_pmu_info((pfm_pmu_t)i, &info) != PFM_SUCCESS ||
		    !info.is_present)
			continue;
		for (int event = info.first_event; event != -1;
		     event = pfm_get_event_next(event))
			list_event(&listing, info.name, event);
	}
	return listing.count;
}
