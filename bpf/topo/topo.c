/* SPDX-License-Identifier: MIT */
/* topo.c - skua topo: show the machine as the scheduler sees it */
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "bpf/cli/args.h"
#include "bpf/cli/outfile.h"
#include "bpf/topo/topo.h"
#include "bpf/verbs.h"
#include "skua/runtime.h"

struct options {
	const char *root, *snapshot;
	enum skua_placement placement;
	bool json, measure;
};

/* Indexed by enum skua_placement, except its value for a list of CPUs, which
 * SKUA_CPUS sets. */
static const char *const placements[] = { "default", "compact", "scatter",
					  "cores", "caches" };
#define PLACEMENTS (sizeof(placements) / sizeof(*placements))

static error_t parse_placement(void *input, char *name)
{
	struct options *options = input;

	for (unsigned i = 0; i < PLACEMENTS; i++) {
		if (strcmp(name, placements[i]) == 0) {
			options->placement = (enum skua_placement)i;
			return 0;
		}
	}
	return args_refuse("--placement: no '%s'; allowed: default compact "
			   "scatter cores caches",
			   name);
}

static bool is_here(const struct options *options)
{
	return !options->root || strcmp(options->root, "/") == 0;
}

static error_t check(void *input)
{
	const struct options *options = input;

	if (options->measure && !is_here(options))
		return args_refuse("--measure runs threads on this machine, "
				   "but --root %s is another; allowed: one of "
				   "them",
				   options->root);
	if (options->measure && options->snapshot)
		return args_refuse("--measure with --snapshot: a snapshot "
				   "contains no measurements; allowed: one "
				   "of them");
	return 0;
}

static const struct args_verb verb = {
	.doc = "Show the CPUs, cores, caches and nodes of the machine, where "
	       "the workers of a runtime would run, and in which order each "
	       "steals from the others",
	.check = check,
	ARGS_OPTIONS(
		ARGS_JSON(struct options, "Print an object"),
		ARGS_FLAG_OF(struct options, "measure", measure,
			     "Measure how long a cache line takes between "
			     "cores, for up to 50 ms on all allowed CPUs; "
			     "show the times, and correct which cores share "
			     "a cache"),
		ARGS_PARSED("placement", parse_placement, "NAME",
			    "Placement of the workers: default, compact, "
			    "scatter, cores (one each) or caches"),
		ARGS_TEXT_OF(struct options, "root", root, "PATH",
			     "Show another machine: a folder with a file "
			     "tree as at /, or a file that --snapshot has "
			     "written"),
		ARGS_TEXT_OF(struct options, "snapshot", snapshot, "FILE",
			     "Write a description of the machine to one text "
			     "file (-: standard output), and print nothing "
			     "else")),
};

/* ---- what there is --------------------------------------------------------- */

const struct skua_cpu *topo_cpu(const struct topo *topo, unsigned cpu)
{
	unsigned i = 0;

	while (i < topo->cpu_count && topo->cpus[i].cpu != cpu)
		i++;
	return &topo->cpus[i < topo->cpu_count ? i : 0];
}

/* Collect the online CPUs of the affinity mask. */
static bool read_allowed(struct topo *topo)
{
	size_t size = CPU_ALLOC_SIZE(SKUA_MAX_WORKERS * 16);
	cpu_set_t *set = CPU_ALLOC(SKUA_MAX_WORKERS * 16);
	bool read = set && sched_getaffinity(0, size, set) == 0;

	for (unsigned i = 0; read && i < topo->cpu_count; i++)
		if (CPU_ISSET_S(topo->cpus[i].cpu, size, set))
			topo->allowed[topo->allowed_count++] =
				topo->cpus[i].cpu;
	CPU_FREE(set);
	return read;
}

/* Plan a runtime with this placement and the default configuration, on this
 * machine. */
static int plan_here(struct topo *topo, enum skua_placement placement,
		     struct skua_error *err)
{
	const struct skua_config cfg = { .size = sizeof(cfg),
					 .placement = placement };
	int workers = skua_runtime_plan(&cfg, topo->workers, SKUA_MAX_WORKERS,
					&topo->binding, err);

	if (workers < 0)
		return workers;
	topo->worker_count = (unsigned)workers;
	if (read_allowed(topo))
		return 0;
	snprintf(err->text, sizeof(err->text),
		 "the affinity mask cannot be read");
	return -EIO;
}

