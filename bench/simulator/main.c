/* SPDX-License-Identifier: MIT */
/* main.c - skua-simulator: one simulation, or the report */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/cli/args.h"
#include "bench/harness/out_folder.h"
#include "bench/simulator/case.h"
#include "bench/simulator/study.h"

#define DURATION_MAX_US UINT64_C(1000000)

/* ---- run ----------------------------------------------------------------------- */

struct run_options {
	struct shape shape;
	const char *snapshot; /* or NULL: the shape */
	uint64_t workers;     /* of the snapshot; 0: all */
	enum workload_kind workload;
	const struct policy *policy;
	uint64_t percent, seed;
	uint64_t service_ns, depth, duration_us; /* 0: as in the report */
	uint64_t samples, far_delay_ns, attempts, steal_max, steal_max_far;
	bool wake_by_all;
	bool json;
};

enum {
	OPTION_MACHINE = 0x100,
	OPTION_WORKERS,
	OPTION_POLICY,
	OPTION_WORKLOAD,
	OPTION_LOAD,
	OPTION_SEED,
	OPTION_SERVICE,
	OPTION_DEPTH,
	OPTION_TIME,
	OPTION_SAMPLES,
	OPTION_FAR_DELAY,
	OPTION_ATTEMPTS,
	OPTION_STEAL_MAX,
	OPTION_STEAL_MAX_FAR,
	OPTION_WAKE,
	OPTION_JSON,
	OPTION_OUT,
	OPTION_QUICK
};

/* Options that are numbers: which, where, and within which limits. */
static const struct number {
	int key;
	const char *name;
	size_t offset;
	uint64_t min, max;
} numbers[] = {
#define NUMBER(key, name, member, min, max)                               \
	{                                                                 \
		key, name, offsetof(struct run_options, member), min, max \
	}
	NUMBER(OPTION_WORKERS, "--workers", workers, 2, 4096),
	NUMBER(OPTION_LOAD, "--load", percent, 1, 99),
	NUMBER(OPTION_SEED, "--seed", seed, 1, 1000000),
	NUMBER(OPTION_SERVICE, "--service-ns", service_ns, 1, 1000000),
	NUMBER(OPTION_DEPTH, "--depth", depth, 1, 24),
	NUMBER(OPTION_TIME, "--time-us", duration_us, 10, DURATION_MAX_US),
	NUMBER(OPTION_SAMPLES, "--far-samples", samples, 1, 64),
	NUMBER(OPTION_FAR_DELAY, "--far-delay-ns", far_delay_ns, 1, 1000000),
	NUMBER(OPTION_ATTEMPTS, "--steal-attempts", attempts, 1, 1000),
	NUMBER(OPTION_STEAL_MAX, "--steal-max", steal_max, 1, 1000),
	NUMBER(OPTION_STEAL_MAX_FAR, "--steal-max-far", steal_max_far, 1, 1000),
};

/* "2x4x8x8x2", and no more than what there can be; false if it is not that. */
static bool parse_shape(const char *text, struct shape *out)
{
	struct shape s;
	int end = 0;

	if (sscanf(text, "%3ux%3ux%4ux%4ux%2u%n", &s.sockets, &s.nodes,
		   &s.caches, &s.cores, &s.threads, &end) != 5 ||
	    text[end] != '\0')
		return false;
	if ((double)s.sockets * s.nodes * s.caches * s.cores * s.threads >
		    4096 ||
	    layout_workers(&s) < 2)
		return false;
	*out = s;
	return true;
}

static error_t parse_machine(struct run_options *options, const char *arg)
{
	options->snapshot = NULL;
	if (parse_shape(arg, &options->shape))
		return 0;
	if (arg[0] >= '0' && arg[0] <= '9')
		return args_refuse("--machine is '%s'; allowed: SOCKETSxNODES"
				   "xCACHESxCORESxTHREADS with 2 to 4096 "
				   "workers, or a snapshot",
				   arg);
	options->snapshot = arg;
	return 0;
}

