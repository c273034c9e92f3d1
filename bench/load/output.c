/* SPDX-License-Identifier: MIT */
/* output.c - see output.h */
#include "bench/load/output.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/load/warnings.h"

/* The histogram rounds times down by less than this. */
#define RESOLUTION_PERCENT (100.0 / HISTOGRAM_STEPS)

bool output_ok(const struct drive *drive)
{
	return !tally_failed(&drive->tally) && drive->answered_all > 0 &&
	       drive->open == drive->connections;
}

static double per(double value, uint64_t count)
{
	return count ? value / (double)count : 0;
}

static double a_second(uint64_t count, uint64_t ns)
{
	return per((double)count * 1e9, ns);
}

static double busy_of(const struct drive *drive)
{
	return drive->elapsed_ns
		       ? 1 - (double)drive->idle_ns / (double)drive->elapsed_ns
		       : 0;
}

/* ---- text ------------------------------------------------------------------------ */

static double us(const struct tally_times *times, double percent)
{
	return (double)histogram_percentile(&times->histogram, percent) / 1e3;
}

static void print_times(const char *name, const struct tally_times *times)
{
	printf("%-14sp50 %.1f  p90 %.1f  p99 %.1f  p99.9 %.1f  p99.99 %.1f  "
	       "max %.1f us\n",
	       name, us(times, 50), us(times, 90), us(times, 99),
	       us(times, 99.9), us(times, 99.99), (double)times->max_ns / 1e3);
}

static void print_rate(const struct drive *drive)
{
	printf("%-14s", "rate");
	if (drive->rate > 0)
		printf("%.0f requests/s offered, %.0f arrived, ", drive->rate,
		       a_second(drive->arrived, drive->elapsed_ns));
	else
		printf("as many as the server answers: ");
	printf("%.0f answered\n", a_second(drive->answered, drive->elapsed_ns));
}

static void print_server(const struct drive *drive)
{
	const struct server_usage *usage = &drive->usage;
	uint64_t requests = drive->answered_all;

	if (!usage->known) {
		printf("%-14sno CPU time: %s\n", "server", drive->server->why);
		return;
	}
	printf("%-14s%.3f us of CPU a request, %.1f %% of a CPU, %.3f "
	       "switches a request\n",
	       "server", per((double)usage->cpu_ns / 1e3, requests),
	       per((double)usage->cpu_ns * 100, drive->total_ns),
	       per((double)usage->switches, requests));
	if (usage->counted)
		printf("%-14s%.0f a request, in user mode\n", "instructions",
		       per((double)usage->instructions, requests));
	else
		printf("%-14snot counted: %s\n", "instructions",
		       drive->server->counter_why);
}

static void print_errors(const struct drive *drive)
{
	const struct tally *tally = &drive->tally;

	if (!tally->errors)
		printf("%-14snone\n", "errors");
	for (unsigned i = 0; i < tally->errors; i++) {
		const struct tally_error *error = &tally->error[i];

		printf("%-14s%" PRIu64 " %s%s%s\n", "errors", error->count,
		       error->name, error->line[0] ? ": " : "", error->line);
	}
}

void output_text(const struct drive *drive, const struct options *options)
{
	const struct tally *tally = &drive->tally;
	struct warnings warnings;

	printf("%s, port %" PRIu64 ": %u connections, %u requests together, "
	       "for %.3g s\n",
	       options->host, options->port, drive->connections,
	       drive->requests->batch, options->seconds);
	print_rate(drive);
	print_times("latency", &tally->latency);
	printf("%-14s%s; rounded down by less than %.1f %%\n", "",
	       drive->rate > 0 ? "from the intended time of each request"
			       : "from the send; the load waits for replies",
	       RESOLUTION_PERCENT);
	print_server(drive);
	printf("%-14sbusy for %.1f %% of the time, %.3f us of CPU a request\n",
	       "generator", busy_of(drive) * 100,
	       per((double)drive->cpu_ns / 1e3, drive->answered_all));
	if (drive->rate > 0)
		print_times("sends late by", &tally->late);
	if (options->parts[REQUEST_GET])
		printf("%-14s%" PRIu64 " of %" PRIu64 " GET\n", "nil",
		       tally->nils, tally->replies[REQUEST_GET]);
	print_errors(drive);
	warnings_find(drive, &warnings);
	for (unsigned i = 0; i < warnings.count; i++)
		printf("warning: %s\n", warnings.text[i]);
}

/* ---- JSON ------------------------------------------------------------------------ */

static json_t *integer(uint64_t value)
{
	return json_integer((json_int_t)value);
}

static json_t *rounded(double value)
{
	return json_real(round(value * 1000) / 1000);
}

static json_t *text_or_null(const char *text)
{
	return text[0] ? json_string(text) : json_null();
}