/* Plan a runtime for another machine, where no affinity mask limits the
 * CPUs. */
static int plan_elsewhere(struct topo *topo, enum skua_placement placement,
			  struct skua_error *err)
{
	int workers =
		skua_topology_plan(topo->topology, placement, topo->workers,
				   SKUA_MAX_WORKERS, &topo->binding);

	if (workers < 0) {
		snprintf(err->text, sizeof(err->text), "no memory");
		return workers;
	}
	topo->worker_count = (unsigned)workers;
	for (unsigned i = 0; i < topo->cpu_count; i++)
		topo->allowed[topo->allowed_count++] = topo->cpus[i].cpu;
	return 0;
}

static int load(struct topo *topo, const struct options *options,
		struct skua_error *err)
{
	int code = skua_topology_load(&topo->topology, options->root, err);

	if (!code && options->measure) {
		code = skua_topology_measure(topo->topology, 0, err);
		topo->measured = code == 0;
	}
	if (code)
		return code;
	topo->cpu_count = skua_topology_cpus(topo->topology, &topo->cpus);
	topo->node_count = skua_topology_nodes(topo->topology, &topo->nodes);
	topo->allowed = calloc(topo->cpu_count, sizeof(*topo->allowed));
	topo->workers = calloc(SKUA_MAX_WORKERS, sizeof(*topo->workers));
	if (!topo->allowed || !topo->workers) {
		snprintf(err->text, sizeof(err->text), "no memory");
		return -ENOMEM;
	}
	return is_here(options) ? plan_here(topo, options->placement, err)
				: plan_elsewhere(topo, options->placement, err);
}

static void unload(struct topo *topo)
{
	skua_topology_free(topo->topology);
	free(topo->allowed);
	free(topo->workers);
}

/* ---- printing -------------------------------------------------------------- */

static unsigned terminal_width(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 40)
		return size.ws_col;
	return 80;
}

static bool has_line_art(void)
{
	setlocale(LC_CTYPE, "");
	return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

static bool has_colour(void)
{
	const char *term = secure_getenv("TERM"),
		   *no = secure_getenv("NO_COLOR");

	return isatty(STDOUT_FILENO) && (!no || !*no) && term &&
	       strcmp(term, "dumb") != 0;
}

static int print(const struct topo *topo, bool json)
{
	fputs(skua_topology_remarks(topo->topology), stderr);
	if (!json) {
		bool line_art = has_line_art();
		unsigned width = terminal_width();

		topo_picture(stdout, topo, width, line_art);
		if (topo->measured)
			topo_heat(stdout, topo, width, line_art, has_colour());
	} else if (!topo_json(stdout, topo)) {
		fprintf(stderr, ARGS_PROGRAM " topo: no memory\n");
		return EXIT_FAILED;
	}
	return EXIT_OK;
}

/* Write a snapshot. A file is written by way of standard output. */
static int save(const struct options *options)
{
	const char *path = options->snapshot;
	bool standard = strcmp(path, "-") == 0;
	struct skua_error err = { 0, "" };
	const char *why = NULL;
	FILE *file = standard ? NULL : outfile_fopen(path, &why);

	if (!standard && (!file || dup2(fileno(file), STDOUT_FILENO) < 0)) {
		fprintf(stderr, ARGS_PROGRAM " topo: %s: %s\n", path,
			why ? why : strerror(errno));
		return EXIT_FAILED;
	}
	if (file)
		fclose(file);
	if (skua_topology_save("-", options->root, &err) == 0)
		return args_flush(EXIT_OK);
	fprintf(stderr, ARGS_PROGRAM " topo: %s\n", err.text);
	if (!standard)
		unlink(path);
	return EXIT_FAILED;
}

int verb_topo(int argc, char **argv)
{
	struct options options = { .root = NULL };
	struct skua_error err = { 0, "" };
	struct topo topo = { .topology = NULL };
	int code;

	if (args_parse_verb(&verb, "topo", argc, argv, &options) != 0)
		return EXIT_USAGE;
	if (options.snapshot)
		return save(&options);
	code = load(&topo, &options, &err);
	if (!code)
		code = print(&topo, options.json);
	else
		fprintf(stderr, ARGS_PROGRAM " topo: %s\n", err.text);
	unload(&topo);
	return code < 0 ? EXIT_FAILED : code;
}
