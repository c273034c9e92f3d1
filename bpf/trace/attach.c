/* SPDX-License-Identifier: MIT */
/* attach.c - see attach.h */
#include "bpf/cli/grow.h"
#include "bpf/trace/attach.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "bpf/programs/count.h"
#include "bpf/programs/programs.h"
#include "bpf/programs/uprobe_multi.h"
#include "count_probes.skel.h"
#include "count_switches.skel.h"

const char *const attach_map_names[ATTACH_MAPS] = { "workers",      "matrix",
						    "times",        "lost",
						    "switches",     "delays",
						    "lost_switches" };

/* Indexed by cookie: name and number of arguments used. `inject` is missing on
 * purpose: tasks from outside are frequent, and the debug area counts them
 * anyway. */
static const struct {
	const char *name;
	unsigned arguments;
} probes[COUNT_PROBES] = {
	[COUNT_STEAL] = { "steal", 4 },
	[COUNT_STEAL_FAIL] = { "steal_fail", 2 },
	[COUNT_PARK] = { "park", 1 },
	[COUNT_UNPARK] = { "unpark", 2 },
	[COUNT_LIFO_FLUSH] = { "lifo_flush", 3 },
	[COUNT_OVERFLOW] = { "overflow", 2 },
};

/* A file and its probes. */
struct file {
	int fd;
	char path[40]; /* works even if the file was renamed */
	uint64_t device, inode;
	unsigned count;
	uint64_t offsets[MAX_USDT_PROBES];
	uint64_t semaphores[MAX_USDT_PROBES];
	uint64_t cookies[MAX_USDT_PROBES];
};

/* The files and the process to attach to. */
struct goal {
	struct file files[TARGET_MAX_ROOTS];
	unsigned count;
	pid_t pid;     /* 0: all processes that have mapped the files */
	uint32_t tgid; /* the process as programs see it; 0: all */
};

/* ---- files ----------------------------------------------------------------- */

static void add_place(struct file *file, const struct usdt_probe *probe)
{
	for (unsigned i = 0; i < COUNT_PROBES; i++) {
		if (strcmp(probe->name, probes[i].name) != 0 ||
		    probe->arguments < probes[i].arguments)
			continue;
		file->offsets[file->count] = probe->offset;
		file->semaphores[file->count] = probe->semaphore;
		file->cookies[file->count++] = i;
	}
}

/* Add a file and its probes. close_files() closes @fd. The probes of a file
 * that occurs again are not added again. */
static int add_file(struct goal *goal, int fd, struct target_budget *budget)
{
	struct file *file = &goal->files[goal->count];
	struct usdt_probes notes;
	struct stat status;
	int err;

	*file = (struct file){ .fd = fd };
	goal->count++;
	if (fstat(fd, &status) != 0)
		return -errno;
	if (!S_ISREG(status.st_mode))
		return -ENOEXEC;
	file->device = status.st_dev;
	file->inode = status.st_ino;
	for (unsigned i = 0; i + 1 < goal->count; i++)
		if (goal->files[i].device == file->device &&
		    goal->files[i].inode == file->inode)
			return 0;
	snprintf(file->path, sizeof(file->path), "/proc/self/fd/%d", fd);
	err = usdt_read(fd, budget, &notes);
	for (unsigned i = 0; !err && i < notes.count; i++)
		add_place(file, &notes.probes[i]);
	return err;
}

static unsigned count_places(const struct goal *goal)
{
	unsigned places = 0;

	for (unsigned i = 0; i < goal->count; i++)
		places += goal->files[i].count;
	return places;
}

static void close_files(struct goal *goal)
{
	for (unsigned i = 0; i < goal->count; i++)
		close(goal->files[i].fd);
}

static void say(char *missing, const char *format, const char *what)
{
	snprintf(missing, 400, format, what);
}

#define TOO_LARGE \
	"a file has more sections or notes than may be read of a process"

/* Find the files of the program and its libraries that contain skua, as far as
 * they can be read. */
static void find_files(struct attachment *a, struct goal *goal,
		       struct target *target)
{
	for (unsigned i = 0; i < TARGET_MAX_ROOTS; i++) {
		int fd = target_open_file(target, i);

		if (fd == -ENOENT)
			break;
		if (fd < 0)
			say(a->probes_missing, "%s", target_reason(target));
		else if (add_file(goal, fd, target_budget_of(target)) == -EFBIG)
			say(a->probes_missing, "%s", TOO_LARGE);
	}
	if (count_places(goal) == 0 && !a->probes_missing[0])
		say(a->probes_missing, "%s",
		    "no file of the process has probes of skua");
}

/* ---- links ----------------------------------------------------------------- */

static int add_link(struct attachment *a, const char *name, int fd,
		    struct bpf_link *owner)
{
	struct attach_link *more;

