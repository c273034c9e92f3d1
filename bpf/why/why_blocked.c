/* SPDX-License-Identifier: MIT */
/* why_blocked.c - skua why --off-cpu: the functions in which polls block */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/cli/json.h"
#include "bpf/cli/args.h"
#include "bpf/target/pick_process.h"
#include "bpf/cli/exits.h"
#include "bpf/cli/table.h"
#include "bpf/verbs.h"
#include "bpf/why/blocked_polls.h"
#include "bpf/why/why.h"

/* Shorter blocks are only counted, unless --slower-than says otherwise. */
#define MIN_NS UINT64_C(10000)

#define EACH_S 0.1

/* The options and the results. */
struct run {
	const struct why_blocked *options;
	struct target *target;
	struct blocked_polls *off;
	uint64_t least_ns;
	char comm[TARGET_NAME];
	double seconds; /* duration of the watch */
};

static int complain(const char *why)
{
	fprintf(stderr, ARGS_PROGRAM " why: --off-cpu: %s\n", why);
	return EXIT_FAILED;
}

/* ---- watching -------------------------------------------------------------- */

static int take_until_end(struct run *run, struct exits *exits)
{
	double start = exits_now(), now = start;
	double end = start + run->options->seconds;
	bool over = false;
	int err = 0;

	while (err == 0 && !over && now < end) {
		now = now + EACH_S < end ? now + EACH_S : end;
		over = exits_wait(exits, now);
		err = blocked_polls_take(run->off, exits->gone);
	}
	run->seconds = exits_now() - start;
	if (exits->signalled)
		blocked_polls_hurry(run->off);
	return err ? err : blocked_polls_finish(run->off);
}

static int record(struct run *run)
{
	char why[BLOCKED_POLLS_TEXT];
	struct exits exits;
	int err = exits_open(&exits, target_pid(run->target));
	int code = EXIT_OK;

	if (err)
		code = complain(strerror(-err));
	else if (blocked_polls_start(&run->off, run->target, run->least_ns,
				     why) != 0)
		code = complain(why);
	else
		err = take_until_end(run, &exits);
	if (err == -ENOMEM)
		code = complain(strerror(ENOMEM));
	else if (code == EXIT_OK && (err || exits.gone))
		fprintf(stderr, "the process has ended; the results cover the "
				"time before\n");
	exits_close(&exits);
	return code;
}

/* With --type, drop all other types; fails if only others blocked. */
static int keep_chosen_type(struct run *run)
{
	const char *type = run->options->type;
	size_t count;

	blocked_polls_places(run->off, &count);
	if (type && count > 0 && blocked_polls_keep_type(run->off, type) == 0) {
		fprintf(stderr,
			ARGS_PROGRAM " why: --type is '%s': no poll of this "
				     "type blocked; polls of other types did\n",
			type);
		return EXIT_FAILED;
	}
	return EXIT_OK;
}

/* ---- as text --------------------------------------------------------------- */

/* Copy a name from a file without control characters. @text: SHOWN bytes. */
#define SHOWN 256u
static const char *show(const char *name, char *text)
{
	snprintf(text, SHOWN, "%s", name);
	target_printable(text, SHOWN);
	return text;
}

/* Print a function and the line of its call to the one above: "work, hog.c:55". */
static void print_function(const struct run *run,
			   const struct flame_function *function)
{
	char text[SHOWN];
	struct line line;
	const char *last;

	blocked_polls_line(run->off, function, &line);
	printf("        %s", show(function->name, text));
	last = strrchr(line.source, '/');
	if (line.number > 0)
		printf(", %s:%d", last ? last + 1 : line.source, line.number);
	putchar('\n');
}

static void print_place(const struct run *run,
			const struct blocked_polls_place *place, size_t index)
{
	char times[32], sum[32], longest[32];

	printf("%2zu  %s blocked ", index + 1, place->type);
	if (place->times == 1)
		printf("once, for %s", text_time(sum, (double)place->ns));
	else
		printf("%s times for %s in all, up to %s",
		       text_count(times, place->times),
		       text_time(sum, (double)place->ns),
		       text_time_in(longest, (double)place->longest_ns,
				    (double)place->ns));
	if (place->still > 0 && place->times == 1)
		printf(", still blocked");
	else if (place->still > 0)
		printf("; %s still blocked", text_count(times, place->still));
	if (place->before)
		printf("; began before skua started");
	putchar('\n');
	for (unsigned i = 0; i < place->function_count; i++)
		print_function(run, &place->functions[i]);
	if (!place->whole)
		printf("        (some callers are missing)\n");
}

