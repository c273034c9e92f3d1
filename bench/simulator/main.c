/* SPDX-License-Identifier: MIT */
/* main.c - skua-simulator: run one simulation, or make the report */
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
	const char *snapshot; /* path of a snapshot; NULL: use @shape */
	uint64_t workers; /* number of CPUs of the snapshot to use; 0: all */
	enum workload_kind workload;
	const struct policy *policy;
	uint64_t percent, seed;
	/* 0: the report's value */
	uint64_t service_ns, depth, tasks, duration_us;
	uint64_t samples, far_delay_ns, attempts, steal_max, steal_max_far;
	bool wake_by_all;
	bool one_queue;
	bool json;
};

/* Parse a shape such as "2x4x8x8x2". Return: false if it is none, or has
 * fewer than 2 or more than 4096 workers. */
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

static error_t parse_machine(void *input, char *arg)
{
	struct run_options *options = input;

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

static error_t parse_policy(void *input, char *text)
{
	const struct policy **policy = &((struct run_options *)input)->policy;

	*policy = policy_find(text);
	return *policy ? 0 : refuse_name("--policy", text, policy_name);
}

static error_t parse_workload(void *input, char *text)
{
	enum workload_kind *kind = &((struct run_options *)input)->workload;

	*kind = case_workload_find(text);
	return *kind < WORKLOAD_KINDS
		       ? 0
		       : refuse_name("--workload", text, workload_name);
}

static error_t parse_wake(void *input, char *text)
{
	bool *by_all = &((struct run_options *)input)->wake_by_all;

	*by_all = strcmp(text, "all") == 0;
	return *by_all || strcmp(text, "group") == 0
		       ? 0
		       : args_refuse("--wake is '%s'; allowed: group, all",
				     text);
}

static error_t parse_queues(void *input, char *text)
{
	bool *one = &((struct run_options *)input)->one_queue;

	*one = strcmp(text, "one") == 0;
	return *one || strcmp(text, "group") == 0
		       ? 0
		       : args_refuse("--queues is '%s'; allowed: group, one",
				     text);
}

static const struct args_verb run_verb = {
	.doc = "Simulate a workload",
	ARGS_OPTIONS(
		ARGS_PARSED(
			"machine", parse_machine, "SHAPE|FILE",
			"Sockets x nodes of a socket x last-level caches of a "
			"node x cores of a cache x threads of a core (default "
			"2x4x8x8x2), or a snapshot of skua topo"),
		ARGS_NUMBER_OF(
			struct run_options, "workers", workers, 2, 4096, "N",
			"Use the first N CPUs of the snapshot (default all)"),
		ARGS_PARSED(
			"policy", parse_policy, "NAME",
			"runtime (default), rand, tier, samp, hint or hintw"),
		ARGS_PARSED(
			"workload", parse_workload, "NAME",
			"even (default), skew, single, burst, outside, tree "
			"or once"),
		ARGS_NUMBER_OF(struct run_options, "load", percent, 1, 99, "N",
			       "Percent of the workers' capacity (default 70)"),
		ARGS_NUMBER_OF(struct run_options, "seed", seed, 1, 1000000,
			       "N", "Seed of the simulation (default 1)"),
		ARGS_NUMBER_OF(
			struct run_options, "service-ns", service_ns, 1,
			1000000, "N",
			"Mean time of a task (default 5000); in a tree and in "
			"once, time of every task (default 2000 and 20000)"),
		ARGS_NUMBER_OF(struct run_options, "depth", depth, 1, 24, "N",
			       "Depth of the tree (default 17)"),
		ARGS_NUMBER_OF(struct run_options, "tasks", tasks, 1, 1000000,
			       "N", "Tasks of once (default 1000)"),
		ARGS_NUMBER_OF(
			struct run_options, "time-us", duration_us, 10,
			DURATION_MAX_US, "N",
			"Simulated time; its first fifth is not measured "
			"(default 2000)"),
		ARGS_NUMBER_OF(struct run_options, "far-samples", samples, 1,
			       64, "N", NULL),
		ARGS_NUMBER_OF(struct run_options, "far-delay-ns", far_delay_ns,
			       1, 1000000, "N", NULL),
		ARGS_NUMBER_OF(struct run_options, "steal-attempts", attempts,
			       1, 1000, "N", NULL),
		ARGS_NUMBER_OF(struct run_options, "steal-max", steal_max, 1,
			       1000, "N", NULL),
		ARGS_NUMBER_OF(
			struct run_options, "steal-max-far", steal_max_far, 1,
			1000, "N",
			"These five have the meaning and the defaults of struct "
			"skua_config, and apply to the policy runtime alone"),
		ARGS_PARSED(
			"wake", parse_wake, "WHICH",
			"Other policies wake no worker while a worker searches "
			"in the same group (default), or anywhere (all)"),
		ARGS_PARSED("queues", parse_queues, "WHICH",
			    "Tasks from outside wait at the group of workers "
			    "that is nearest to the thread (default), or in "
			    "one queue (one)"),
		ARGS_JSON(struct run_options, "Print a line of JSON")),
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
	plan.one_queue = options->one_queue;
	plan.seed = options->seed;
	if (options->service_ns)
		plan.service_ns = options->service_ns;
	if (options->depth && plan.workload == WORKLOAD_TREE)
		plan.depth = (unsigned)options->depth;
	if (options->tasks && plan.workload == WORKLOAD_ONCE)
		plan.children = (unsigned)options->tasks;
	if (options->duration_us)
		plan.duration_ns = options->duration_us * 1000;
	tune(&plan.tuning, options);
	return plan;
}

static void print_chain(const struct outcome *o)
{
	unsigned groups = 0, most = 0;
	uint64_t last_ns = 0;

	for (unsigned step = 0; step < SIM_STEPS; step++) {
		const struct sim_step *at = &o->chain[step];

		groups += at->groups;
		if (at->groups > 0)
			most = step;
		if (at->last_ns > last_ns)
			last_ns = at->last_ns;
	}
	printf("%u groups reached, in %u steps of the wake chain, the last after "
	       "%.1f us; all done after %.1f us, %ju wake-ups",
	       groups, most, (double)last_ns / 1000,
	       (double)(o->end_ns - o->burst_ns) / 1000, (uintmax_t)o->wakes);
}

static void print_text(const struct plan *plan, const struct outcome *o)
{
	printf("%s, %s, %u workers in %u groups: ", plan->policy->name,
	       case_workload_name(plan->workload),
	       plan->layout->groups.worker_count, plan->layout->groups.count);
	if (plan->workload == WORKLOAD_TREE)
		printf("%.2f of the least time", case_time_by_ideal(plan, o));
	else if (plan->workload == WORKLOAD_ONCE)
		print_chain(o);
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

	if (args_parse_verb(&run_verb, "run", argc, argv, &options) != 0)
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
	const char *out; /* folder for the files; NULL: none */
	bool quick;
};

static error_t parse_out(void *input, char *text)
{
	return out_folder_parse(text, &((struct report_options *)input)->out);
}

static const struct args_verb report_verb = {
	.doc = "Simulate 1,024 workers on 8 nodes with each policy, and count "
	       "what searches and wake-ups read on machines of several sizes\v"
	       "It takes about a minute, or 20 seconds with --quick.",
	ARGS_OPTIONS(ARGS_PARSED("out", parse_out, "DIR",
				 "Write simulation.md, simulation.json and "
				 "simulation.svg there as well"),
		     ARGS_FLAG_OF(struct report_options, "quick", quick,
				  "Use one seed instead of three")),
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

	if (args_parse_verb(&report_verb, "report", argc, argv, &options) != 0)
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
	      "  report [OPTION...]  Compare all policies\n\n"
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
