/* SPDX-License-Identifier: MIT */
/**
 * fuzz_report_diff.c - any file in the place of a report, compared with another
 *
 * The input is the text of two files, with a 0 between them, or of one. A
 * refused file is refused with a reason; of what is read, each row has times and
 * probabilities that are possible, and against itself nothing has changed.
 */
#include <math.h>
#include <string.h>

#include "bench/report/diff/report_diff.h"
#include "tests/fuzz/fuzz.h"

static json_t *read_text(const uint8_t *data, size_t size)
{
	char why[200] = "", *text = malloc(size + 1);
	json_t *file;
	int err;

	if (text == NULL)
		abort();
	memcpy(text, data, size); /* ends where the memory does */
	text = realloc(text, size > 0 ? size : 1);
	err = report_diff_read(text, size, &file, why, sizeof(why));
	fuzz_check((err == 0) == (file != NULL), "a file, and %d", err);
	fuzz_check(err == 0 || why[0] != '\0', "refused without a reason");
	free(text);
	return file;
}

static void check_change(const struct change *change)
{
	fuzz_check(change->p >= 0 && change->p <= 1, "p is %g", change->p);
	fuzz_check(change->corrected >= 0 && change->corrected <= 1,
		   "corrected to %g", change->corrected);
	fuzz_check(change->runs_p >= 0 && change->runs_p <= 1, "of runs %g",
		   change->runs_p);
	fuzz_check(isfinite(change->by) && change->by >= -1, "changed by %g",
		   change->by);
	fuzz_check(json_is_string(json_object_get(change->row, "workload")),
		   "no workload");
	if (change->verdict == CHANGE_SLOWER)
		fuzz_check(change->median[1] > change->median[0],
			   "slower, in less");
	if (change->verdict == CHANGE_FASTER)
		fuzz_check(change->median[1] < change->median[0],
			   "faster, in more");
}

static void compare(json_t *a, json_t *b)
{
	json_t *const files[] = { a, b };
	struct report_diff diff;
	size_t sum = 0;

	if (report_diff_find(&diff, files, 0.05) != 0)
		abort();
	for (size_t i = 0; i < diff.count; i++)
		check_change(&diff.change[i]);
	for (unsigned v = 0; v < CHANGE_VERDICTS; v++)
		sum += diff.counts[v];
	fuzz_check(sum == diff.count, "%zu verdicts of %zu", sum, diff.count);
	if (a == b) /* except those noisy in both */
		fuzz_check(diff.counts[CHANGE_SLOWER] +
					   diff.counts[CHANGE_FASTER] +
					   json_array_size(diff.only[0]) +
					   json_array_size(diff.only[1]) ==
				   0,
			   "it is not as itself");
	report_diff_free(&diff);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *zero = memchr(data, 0, size);
	size_t first = zero != NULL ? (size_t)(zero - data) : size;
	json_t *a = read_text(data, first), *b = NULL;

	if (zero != NULL)
		b = read_text(zero + 1, size - first - 1);
	if (a != NULL)
		compare(a, a);
	if (a != NULL && b != NULL)
		compare(a, b);
	json_decref(a);
	json_decref(b);
	return 0;
}
