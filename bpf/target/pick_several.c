/* SPDX-License-Identifier: MIT */
/* pick_several.c - see pick_several.h */
#include "bpf/target/pick_several.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/cli/args.h"
#include "bpf/cli/descriptors.h"
#include "bpf/cli/grow.h"
#include "bpf/cli/sorted.h"
#include "bpf/target/pick_process.h"
#include "bpf/target/target_proc.h"

/* ---- arguments ------------------------------------------------------------- */

static bool has(const struct pick *pick, uint64_t pid)
{
	for (size_t i = 0; i < pick->count; i++)
		if (pick->pids[i] == pid)
			return true;
	return false;
}

error_t pick_add(void *to, char *text)
{
	struct pick *pick = to;

	for (char *word; (word = strsep(&text, ","));) {
		uint64_t pid;
		error_t code =
			args_number("--pid", word, 1, ARGS_MAX_PID, &pid);

		if (code)
			return code;
		if (has(pick, pid))
			continue;
		if (!grow(&pick->pids, sizeof(*pick->pids), pick->count,
			  &pick->room))
			return args_refuse("no memory");
		pick->pids[pick->count++] = pid;
	}
	return 0;
}

error_t pick_check(const struct pick *pick)
{
	return pick->job && pick->count > 0
		       ? args_refuse("--job with --pid; allowed: one of them")
		       : 0;
}

void pick_free(struct pick *pick)
{
	free(pick->pids);
}

/* ---- the processes of a job -------------------------------------------------- */

/* @started: it is the process of --job, or was started by it, directly or through others. */
struct process {
	uint64_t pid;
	pid_t parent;
	bool started;
};

struct processes {
	struct process *list;
	size_t count, room;
};

static int add_process(struct processes *all, pid_t pid, pid_t job)
{
	struct target_status status;
	char folder[32];
	int fd;

	snprintf(folder, sizeof(folder), "/proc/%d", pid);
	fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return 0; /* it has ended */
	if (target_proc_status(fd, &status) == 0) {
		if (!grow(&all->list, sizeof(*all->list), all->count,
			  &all->room)) {
			close(fd);
			return -ENOMEM;
		}
		all->list[all->count++] =
			(struct process){ (uint64_t)pid, status.parent,
					  pid == job };
	}
	close(fd);
	return 0;
}

static int read_processes(struct processes *all, pid_t job)
{
	DIR *folder = opendir("/proc");
	struct dirent *entry;
	int code = 0;

	while (folder && code == 0 && (entry = readdir(folder)) != NULL) {
		pid_t pid = (pid_t)atoi(entry->d_name);

		if (pid > 0)
			code = add_process(all, pid, job);
	}
	if (folder)
		closedir(folder);
	return code;
}

static int compare_processes(const void *left, const void *right)
{
	const struct process *a = left, *b = right;

	return compare_numbers(a->pid, b->pid);
}

/* The list is sorted. */
static bool is_started(const struct processes *all, pid_t pid)
{
	size_t n = SORTED_UP_TO(all->list, all->count, pid, (uint64_t)pid);

	return n > 0 && all->list[n - 1].pid == (uint64_t)pid &&
	       all->list[n - 1].started;
}

/* Mark the children of marked processes, until there are no more. */
static void mark(struct processes *all)
{
	bool more = true;

	if (all->count > 0)
		qsort(all->list, all->count, sizeof(*all->list),
		      compare_processes);
	while (more) {
		more = false;
		for (size_t i = 0; i < all->count; i++) {
			struct process *p = &all->list[i];

			if (p->started || !is_started(all, p->parent))
				continue;
			p->started = more = true;
		}
	}
}

/* ---- opening --------------------------------------------------------------- */

static int complain(const char *verb, const char *why)
{
	fprintf(stderr, ARGS_PROGRAM " %s: %s\n", verb, why);
	return EXIT_FAILED;
}