	if (!grow(&a->links, sizeof(*more), a->link_count, &a->link_room))
		return -ENOMEM;
	more = &a->links[a->link_count++];
	snprintf(more->name, sizeof(more->name), "%s", name);
	more->fd = fd;
	more->owner = owner;
	return 0;
}

int attach_take_link(struct attachment *a, int fd)
{
	int err = fd < 0 ? -errno : add_link(a, "", fd, NULL);

	if (fd >= 0 && err)
		close(fd);
	return err;
}

static void drop_links(struct attachment *a)
{
	for (unsigned i = 0; i < a->link_count; i++) {
		if (a->links[i].owner)
			bpf_link__destroy(a->links[i].owner);
		else
			close(a->links[i].fd);
	}
	free(a->links);
	a->links = NULL;
	a->link_count = 0;
	a->link_room = 0;
}

static int keep_link(struct attachment *a, const char *name,
		     struct bpf_link *link)
{
	int err = link ? add_link(a, name, bpf_link__fd(link), link) : -errno;

	if (link && err)
		bpf_link__destroy(link);
	return err;
}

static int attach_multi(struct attachment *a, const struct goal *goal,
			unsigned index)
{
	const struct file *file = &goal->files[index];
	struct uprobe_multi attr = {
		.prog_fd = (uint32_t)bpf_program__fd(a->counter->progs.probe),
		.attach_type = ATTACH_UPROBE_MULTI,
		.path = (uintptr_t)file->path,
		.offsets = (uintptr_t)file->offsets,
		.ref_ctr_offsets = (uintptr_t)file->semaphores,
		.cookies = (uintptr_t)file->cookies,
		.count = file->count,
		.pid = (uint32_t)goal->pid,
	};
	int fd = (int)syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
	char name[24];
	int err;

	if (fd < 0)
		return -errno;
	snprintf(name, sizeof(name), "probes_%u", index);
	err = add_link(a, name, fd, NULL);
	if (err)
		close(fd);
	return err;
}

static int attach_each(struct attachment *a, const struct goal *goal,
		       unsigned index)
{
	const struct file *file = &goal->files[index];
	int err = 0;

	for (unsigned i = 0; !err && i < file->count; i++) {
		LIBBPF_OPTS(bpf_uprobe_opts, opts,
			    .ref_ctr_offset = file->semaphores[i],
			    .bpf_cookie = file->cookies[i]);
		char name[USDT_NAME + 16];

		snprintf(name, sizeof(name), "%s_%u_%u",
			 probes[file->cookies[i]].name, index, i);
		err = keep_link(a, name,
				bpf_program__attach_uprobe_opts(
					a->counter->progs.probe,
					goal->pid ? goal->pid : -1, file->path,
					file->offsets[i], &opts));
	}
	return err;
}

/* ---- programs -------------------------------------------------------------- */

static int load_counter(struct attachment *a, const struct goal *goal,
			enum attach_how how)
{
	a->counter = count_probes_bpf__open();
	if (!a->counter)
		return -errno;
	a->counter->rodata->target = goal->tgid;
	a->counter->rodata->namespace = programs_namespace();
	if (how == ATTACH_MULTI)
		bpf_program__set_expected_attach_type(a->counter->progs.probe,
						      ATTACH_UPROBE_MULTI);
	return count_probes_bpf__load(a->counter);
}

/* Create the sums for ended threads before anything is attached: threads that
 * fill the map would leave no room for them. */
static int make_sum(const struct bpf_map *map, uint32_t key)
{
	void *fresh = calloc(1, bpf_map__value_size(map));
	int err = fresh ? bpf_map_update_elem(bpf_map__fd(map), &key, fresh,
					      BPF_NOEXIST)
			: -ENOMEM;

	free(fresh);
	return err;
}

static int attach_probes(struct attachment *a, const struct goal *goal,
			 enum attach_how how)
{
	int err = load_counter(a, goal, how);

	if (!err)
		err = make_sum(a->counter->maps.workers, 0);
	if (!err)
		err = make_sum(a->counter->maps.times, 0);
	/* Attach to the ends of threads first, so that none is missed. */
	if (!err)
		err = keep_link(a, "sched_process_exit",
				bpf_program__attach(a->counter->progs.on_exit));
	if (!err)
		err = keep_link(a, "sched_process_exec",
				bpf_program__attach(a->counter->progs.on_exec));
	for (unsigned i = 0; !err && i < goal->count; i++) {
		if (goal->files[i].count == 0)
			continue;
		err = how == ATTACH_MULTI ? attach_multi(a, goal, i)
					  : attach_each(a, goal, i);
	}
	if (err) {
		drop_links(a);
		count_probes_bpf__destroy(a->counter);
		a->counter = NULL;
		return err;
	}
	a->how = how;
	a->places = count_places(goal);
	a->maps[ATTACH_WORKERS] = bpf_map__fd(a->counter->maps.workers);
	a->maps[ATTACH_MATRIX] = bpf_map__fd(a->counter->maps.matrix);
	a->maps[ATTACH_TIMES] = bpf_map__fd(a->counter->maps.times);
	a->maps[ATTACH_LOST] = bpf_map__fd(a->counter->maps.bss);
	return 0;
}

