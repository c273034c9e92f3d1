/* SPDX-License-Identifier: MIT */
/* doctor.c - skua doctor: what is possible here, why the rest is not, what to do */
#include <argp.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "bpf/cli/args.h"
#include "bpf/doctor/doctor.h"
#include "bpf/verbs.h"

enum { OPTION_JSON = 0x100, OPTION_ROOT };

struct options {
	struct doctor doctor;
	bool json;
};

static error_t check(const struct options *options)
{
	if (options->doctor.pid != 0 && options->doctor.root != NULL)
		return args_refuse("-p is of this machine, but --root %s is "
				   "another; allowed: one of them",
				   options->doctor.root);
	return 0;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;
	uint64_t number;

	switch (key) {
	case OPTION_JSON:
		options->json = true;
		return 0;
	case OPTION_ROOT:
		options->doctor.root = arg;
		return 0;
	case 'p':
		if (args_number("-p", arg, 1, INT_MAX, &number) != 0)
			return EINVAL;
		options->doctor.pid = (pid_t)number;
		return 0;
	case ARGP_KEY_END:
		return check(options);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option argp_options[] = {
	{ .name = "json", .key = OPTION_JSON, .doc = "Print an object" },
	{ .name = "pid",
	  .key = 'p',
	  .arg = "PID",
	  .doc = "Look at this process: its memory, limits and control group" },
	{ .name = "root",
	  .key = OPTION_ROOT,
	  .arg = "PATH",
	  .doc = "Another machine: a folder with a tree as at /. Nothing is "
		 "tried there" },
	{ 0 },
};

static const struct argp argp = {
	.options = argp_options,
	.parser = parse,
	.doc = "Say what this machine and your privileges allow, and what not, "
	       "why, and what to do about it: counters, tracing, memory of "
	       "other processes, limits, and what disturbs measurements",
};

/* In the order of enum doctor_state. */
static const char *const states[] = { "ok", "partly", "missing" };

static void print_reports(const struct doctor_report *reports)
{
	for (unsigned i = 0; i < DOCTOR_CHECKS; i++) {
		const struct doctor_report *r = &reports[i];

		printf("%-8s%-22s %s", states[r->state], r->name, r->found);
		if (r->why[0] != '\0')
			printf("; %s. To do: %s", r->why, r->advice);
		putchar('\n');
	}
}

/* Text of files may not be UTF-8. */
static json_t *text_json(const char *text)
{
	json_t *json = text[0] != '\0' ? json_string(text) : json_null();

	return json != NULL ? json : json_string("?");
}

static bool print_json(const struct doctor_report *reports)
{
	json_t *array = json_array(), *object;
	bool written;

	for (unsigned i = 0; i < DOCTOR_CHECKS; i++) {
		const struct doctor_report *r = &reports[i];

		json_array_append_new(
			array,
			json_pack("{s:s, s:s, s:o, s:o, s:o}", "name", r->name,
				  "state", states[r->state], "found",
				  text_json(r->found), "why", text_json(r->why),
				  "do", text_json(r->advice)));
	}
	object = json_pack("{s:o}", "checks", array);
	written = object && json_dumpf(object, stdout, JSON_COMPACT) == 0;
	putchar('\n');
	json_decref(object);
	return written;
}

/* Is there anything to look at? */
static bool is_there(const struct doctor *doctor)
{
	struct stat info;
	char path[64];

	if (doctor->root != NULL &&
	    (stat(doctor->root, &info) != 0 || !S_ISDIR(info.st_mode))) {
		fprintf(stderr, ARGS_PROGRAM " doctor: %s: no such folder\n",
			doctor->root);
		return false;
	}
	snprintf(path, sizeof(path), "/proc/%d", doctor->pid);
	if (doctor->pid != 0 && stat(path, &info) != 0) {
		fprintf(stderr, ARGS_PROGRAM " doctor: no process %d\n",
			doctor->pid);
		return false;
	}
	return true;
}

int verb_doctor(int argc, char **argv)
{
	struct doctor_report reports[DOCTOR_CHECKS];
	struct options options = { .json = false };

	if (args_parse(&argp, "doctor", argc, argv, &options) != 0)
		return EXIT_USAGE;
	if (options.doctor.root != NULL &&
	    strcmp(options.doctor.root, "/") == 0)
		options.doctor.root = NULL;
	if (!is_there(&options.doctor))
		return EXIT_FAILED;
	doctor_examine(&options.doctor, reports);
	if (!options.json) {
		print_reports(reports);
	} else if (!print_json(reports)) {
		fprintf(stderr, ARGS_PROGRAM " doctor: no memory\n");
		return EXIT_FAILED;
	}
	return EXIT_OK;
}