int picked_add(struct picked *picked, const char *verb, struct target *target)
{
	if (!grow(&picked->targets, sizeof(*picked->targets), picked->count,
		  &picked->room)) {
		target_close(target);
		return complain(verb, strerror(ENOMEM));
	}
	picked->targets[picked->count++] = target;
	return EXIT_OK;
}

static int open_named(struct picked *out, const char *verb,
		      const struct pick *pick)
{
	int code = EXIT_OK;

	for (size_t i = 0; i < pick->count && code == EXIT_OK; i++) {
		struct target *target;

		code = pick_process(&target, verb, pick->pids[i]);
		if (code == EXIT_OK)
			code = picked_add(out, verb, target);
	}
	return code;
}

/* Open the processes of the job that have skua in them. @denied receives the number of
 * processes that may not be read. */
static int open_started(struct picked *out, const char *verb,
			const struct processes *all, unsigned *denied)
{
	int code = EXIT_OK;

	for (size_t i = 0; i < all->count && code == EXIT_OK; i++) {
		struct target *target;
		int opened;

		if (!all->list[i].started ||
		    all->list[i].pid == (uint64_t)getpid())
			continue;
		opened = target_open(&target, (pid_t)all->list[i].pid);
		*denied += opened == -EACCES;
		if (opened && opened != -EACCES && opened != -ENOENT &&
		    opened != -ESRCH && opened != -ECHILD)
			complain(verb, target_reason(target));
		if (!opened)
			code = picked_add(out, verb, target);
		else
			target_close(target);
		if (opened == -EMFILE)
			code = EXIT_FAILED;
	}
	return code;
}

/* Say which processes of the job are missing. Return: an exit code. */
static int say_missing(const struct picked *out, const char *verb, pid_t job,
		       unsigned denied)
{
	char text[128] = "";

	if (denied > 0)
		snprintf(text, sizeof(text),
			 "%u of its processes may not be read: "
			 "see " ARGS_PROGRAM " %s --pid PID",
			 denied, verb);
	if (out->count > 0) {
		if (denied > 0)
			complain(verb, text);
		return EXIT_OK;
	}
	fprintf(stderr,
		ARGS_PROGRAM " %s: --job: no process that %d has started has "
			     "skua in it%s%s\n",
		verb, job, denied ? "; " : "", text);
	return EXIT_FAILED;
}

static int open_job(struct picked *out, const char *verb, pid_t job)
{
	struct processes all = { .count = 0 };
	unsigned denied = 0;
	int code;

	if (read_processes(&all, job)) {
		free(all.list);
		return complain(verb, strerror(ENOMEM));
	}
	mark(&all);
	if (is_started(&all, job)) {
		code = open_started(out, verb, &all, &denied);
		if (code == EXIT_OK)
			code = say_missing(out, verb, job, denied);
	} else {
		fprintf(stderr, ARGS_PROGRAM " %s: --job: no process %d\n",
			verb, job);
		code = EXIT_FAILED;
	}
	free(all.list);
	return code;
}

static int compare_targets(const void *left, const void *right)
{
	const struct target *a = *(struct target *const *)left;
	const struct target *b = *(struct target *const *)right;
	int order = compare_numbers(target_rank(a), target_rank(b));

	return order ? order
		     : compare_numbers((uint64_t)target_pid(a),
				       (uint64_t)target_pid(b));
}

int pick_several(struct picked *out, const char *verb, const struct pick *pick)
{
	int code;

	descriptors_raise(); /* each process takes several */
	code = pick->job ? open_job(out, verb, (pid_t)pick->job)
			 : open_named(out, verb, pick);
	if (out->count > 0)
		qsort(out->targets, out->count, sizeof(*out->targets),
		      compare_targets);
	return code;
}

void picked_close(struct picked *picked)
{
	for (size_t i = 0; i < picked->count; i++)
		target_close(picked->targets[i]);
	free(picked->targets);
}
