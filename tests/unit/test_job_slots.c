/* SPDX-License-Identifier: MIT */
/* test_job_slots.c - the memory for the slots of jobs, its guard pages, and its end */
#include <sys/mman.h>

#include "core/fork_join/job_slots.h"
#include "tests/unit/support.h"

#define PLACES 3u
/* Does not divide by a page. */
#define BEHIND_BYTES 10001u
#define CHECKS       1001u

static size_t page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

/* Return the number of pages of a range that are mapped. */
static size_t count_mapped(const void *at, size_t bytes)
{
	unsigned char resident;
	size_t count = 0;

	for (size_t offset = 0; offset < bytes; offset += page_bytes()) {
		if (mincore((char *)at + offset, 1, &resident) == 0)
			count++;
		else
			assert_int_equal(errno, ENOMEM);
	}
	return count;
}

static size_t pages_of(size_t bytes)
{
	return (bytes + page_bytes() - 1) / page_bytes();
}

TEST(job_slots_unmap__slots_and_more_behind__unmaps_all)
{
	struct job_slots slots;
	size_t bytes;
	char *memory;

	assert_int_equal(job_slots_map(&slots, PLACES, BEHIND_BYTES), 0);
	memory = slots.memory;
	bytes = PLACES * job_slots_place_bytes(&slots) + BEHIND_BYTES;
	assert_ptr_equal(job_slots_behind(&slots),
			 memory + bytes - BEHIND_BYTES);
	assert_int_equal(count_mapped(memory, bytes), pages_of(bytes));
	job_slots_unmap(&slots);
	assert_int_equal(count_mapped(memory, bytes), 0);
	job_slots_unmap(&slots); /* nothing is left */
}

TEST(job_slots_unmap_checks__several_pages__unmaps_all)
{
	size_t bytes = CHECKS * sizeof(struct job_check);
	struct job_check *checks = job_slots_map_checks(CHECKS);

	assert_non_null(checks);
	assert_true(pages_of(bytes) > 1);
	assert_int_equal(count_mapped(checks, bytes), pages_of(bytes));
	job_slots_unmap_checks(checks, CHECKS);
	assert_int_equal(count_mapped(checks, bytes), 0);
	job_slots_unmap_checks(NULL, CHECKS);
}

static atomic_ptr *end_of_place(const struct job_slots *slots, unsigned i)
{
	return job_slots_of(slots, i) + slots->count;
}

/* The kernel refuses the cheaper kind of guard page in locked memory. */
TEST(job_slots_guard__locked_memory__guards_and_keeps_errno)
{
	struct job_slots slots;
	atomic_ptr *end;
	int ends[2];

	assert_int_equal(job_slots_map(&slots, PLACES, 0), 0);
	end = end_of_place(&slots, 1);
	if (mlock(end, page_bytes()) != 0) {
		job_slots_unmap(&slots);
		skip_aloud("the process may not lock a page");
	}
	errno = EDOM;
	assert_int_equal(job_slots_guard(end), 0);
	assert_int_equal(errno, EDOM);
	/* The kernel can write before the page, and not to it. */
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], "12", 2), 2);
	assert_int_equal(read(ends[0], (char *)end - 1, 1), 1);
	assert_int_equal(read(ends[0], end, 1), -1);
	assert_int_equal(errno, EFAULT);
	close(ends[0]);
	close(ends[1]);
	job_slots_unmap(&slots);
}

TEST(job_slots_guard__no_memory_there__enomem_and_keeps_errno)
{
	struct job_slots slots;
	atomic_ptr *end;

	assert_int_equal(job_slots_map(&slots, PLACES, 0), 0);
	end = end_of_place(&slots, 1);
	job_slots_unmap(&slots);
	errno = EDOM;
	assert_int_equal(job_slots_guard(end), -ENOMEM);
	assert_int_equal(errno, EDOM);
}
