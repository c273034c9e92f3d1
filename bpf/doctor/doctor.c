/* SPDX-License-Identifier: MIT */
/* doctor.c - skua doctor: say what works on this machine, why the rest does
 * not, and what to do */
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "bpf/cli/args.h"
#include "bpf/doctor/doctor.h"
#include "bpf/verbs.h"

struct options {
	struct doctor doctor;
	uint64_t pid;
	bool json;
};

static error_t check(void *input)
{
	struct options *options = input;

	if (options->pid && options->doctor.root)
		return args_refuse("--pid is of this machine, but --root %s is "
				   "another; allowed: one of them",
				   options->doctor.root);
	options->doctor.pid = (pid_t)options->pid;
	return 0;
}

static const struct args_verb verb = {
	.doc = "Show what works on this machine with your privileges, what "
	       "does not, why, and what to do about it: counters, tracing, "
	       "memory of other processes, limits, and what disturbs "
	       "measurements",
	.check = check,
	ARGS_OPTIONS(
		ARGS_JSON(struct options, "Print an object"),
		ARGS_PID(struct options,
			 "Check this process: its memory, limits and control "
			 "group"),
		ARGS_TEXT_OF(struct options, "root", doctor.root, "PATH",
			     "Check another machine: a folder with a file "
			     "tree as at /. Nothing is tried there")),
};

/* Indexed by enum doctor_state. */
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

/* Convert text to a JSON string: null if empty, "?" if it is not UTF-8, as text
 * from files may be. */
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

/* Check that the folder and the process exist; otherwise print which one does
 * not. */
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

	if (args_parse_verb(&verb, "doctor", argc, argv, &options) != 0)
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
