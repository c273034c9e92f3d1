/* SPDX-License-Identifier: MIT */
/* test_report_diff.c - what changed between two reports, and what is noise */
#include <stddef.h>
#include <stdint.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/report/diff/report_diff.h"
#include "tests/unit/unit.h"

/* ---- files ----------------------------------------------------------------- */

/* Lines of run --json, one a run. */
static FILE *file;
static char *text;
static size_t length;
static uint64_t seed;

static void begin(void)
{
	file = open_memstream(&text, &length);
	assert_non_null(file);
}

/* A number from -1 to 1, as likely in the middle as three dice are. */
static double random_part(void)
{
	double sum = 0;

	for (unsigned i = 0; i < 3; i++) {
		seed = seed * UINT64_C(6364136223846793005) +
		       1442695040888963407;
		sum += (double)(seed >> 33) / (double)(UINT64_C(1) << 31);
	}
	return sum / 1.5 - 1;
}

/* A run of @rounds that are @ns, give or take @noise of it. */
static void add_run(unsigned row, unsigned rounds, double ns, double noise,
		    const char *more)
{
	fprintf(file,
		"{\"workload\":\"w%u\",\"params\":{\"n\":1},\"workers\":2,"
		"\"ns_per_op\":%f,\"rounds_ns\":[",
		row, ns);
	for (unsigned i = 0; i < rounds; i++)
		fprintf(file, "%s%f", i ? "," : "",
			ns * (1 + noise * random_part()));
	fprintf(file, "]%s}\n", more);
}

static json_t *end(void)
{
	json_t *read;
	char why[200];

	fclose(file);
	if (report_diff_read(text, length, &read, why, sizeof(why)) != 0)
		fail_msg("%s", why);
	free(text);
	return read;
}

static json_t *one_run(unsigned rounds, double ns, const char *more)
{
	begin();
	add_run(0, rounds, ns, 0.03, more);
	return end();
}

static json_t *five_runs(double ns)
{
	begin();
	for (unsigned i = 0; i < 5; i++)
		add_run(0, 5, ns, 0.01, "");
	return end();
}

static void find(struct report_diff *diff, json_t *const files[2])
{
	assert_int_equal(report_diff_find(diff, files, 0.05), 0);
}

static void let_go(struct report_diff *diff, json_t *const files[2])
{
	report_diff_free(diff);
	json_decref(files[0]);
	json_decref(files[1]);
}

/* The only row of two files, which it lets go. */
static struct change find_one(json_t *a, json_t *b)
{
	json_t *const files[] = { a, b };
	struct report_diff diff;
	struct change change;

	assert_int_equal(report_diff_find(&diff, files, 0.05), 0);
	assert_int_equal(diff.count, 1);
	change = diff.change[0];
	assert_int_equal(diff.counts[change.verdict], 1);
	report_diff_free(&diff);
	json_decref(a);
	json_decref(b);
	return change;
}

static enum change_verdict verdict(json_t *a, json_t *b)
{
	return find_one(a, b).verdict;
}

/* ---- changes --------------------------------------------------------------- */

TEST(changes_find__against_itself__same)
{
	json_t *a = one_run(9, 100, "");
	struct change change = find_one(json_incref(a), a);

	assert_int_equal(change.verdict, CHANGE_SAME);
	assert_true(change.by == 0);
	assert_true(change.p == 1);
}

TEST(changes_find__a_fifth_more__slower)
{
	struct change change =
		find_one(one_run(9, 100, ""), one_run(9, 120, ""));

	assert_int_equal(change.verdict, CHANGE_SLOWER);
	assert_true(change.single);
	assert_true(fabs(change.by - 0.2) < 0.05);
	assert_int_equal(change.values[0], 9);
	assert_int_equal(verdict(one_run(9, 120, ""), one_run(9, 100, "")),
			 CHANGE_FASTER);
}

