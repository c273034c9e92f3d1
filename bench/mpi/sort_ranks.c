/* SPDX-License-Identifier: MIT */
/*
 * sort_ranks.c - sort numbers that are distributed over the ranks of MPI
 *
 * Each rank sorts its own numbers with its workers. Samples of all ranks give limits, by
 * which each rank sends its numbers to the rank that has to have them. That rank merges
 * what it receives. Source: H. Shi and J. Schaeffer, "Parallel sorting by regular
 * sampling" (1992).
 *
 * At the end, the numbers of a rank are in order, and none is larger than one of the next
 * rank. If there are few different numbers, some ranks have many more than others.
 */
#include <errno.h>
#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/mpi/merge_runs.h"
#include "bench/mpi/session.h"
#include "bpf/cli/args.h"

#define SKUA_SORT_NAME            sort_numbers
#define SKUA_SORT_TYPE            uint64_t
#define SKUA_SORT_LESS(a, b, arg) (*(a) < *(b))
#include "skua/sort_template.h"

/* Samples of each rank: with S of them, no rank has more than 1 + RANKS / S times its
 * share of different numbers. */
#define SAMPLES 256

struct options {
	uint64_t items, distinct, workers;
	bool multiple;
};

struct numbers {
	uint64_t *at;
	size_t count;
};

struct sort {
	struct skua_fiber fiber; /* first: the function casts back */
	struct session session;
	struct numbers own, result;
	size_t own_room;  /* for numbers, in own.at */
	uint64_t *limits; /* the first number of each rank after the first */
	int *send_counts, *send_offsets, *receive_counts, *receive_offsets;
	uint64_t begin_ns;
	double seconds;
};

/* Sums that a sort does not change. */
struct sums {
	uint64_t count, sum, mixed;
};

static void *allocate(size_t count, size_t bytes)
{
	void *memory = reallocarray(NULL, count > 0 ? count : 1, bytes);

	if (!memory)
		session_stop("memory", -ENOMEM);
	return memory;
}

/* ---- waiting for MPI ------------------------------------------------------------ */

/* Wait in the fiber for the request that the caller has begun between mpi_enter() and
 * this call. */
static void await(struct sort *sort, MPI_Request request)
{
	struct mpi_op op = { .request = request };
	int err;

	mpi_leave(&sort->session.progress);
	err = mpi_op_start(&sort->session.progress, &op, NULL);
	if (err != 0)
		session_stop("request", err);
	(void)skua_event_wait(&op.done, SKUA_FOREVER_NS);
}

static void begin(struct sort *sort)
{
	mpi_enter(&sort->session.progress);
}

static void barrier(struct sort *sort)
{
	MPI_Request request;

	begin(sort);
	MPI_Ibarrier(MPI_COMM_WORLD, &request);
	await(sort, request);
}

/* ---- the steps ------------------------------------------------------------------ */

/* Return a context of the fiber. */
static struct skua_ctx begin_forks(struct sort *sort)
{
	struct skua_ctx ctx = skua_task_ctx(&sort->fiber.task);

	if (skua_ctx_check(ctx) != 0)
		session_stop("memory for jobs", -ENOMEM);
	return ctx;
}

static void sort_parallel(struct sort *sort, const struct numbers *numbers)
{
	sort_numbers(begin_forks(sort), numbers->at, numbers->count, NULL);
	(void)skua_task_ctx_end(&sort->fiber.task);
}

/* Merge the runs that the ranks have sent. The memory of the rank's own numbers, which were
 * sent, is the other array, if it is large enough: new memory costs as much as the merge. */
static void merge_parallel(struct sort *sort)
{
	const size_t ranks = (size_t)sort->session.ranks;
	size_t *ends = allocate(ranks, sizeof(*ends));
	uint64_t *merged;

	for (size_t i = 0; i < ranks; i++)
		ends[i] = (size_t)sort->receive_offsets[i] +
			  (size_t)sort->receive_counts[i];
	if (sort->own_room < sort->result.count) {
		free(sort->own.at);
		sort->own.at = allocate(sort->result.count, sizeof(uint64_t));
	}
	merged = merge_runs(begin_forks(sort), sort->result.at, sort->own.at,
			    ends, ranks);
	(void)skua_task_ctx_end(&sort->fiber.task);
	if (merged == sort->own.at) {
		sort->own.at = sort->result.at;
		sort->result.at = merged;
	}
	free(ends);
}

