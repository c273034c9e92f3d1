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
#include "bpf/trace/pins.h"
#include "bpf/choose.h"
#include "bpf/verbs.h"

enum { OPTION_ALL = 0x100 };

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
	       "until skua unpin: the maps are in " PINS_FOLDER
	       "/PID, for bpftool "
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
	int fd = open(PINS_MOUNT, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct statfs info;

	if (statfs(PINS_MOUNT, &info) != 0 || info.f_type != BPF_FS_MAGIC)
		return fail(options, PINS_MOUNT,
			    "no BPF file system is mounted there; do that by: "
			    "mount -t bpf bpf " PINS_MOUNT);
	if (fd < 0 || flock(fd, LOCK_EX) != 0)
		return fail(options, PINS_MOUNT, reason(errno));
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
	const char *const folders[] = { "/" PINS_LINKS, "" };
	char path[PATH_MAX];
	int err = 0;

	snprintf(path, sizeof(path), PINS_FOLDER "/%s/" PINS_BEGUN, name);
	unlink(path); /* what is left of the others is not whole */
	for (unsigned i = 0; !err && i < 2; i++) {
		int folder;

		snprintf(path, sizeof(path), PINS_FOLDER "/%s%s", name,
			 folders[i]);
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

/* Return: whether what is there is no obstacle. */
static int remove_remains(const struct options *options, const char *folder,
			  pid_t pid)
{
	enum pins_state state = pins_look(pid);
	const char *name = strrchr(folder, '/') + 1;

	if (state == PINS_NOT) {
		int err = remove_process(name);

		return err ? fail(options, folder, reason(-err)) : EXIT_OK;
	}
	fprintf(stderr,
		ARGS_PROGRAM " %s: %s: %s; end that by: " ARGS_PROGRAM
			     " unpin -p %s\n",
		options->verb, folder,
		state == PINS_LIVE
			? "it is pinned already"
			: "another process of that number was pinned",
		name);
	return EXIT_FAILED;
}

static int make_folders(const struct options *options, const char *folder,
			pid_t pid)
{
	char links[PINS_PATH];

	snprintf(links, sizeof(links), "%s/" PINS_LINKS, folder);
	if (mkdir(PINS_FOLDER, 0700) != 0 && errno != EEXIST)
		return fail(options, PINS_FOLDER, reason(errno));
	if (access(folder, F_OK) == 0 && remove_remains(options, folder, pid))
		return EXIT_FAILED;
	if (mkdir(folder, 0700) != 0)
		return fail(options, folder, reason(errno));
	if (mkdir(links, 0700) == 0)
		return EXIT_OK;
	fail(options, folder, reason(errno));
	remove_process(strrchr(folder, '/') + 1);
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

/* A process without probes has nothing that is worth it. */
static int pin(const struct options *options, struct target *target,
	       const char *folder)
{
	struct attachment attached;
	pid_t pid = target_pid(target);
	int code = EXIT_OK, err;

	attach_process(&attached, target);
	if (attached.how == ATTACH_NOT) {
		code = fail(options, "no probes", attached.probes_missing);
	} else if ((err = pins_make(&attached, pid)) != 0 ||
		   (err = pins_sign(pid)) != 0) {
		code = fail(options, folder, strerror(-err));
	} else {
		if (!attached.switches)
			fail(options, "no context switches",
			     attached.switches_missing);
		printf("%s\n", folder);
	}
	attach_close(&attached);
	if (code)
		remove_process(strrchr(folder, '/') + 1);
	return code;
}

int verb_pin(int argc, char **argv)
{
	struct options options = { .verb = "pin" };
	struct target *target = NULL;
	char folder[sizeof(PINS_FOLDER) + 24];
	int code;

	if (args_parse(&pin_argp, "pin", argc, argv, &options) != 0)
		return EXIT_USAGE;
	code = choose_process(&target, "pin", options.pid);
	if (code == EXIT_OK)
		code = hold_mount(&options);
	if (code == EXIT_OK) {
		snprintf(folder, sizeof(folder), PINS_FOLDER "/%d",
			 target_pid(target));
		hold_signals();
		code = make_folders(&options, folder, target_pid(target));
		if (code == EXIT_OK)
			code = pin(&options, target, folder);
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
	DIR *list = opendir(PINS_FOLDER);
	struct dirent *entry;
	int code = EXIT_OK;

	if (!list)
		return errno == ENOENT
			       ? EXIT_OK
			       : fail(options, PINS_FOLDER, reason(errno));
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
	rmdir(PINS_FOLDER); /* if it is empty */
	return code;
}
