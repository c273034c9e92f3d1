/* SPDX-License-Identifier: MIT */
/* pin.c - skua pin, skua unpin: counting that goes on without the tool */
#include <argp.h>
#include <bpf/bpf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "bench/args.h"
#include "bpf/trace/attach.h"
#include "bpf/choose.h"
#include "bpf/verbs.h"

enum { OPTION_ALL = 0x100 };

#define MOUNT  "/sys/fs/bpf"
#define FOLDER MOUNT "/skua"
#define LINKS  "links"

struct options {
	const char *verb;
	uint64_t pid;
	bool all;
};

/* ---- options --------------------------------------------------------------- */

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case 'p':
		return args_number("--pid", arg, 1, CHOOSE_MOST, &options->pid);
	case OPTION_ALL:
		options->all = true;
		return 0;
	case ARGP_KEY_ARG:
		return args_refuse("no argument '%s'; allowed: options", arg);
	case ARGP_KEY_END:
		if (options->all && options->pid)
			return args_refuse("--all and --pid; allowed: one");
		if (!options->all && !options->pid &&
		    strcmp(options->verb, "unpin") == 0)
			return args_refuse("no process; allowed: --pid PID, or "
					   "--all");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option pin_options[] = {
	{ .name = "pid", .key = 'p', .arg = "PID", .doc = CHOOSE_HELP },
	{ 0 },
};

static const struct argp_option unpin_options[] = {
	{ .name = "all", .key = OPTION_ALL, .doc = "In all processes" },
	{ .name = "pid",
	  .key = 'p',
	  .arg = "PID",
	  .doc = "In that process, which may have ended" },
	{ 0 },
};

static const struct argp pin_argp = {
	.options = pin_options,
	.parser = parse,
	.doc = "Count what the workers of a process do as skua trace does, "
	       "until skua unpin: the maps are in " FOLDER "/PID, for bpftool "
	       "and others",
};

static const struct argp unpin_argp = {
	.options = unpin_options,
	.parser = parse,
	.doc = "End what skua pin has begun",
};

/* ---- the folder of a process ----------------------------------------------- */

static int fail(const struct options *options, const char *what,
		const char *why)
{
	fprintf(stderr, ARGS_PROGRAM " %s: %s: %s\n", options->verb, what, why);
	return EXIT_FAILED;
}

static const char *reason(int err)
{
	if (err == EACCES || err == EPERM)
		return "Permission denied; run the tool as root";
	return strerror(err);
}