static error_t refuse_name(const char *option, const char *arg,
			   const char *(*name)(unsigned i))
{
	char allowed[200] = "";

	for (unsigned i = 0; name(i) != NULL; i++) {
		size_t used = strlen(allowed);

		snprintf(allowed + used, sizeof(allowed) - used, "%s%s",
			 i > 0 ? ", " : "", name(i));
	}
	return args_refuse("%s is '%s'; allowed: %s", option, arg, allowed);
}

static const char *policy_name(unsigned i)
{
	return policies[i] != NULL ? policies[i]->name : NULL;
}

static const char *workload_name(unsigned i)
{
	return i < WORKLOAD_KINDS ? case_workload_name((enum workload_kind)i)
				  : NULL;
}

static error_t parse_number(int key, const char *arg,
			    struct run_options *options)
{
	for (unsigned i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		const struct number *n = &numbers[i];

		if (n->key == key)
			return args_number(
				n->name, arg, n->min, n->max,
				(uint64_t *)((char *)options + n->offset));
	}
	return ARGP_ERR_UNKNOWN;
}

static error_t parse_run(int key, char *arg, struct argp_state *state)
{
	struct run_options *options = state->input;

	switch (key) {
	case OPTION_MACHINE:
		return parse_machine(options, arg);
	case OPTION_POLICY:
		options->policy = policy_find(arg);
		return options->policy
			       ? 0
			       : refuse_name("--policy", arg, policy_name);
	case OPTION_WORKLOAD:
		options->workload = case_workload_find(arg);
		return options->workload < WORKLOAD_KINDS
			       ? 0
			       : refuse_name("--workload", arg, workload_name);
	case OPTION_WAKE:
		options->wake_by_all = strcmp(arg, "all") == 0;
		if (!options->wake_by_all && strcmp(arg, "group") != 0)
			return args_refuse("--wake is '%s'; allowed: group, "
					   "all",
					   arg);
		return 0;
	case OPTION_JSON:
		options->json = true;
		return 0;
	default:
		return parse_number(key, arg, options);
	}
}

static const struct argp_option run_argp_options[] = {
	{ .name = "machine",
	  .key = OPTION_MACHINE,
	  .arg = "SHAPE|FILE",
	  .doc = "Sockets x nodes x last caches x cores x threads, each of one "
		 "of the former (2x4x8x8x2), or a snapshot of skua topo" },
	{ .name = "workers",
	  .key = OPTION_WORKERS,
	  .arg = "N",
	  .doc = "Use the first N CPUs of the snapshot (all)" },
	{ .name = "policy",
	  .key = OPTION_POLICY,
	  .arg = "NAME",
	  .doc = "runtime, rand, tier, samp, hint or hintw (runtime)" },
	{ .name = "workload",
	  .key = OPTION_WORKLOAD,
	  .arg = "NAME",
	  .doc = "even, skew, single, burst or tree (even)" },
	{ .name = "load",
	  .key = OPTION_LOAD,
	  .arg = "N",
	  .doc = "Percent of the workers' capacity (70)" },
	{ .name = "seed", .key = OPTION_SEED, .arg = "N", .doc = "(1)" },
	{ .name = "service-ns",
	  .key = OPTION_SERVICE,
	  .arg = "N",
	  .doc = "Of a task: the mean (5000); of the tree: of each (2000)" },
	{ .name = "depth",
	  .key = OPTION_DEPTH,
	  .arg = "N",
	  .doc = "Of the tree (17)" },
	{ .name = "time-us",
	  .key = OPTION_TIME,
	  .arg = "N",
	  .doc = "Simulated time, of which the first fifth is not measured "
		 "(2000)" },
	{ .name = "far-samples", .key = OPTION_SAMPLES, .arg = "N" },
	{ .name = "far-delay-ns", .key = OPTION_FAR_DELAY, .arg = "N" },
	{ .name = "steal-attempts", .key = OPTION_ATTEMPTS, .arg = "N" },
	{ .name = "steal-max", .key = OPTION_STEAL_MAX, .arg = "N" },
	{ .name = "steal-max-far",
	  .key = OPTION_STEAL_MAX_FAR,
	  .arg = "N",
	  .doc = "These five, as in the configuration of a runtime, are of the "
		 "policy runtime alone" },
	{ .name = "wake",
	  .key = OPTION_WAKE,
	  .arg = "WHICH",
	  .doc = "The others wake nobody while somebody of the group, or of "
		 "all, searches (group)" },
	{ .name = "json", .key = OPTION_JSON, .doc = "Print a line of JSON" },
	{ 0 },
};

