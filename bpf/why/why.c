/* SPDX-License-Identifier: MIT */
/* why.c - skua why: shows where the time of a process's slowest tasks went */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bpf/cli/args.h"
#include "bpf/cli/outfile.h"
#include "bpf/target/pick_process.h"
#include "bpf/programs/programs.h"
#include "bpf/recording/recording.h"
#include "bpf/recording/offcpu.h"
#include "bpf/verbs.h"
#include "bpf/why/why.h"

#define MIN_SECONDS   0.001
#define MAX_SECONDS   86400.0
#define USUAL_SECONDS 5.0
#define MAX_SLOWER_NS (UINT64_C(86400) * 1000000000)
#define MAX_SLOWEST   UINT64_C(1000)
#define MAX_BYTES     (UINT64_C(1) << 30) /* of a recording */

struct options {
	uint64_t pid;
	double seconds;
	uint64_t slowest;
	uint64_t slower_than_ns;
	const char *type;
	const char *out;
	struct args_files files;
	bool json;
	bool off_cpu;
};

/* ---- options ------------------------------------------------------------- */

static error_t check(void *input)
{
	struct options *options = input;

	if (options->files.count > 0 &&
	    (options->pid || options->out || options->seconds > 0))
		return args_refuse("both a FILE and an option for recording; "
				   "allowed: a FILE, or --pid, --for and "
				   "--output");
	if (options->off_cpu && (options->files.count > 0 || options->out))
		return args_refuse(
			"--off-cpu needs a live process, and records "
			"nothing; allowed: --pid");
	if (options->seconds <= 0)
		options->seconds = USUAL_SECONDS;
	return 0;
}

static const struct args_verb verb = {
	.doc = "Show where the time of the slowest tasks of a process went after "
	       "they became runnable, and why: they waited behind other tasks, "
	       "for a worker to wake up or to get a CPU, or took the time in "
	       "their own poll. Records for a while, or reads a FILE that skua "
	       "record has written; several, such as those of the ranks of an "
	       "MPI job, are shown together",
	.file_doc = "[FILE...]",
	.add_file = args_add_path,
	.file = offsetof(struct options, files),
	.check = check,
	ARGS_OPTIONS(
		ARGS_FOR(struct options, MIN_SECONDS, MAX_SECONDS,
			 "after 5 seconds, or at Ctrl-C"),
		ARGS_JSON(struct options, "Print an object"),
		ARGS_FLAG_OF(struct options, "off-cpu", off_cpu,
			     "Show instead in which functions polls block"),
		ARGS_OUTPUT(struct options,
			    "Keep the recording in FILE; an old one is "
			    "overwritten"),
		ARGS_PID(struct options, PICK_PROCESS_HELP),
		{ .name = "slower-than",
		  .arg = "TIME",
		  .doc = "Show and judge only tasks that took longer, as 2ms "
			 "or 500us",
		  .value = ARGS_TIME,
		  .field = offsetof(struct options, slower_than_ns),
		  .max = MAX_SLOWER_NS },
		ARGS_NUMBER_OF(struct options, "slowest", slowest, 0,
			       MAX_SLOWEST, "N",
			       "Show up to N incidents, with --json up to N "
			       "tasks, or with --off-cpu up to N places "
			       "(default: 10)"),
		ARGS_TEXT_OF(struct options, "type", type, "NAME",
			     "Show and judge only tasks with this type or "
			     "label, or both, as \"serve (get)\"; without a "
			     "type, the name of the poll function")),
};

/* ---- recording ----------------------------------------------------------- */

/* Open a file without a name, which is gone when it is closed; in memory if no
 * folder can hold it. */
