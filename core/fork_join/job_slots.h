/* SPDX-License-Identifier: MIT */
/**
 * job_slots.h - the memory for the slots of jobs
 *
 * The memory is reserved addresses: the kernel provides a page when it is first
 * written to. It provides no large page, even where it does so for all programs: the
 * places are next to each other, so that a first fork would take 2 MB, and the time to
 * clear them. After the slots of each place comes a guard page, to which nothing can be
 * written. It is made when the owner of the place first forks or steals a job, because
 * it takes a system call and a page of page tables. When the kernel frees page tables,
 * it interrupts the CPUs on which other threads ran, which takes 10 us in a virtual
 * machine. The user's allocator is not used here, because it would have to provide all
 * the memory at once.
 */
#ifndef SKUA_CORE_FORK_JOIN_JOB_SLOTS_H
#define SKUA_CORE_FORK_JOIN_JOB_SLOTS_H

#include <stddef.h>

#include "core/base/atomic.h"
#include "skua/fork.h"

struct job_slots {
	char *memory; /* NULL: none */
	unsigned places;
	size_t count; /* of slots in a place */
	size_t behind;
};

/* job_slots_map - map zeroed slots for @places places without guard pages, and
 * @behind bytes of other zeroed memory behind them. Return: 0; -ENOMEM */
int job_slots_map(struct job_slots *slots, unsigned places, size_t behind);

/* job_slots_behind - return the memory behind the slots, which begins a page */
char *job_slots_behind(const struct job_slots *slots);

/* job_slots_guard - make the page at @end, which follows the slots of a place,
 * its guard page. Return: 0; -ENOMEM */
int job_slots_guard(atomic_ptr *end);

/* job_slots_unmap - unmap the slots, if there are any */
void job_slots_unmap(struct job_slots *slots);

/* job_slots_place_bytes - return the size of a place in bytes, with its guard
 * page */
size_t job_slots_place_bytes(const struct job_slots *slots);

/* job_slots_of - return the slots of place @i, which begin a page */
atomic_ptr *job_slots_of(const struct job_slots *slots, unsigned i);

/* A job that was forked with checks, and where the previous such job ends. Jobs
 * between the two were forked without checks. */
struct job_check {
	const struct skua_job *job;
	void **top;
};

/* job_slots_map_checks - map checks for a place's @count slots; only programs
 * with checks need them. Return: NULL if there is no memory */
struct job_check *job_slots_map_checks(size_t count);

/* job_slots_unmap_checks - unmap them; @checks may be NULL */
void job_slots_unmap_checks(struct job_check *checks, size_t count);

#endif