static const struct argp run_argp = {
	.options = run_argp_options,
	.parser = parse_run,
	.doc = "Simulate a workload",
};

static void tune(struct tuning *tuning, const struct run_options *options)
{
	if (options->attempts)
		tuning->steal_attempts = (unsigned)options->attempts;
	if (options->steal_max)
		tuning->steal_max = (unsigned)options->steal_max;
	if (options->steal_max_far)
		tuning->steal_max_far = (unsigned)options->steal_max_far;
	if (options->samples)
		tuning->far_samples = (unsigned)options->samples;
	if (options->far_delay_ns)
		tuning->far_delay_ns = options->far_delay_ns;
}

static struct plan plan_of(const struct run_options *options,
			   const struct layout *layout)
{
	struct plan plan =
		case_defaults(options->workload, (unsigned)options->percent);

	plan.layout = layout;
	plan.policy = options->policy;
	plan.wake_by_group = !options->wake_by_all;
	plan.seed = options->seed;
	if (options->service_ns)
		plan.service_ns = options->service_ns;
	if (options->depth && plan.workload == WORKLOAD_TREE)
		plan.depth = (unsigned)options->depth;
	if (options->duration_us)
		plan.duration_ns = options->duration_us * 1000;
	tune(&plan.tuning, options);
	return plan;
}

static void print_text(const struct plan *plan, const struct outcome *o)
{
	printf("%s, %s, %u workers in %u groups: ", plan->policy->name,
	       case_workload_name(plan->workload),
	       plan->layout->groups.worker_count, plan->layout->groups.count);
	if (plan->workload == WORKLOAD_TREE)
		printf("%.2f of the least time", case_time_by_ideal(plan, o));
	else
		printf("p50 %.1f us, p99 %.1f us, p99.9 %.1f us",
		       (double)histogram_percentile(&o->latencies, 50) / 1000,
		       (double)histogram_percentile(&o->latencies, 99) / 1000,
		       (double)histogram_percentile(&o->latencies, 99.9) /
			       1000);
	printf(", %.1f %% off their node, %ju tasks, %ju left\n",
	       100 * case_away(o), (uintmax_t)o->done, (uintmax_t)o->left);
}

static int print_outcome(const struct plan *plan, const struct outcome *o,
			 bool json)
{
	json_t *object;

	if (!json) {
		print_text(plan, o);
		return EXIT_OK;
	}
	object = case_json(plan, o);
	if (object == NULL)
		return EXIT_FAILED;
	json_dumpf(object, stdout, JSON_COMPACT | JSON_REAL_PRECISION(12));
	putchar('\n');
	json_decref(object);
	return EXIT_OK;
}

static int make_layout(const struct run_options *options, struct layout *layout)
{
	struct skua_error err = { 0, "" };
	int code;

	if (!options->snapshot)
		return layout_make(layout, &options->shape);
	code = layout_load(layout, options->snapshot,
			   (unsigned)options->workers, &err);
	if (code)
		fprintf(stderr, ARGS_PROGRAM " run: --machine is '%s': %s\n",
			options->snapshot, err.text);
	return code;
}

static int verb_run(int argc, char **argv)
{
	static struct outcome outcome;
	struct run_options options = {
		.shape = { 2, 4, 8, 8, 2 },
		.policy = &policy_runtime,
		.percent = 70,
		.seed = 1,
	};
	struct layout layout = { .order = NULL };
	struct plan plan;
	int code;

	if (args_parse(&run_argp, "run", argc, argv, &options) != 0)
		return EXIT_USAGE;
	if (options.workers && !options.snapshot) {
		fputs(ARGS_PROGRAM " run: --workers needs a snapshot: "
				   "--machine FILE\n",
		      stderr);
		return EXIT_USAGE;
	}
	if (make_layout(&options, &layout) != 0)
		return EXIT_FAILED;
	plan = plan_of(&options, &layout);
	code = simulation_run(&plan, &outcome) == 0
		       ? print_outcome(&plan, &outcome, options.json)
		       : EXIT_FAILED;
	layout_free(&layout);
	return code;
}