/* Gather samples of all ranks, and choose the limits among them. */
static void choose_limits(struct sort *sort)
{
	const size_t ranks = (size_t)sort->session.ranks;
	struct numbers all = { allocate(ranks, SAMPLES * sizeof(uint64_t)),
			       ranks * SAMPLES };
	uint64_t samples[SAMPLES];
	MPI_Request request;

	/* A rank without numbers has no opinion: its samples are the largest. */
	for (size_t i = 0; i < SAMPLES; i++)
		samples[i] =
			sort->own.count > 0
				? sort->own.at[i * sort->own.count / SAMPLES]
				: UINT64_MAX;
	begin(sort);
	MPI_Iallgather(samples, SAMPLES, MPI_UINT64_T, all.at, SAMPLES,
		       MPI_UINT64_T, MPI_COMM_WORLD, &request);
	await(sort, request);
	sort_parallel(sort, &all);
	for (size_t i = 1; i < ranks; i++)
		sort->limits[i - 1] = all.at[i * SAMPLES];
	free(all.at);
}

/* The index of the first number that is not below @limit. */
static size_t lower_bound(const struct numbers *numbers, uint64_t limit)
{
	size_t first = 0, end = numbers->count;

	while (first < end) {
		size_t middle = first + (end - first) / 2;

		if (numbers->at[middle] < limit)
			first = middle + 1;
		else
			end = middle;
	}
	return first;
}

static void count_to_send(struct sort *sort)
{
	const int ranks = sort->session.ranks;
	size_t first = 0, end;

	for (int to = 0; to < ranks; to++) {
		end = to + 1 < ranks ? lower_bound(&sort->own, sort->limits[to])
				     : sort->own.count;
		sort->send_offsets[to] = (int)first;
		sort->send_counts[to] = (int)(end - first);
		first = end;
	}
}

static void count_to_receive(struct sort *sort)
{
	MPI_Request request;
	size_t count = 0;

	begin(sort);
	MPI_Ialltoall(sort->send_counts, 1, MPI_INT, sort->receive_counts, 1,
		      MPI_INT, MPI_COMM_WORLD, &request);
	await(sort, request);
	for (int from = 0; from < sort->session.ranks; from++) {
		if (count > INT_MAX)
			session_stop("more than 2147483647 numbers for one "
				     "rank",
				     -EOVERFLOW);
		sort->receive_offsets[from] = (int)count;
		count += (size_t)sort->receive_counts[from];
	}
	sort->result =
		(struct numbers){ allocate(count, sizeof(uint64_t)), count };
}

static void exchange(struct sort *sort)
{
	MPI_Request request;

	begin(sort);
	MPI_Ialltoallv(sort->own.at, sort->send_counts, sort->send_offsets,
		       MPI_UINT64_T, sort->result.at, sort->receive_counts,
		       sort->receive_offsets, MPI_UINT64_T, MPI_COMM_WORLD,
		       &request);
	await(sort, request);
}

static void sort_distributed(struct skua_fiber *self)
{
	struct sort *sort = (struct sort *)self;

	barrier(sort);
	sort->begin_ns = skua_now_ns();
	sort_parallel(sort, &sort->own);
	if (sort->session.ranks == 1) {
		sort->result = sort->own;
		sort->own = (struct numbers){ 0 };
	} else {
		choose_limits(sort);
		count_to_send(sort);
		count_to_receive(sort);
		exchange(sort);
		merge_parallel(sort);
	}
	barrier(sort);
	sort->seconds = (double)(skua_now_ns() - sort->begin_ns) / 1e9;
}

/* ---- numbers, and the check ----------------------------------------------------- */

