/* SPDX-License-Identifier: MIT */
/* test_target_rank.c - the rank of a process, from its environment */
#include <stdio.h>
#include <string.h>

#include "tests/unit/support.h"

#include "bpf/target/target.h"
#include "bpf/target/target_rank.h"

/* Entries end with '|' here. */
static uint32_t rank_of(const char *text)
{
	char entries[256];
	size_t bytes = strlen(text);
	uint32_t rank;
	FILE *file;

	for (size_t i = 0; i < bytes; i++)
		entries[i] = text[i] == '|' ? '\0' : text[i];
	file = fmemopen(entries, bytes, "r");
	assert_non_null(file);
	rank = target_rank_find(file);
	fclose(file);
	return rank;
}

static void rank__each_launcher__is_found(void **state)
{
	(void)state;
	assert_int_equal(rank_of("A=1|OMPI_COMM_WORLD_RANK=3|B=2|"), 3);
	assert_int_equal(rank_of("PMIX_RANK=0|"), 0);
	assert_int_equal(rank_of("PMI_RANK=12|"), 12);
	assert_int_equal(rank_of("SLURM_PROCID=4294967294|"), 4294967294u);
	assert_int_equal(rank_of("A=1|PMIX_RANK=7"), 7); /* cut off */
}

/* mpirun inside a step of Slurm: all ranks have the SLURM_PROCID of mpirun. */
static void rank__mpirun_in_slurm__is_that_of_mpirun(void **state)
{
	(void)state;
	assert_int_equal(rank_of("SLURM_PROCID=0|OMPI_COMM_WORLD_RANK=2|"), 2);
	assert_int_equal(rank_of("OMPI_COMM_WORLD_RANK=2|SLURM_PROCID=0|"), 2);
	assert_int_equal(rank_of("PMI_RANK=1|SLURM_PROCID=0|PMIX_RANK=5|"), 5);
}

static void rank__no_number__is_none(void **state)
{
	static const char *const wrong[] = {
		"A=1|",
		"PMIX_RANK=|",
		"PMIX_RANK=x|",
		"PMIX_RANK=-1|",
		"PMIX_RANK= 1|",
		"PMIX_RANK=1x|",
		"PMIX_RANK=4294967295|",
		"PMIX_RANK=99999999999999999999|",
		"MY_PMIX_RANK=1|",
		"PMIX_RANKS=1|",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		assert_int_equal(rank_of(wrong[i]), TARGET_NO_RANK);
	assert_int_equal(rank_of("PMIX_RANK=x|SLURM_PROCID=6|"), 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rank__each_launcher__is_found),
		cmocka_unit_test(rank__mpirun_in_slurm__is_that_of_mpirun),
		cmocka_unit_test(rank__no_number__is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
