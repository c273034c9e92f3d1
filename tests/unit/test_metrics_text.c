/* SPDX-License-Identifier: MIT */
/* test_metrics_text.c - a made snapshot as text, in both formats */
#include <stdlib.h>

#include "bpf/metrics/metrics.h"
#include "tests/unit/support.h"

static struct target_worker workers[2];
static struct metrics_type types[2];
static struct metrics_runtime runtime;
static char *text;

static void make_runtime(void)
{
	memset(workers, 0, sizeof(workers));
	memset(types, 0, sizeof(types));
	runtime = (struct metrics_runtime){ .pid = 12,
					    .comm = "a\"b\\c",
					    .index = 3,
					    .version = "1.2.3",
					    .type_count = 2,
					    .types = types };
	runtime.area.abi = 1;
	runtime.area.sample = 64;
	runtime.snapshot.worker_count = 2;
	runtime.snapshot.workers = workers;
	runtime.snapshot.injection_depth = 7;
	runtime.snapshot.tasks_spawned = 5;
	strcpy(types[0].name, "http_read");
	strcpy(types[1].name, "(others)");
}

static const char *write_all(enum metrics_format format, unsigned count)
{
	const struct metrics_list list = { .runtimes = &runtime,
					   .count = count };
	size_t size;
	FILE *file;

	free(text);
	file = open_memstream(&text, &size);
	assert_non_null(file);
	metrics_write(file, &list, format);
	fclose(file);
	assert_int_equal(strlen(text), size);
	return text;
}

/* That whole line. */
static void expect_line(const char *line)
{
	const char *at = text;
	size_t length = strlen(line);

	while ((at = strstr(at, line)) != NULL) {
		if ((at == text || at[-1] == '\n') && at[length] == '\n')
			return;
		at++;
	}
	fail_msg("no line '%s' in:\n%s", line, text);
}

static void expect_nowhere(const char *part)
{
	if (strstr(text, part) != NULL)
		fail_msg("'%s' is in:\n%s", part, text);
}

#define LABELS "{pid=\"12\",process=\"a\\\"b\\\\c\",runtime=\"3\""

TEST(metrics_write__openmetrics__families_and_end)
{
	make_runtime();
	workers[1].area.counters.tasks_polled = UINT64_MAX;
	workers[0].queue_depth = 9;
	write_all(METRICS_OPENMETRICS, 1);
	expect_line("# TYPE skua_tasks_polled counter");
	expect_line("skua_tasks_polled_total" LABELS ",worker=\"0\"} 0");
	expect_line("skua_tasks_polled_total" LABELS
		    ",worker=\"1\"} 18446744073709551615");
	expect_line("skua_local_queue_depth" LABELS ",worker=\"0\"} 9");
	expect_line("skua_injection_queue_depth" LABELS "} 7");
	expect_line("skua_runtime_tasks_spawned_total" LABELS "} 5");
	expect_line("# TYPE skua_runtime info");
	expect_line("skua_runtime_info" LABELS
		    ",version=\"1.2.3\",abi=\"1\",sample=\"64\"} 1");
	expect_line("# UNIT skua_run_seconds seconds");
	expect_line("# TYPE skua_poll_seconds histogram");
	assert_string_equal(text + strlen(text) - 7, "\n# EOF\n");
}

TEST(metrics_write__prometheus__whole_names_and_no_end)
{
	make_runtime();
	write_all(METRICS_PROMETHEUS, 1);
	expect_line("# TYPE skua_tasks_polled_total counter");
	expect_line("# HELP skua_tasks_polled_total Polls of tasks.");
	expect_line("# TYPE skua_runtime_info gauge");
	expect_line("skua_tasks_polled_total" LABELS ",worker=\"0\"} 0");
	expect_nowhere("# UNIT");
	expect_nowhere("# EOF");
	expect_nowhere(" info\n");
}

TEST(metrics_write__no_runtime__end_alone_has_no_samples)
{
	make_runtime();
	write_all(METRICS_OPENMETRICS, 0);
	expect_nowhere("skua_workers{");
	expect_line("# EOF");
}

TEST(metrics_write__times__seconds_up_to_now)
{
	make_runtime();
	runtime.snapshot.at_ns = 5000000000;
	workers[0].area.times = (struct area_times){ .state = AREA_PARKED,
						     .since_ns = 4000000000,
						     .run_ns = 1,
						     .search_ns = 20,
						     .park_ns = 250000000 };
	write_all(METRICS_OPENMETRICS, 1);
	expect_line("skua_run_seconds_total" LABELS
		    ",worker=\"0\"} 0.000000001");
	expect_line("skua_search_seconds_total" LABELS
		    ",worker=\"0\"} 0.000000020");
	expect_line("skua_park_seconds_total" LABELS
		    ",worker=\"0\"} 1.250000000");
}

TEST(metrics_write__histogram__cumulative_over_workers)
{
	make_runtime();
	probes_count_owner(&workers[0].samples.poll, 255, 1);
	probes_count_owner(&workers[0].samples.poll, 256, 1);
	probes_count_owner(&workers[1].samples.poll, 511, 1);
	probes_count_owner(&workers[1].samples.poll, 512, 1);
	probes_count_owner(&workers[1].samples.poll, UINT64_C(1) << 40, 1);
	write_all(METRICS_OPENMETRICS, 1);
	expect_line("skua_poll_seconds_bucket" LABELS ",le=\"2.56e-07\"} 1");
	expect_line("skua_poll_seconds_bucket" LABELS ",le=\"5.12e-07\"} 3");
	expect_line("skua_poll_seconds_bucket" LABELS ",le=\"1.024e-06\"} 4");
	expect_line("skua_poll_seconds_bucket" LABELS
		    ",le=\"68.719476736\"} 4");
	expect_line("skua_poll_seconds_bucket" LABELS ",le=\"+Inf\"} 5");
	expect_line("skua_poll_seconds_count" LABELS "} 5");
	expect_line("skua_poll_seconds_sum" LABELS "} 1099.511629310");
}

TEST(metrics_write__impossible_counts__do_not_wrap)
{
	make_runtime();
	workers[0].samples.poll.count[0] = UINT64_MAX - 1;
	workers[0].samples.poll.count[PROBES_BUCKETS - 1] = 7;
	write_all(METRICS_OPENMETRICS, 1);
	expect_line("skua_poll_seconds_bucket" LABELS
		    ",le=\"68.719476736\"} 18446744073709551614");
	expect_line("skua_poll_seconds_count" LABELS "} 18446744073709551615");
}

TEST(metrics_write__types__by_name)
{
	make_runtime();
	types[0].seen.polls = 4;
	types[0].seen.run_ns = 2500000000;
	types[0].seen.longest_ns = 2000000000;
	types[1].seen.waits = 8;
	write_all(METRICS_OPENMETRICS, 1);
	expect_line("skua_type_polls_total" LABELS ",type=\"http_read\"} 4");
	expect_line("skua_type_run_seconds_total" LABELS
		    ",type=\"http_read\"} 2.500000000");
	expect_line("skua_type_longest_poll_seconds" LABELS
		    ",type=\"http_read\"} 2.000000000");
	expect_line("skua_type_waits_total" LABELS ",type=\"(others)\"} 8");
}

TEST(metrics_write__line_ends_in_names__are_escaped)
{
	make_runtime();
	strcpy(types[0].name, "a\nskua_x 1");
	write_all(METRICS_OPENMETRICS, 1);
	expect_line("skua_type_polls_total" LABELS ",type=\"a\\nskua_x 1\"} 0");
}

int main(void)
{
	int code = run_all_tests();

	free(text);
	return code;
}
