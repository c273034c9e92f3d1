/* SPDX-License-Identifier: MIT */
/* top_find.c - see top_find.h */
#include "bpf/top_find.h"

#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench/args.h"
#include "bpf/table.h"

struct found {
	struct target **targets;
	unsigned count;
	unsigned denied; /* processes that may not be read */
};

/* Of one that has runtimes, if it can be. */
static void try_process(struct found *found, pid_t pid)
{
	struct target *target, **more;
	int code = target_open(&target, pid);

	if (code == -EACCES)
		found->denied++;
	more = code || target_runtimes(target) == 0
		       ? NULL
		       : realloc(found->targets,
				 (found->count + 1) * sizeof(*more));
	if (!more) {
		target_close(target);
		return;
	}
	found->targets = more;
	more[found->count++] = target;
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

static void print_json(const struct found *found)
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
		json_dumpf(object, stdout, JSON_COMPACT);
		putchar('\n');
		json_decref(object);
	}
}

static void print_list(const struct found *found)
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
	fprintf(stderr, "choose one: " ARGS_PROGRAM " top -p PID\n");
}

static void say_none(const struct found *found)
{
	fprintf(stderr,
		ARGS_PROGRAM " top: no process that can be read has a skua "
			     "runtime");
	if (found->denied)
		fprintf(stderr,
			"; %u may not be read: see " ARGS_PROGRAM " top -p PID",
			found->denied);
	fputc('\n', stderr);
}

int top_find(struct target **out, bool json)
{
	struct found found = { .count = 0 };
	unsigned kept = 0;

	search(&found);
	*out = NULL;
	if (found.count == 0)
		say_none(&found);
	else if (found.count > 1 && json)
		print_json(&found);
	else if (found.count > 1)
		print_list(&found);
	else
		*out = found.targets[kept++];
	for (unsigned i = kept; i < found.count; i++)
		target_close(found.targets[i]);
	free(found.targets);
	if (*out)
		return 0;
	return found.count ? 1 : -ENOENT;
}