/* Of one run it is not known how much runs differ. */
TEST(changes_find__a_little_more__slower_only_of_several_runs)
{
	assert_int_equal(verdict(one_run(9, 100, ""), one_run(9, 108, "")),
			 CHANGE_SAME);
	assert_int_equal(verdict(five_runs(100), five_runs(108)),
			 CHANGE_SLOWER);
	assert_int_equal(verdict(five_runs(100), five_runs(103)), CHANGE_SAME);
}

/* All rounds are apart, and yet runs of the same file are as far from another. */
TEST(changes_find__runs_overlap__same)
{
	json_t *a, *b;

	begin();
	for (unsigned i = 0; i < 5; i++)
		add_run(0, 9, i == 0 ? 130 : 100, 0.01, "");
	a = end();
	begin();
	for (unsigned i = 0; i < 5; i++)
		add_run(0, 9, 120, 0.01, "");
	b = end();
	assert_int_equal(verdict(a, b), CHANGE_SAME);
}

/* Of ten runs, one that was slow as well. */
static json_t *ten_runs(double ns, double one_ns)
{
	begin();
	for (unsigned i = 0; i < 10; i++)
		add_run(0, 5, i == 3 ? one_ns : ns, 0.01, "");
	return end();
}

TEST(changes_find__one_run_of_ten_overlaps__slower)
{
	struct change change;

	change = find_one(ten_runs(100, 130), ten_runs(120, 120));
	assert_int_equal(change.verdict, CHANGE_SLOWER);
	assert_int_equal(change.runs[0], 10);
	assert_true(change.runs_p < 0.01);
	assert_int_equal(verdict(ten_runs(100, 100), ten_runs(100, 200)),
			 CHANGE_SAME);
}

TEST(changes_find__three_rounds__too_few)
{
	assert_int_equal(verdict(one_run(3, 100, ""), one_run(3, 900, "")),
			 CHANGE_FEW);
}

TEST(changes_find__busy_machine__noisy)
{
	json_t *b;

	assert_int_equal(verdict(one_run(9, 100, ""),
				 one_run(9, 150, ",\"noisy\":true")),
			 CHANGE_NOISY);
	assert_int_equal(verdict(one_run(9, 100, ""),
				 one_run(9, 100, ",\"noisy\":true")),
			 CHANGE_NOISY);
	/* Quiet workloads count, where there are some. */
	begin();
	add_run(0, 9, 300, 0.01, ",\"noisy\":true");
	add_run(0, 9, 150, 0.01, "");
	b = end();
	assert_int_equal(verdict(one_run(9, 100, ""), b), CHANGE_SLOWER);
}

TEST(changes_find__wrong_result__wrong)
{
	assert_int_equal(
		verdict(one_run(9, 100, ""), one_run(9, 100, ",\"ok\":false")),
		CHANGE_WRONG);
	assert_int_equal(
		verdict(one_run(9, 100, ",\"ok\":false"), one_run(9, 200, "")),
		CHANGE_FEW);
}

TEST(changes_find__peers_and_others__rows_apart)
{
	struct report_diff diff;
	json_t *files[2];

	begin();
	add_run(0, 9, 100, 0.01, "");
	add_run(0, 9, 100, 0.01, ",\"peer\":\"go\"");
	add_run(1, 9, 100, 0.01, "");
	files[0] = end();
	begin();
	add_run(0, 9, 100, 0.01, "");
	add_run(0, 9, 200, 0.01, ",\"peer\":\"go\"");
	add_run(2, 9, 100, 0.01, "");
	add_run(3, 9, 100, 0.01, "");
	files[1] = end();
	assert_int_equal(report_diff_find(&diff, files, 0.05), 0);
	assert_int_equal(diff.count, 2);
	assert_int_equal(json_array_size(diff.only[0]), 1);
	assert_int_equal(json_array_size(diff.only[1]), 2);
	assert_int_equal(diff.counts[CHANGE_SLOWER], 1);
	assert_string_equal(
		json_string_value(json_object_get(diff.change[0].row, "peer")),
		"go");
	report_diff_free(&diff);
	json_decref(files[0]);
	json_decref(files[1]);
}