/* ---- report ----------------------------------------------------------------------- */

struct report_options {
	const char *out; /* folder, or NULL */
	bool quick;
};

static error_t parse_report(int key, char *arg, struct argp_state *state)
{
	struct report_options *options = state->input;

	switch (key) {
	case OPTION_OUT:
		return out_folder_parse(arg, &options->out);
	case OPTION_QUICK:
		options->quick = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option report_argp_options[] = {
	{ .name = "out",
	  .key = OPTION_OUT,
	  .arg = "DIR",
	  .doc = "Write simulation.md, simulation.json and simulation.svg "
		 "there as well" },
	{ .name = "quick", .key = OPTION_QUICK, .doc = "One seed, not three" },
	{ 0 },
};

static const struct argp report_argp = {
	.options = report_argp_options,
	.parser = parse_report,
	.doc = "Simulate 1,024 workers on 8 nodes with each policy, and what "
	       "searches and wake-ups read on machines of several sizes\v"
	       "It takes about a minute; with --quick 20 seconds.",
};

static void write_json(FILE *file, const void *study)
{
	json_t *object = study_json(study);

	if (object != NULL)
		json_dumpf(object, file,
			   JSON_INDENT(1) | JSON_REAL_PRECISION(12));
	fputc('\n', file);
	json_decref(object);
}

static void write_markdown(FILE *file, const void *study)
{
	study_print(file, study);
}

static void write_picture(FILE *file, const void *study)
{
	study_draw(file, study);
}

static bool write_files(const char *folder, const struct study *study)
{
	return out_folder_write(folder, "simulation.md", write_markdown,
				study) == 0 &&
	       out_folder_write(folder, "simulation.json", write_json, study) ==
		       0 &&
	       out_folder_write(folder, "simulation.svg", write_picture,
				study) == 0;
}

static int verb_report(int argc, char **argv)
{
	struct report_options options = { 0 };
	struct study *study;
	int code = EXIT_FAILED;

	if (args_parse(&report_argp, "report", argc, argv, &options) != 0)
		return EXIT_USAGE;
	study = calloc(1, sizeof(*study));
	if (study == NULL)
		return EXIT_FAILED;
	study->seeds = options.quick ? 1 : 3;
	if (study_run(study) == 0) {
		study_print(stdout, study);
		if (options.out == NULL || write_files(options.out, study))
			code = EXIT_OK;
	}
	study_free(study);
	free(study);
	return code;
}

/* ---- verbs -------------------------------------------------------------------------- */

static void print_help(void)
{
	fputs("Usage: " ARGS_PROGRAM " VERB [OPTION...]\n"
	      "Simulate workers that steal, search, sleep and are woken, by "
	      "the library's own code\nand by other policies.\n\n"
	      "  run [OPTION...]     Simulate a workload\n"
	      "  report [OPTION...]  All policies beside each other\n\n"
	      "Each verb has a --help. The same options give the same "
	      "figures.\n"
	      "Exit codes: 0 success, 1 failure, 2 usage.\n",
	      stdout);
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		fputs(ARGS_PROGRAM ": a verb is needed; allowed: run, "
				   "report\n",
		      stderr);
		return EXIT_USAGE;
	}
	if (args_is_help(argv[1])) {
		print_help();
		return args_flush(EXIT_OK);
	}
	if (strcmp(argv[1], "run") == 0)
		return args_flush(verb_run(argc - 1, argv + 1));
	if (strcmp(argv[1], "report") == 0)
		return args_flush(verb_report(argc - 1, argv + 1));
	fprintf(stderr, ARGS_PROGRAM ": no verb '%s'; allowed: run, report\n",
		argv[1]);
	return EXIT_USAGE;
}
