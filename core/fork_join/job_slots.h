/* SPDX-License-Identifier: MIT */
/**
 * job_slots.h - the memory of jobs' slots
 *
 * A reserve of addresses, of which a page is memory once it was written to, with
 * a page behind each place's that cannot be written. It is not the user's
 * allocator's: that would have to give the memory at once.
 */
#ifndef SKUA_CORE_FORK_JOIN_JOB_SLOTS_H
#define SKUA_CORE_FORK_JOIN_JOB_SLOTS_H

#include <stddef.h>

#include "core/base/atomic.h"
#include "skua/fork.h"

struct job_slots {
	char *memory; /* NULL: none */
	unsigned places;
	size_t count; /* of a place's slots */
};

/* job_slots_map - zeroed slots for so many places; 0, or -ENOMEM */
int job_slots_map(struct job_slots *slots, unsigned places);

/* job_slots_unmap - give them back, if there are any */
void job_slots_unmap(struct job_slots *slots);

/* job_slots_place_bytes - how much a place takes, in whole pages */
size_t job_slots_place_bytes(const struct job_slots *slots);

/* job_slots_of - those of place @i, at the beginning of a page */
atomic_ptr *job_slots_of(const struct job_slots *slots, unsigned i);

/* Of a job that was forked with checks: itself, and where the newest one before
 * it ends. Jobs between the two were forked without. */
struct job_check {
	const struct skua_job *job;
	void **top;
};

/* job_slots_map_checks - one for each of a place's @count slots, for programs that
 * have checks; NULL: there is no memory */
struct job_check *job_slots_map_checks(size_t count);

/* job_slots_unmap_checks - give them back; @checks may be NULL */
void job_slots_unmap_checks(struct job_check *checks, size_t count);

#endif
