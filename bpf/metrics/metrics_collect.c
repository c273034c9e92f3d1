/* SPDX-License-Identifier: MIT */
/* metrics_collect.c - read processes into a list of runtimes: see metrics.h */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/cli/grow.h"
#include "bpf/stats/figures.h"
#include "bpf/metrics/metrics.h"

#define MAX_ATTEMPTS 20u
#define MAX_TYPES    256u  /* of a runtime; further types are summed as REST */
#define MAX_WORKERS  3072u /* of all processes: 35 MB of snapshots */
#define REST         "(other tasks)"

/* ---- types ----------------------------------------------------------------- */

static void name_type(struct target *target, const struct area_type *row,
		      char *name)
{
	if (figure_is_rest(row))
		strcpy(name, REST);
	else
		target_name(target, row->type, row->poll, name);
}

/* Return the index of the type with that name, or r->type_count if there is
 * none. */
static unsigned find_type(const struct metrics_runtime *r, const char *name)
{
	unsigned i = 0;

	while (i < r->type_count && strcmp(r->types[i].name, name) != 0)
		i++;
	return i;
}

/* Types with the same name are added up: Prometheus allows a series only
 * once. */
static void add_type(struct metrics_runtime *r, struct target *target,
		     const struct area_type *row)
{
	char name[TARGET_NAME];
	struct area_type *seen;
	unsigned i;

	name_type(target, row, name);
	i = find_type(r, name);
	if (i == r->type_count && i >= MAX_TYPES) {
		strcpy(name, REST);
		i = find_type(r, name);
	}
	if (i == r->type_count)
		strcpy(r->types[r->type_count++].name, name);
	seen = &r->types[i].seen;
	seen->polls += row->polls;
	seen->run_ns += row->run_ns;
	seen->waits += row->waits;
	seen->wait_ns += row->wait_ns;
	if (row->longest_ns > seen->longest_ns)
		seen->longest_ns = row->longest_ns;
}

static int collect_types(struct metrics_runtime *r, struct target *target)
{
	r->types = calloc(MAX_TYPES + 1, sizeof(*r->types));
	if (r->types == NULL)
		return -ENOMEM;
	for (unsigned i = 0; i < r->snapshot.worker_count; i++)
		for (unsigned k = 0; k < AREA_TYPES; k++) {
			const struct area_type *row =
				&r->snapshot.workers[i].samples.types[k];

			if (figure_is_row(row))
				add_type(r, target, row);
		}
	return 0;
}

/* ---- runtimes -------------------------------------------------------------- */

static void free_from(struct metrics_list *list, unsigned first)
{
	while (list->count > first) {
		struct metrics_runtime *r = &list->runtimes[--list->count];

		target_free_snapshot(&r->snapshot);
		free(r->types);
	}
}

void metrics_free(struct metrics_list *list)
{
	free_from(list, 0);
	free(list->runtimes);
	*list = (struct metrics_list){ .count = 0 };
}

static int add_runtime(struct metrics_list *list, struct target *target,
		       unsigned index)
{
	const struct target_runtime *runtime = target_runtime(target, index);
	struct metrics_runtime *r;
	int err;

	if (!grow(&list->runtimes, sizeof(*r), list->count, &list->room))
		return -ENOMEM;
	r = &list->runtimes[list->count++];
	*r = (struct metrics_runtime){ .pid = target_pid(target),
				       .index = index,
				       .area = runtime->area };
	memcpy(r->version, runtime->version, sizeof(r->version));
	target_comm(target, r->comm);
	err = target_take_snapshot(target, runtime, &r->snapshot);
	return err != 0 ? err : collect_types(r, target);
}

int metrics_add(struct metrics_list *list, struct target *target)
{
	unsigned before = list->count;
	int err = -EAGAIN;

	/* Repeat if a runtime comes or goes during the read. */
	for (unsigned i = 0; err == -EAGAIN && i < MAX_ATTEMPTS; i++) {
		free_from(list, before);
		err = target_refresh(target);
		for (unsigned k = 0; err == 0 && k < target_runtimes(target);
		     k++)
			err = add_runtime(list, target, k);
	}
	if (err != 0)
		free_from(list, before);
	return err;
}

/* Whether to report a process as left out. Processes without a runtime, those
 * that may not be read, and those that have ended are skipped in silence. */
static bool is_worth_a_word(int err)
{
	return err == -EFBIG || err == -EILSEQ || err == -EBUSY ||
	       err == -ENOMEM || err == -EAGAIN;
}

static unsigned count_workers(const struct metrics_list *list)
{
	unsigned workers = 0;

	for (unsigned i = 0; i < list->count; i++)
		workers += list->runtimes[i].snapshot.worker_count;
	return workers;
}

/* Add a process unless all processes together would then exceed MAX_WORKERS. */
static int add_within(struct metrics_list *list, struct target *target)
{
	unsigned before = list->count;
	int err = 0;

	for (unsigned i = 0, workers = count_workers(list);
	     err == 0 && i < target_runtimes(target); i++) {
		workers += target_runtime(target, i)->area.worker_count;
		if (workers > MAX_WORKERS)
			err = -EFBIG;
	}
	if (err == 0)
		err = metrics_add(list, target);
	if (err == 0 && count_workers(list) > MAX_WORKERS)
		err = -EFBIG; /* a runtime was added meanwhile */
	if (err != 0)
		free_from(list, before);
	return err;
}

static void add_process(struct metrics_list *list, pid_t pid)
{
	struct target *target;
	int err = target_open(&target, pid);

	if (err == 0)
		err = add_within(list, target);
	if (is_worth_a_word(err)) {
		fprintf(stderr, "skua metrics: process %d is left out: %s\n",
			pid,
			target && *target_reason(target) ? target_reason(target)
							 : strerror(-err));
		list->left_out++;
	}
	target_close(target);
}

int metrics_add_all(struct metrics_list *list)
{
	DIR *folder = opendir("/proc");
	struct dirent *entry;
	int err = folder != NULL ? 0 : -errno;

	list->all = true;

	while (folder != NULL && (entry = readdir(folder)) != NULL) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (isdigit((unsigned char)entry->d_name[0]) && pid != getpid())
			add_process(list, pid);
	}
	if (folder != NULL)
		closedir(folder);
	return err;
}

/* ---- text ------------------------------------------------------------------ */

int metrics_collect(const struct metrics_source *source,
		    enum metrics_format format, char **text, size_t *size)
{
	struct metrics_list list = { .stamped = source->stamped };
	FILE *file;
	int err = source->target != NULL ? metrics_add(&list, source->target)
					 : metrics_add_all(&list);

	*text = NULL;
	if (err == -ESRCH && source->target != NULL)
		exits_say_gone(source->exits);
	file = err == 0 ? open_memstream(text, size) : NULL;
	if (err == 0 && file == NULL)
		err = -ENOMEM;
	if (err == 0) {
		metrics_write(file, &list, format);
		if (fclose(file) != 0)
			err = -ENOMEM;
	}
	metrics_free(&list);
	return err;
}
