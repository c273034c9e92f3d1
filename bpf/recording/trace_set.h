/* SPDX-License-Identifier: MIT */
/**
 * trace_set.h - files of events that are shown together, such as those of the ranks of
 * an MPI job
 *
 * Times of files from the same machine, since the same boot, are of one clock. Times of
 * other files are moved to the clock of the first file, by the wall clocks that both
 * machines had when the recordings began.
 */
#ifndef SKUA_BPF_TRACE_SET_H
#define SKUA_BPF_TRACE_SET_H

#include <stddef.h>

#include "bpf/recording/trace_file.h"

/* Sizes of names, with the final 0. */
#define TRACE_SET_LABEL 32u
#define TRACE_SET_NAME  240u

/**
 * struct trace_part - a file of the set
 * @path: borrowed
 * @label: "rank 3" or, without a rank, "process 4711"
 * @name: as "rank 3 (uts, pid 4711)"; with the machine if the set is from several
 * @pid: the number of the process, or another one if an earlier part has the same
 * @shift_ns: added to its times, it gives times of the first file's clock; may wrap around
 * @moved: @shift_ns comes from the wall clocks
 */
struct trace_part {
	struct trace *trace;
	const char *path;
	char label[TRACE_SET_LABEL];
	char name[TRACE_SET_NAME];
	uint32_t pid;
	uint64_t shift_ns;
	bool moved;
};

/* trace_part_ns - return a time of the part, of the first file's clock; 0 for one before
 * the machine of that file started */
static inline uint64_t trace_part_ns(const struct trace_part *part, uint64_t ns)
{
	const uint64_t earlier = -part->shift_ns;

	if ((int64_t)part->shift_ns < 0)
		return ns > earlier ? ns - earlier : 0;
	return ns + part->shift_ns;
}

/* struct trace_set - files, which trace_set_open() opens. @bad: the path that an error is
 * about, or NULL */
struct trace_set {
	struct trace_part *parts;
	size_t count;
	const char *bad;
};

/**
 * trace_set_open - open files, in the order of their ranks, those without a rank last
 * @count: at least 1
 *
 * Return: 0; as trace_open(). @err receives the message, without the name of the file,
 * which is @set->bad. The caller closes the set in any case.
 */
int trace_set_open(struct trace_set *set, const char *const *paths,
		   size_t count, struct skua_error *err);
/* trace_set_align - find the @shift_ns of all parts, for one timeline. Return: 0; -EINVAL
 * (there is no common time), with @err and @set->bad as above */
int trace_set_align(struct trace_set *set, struct skua_error *err);
/* trace_set_name - return the name of a part's process for a timeline: with several files
 * its @name, otherwise that of the program */
const char *trace_set_name(const struct trace_set *set, size_t index);

/* The numbers of a part's arrows begin at a multiple of this. No file has as many arrows,
 * and JavaScript has exact numbers up to 2^53. */
#define TRACE_SET_FLOWS (UINT64_C(1) << 40)

void trace_set_close(struct trace_set *set);

#endif