/* A result that only the second has is wrong without one to compare it with. */
TEST(changes_find__wrong_and_new__wrong)
{
	struct report_diff diff;
	json_t *files[2];

	begin();
	add_run(0, 9, 100, 0.01, "");
	files[0] = end();
	begin();
	add_run(0, 9, 100, 0.01, "");
	add_run(1, 9, 100, 0.01, ",\"ok\":false");
	files[1] = end();
	find(&diff, files);
	assert_int_equal(diff.counts[CHANGE_WRONG], 1);
	assert_int_equal(json_array_size(diff.only[1]), 1);
	assert_int_equal(diff.rows, 1);
	let_go(&diff, files);
}

/* ---- figures --------------------------------------------------------------- */

/* Latencies of nine rounds of so many, the longest of which are multiplied. */
static json_t *tails(unsigned count, double p99_by, double p999_by)
{
	char more[2000];
	int used =
		snprintf(more, sizeof(more), ",\"latency_ns\":{\"rounds\":[");

	for (unsigned i = 0; i < 9; i++)
		used += snprintf(
			more + used, sizeof(more) - (size_t)used,
			"%s{\"count\":%u,\"p50\":%f,\"p99\":%f,\"p999\":%f}",
			i ? "," : "", count, 300.0 + i,
			(400.0 + 10 * i) * p99_by, (900.0 + 30 * i) * p999_by);
	snprintf(more + used, sizeof(more) - (size_t)used, "]}");
	return one_run(9, 100, more);
}

static const struct change *figure(const struct report_diff *diff,
				   const char *name)
{
	for (size_t i = 0; i < diff->count; i++)
		if (strcmp(diff->change[i].figure, name) == 0)
			return &diff->change[i];
	return NULL;
}

TEST(changes_find__tail_alone__told_of_it_alone)
{
	json_t *files[] = { tails(1000, 1, 1), tails(1000, 1, 2) };
	struct report_diff diff;

	find(&diff, files);
	assert_int_equal(diff.count, 4);
	assert_int_equal(diff.counts[CHANGE_SLOWER], 1);
	assert_int_equal(diff.counts[CHANGE_SAME], 3);
	assert_string_equal(diff.change[0].figure, "latency_ns.p999");
	assert_true(diff.change[0].by > 0.9);
	assert_int_equal(figure(&diff, "latency_ns.p50")->verdict, CHANGE_SAME);
	let_go(&diff, files);
}

/* The longest of so few is no percentile. */
TEST(changes_find__few_latencies__no_tails)
{
	json_t *files[] = { tails(999, 1, 1), tails(999, 2, 9) };
	struct report_diff diff;

	find(&diff, files);
	assert_null(figure(&diff, "latency_ns.p999"));
	assert_int_equal(figure(&diff, "latency_ns.p99")->verdict,
			 CHANGE_SLOWER);
	let_go(&diff, files);
	files[0] = tails(99, 1, 1);
	files[1] = tails(99, 9, 9);
	find(&diff, files);
	assert_int_equal(diff.count, 2);
	assert_int_equal(diff.counts[CHANGE_SAME], 2);
	let_go(&diff, files);
}

/* A figure that is the time of an operation already. */
TEST(changes_find__median_is_the_time__once)
{
	static const char line[] =
		"{\"workload\":\"w\",\"workers\":1,\"ns_per_op\":5,"
		"\"rounds_ns\":[5,6],\"latency_ns\":{\"rounds\":["
		"{\"count\":9,\"p50\":5},{\"count\":9,\"p50\":6}]}}";
	struct report_diff diff;
	json_t *files[2];

	begin();
	fputs(line, file);
	files[0] = files[1] = end();
	json_incref(files[0]);
	find(&diff, files);
	assert_int_equal(diff.count, 1);
	assert_string_equal(diff.change[0].figure, "ns_per_op");
	let_go(&diff, files);
}

static json_t *instructions(double of, const char *more)
{
	char text_of[300];

	snprintf(text_of, sizeof(text_of),
		 ",\"rounds_instructions\":[%f,%f,%f,%f,%f]%s", of, of + 1,
		 of + 2, of + 3, of + 4, more);
	return one_run(9, 100, text_of);
}