/* Pins are made and removed by one at a time, until its process ends. */
static int hold_mount(const struct options *options)
{
	int fd = open(MOUNT, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct statfs info;

	if (statfs(MOUNT, &info) != 0 || info.f_type != BPF_FS_MAGIC)
		return fail(options, MOUNT,
			    "no BPF file system is mounted there; do that by: "
			    "mount -t bpf bpf " MOUNT);
	if (fd < 0 || flock(fd, LOCK_EX) != 0)
		return fail(options, MOUNT, reason(errno));
	return 0;
}

/* Links first: with them the counting ends. Return: 0; -errno */
static int remove_files(int folder)
{
	DIR *list = fdopendir(folder);
	struct dirent *entry;
	int err = 0;

	if (!list) {
		err = -errno;
		close(folder);
		return err;
	}
	while ((entry = readdir(list)) != NULL)
		if (entry->d_name[0] != '.' &&
		    unlinkat(dirfd(list), entry->d_name, 0) != 0 &&
		    errno != EISDIR && errno != EPERM)
			err = -errno;
	closedir(list);
	return err;
}

static int remove_process(const char *name)
{
	const char *const folders[] = { "/" LINKS, "" };
	char path[PATH_MAX];
	int err = 0;

	for (unsigned i = 0; !err && i < 2; i++) {
		int folder;

		snprintf(path, sizeof(path), FOLDER "/%s%s", name, folders[i]);
		folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (folder < 0 && errno == ENOENT && i == 0)
			continue;
		err = folder < 0 ? -errno : remove_files(folder);
		if (!err && rmdir(path) != 0)
			err = -errno;
	}
	return err;
}

/* ---- pin ------------------------------------------------------------------- */

/* What was killed while it pinned has left no link. */
static bool is_pinned(const char *links)
{
	DIR *list = opendir(links);
	struct dirent *entry;
	bool found = false;

	while (list && (entry = readdir(list)) != NULL)
		found |= entry->d_name[0] != '.';
	if (list)
		closedir(list);
	return found;
}

static int make_folders(const struct options *options, const char *name)
{
	char folder[sizeof(FOLDER) + 24], links[sizeof(folder) + 8];
	int made;

	snprintf(folder, sizeof(folder), FOLDER "/%s", name);
	snprintf(links, sizeof(links), "%s/" LINKS, folder);
	if (mkdir(FOLDER, 0700) != 0 && errno != EEXIST)
		return fail(options, FOLDER, reason(errno));
	made = mkdir(folder, 0700);
	if (made != 0 && errno == EEXIST && !is_pinned(links) &&
	    remove_process(name) == 0)
		made = mkdir(folder, 0700);
	if (made != 0 && errno == EEXIST) {
		fprintf(stderr,
			ARGS_PROGRAM " pin: %s: it is pinned already, or a "
				     "process of that number was; end that "
				     "by: " ARGS_PROGRAM " unpin -p %s\n",
			folder, name);
		return EXIT_FAILED;
	}
	if (made != 0)
		return fail(options, folder, reason(errno));
	if (mkdir(links, 0700) == 0)
		return 0;
	fail(options, links, reason(errno));
	rmdir(folder);
	return EXIT_FAILED;
}

/* So that what is begun is finished, or removed. */
static void hold_signals(void)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	sigset_t set;

	sigemptyset(&set);
	for (unsigned i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		sigaddset(&set, ends[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

static int pin_all(const struct attachment *attached, const char *folder)
{
	char path[sizeof(FOLDER) + 100];
	int err = 0;

	for (unsigned i = 0; !err && i < ATTACH_MAPS; i++) {
		if (attached->maps[i] < 0)
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder,
			 attach_map_names[i]);
		err = bpf_obj_pin(attached->maps[i], path);
	}
	for (unsigned i = 0; !err && i < attached->link_count; i++) {
		snprintf(path, sizeof(path), "%s/" LINKS "/%s", folder,
			 attached->links[i].name);
		err = bpf_obj_pin(attached->links[i].fd, path);
	}
	return err;
}

/* A process without probes has nothing that is worth it. */
static int pin(const struct options *options, struct target *target,
	       const char *name)
{
	char folder[sizeof(FOLDER) + 24];
	struct attachment attached;
	int code = EXIT_OK, err;

	snprintf(folder, sizeof(folder), FOLDER "/%s", name);
	attach_process(&attached, target);
	if (attached.how == ATTACH_NOT) {
		code = fail(options, "no probes", attached.probes_missing);
	} else if ((err = pin_all(&attached, folder)) != 0) {
		code = fail(options, folder, strerror(-err));
	} else {
		if (!attached.switches)
			fail(options, "no context switches",
			     attached.switches_missing);
		printf("%s\n", folder);
	}
	attach_close(&attached);
	if (code)
		remove_process(name);
	return code;
}

int verb_pin(int argc, char **argv)
{
	struct options options = { .verb = "pin" };
	struct target *target = NULL;
	char name[24];
	int code;

	if (args_parse(&pin_argp, "pin", argc, argv, &options) != 0)
		return EXIT_USAGE;
	code = choose_process(&target, "pin", options.pid);
	if (code == EXIT_OK)
		code = hold_mount(&options);
	if (code == EXIT_OK) {
		snprintf(name, sizeof(name), "%d", target_pid(target));
		hold_signals();
		code = make_folders(&options, name);
		if (code == EXIT_OK)
			code = pin(&options, target, name);
	}
	target_close(target);
	return code;
}

/* ---- unpin ----------------------------------------------------------------- */

static int unpin(const struct options *options, const char *name)
{
	int err = remove_process(name);

	if (err == -ENOENT)
		return fail(options, name,
			    "no process of that number is pinned");
	return err ? fail(options, name, reason(-err)) : EXIT_OK;
}

/* Of all there are; none is all right. */
static int unpin_all(const struct options *options)
{
	DIR *list = opendir(FOLDER);
	struct dirent *entry;
	int code = EXIT_OK;

	if (!list)
		return errno == ENOENT ? EXIT_OK
				       : fail(options, FOLDER, reason(errno));
	while ((entry = readdir(list)) != NULL)
		if (entry->d_name[0] != '.')
			code |= unpin(options, entry->d_name);
	closedir(list);
	return code;
}

int verb_unpin(int argc, char **argv)
{
	struct options options = { .verb = "unpin" };
	char name[24];
	int code;

	if (args_parse(&unpin_argp, "unpin", argc, argv, &options) != 0)
		return EXIT_USAGE;
	code = hold_mount(&options);
	if (code)
		return code;
	snprintf(name, sizeof(name), "%ju", (uintmax_t)options.pid);
	code = options.all ? unpin_all(&options) : unpin(&options, name);
	rmdir(FOLDER); /* if it is empty */
	return code;
}
