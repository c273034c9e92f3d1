/* SPDX-License-Identifier: MIT */
/* flame.c - skua flame: shows where the CPU time of a process goes, by type of
 * task */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/cli/args.h"
#include "bpf/cli/outfile.h"
#include "bpf/target/pick_process.h"
#include "bpf/cli/exits.h"
#include "bpf/flame/flame.h"
#include "bpf/flame/flame_sample.h"
#include "bpf/cli/table.h"
#include "bpf/verbs.h"

#define MIN_SECONDS 0.001
#define MAX_SECONDS 31536000.0
#define MAX_RATE    10000u
#define USUAL_RATE  99u /* not in step with events every 10 ms */

#define KALLSYMS "/proc/kallsyms"

/* Times between two calls of flame_sample_take(). The first is short, so that
 * processes that end soon are sampled as well. */
#define FIRST_S 0.01
#define EACH_S  0.1

struct options {
	uint64_t pid;
	double seconds; /* 0: until a signal */
	uint64_t rate;
	const char *out, *in;
	bool folded, kernel;
};

/* The picture, and the facts reported about it. */
struct flame_run {
	const struct options *options;
	struct target *target;
	struct flame *flame;
	struct flame_kernel *kernel;
	struct flame_sampler *sampler;
	FILE *out;
	char comm[TARGET_NAME];
	double seconds; /* duration of the sampling */
};

/* ---- options --------------------------------------------------------------- */

static error_t check(void *input)
{
	const struct options *options = input;

	if (options->pid && options->in)
		return args_refuse(
			"both a process and a FILE; allowed: --pid PID, "
			"or a FILE of folded stacks");
	if (options->in &&
	    (options->rate || options->seconds > 0 || options->kernel))
		return args_refuse("--for, --kernel or --rate with a FILE; "
				   "allowed: only with --pid");
	if (!options->out && !options->folded && isatty(STDOUT_FILENO))
		return args_refuse("no file for the picture; allowed: --output "
				   "FILE, or --folded");
	return 0;
}

static const struct args_verb verb = {
	.doc = "Draw where the CPU time of a process goes: a flame graph by type "
	       "of task, as SVG. Or draw a FILE of folded stacks ('-': standard "
	       "input)\vIt needs CAP_BPF and CAP_PERFMON. Stacks are found by "
	       "the tables that compilers write for exceptions, and where "
	       "there are none by frame pointers. The process is not stopped, "
	       "except for some microseconds a sample",
	ARGS_FILE(struct options, "[FILE]", in),
	.check = check,
	ARGS_OPTIONS(
		ARGS_FLAG_OF(struct options, "folded", folded,
			     "Write folded stacks, \"type;function;function "
			     "samples\", for other tools"),
		ARGS_FOR(struct options, MIN_SECONDS, MAX_SECONDS,
			 "at Ctrl-C, or the end of the process"),
		{ .name = "kernel",
		  .key = 'k',
		  .doc = "Also show the kernel's functions, as "
			 "\"function_[k]\", instead of one \"[kernel]\"",
		  .value = ARGS_FLAG,
		  .field = offsetof(struct options, kernel) },
		ARGS_OUTPUT(struct options,
			    "Write to FILE (default: standard output, unless "
			    "that is a terminal); an old one is overwritten"),
		ARGS_PID(struct options, PICK_PROCESS_HELP),
		ARGS_NUMBER_OF(struct options, "rate", rate, 1, MAX_RATE, "HZ",
			       "Samples a second of each busy CPU, 1 to "
			       "10000 (default: 99)")),
};

static int complain(const char *what, const char *why)
{
	fprintf(stderr, ARGS_PROGRAM " flame: %s%s%s\n", what,
		*what ? ": " : "", why);
	return EXIT_FAILED;
}

/* ---- sampling -------------------------------------------------------------- */