static int open_nameless(void)
{
	const char *folder = secure_getenv("TMPDIR");
	int fd = open(folder && folder[0] ? folder : P_tmpdir,
		      O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	return fd < 0 ? memfd_create("skua-why", MFD_CLOEXEC) : fd;
}

static int open_file(const struct options *options, struct recording *r)
{
	const char *why = NULL;
	int fd = options->out ? outfile_open(options->out, O_RDWR | O_TRUNC,
					     0600, &why)
			      : open_nameless();

	if (fd < 0)
		return recording_complain(r, r->name,
					  why ? why : strerror(errno));
	return recording_start(r, fd);
}

/* Record switches, or read schedstat if that is not possible. */
static void ask_kernel(struct recording *r, struct why *why)
{
	pid_t pid = target_pid(r->target);
	int code = recording_switches(r);

	if (code == 0)
		return;
	snprintf(why->missing, sizeof(why->missing), "%s",
		 programs_reason(code));
	code = why_sched_begin(&why->sched, pid);
	why->source = code == 0 ? WHY_SCHEDSTAT : WHY_NOTHING;
}

static int record(const struct options *options, struct recording *r,
		  struct why *why)
{
	int code;

	r->name = options->out ? options->out : "the recording";
	r->seconds = options->seconds;
	r->max_bytes = MAX_BYTES;
	code = recording_open(r, options->pid);
	if (code == EXIT_OK)
		code = open_file(options, r);
	if (code != EXIT_OK)
		return code;
	ask_kernel(r, why);
	code = recording_run(r);
	why_sched_end(&why->sched);
	recording_report_limit(r);
	if (code == EXIT_OK && recording_is_empty(r))
		recording_report_streams(r);
	if (code == EXIT_OK && r->reason == TRACE_ENDED)
		fprintf(stderr, "%s; what was recorded before is used\n",
			target_reason(r->target));
	return code;
}

/* ---- results ------------------------------------------------------------- */

static int complain(const char *why)
{
	fprintf(stderr, ARGS_PROGRAM " why: %s\n", why);
	return EXIT_FAILED;
}

static int complain_type(const struct ledger *ledger, const char *type)
{
	char types[1024];

	ledger_list_types(ledger, types, sizeof(types));
	fprintf(stderr,
		ARGS_PROGRAM " why: --type is '%s', of which no task was "
			     "polled; %s%s\n",
		type, types[0] ? "these were: " : "no other was either", types);
	return EXIT_FAILED;
}

/* Find the results of a recording. With --type, drop other types. Return: 0; -ENOENT (no
 * task has that type); another -errno. The caller calls release() in any case. */
static int judge(const struct options *options, const struct trace_part *part,
		 struct why *why)
{
	int code;

	why->trace = part->trace;
	why->type = options->type;
	why->label = part->label;
	if (options->files.count > 1)
		snprintf(why->where, sizeof(why->where), " of %s", part->label);
	if (options->files.count > 0 && !offcpu_any(trace_offcpu(why->trace))) {
		why->source = WHY_NOTHING;
		snprintf(why->missing, sizeof(why->missing),
			 "it was not recorded with --switches");
	}
	code = ledger_open(&why->ledger, why->trace);
	if (code == 0 && options->type)
		code = ledger_keep_type(&why->ledger, options->type);
	return code ? code
		    : ledger_judge(&why->ledger, options->slowest,
				   options->slower_than_ns, &why->verdict);
}

static void release(struct why *why)
{
	ledger_free(&why->verdict);
	ledger_close(&why->ledger);
}

static int show(const struct options *options, const struct trace_part *part,
		struct why *why)
{
	int code = judge(options, part, why);

	if (code == -ENOENT)
		code = complain_type(&why->ledger, options->type);
	else if (code)
		code = complain(strerror(-code));
	else if (!options->json)
		why_print(stdout, why, options->slowest);
	else if (!why_print_json(stdout, why))
		code = complain(strerror(ENOMEM));
	release(why);
	return code;
}

/* Print the results of @count recordings. */
static int print_several(const struct options *options, const struct why *whys,
			 size_t count)
{
	bool printed = true;

	for (size_t i = 0; options->json && i < count; i++)
		printed &= why_print_json(stdout, &whys[i]);
	if (!options->json)
		why_print_several(stdout, whys, count, options->slowest);
	return printed ? EXIT_OK : complain(strerror(ENOMEM));
}

/* Leaves out recordings that have no task of --type, unless none has one. */
static int show_several(const struct options *options,
			const struct trace_set *set)
{
	struct why *whys = calloc(set->count, sizeof(*whys));
	size_t kept = 0;
	int code = whys ? 0 : -ENOMEM;

	for (size_t i = 0; i < set->count && code == 0; i++) {
		code = judge(options, &set->parts[i], &whys[kept]);
		if (code == -ENOENT && (kept > 0 || i + 1 < set->count)) {
			release(&whys[kept]);
			whys[kept] = (struct why){ .source = WHY_BPF };
			code = 0;
		} else {
			kept++;
		}
	}
	if (code == -ENOENT)
		code = complain_type(&whys[0].ledger, options->type);
	else if (code)
		code = complain(strerror(-code));
	else
		code = print_several(options, whys, kept);
	while (kept > 0)
		release(&whys[--kept]);
	free(whys);
	return code;
}

static int look(const struct options *options, const char *path,
		struct why *why)
{
	struct trace_set set;
	struct skua_error err;
	int code;

	if (trace_set_open(&set,
			   options->files.count > 0 ? options->files.paths
						    : &path,
			   options->files.count > 0 ? options->files.count : 1,
			   &err)) {
		fprintf(stderr, ARGS_PROGRAM " why: %s: %s\n",
			options->files.count > 0 && set.bad ? set.bad
							    : "the recording",
			err.text);
		code = EXIT_FAILED;
	} else if (set.count > 1) {
		code = show_several(options, &set);
	} else {
		code = show(options, &set.parts[0], why);
	}
	trace_set_close(&set);
	return code;
}

static int show_blocked(const struct options *options)
{
	const struct why_blocked wanted = { .pid = options->pid,
					    .seconds = options->seconds,
					    .slower_than_ns =
						    options->slower_than_ns,
					    .most = options->slowest,
					    .type = options->type,
					    .json = options->json };

	return why_blocked(&wanted);
}

static int run(const struct options *options)
{
	struct recording r = { .verb = "why", .writer = { .fd = -1 } };
	struct why why = { .source = WHY_BPF };
	char path[64];
	int code = EXIT_OK;

	if (options->off_cpu)
		return show_blocked(options);
	if (options->files.count == 0)
		code = record(options, &r, &why);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", r.writer.fd);
	if (code == EXIT_OK)
		code = look(options, path, &why);
	recording_close(&r);
	why_sched_free(&why.sched);
	return code;
}

int verb_why(int argc, char **argv)
{
	struct options options = { .slowest = 10,
				   .files.paths = calloc((size_t)argc,
							 sizeof(char *)) };
	int code = EXIT_USAGE;

	if (!options.files.paths)
		return complain(strerror(ENOMEM));
	if (args_parse_verb(&verb, "why", argc, argv, &options) == 0)
		code = run(&options);
	free(options.files.paths);
	return code;
}