static int begin_probes(struct attachment *a, const struct goal *goal)
{
	int err = attach_probes(a, goal, ATTACH_MULTI);

	if (err)
		err = attach_probes(a, goal, ATTACH_EACH);
	if (err)
		say(a->probes_missing, "%s", programs_reason(err));
	return err;
}

static int load_switcher(struct attachment *a, const struct goal *goal)
{
	int err;

	a->switcher = count_switches_bpf__open();
	if (!a->switcher)
		return -errno;
	a->switcher->rodata->target = goal->tgid;
	a->switcher->rodata->namespace = programs_namespace();
	err = a->counter ? bpf_map__reuse_fd(a->switcher->maps.workers,
					     a->maps[ATTACH_WORKERS])
			 : 0;
	if (!err)
		err = count_switches_bpf__load(a->switcher);
	for (unsigned i = 0; !err && i < 2; i++) {
		uint32_t key = i ? COUNT_OTHERS : 0;

		err = make_sum(a->switcher->maps.switches, key);
		if (!err)
			err = make_sum(a->switcher->maps.delays, key);
	}
	if (!err)
		err = keep_link(
			a, "sched_wakeup",
			bpf_program__attach(a->switcher->progs.on_wakeup));
	if (!err)
		err = keep_link(
			a, "sched_switch",
			bpf_program__attach(a->switcher->progs.on_switch));
	return err;
}

static void begin_switches(struct attachment *a, const struct goal *goal)
{
	int err = load_switcher(a, goal);

	if (err) {
		say(a->switches_missing, "%s", programs_reason(err));
		return;
	}
	a->switches = true;
	a->maps[ATTACH_SWITCHES] = bpf_map__fd(a->switcher->maps.switches);
	a->maps[ATTACH_DELAYS] = bpf_map__fd(a->switcher->maps.delays);
	a->maps[ATTACH_LOST_SWITCHES] = bpf_map__fd(a->switcher->maps.bss);
}

void attach_nothing(struct attachment *a)
{
	*a = (struct attachment){ .how = ATTACH_NOT };
	for (unsigned i = 0; i < ATTACH_MAPS; i++)
		a->maps[i] = -1;
	programs_begin();
}

/* Whether the kernel can limit probes to a process correctly. Linux 6.6 to 6.9
 * count only the process's first thread then. And no kernel finds a process by
 * a first thread that has ended. Without the limit, other processes with the
 * same file hit the probes in vain, and the program ignores them. */
static bool can_choose_process(const struct target *target)
{
	unsigned major = 0, minor = 0;
	struct utsname name;

	uname(&name);
	return target_has_leader(target) &&
	       (sscanf(name.release, "%u.%u", &major, &minor) != 2 ||
		major != 6 || minor < 6 || minor >= 10);
}

void attach_process(struct attachment *a, struct target *target)
{
	struct goal goal = { .count = 0 };
	int err;

	attach_nothing(a);
	find_files(a, &goal, target);
	err = programs_find(target_pid(target), &goal.tgid);
	if (err) {
		say(a->probes_missing, "%s", programs_reason(err));
		say(a->switches_missing, "%s", programs_reason(err));
	} else {
		if (can_choose_process(target))
			goal.pid = target_pid(target);
		if (count_places(&goal) > 0)
			begin_probes(a, &goal);
		begin_switches(a, &goal);
	}
	close_files(&goal);
}

int attach_file(struct attachment *a, const char *path)
{
	struct goal goal = { .count = 0 };
	struct target_budget budget;
	int fd, err;

	attach_nothing(a);
	say(a->switches_missing, "%s",
	    "they are counted for one process only, with -p");
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0) {
		err = -errno;
		say(a->probes_missing, "%s", strerror(errno));
		return err;
	}
	target_budget_begin(&budget);
	err = add_file(&goal, fd, &budget);
	if (!err && count_places(&goal) > 0) {
		err = begin_probes(a, &goal);
	} else {
		say(a->probes_missing, "%s",
		    err == -EILSEQ  ? "its ELF headers are impossible, or cut"
		    : err == -EFBIG ? TOO_LARGE
		    : err && err != -ENOEXEC ? strerror(-err)
					     : "it has no probes of skua");
		err = err ? err : -ENOENT;
	}
	close_files(&goal);
	return err;
}

void attach_close(struct attachment *a)
{
	drop_links(a);
	for (unsigned i = 0; a->how == ATTACH_PINNED && i < ATTACH_MAPS; i++)
		if (a->maps[i] >= 0)
			close(a->maps[i]);
	count_probes_bpf__destroy(a->counter);
	count_switches_bpf__destroy(a->switcher);
	a->counter = NULL;
	a->switcher = NULL;
}