static int take_samples(struct flame_run *run, struct exits *exits)
{
	double start = exits_now(), now = start, period = FIRST_S;
	double end = start + (run->options->seconds > 0 ? run->options->seconds
							: MAX_SECONDS);
	bool over = false;
	int err = 0;

	while (err == 0 && !over && now < end) {
		now = now + period < end ? now + period : end;
		period = 2 * period < EACH_S ? 2 * period : EACH_S;
		over = exits_wait(exits, now);
		err = flame_sample_take(run->sampler, exits->gone);
	}
	run->seconds = exits_now() - start;
	return err;
}

/* Without names the kernel is shown as one function, with a message. */
static void read_kernel(struct flame_run *run)
{
	FILE *file = fopen(KALLSYMS, "re");
	int err = file ? flame_kernel_read(&run->kernel, file) : -errno;

	if (file)
		fclose(file);
	if (err == -EACCES)
		fprintf(stderr, KALLSYMS " shows no addresses: run with "
					 "CAP_SYSLOG and kernel.kptr_restrict "
					 "below 2; the kernel is shown as one "
					 "function, [kernel]\n");
	else if (err != 0)
		fprintf(stderr,
			KALLSYMS ": %s: the kernel is shown as one "
				 "function, [kernel]\n",
			strerror(-err));
}

/* A process that ends may lose its memory before it counts as ended; do not
 * report that as the execution of another program. */
static void tell_end(const struct flame_run *run)
{
	bool known = target_refresh(run->target) == -ESRCH;

	fprintf(stderr, "%s; the results cover the time before\n",
		known ? target_reason(run->target) : "the process has ended");
}

static int sample(struct flame_run *run)
{
	const struct options *options = run->options;
	char why[FLAME_TEXT];
	struct exits exits;
	int code = EXIT_OK, err = exits_open(&exits, target_pid(run->target));

	if (options->kernel)
		read_kernel(run);
	if (err != 0) {
		code = complain("", strerror(-err));
	} else if (flame_sample_start(&run->sampler, run->target, run->flame,
				      options->rate ? (unsigned)options->rate
						    : USUAL_RATE,
				      run->kernel, why) != 0) {
		code = complain("", why);
	} else {
		err = take_samples(run, &exits);
		if (err == -ENOMEM)
			code = complain("", strerror(ENOMEM));
		else if (err != 0 || exits.gone)
			tell_end(run);
	}
	exits_close(&exits);
	return code;
}

/* ---- report ---------------------------------------------------------------- */

/* Print the types in the first row of the picture. */
static void report_types(const struct flame_run *run)
{
	static const char *const titles[] = { "type", "samples", "of all",
					      "CPU time", NULL };
	const struct flame_node *nodes = flame_nodes(run->flame);
	double total = (double)nodes[0].total;
	struct table table;

	table_begin(&table, titles, "1000");
	for (uint32_t i = nodes[0].child; i != 0; i = nodes[i].sibling) {
		double part = (double)nodes[i].total / total;
		char text[32];

		table_add(&table, "%.60s", nodes[i].name);
		table_count(&table, nodes[i].total);
		table_add(&table, "%.1f %%", 100 * part);
		table_add(&table, "%s",
			  text_time(text,
				    part * 1e9 *
					    flame_sample_counts(run->sampler)
						    ->cpu_s));
	}
	table_print(stderr, &table);
}

static void describe(const struct flame_run *run, char *text, size_t size)
{
	char samples[32], cpu[32], span[32];
	const struct flame_counts *counts;

	text_count(samples, flame_nodes(run->flame)[0].total);
	if (!run->sampler) {
		snprintf(text, size, "%s samples", samples);
		return;
	}
	counts = flame_sample_counts(run->sampler);
	snprintf(
		text, size,
		"%s samples of %s of CPU time in %s: %.1f a second of %u",
		samples, text_time(cpu, counts->cpu_s * 1e9),
		text_time(span, run->seconds * 1e9),
		counts->cpu_s > 0 ? (double)counts->samples / counts->cpu_s : 0,
		run->options->rate ? (unsigned)run->options->rate : USUAL_RATE);
}