/* Runs differ by less in them than in time. */
TEST(changes_find__more_instructions__told_of_one_run)
{
	json_t *files[] = { instructions(1000, ""), instructions(1070, "") };
	struct report_diff diff;

	find(&diff, files);
	assert_int_equal(diff.count, 2);
	assert_string_equal(diff.change[0].figure, "instructions");
	assert_int_equal(diff.change[0].verdict, CHANGE_SLOWER);
	assert_int_equal(diff.counts[CHANGE_SAME], 1);
	let_go(&diff, files);
}

/* They depend on how long it waits. */
TEST(changes_find__instructions_beside_latencies__left_out)
{
	static const char latencies[] = ",\"latency_ns\":{}";
	json_t *files[] = { instructions(1000, latencies),
			    instructions(2000, latencies) };
	struct report_diff diff;

	find(&diff, files);
	assert_int_equal(diff.count, 1);
	let_go(&diff, files);
}

TEST(changes_find__instructions_by_run__compared)
{
	static const char *const more[] = {
		",\"ops\":10,\"rounds\":9,\"counters\":{\"instructions\":9000}",
		",\"ops\":10,\"rounds\":9,\"counters\":{\"instructions\":9900}"
	};
	struct report_diff diff;
	json_t *files[2];

	for (unsigned f = 0; f < 2; f++) {
		begin();
		for (unsigned i = 0; i < 5; i++)
			add_run(0, 9, 100, 0.01, more[f]);
		files[f] = end();
	}
	find(&diff, files);
	assert_string_equal(diff.change[0].figure, "instructions");
	assert_int_equal(diff.change[0].verdict, CHANGE_SLOWER);
	assert_true(diff.change[0].median[0] == 100);
	let_go(&diff, files);
}

TEST(changes_find__one_has_a_figure__noted)
{
	json_t *files[] = { one_run(9, 100, ""), instructions(1000, "") };
	struct report_diff diff;

	find(&diff, files);
	assert_int_equal(diff.count, 1);
	assert_int_equal(json_object_size(diff.figures[0]), 0);
	assert_non_null(json_object_get(diff.figures[1], "instructions"));
	let_go(&diff, files);
}

/* ---- many rows ------------------------------------------------------------- */

/* Rows of five rounds, each far from those of the other file. */
static size_t told_of(unsigned rows)
{
	struct report_diff diff;
	json_t *files[2];
	size_t slower;

	for (unsigned f = 0; f < 2; f++) {
		begin();
		for (unsigned row = 0; row < rows; row++)
			add_run(row, 5, f == 0 ? 100 : 900, 0.01, "");
		files[f] = end();
	}
	find(&diff, files);
	slower = diff.counts[CHANGE_SLOWER];
	assert_int_equal(slower + diff.counts[CHANGE_FEW], rows);
	let_go(&diff, files);
	return slower;
}

/* Workloads that can show no change are not called the same: five rounds come out apart by
 * chance once in 126 times. */
TEST(changes_find__five_rounds_of_many_rows__too_few)
{
	assert_int_equal(told_of(6), 6);
	assert_int_equal(told_of(7), 0);
}

/* Two files of the same hundred workloads, each with noise of a fifth. */
static json_t *noise(void)
{
	begin();
	for (unsigned row = 0; row < 100; row++)
		add_run(row, 9, 100 + row, 0.2, "");
	return end();
}

/* A thousand rows of the same thing: Holm's correction leaves none by chance, or
 * else one file in twenty would have some. With a single seed that would be luck. */
TEST(changes_find__noise_alone__same)
{
	size_t wrong = 0;

	for (seed = 1; seed <= 10; seed++) {
		uint64_t kept = seed;
		json_t *files[] = { noise(), noise() };
		struct report_diff diff;

		assert_int_equal(report_diff_find(&diff, files, 0), 0);
		assert_int_equal(diff.count, 100);
		wrong += diff.count - diff.counts[CHANGE_SAME];
		report_diff_free(&diff);
		json_decref(files[0]);
		json_decref(files[1]);
		seed = kept;
	}
	assert_in_range(wrong, 0, 1);
}