static json_t *times_json(const struct tally_times *times)
{
	json_t *object = histogram_json(&times->histogram);

	json_object_set_new(object, "max", integer(times->max_ns));
	json_object_set_new(object, "resolution_percent",
			    json_real(RESOLUTION_PERCENT));
	return object;
}

static json_t *params_json(const struct drive *drive,
			   const struct options *options)
{
	json_t *mix = json_object();

	for (unsigned kind = 0; kind < REQUEST_KINDS; kind++)
		json_object_set_new(mix, request_names[kind],
				    integer(options->parts[kind]));
	return json_pack(
		"{s:s, s:o, s:o, s:o, s:o, s:f, s:f, s:o, s:o, s:o, s:o, s:b, "
		"s:b}",
		"host", options->host, "port", integer(options->port), "rate",
		drive->rate > 0 ? json_real(drive->rate) : json_null(),
		"connections", integer(options->connections), "pipeline",
		integer(options->pipeline), "seconds", options->seconds,
		"warm_up", options->warm_up, "mix", mix, "keys",
		integer(options->keys), "value_size",
		integer(options->value_size), "seed", integer(options->seed),
		"fill", options->fill, "sleep", options->sleep);
}

static void add_server(json_t *object, const struct drive *drive)
{
	const struct server_usage *usage = &drive->usage;
	const struct server *server = drive->server;
	double requests = (double)drive->answered_all;
	bool known = usage->known && requests > 0;
	bool counted = known && usage->counted;
	const char *why = counted        ? ""
			  : usage->known ? server->counter_why
					 : server->why;

	/* clang-format off: one name and its value on each line. */
	json_object_update_new(
		object,
		json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "server_pid",
			  server->pid ? json_integer(server->pid) : json_null(),
			  "server_cpu_ns",
			  known ? rounded((double)usage->cpu_ns / requests)
				: json_null(),
			  "server_cpu_reason",
			  text_or_null(known ? "" : server->why),
			  "requests_per_cpu_s",
			  known && usage->cpu_ns
				  ? rounded(requests * 1e9 /
					    (double)usage->cpu_ns)
				  : json_null(),
			  "server_switches",
			  known ? rounded((double)usage->switches / requests)
				: json_null(),
			  "server_instructions",
			  counted ? rounded((double)usage->instructions /
					    requests)
				  : json_null(),
			  "server_instructions_reason", text_or_null(why)));
	/* clang-format on */
}

static json_t *errors_json(const struct tally *tally)
{
	json_t *errors = json_object();

	for (unsigned i = 0; i < tally->errors; i++)
		json_object_set_new(errors, tally->error[i].name,
				    integer(tally->error[i].count));
	return errors;
}

static json_t *replies_json(const struct tally *tally)
{
	json_t *replies = json_object();

	for (unsigned kind = 0; kind < REQUEST_KINDS; kind++)
		json_object_set_new(replies, request_names[kind],
				    integer(tally->replies[kind]));
	json_object_set_new(replies, "nil", integer(tally->nils));
	return replies;
}

static json_t *warnings_json(const struct drive *drive)
{
	json_t *list = json_array();
	struct warnings warnings;

	warnings_find(drive, &warnings);
	for (unsigned i = 0; i < warnings.count; i++)
		json_array_append_new(list, json_string(warnings.text[i]));
	return list;
}

void output_json(const struct drive *drive, const struct options *options)
{
	const struct tally *tally = &drive->tally;
	json_t *object = json_pack(
		"{s:s, s:o, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
		"workload", "load", "params", params_json(drive, options), "ok",
		output_ok(drive), "requests_per_s",
		rounded(a_second(drive->answered, drive->elapsed_ns)),
		"arrived", integer(drive->arrived), "sent",
		integer(drive->sent), "answered", integer(drive->answered),
		"unanswered", integer(drive->unanswered), "lost",
		integer(drive->lost), "held", integer(drive->held));

	json_object_set_new(object, "latency_ns", times_json(&tally->latency));
	json_object_set_new(object, "late_ns",
			    drive->rate > 0 ? times_json(&tally->late)
					    : json_null());
	json_object_set_new(object, "replies", replies_json(tally));
	json_object_set_new(object, "errors", errors_json(tally));
	add_server(object, drive);
	json_object_set_new(
		object, "client_cpu_ns",
		rounded(per((double)drive->cpu_ns, drive->answered_all)));
	json_object_set_new(object, "client_busy", rounded(busy_of(drive)));
	json_object_set_new(object, "client_delayed_ns",
			    integer(drive->delayed_ns));
	json_object_set_new(object, "warnings", warnings_json(drive));
	json_dumpf(object, stdout, JSON_COMPACT | JSON_REAL_PRECISION(12));
	putchar('\n');
	json_decref(object);
}