/* Steele, Lea and Flood's splitmix: a number for each index. */
static uint64_t mix(uint64_t index)
{
	uint64_t z = (index + 1) * UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static void make_numbers(struct sort *sort, const struct options *options)
{
	const uint64_t ranks = (uint64_t)sort->session.ranks;
	const uint64_t rank = (uint64_t)sort->session.rank;
	const uint64_t first = options->items * rank / ranks;
	const uint64_t end = options->items * (rank + 1) / ranks;

	sort->own.count = end - first;
	/* A rank may receive some more numbers than it has, by chance. */
	sort->own_room = sort->own.count + sort->own.count / 32;
	sort->own.at = allocate(sort->own_room, sizeof(uint64_t));
	for (uint64_t i = first; i < end; i++)
		sort->own.at[i - first] = options->distinct > 0
						  ? mix(i) % options->distinct
						  : mix(i);
}

static struct sums sums_of(const struct numbers *numbers)
{
	struct sums sums = { .count = numbers->count };

	for (size_t i = 0; i < numbers->count; i++) {
		sums.sum += numbers->at[i];
		sums.mixed += mix(numbers->at[i]);
	}
	return sums;
}

static bool in_order(const struct numbers *numbers)
{
	for (size_t i = 1; i < numbers->count; i++)
		if (numbers->at[i] < numbers->at[i - 1])
			return false;
	return true;
}

/* Gather the smallest and the largest number of each rank: they must be in order. A rank
 * without numbers has none of the two. */
static bool ranks_in_order(const struct sort *sort)
{
	const struct numbers *result = &sort->result;
	const size_t ranks = (size_t)sort->session.ranks;
	uint64_t own[3] = { result->count, 0, 0 }, last = 0;
	uint64_t *all = allocate(ranks, sizeof(own));
	bool right = true;

	if (result->count > 0) {
		own[1] = result->at[0];
		own[2] = result->at[result->count - 1];
	}
	MPI_Allgather(own, 3, MPI_UINT64_T, all, 3, MPI_UINT64_T,
		      MPI_COMM_WORLD);
	for (size_t i = 0; i < ranks; i++) {
		if (all[3 * i] == 0)
			continue;
		right = right && all[3 * i + 1] >= last;
		last = all[3 * i + 2];
	}
	free(all);
	return right;
}

/* Return whether the result of all ranks is in order, and has the numbers of @before. */
static bool check(const struct sort *sort, const struct sums *before)
{
	struct sums after = sums_of(&sort->result), was, is;
	int right = in_order(&sort->result) && ranks_in_order(sort);
	int all_right;

	MPI_Allreduce(before, &was, 3, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
	MPI_Allreduce(&after, &is, 3, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
	MPI_Allreduce(&right, &all_right, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
	return all_right && memcmp(&was, &is, sizeof(was)) == 0;
}

/* ---- one run -------------------------------------------------------------------- */

static void open_sort(struct sort *sort, const struct options *options)
{
	size_t ranks;
	int err;

	session_open(&sort->session, (unsigned)options->workers,
		     options->multiple);
	ranks = (size_t)sort->session.ranks;
	sort->limits = allocate(ranks, sizeof(*sort->limits));
	sort->send_counts = allocate(4 * ranks, sizeof(int));
	sort->send_offsets = sort->send_counts + ranks;
	sort->receive_counts = sort->send_offsets + ranks;
	sort->receive_offsets = sort->receive_counts + ranks;
	make_numbers(sort, options);
	err = skua_fiber_init(&sort->fiber, sort_distributed, 0);
	if (err != 0)
		session_stop("fiber", err);
}

static void free_sort(struct sort *sort)
{
	free(sort->limits);
	free(sort->send_counts);
	free(sort->own.at);
	free(sort->result.at);
}

static int tell(const struct sort *sort, const struct options *options,
		bool right)
{
	if (sort->session.rank != 0)
		return EXIT_OK;
	printf("sort, %d ranks, %u workers each: %ju numbers in %.3f s, %.1f "
	       "million/s\n",
	       sort->session.ranks, sort->session.workers,
	       (uintmax_t)options->items, sort->seconds,
	       (double)options->items / sort->seconds / 1e6);
	if (!right)
		fprintf(stderr, ARGS_PROGRAM ": the result is not the sorted "
					     "input\n");
	return args_flush(right ? EXIT_OK : EXIT_FAILED);
}

static int run(const struct options *options)
{
	struct sort sort = { .seconds = 0 };
	struct sums before;
	int code;

	open_sort(&sort, options);
	before = sums_of(&sort.own);
	session_run(&sort.session, &sort.fiber);
	session_end_runtime(&sort.session);
	code = tell(&sort, options, check(&sort, &before));
	free_sort(&sort);
	MPI_Finalize();
	return code;
}

static const struct args_verb verb = {
	.doc = "Sort numbers that are distributed over the ranks of MPI. Start "
	       "it with mpirun.",
	ARGS_OPTIONS(
		ARGS_NUMBER_OF(struct options, "items", items, 0, INT_MAX, "N",
			       "Numbers of all ranks together (default "
			       "10000000)"),
		ARGS_NUMBER_OF(struct options, "distinct", distinct, 0, INT_MAX,
			       "N",
			       "Use only N different numbers (default 0: the "
			       "numbers are random)"),
		ARGS_NUMBER_OF(struct options, "workers", workers, 0,
			       SKUA_MAX_WORKERS, "N",
			       "Workers of each rank (default 0: as many as "
			       "the rank has CPUs)"),
		ARGS_FLAG_OF(struct options, "multiple", multiple,
			     "Initialise MPI with MPI_THREAD_MULTIPLE instead "
			     "of MPI_THREAD_SERIALIZED")),
};

int main(int argc, char **argv)
{
	struct options options = { .items = 10000000 };

	if (args_parse_verb(&verb, "", argc, argv, &options) != 0)
		return EXIT_USAGE;
	return run(&options);
}