/* ---- files that are not what they should be --------------------------------- */

static void refuses(const char *what, const char *expected)
{
	json_t *read = (json_t *)&read;
	char why[200] = "";

	if (report_diff_read(what, strlen(what), &read, why, sizeof(why)) !=
	    -EINVAL)
		fail_msg("it is read: %s", what);
	assert_null(read);
	if (strstr(why, expected) == NULL)
		fail_msg("%s: '%s' has no '%s'", what, why, expected);
}

#define RESULT "\"workload\":\"w\",\"workers\":1,\"ns_per_op\":5"

TEST(changes_read__no_results__refused)
{
	refuses("", "no results");
	refuses(" \n\t", "no results");
	refuses("{\"results\":[]}", "no results");
	refuses("{}", "neither");
	refuses("[]", "neither");
	refuses("\"text\"", "no JSON");
	refuses("# Report\n", "line 1: no JSON");
	refuses("{" RESULT "}\n{\"workload\"", "line 2: no JSON");
	refuses("{\"results\":[{" RESULT "},", "no JSON");
	refuses("{\"format\":2,\"results\":[{" RESULT "}]}", "another version");
	refuses("{\"format\":\"x\",\"results\":[{" RESULT "}]}",
		"another version");
}

TEST(changes_read__wrong_members__refused)
{
	refuses("{\"results\":7}", "\"results\" is no list");
	refuses("{\"results\":[{" RESULT "},7]}",
		"result 2 of \"results\": it is no object");
	refuses("{\"results\":[],\"peers\":[{}]}",
		"result 1 of \"peers\": \"workload\"");
	refuses("{\"workload\":7}", "\"workload\" is no text");
	refuses("{\"workload\":\"w\",\"workers\":-1}", "\"workers\"");
	refuses("{\"workload\":\"w\",\"workers\":4097}", "\"workers\"");
	refuses("{\"workload\":\"w\",\"workers\":1.5}", "\"workers\"");
	refuses("{\"workload\":\"w\",\"workers\":1}", "\"ns_per_op\"");
	refuses("{\"workload\":\"w\",\"workers\":1,\"ns_per_op\":\"5\"}",
		"\"ns_per_op\"");
	refuses("{\"workload\":\"w\",\"workers\":1,\"ns_per_op\":-5}",
		"\"ns_per_op\"");
	refuses("{\"workload\":\"w\",\"workers\":1,\"ns_per_op\":1e300}",
		"\"ns_per_op\"");
	refuses("{\"workload\":\"w\",\"workers\":1,\"ns_per_op\":1e999}",
		"no JSON: real number overflow");
	refuses("{\"workload\":\"w\",\"workers\":1,\"ns_per_op\":NaN}",
		"no JSON");
	refuses("{" RESULT ",\"params\":[]}", "\"params\"");
	refuses("{" RESULT ",\"peer\":7}", "\"peer\"");
	refuses("{" RESULT ",\"rounds_ns\":[]}", "\"rounds_ns\"");
	refuses("{" RESULT ",\"rounds_ns\":7}", "\"rounds_ns\"");
	refuses("{" RESULT ",\"rounds_ns\":[1,0]}", "\"rounds_ns\"");
	refuses("{" RESULT ",\"rounds_ns\":[1,null]}", "\"rounds_ns\"");
}

/* Reports of before rounds were said have one value a run. */
TEST(changes_read__without_rounds__medians)
{
	struct change change;
	json_t *a;

	begin();
	fputs("{\"results\":[", file);
	for (unsigned i = 0; i < 9; i++)
		fputs(i ? ",{" RESULT "}" : "{" RESULT "}", file);
	fputs("]}", file);
	a = end();
	change = find_one(json_incref(a), a);
	assert_int_equal(change.verdict, CHANGE_SAME);
	assert_int_equal(change.values[0], 9);
}
