/* SPDX-License-Identifier: MIT */
/* pick_process.c - see pick_process.h */
#include "bpf/cli/grow.h"
#include "bpf/cli/json.h"
#include "bpf/target/pick_process.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "bpf/cli/args.h"
#include "bpf/cli/table.h"

/* How many processes an error message names. */
#define MAX_NAMED 5u

struct found {
	struct target **targets;
	unsigned count;
	size_t room;
	unsigned denied; /* processes without permission to read */
};

/* Open the process and keep it if it has runtimes. */
static void try_process(struct found *found, pid_t pid)
{
	struct target *target;
	int code = target_open(&target, pid);

	if (code == -EACCES)
		found->denied++;
	if (code || target_runtimes(target) == 0 ||
	    !grow(&found->targets, sizeof(*found->targets), found->count,
		  &found->room))
		target_close(target);
	else
		found->targets[found->count++] = target;
}

static void search(struct found *found)
{
	DIR *processes = opendir("/proc");
	struct dirent *entry;

	while (processes && (entry = readdir(processes)) != NULL) {
		pid_t pid = (pid_t)atoi(entry->d_name);

		if (pid > 0 && pid != getpid())
			try_process(found, pid);
	}
	if (processes)
		closedir(processes);
}

static unsigned workers_of(const struct target *target)
{
	unsigned workers = 0;

	for (unsigned i = 0; i < target_runtimes(target); i++)
		workers += target_runtime(target, i)->area.worker_count;
	return workers;
}

static int advise(const char *verb)
{
	fprintf(stderr, "choose one: " ARGS_PROGRAM " %s --pid PID\n", verb);
	return EXIT_OK;
}

static int list_json(const struct found *found, const char *verb)
{
	for (unsigned i = 0; i < found->count; i++) {
		const struct target *target = found->targets[i];
		char comm[TARGET_NAME];
		json_t *object;

		target_comm(target, comm);
		object =
			json_pack("{s:i, s:s, s:i, s:i, s:s}", "pid",
				  (int)target_pid(target), "comm", comm,
				  "runtimes", (int)target_runtimes(target),
				  "workers", (int)workers_of(target), "version",
				  target_runtime(target, 0)->version);
		json_print(stdout, object, 0);
	}
	return advise(verb);
}

static int list_text(const struct found *found, const char *verb)
{
	static const char *const titles[] = { "PID",      "name",    "skua",
					      "runtimes", "workers", NULL };
	struct table table;

	table_begin(&table, titles, "01");
	for (unsigned i = 0; i < found->count; i++) {
		const struct target *target = found->targets[i];
		char comm[TARGET_NAME];

		target_comm(target, comm);
		table_add(&table, "%d", target_pid(target));
		table_add(&table, "%s", comm);
		table_add(&table, "%s", target_runtime(target, 0)->version);
		table_add(&table, "%u", target_runtimes(target));
		table_add(&table, "%u", workers_of(target));
	}
	table_print(stdout, &table);
	return advise(verb);
}

static int say_none(const struct found *found, const char *verb)
{
	fprintf(stderr,
		ARGS_PROGRAM " %s: no process that can be read has a skua "
			     "runtime",
		verb);
	if (found->denied)
		fprintf(stderr,
			"; %u process%s may not be read: " ARGS_PROGRAM
			" %s --pid PID says why",
			found->denied, found->denied == 1 ? "" : "es", verb);
	fputc('\n', stderr);
	return EXIT_FAILED;
}

static int say_several(const struct found *found, const char *verb)
{
	fprintf(stderr, ARGS_PROGRAM " %s: several processes have skua in them",
		verb);
	for (unsigned i = 0; i < found->count && i < MAX_NAMED; i++) {
		char comm[TARGET_NAME];

		target_comm(found->targets[i], comm);
		fprintf(stderr, "%s %d (%s)", i ? "," : ":",
			target_pid(found->targets[i]), comm);
	}
	fprintf(stderr, "%s; allowed: --pid PID\n",
		found->count > MAX_NAMED ? " ..." : "");
	return EXIT_USAGE;
}

/* ---- choosing -------------------------------------------------------------- */

static int open_process(struct target **out, const char *verb, pid_t pid)
{
	if (target_open(out, pid) == 0)
		return EXIT_OK;
	fprintf(stderr, ARGS_PROGRAM " %s: %s\n", verb, target_reason(*out));
	target_close(*out);
	*out = NULL;
	return EXIT_FAILED;
}

/* Close all targets except @kept, which may be NULL. */
static void release(struct found *found, const struct target *kept)
{
	for (unsigned i = 0; i < found->count; i++)
		if (found->targets[i] != kept)
			target_close(found->targets[i]);
	free(found->targets);
}

/* Pick the process. If none was given and several are found, return the exit
 * code of @several(), which lists them. */
static int pick(struct target **out, const char *verb, uint64_t pid,
		int (*several)(const struct found *, const char *verb))
{
	struct found found = { .count = 0 };
	int code = EXIT_OK;

	if (pid)
		return open_process(out, verb, (pid_t)pid);
	*out = NULL;
	search(&found);
	if (found.count == 0)
		code = say_none(&found, verb);
	else if (found.count > 1)
		code = several(&found, verb);
	else
		*out = found.targets[0];
	release(&found, *out);
	return code;
}

int pick_process(struct target **out, const char *verb, uint64_t pid)
{
	return pick(out, verb, pid, say_several);
}

int pick_process_or_list(struct target **out, const char *verb, uint64_t pid,
			 bool json)
{
	return pick(out, verb, pid, json ? list_json : list_text);
}

void pick_process_remark(const struct target *target, const char *verb)
{
	if (target_runtimes(target) == 0)
		fprintf(stderr,
			ARGS_PROGRAM " %s: process %d has skua in it, but no "
				     "runtime now\n",
			verb, target_pid(target));
}