static void report(const struct flame_run *run)
{
	const struct flame_counts *counts = flame_sample_counts(run->sampler);
	const char *missing = target_symbols_missing(run->target);
	char text[FLAME_TEXT], lost[32];

	describe(run, text, sizeof(text));
	fprintf(stderr, "process %d (%s): %s; %s lost\n",
		target_pid(run->target), run->comm, text,
		text_count(lost, counts->lost));
	if (counts->samples > 0)
		report_types(run);
	if (counts->unrooted > 0)
		fprintf(stderr,
			"%s stacks do not reach the poll function of their "
			"task: some callers are missing there\n",
			text_count(lost, counts->unrooted));
	if (*missing)
		fprintf(stderr, "%s\n", missing);
}

/* ---- the verb -------------------------------------------------------------- */

/* Called before sampling starts, so that no time is wasted if the file cannot
 * be written. An old file keeps its contents until the new ones are ready. */
static int open_out(struct flame_run *run)
{
	const char *name = run->options->out;
	const char *why;
	int fd;

	if (!name) {
		run->out = stdout;
		return EXIT_OK;
	}
	fd = outfile_open(name, O_WRONLY, 0666, &why);
	if (fd < 0)
		return complain(name, why);
	run->out = fdopen(fd, "w");
	return run->out ? EXIT_OK : complain(name, strerror(errno));
}

static int open_process(struct flame_run *run)
{
	int code = pick_process(&run->target, "flame", run->options->pid);

	if (code != EXIT_OK)
		return code;
	pick_process_remark(run->target, "flame");
	target_comm(run->target, run->comm);
	return EXIT_OK;
}

static int read_file(struct flame_run *run)
{
	const char *name = run->options->in;
	bool standard = strcmp(name, "-") == 0;
	FILE *file = standard ? stdin : fopen(name, "re");
	char why[FLAME_TEXT];
	int err;

	if (!file)
		return complain(name, strerror(errno));
	err = flame_read(run->flame, file, why);
	if (!standard)
		fclose(file);
	return err ? complain(name, why) : EXIT_OK;
}

static int write_out(struct flame_run *run)
{
	const struct options *options = run->options;
	char title[FLAME_TEXT], subtitle[FLAME_TEXT];

	if (flame_sort(run->flame) != 0)
		return complain("", strerror(ENOMEM));
	if (options->in)
		snprintf(title, sizeof(title), "%s",
			 strcmp(options->in, "-") == 0 ? "standard input"
						       : options->in);
	else
		snprintf(title, sizeof(title), "%s, process %d", run->comm,
			 target_pid(run->target));
	describe(run, subtitle, sizeof(subtitle));
	if (options->out && ftruncate(fileno(run->out), 0) != 0 &&
	    errno != EINVAL) /* EINVAL: a pipe or a device */
		return complain(options->out, strerror(errno));
	if (options->folded)
		flame_write_folded(run->flame, run->out);
	else
		flame_write_svg(run->flame, run->out, title, subtitle);
	if (options->out && (fflush(run->out) != 0 || ferror(run->out)))
		return complain(options->out, strerror(errno));
	return EXIT_OK;
}

int verb_flame(int argc, char **argv)
{
	struct options options = { .folded = false };
	struct flame_run run = { .options = &options };
	int code;

	if (args_parse_verb(&verb, "flame", argc, argv, &options) != 0)
		return EXIT_USAGE;
	run.flame = flame_new();
	code = run.flame ? EXIT_OK : complain("", strerror(ENOMEM));
	if (code == EXIT_OK)
		code = options.in ? EXIT_OK : open_process(&run);
	if (code == EXIT_OK)
		code = open_out(&run);
	if (code == EXIT_OK)
		code = options.in ? read_file(&run) : sample(&run);
	if (code == EXIT_OK)
		code = write_out(&run);
	if (code == EXIT_OK && run.sampler)
		report(&run);
	if (run.out && run.out != stdout)
		fclose(run.out);
	flame_sample_stop(run.sampler);
	flame_kernel_free(run.kernel);
	flame_free(run.flame);
	target_close(run.target);
	return code;
}