static void print_text(const struct run *run)
{
	struct blocked_polls_counts counts = blocked_polls_counts(run->off);
	const char *missing = target_symbols_missing(run->target);
	char times[32], sum[32], lost[32], least[32], seconds[32];
	size_t count;
	const struct blocked_polls_place *places =
		blocked_polls_places(run->off, &count);

	printf("process %d (%s), %s\n", target_pid(run->target), run->comm,
	       text_time(seconds, run->seconds * 1e9));
	printf("polls blocked and went on %s time%s, for %s in all; %s lost\n",
	       text_count(times, counts.times), counts.times == 1 ? "" : "s",
	       text_time(sum, (double)counts.ns),
	       text_count(lost, counts.lost));
	printf("%s place%s in which they blocked for %s or more%s\n\n",
	       text_count(times, count), count == 1 ? "" : "s",
	       text_time(least, (double)run->least_ns),
	       count > 1 ? ", the longest in all first" : "");
	for (size_t i = 0; i < count && i < run->options->most; i++)
		print_place(run, &places[i], i);
	if (*missing)
		fprintf(stderr, "%s\n", missing);
}

/* ---- as JSON --------------------------------------------------------------- */

/* "/path/hog.c:55", or null */
static json_t *line_json(const struct run *run,
			 const struct flame_function *function)
{
	struct line line;

	blocked_polls_line(run->off, function, &line);
	return line.number > 0 ? json_sprintf("%s:%d", line.source, line.number)
			       : json_null();
}

static json_t *place_json(const struct run *run,
			  const struct blocked_polls_place *place)
{
	json_t *object = json_object(), *functions = json_array();
	json_t *lines = json_array();
	char text[SHOWN];

	json_object_set_new(object, "type", json_string(place->type));
	json_set_count(object, "ns", place->ns);
	json_set_count(object, "times", place->times);
	json_set_count(object, "longest_ns", place->longest_ns);
	json_set_count(object, "still", place->still);
	json_object_set_new(object, "before", json_boolean(place->before));
	json_object_set_new(object, "whole", json_boolean(place->whole));
	for (unsigned i = 0; i < place->function_count; i++) {
		json_array_append_new(
			functions,
			json_string(show(place->functions[i].name, text)));
		json_array_append_new(lines,
				      line_json(run, &place->functions[i]));
	}
	json_object_set_new(object, "functions", functions);
	json_object_set_new(object, "lines", lines);
	return object;
}

static int print_json(const struct run *run)
{
	struct blocked_polls_counts counts = blocked_polls_counts(run->off);
	json_t *object = json_object(), *all = json_array();
	size_t count;
	const struct blocked_polls_place *places =
		blocked_polls_places(run->off, &count);

	json_set_count(object, "pid", (uint64_t)target_pid(run->target));
	json_object_set_new(object, "comm", json_string(run->comm));
	json_object_set_new(object, "seconds", json_real(run->seconds));
	json_set_count(object, "least_ns", run->least_ns);
	json_set_count(object, "times", counts.times);
	json_set_count(object, "ns", counts.ns);
	json_set_count(object, "lost", counts.lost);
	for (size_t i = 0; i < count && i < run->options->most; i++)
		json_array_append_new(all, place_json(run, &places[i]));
	json_object_set_new(object, "places", all);
	return json_print(stdout, object, 9) ? EXIT_OK
					     : complain(strerror(ENOMEM));
}

/* ---- the command ----------------------------------------------------------- */

int why_blocked(const struct why_blocked *options)
{
	struct run run = { .options = options,
			   .least_ns = options->slower_than_ns
					       ? options->slower_than_ns
					       : MIN_NS };
	int code = pick_process(&run.target, "why", options->pid);

	if (code == EXIT_OK) {
		pick_process_remark(run.target, "why");
		target_comm(run.target, run.comm);
		code = record(&run);
	}
	if (code == EXIT_OK)
		code = keep_chosen_type(&run);
	if (code == EXIT_OK && options->json)
		code = print_json(&run);
	else if (code == EXIT_OK)
		print_text(&run);
	blocked_polls_stop(run.off);
	target_close(run.target);
	return code;
}
