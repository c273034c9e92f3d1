/* SPDX-License-Identifier: MIT */
/* pin.c - skua pin and skua unpin: count even while no tool runs */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bpf/cli/args.h"
#include "bpf/trace/pins.h"
#include "bpf/target/pick_process.h"
#include "bpf/verbs.h"

struct options {
	const char *verb;
	uint64_t pid;
	bool all;
};

/* ---- options --------------------------------------------------------------- */

static error_t check(void *input)
{
	const struct options *options = input;

	if (options->all && options->pid)
		return args_refuse("--all with --pid; allowed: one of them");
	if (!options->all && !options->pid &&
	    strcmp(options->verb, "unpin") == 0)
		return args_refuse("no process; allowed: --pid PID, or --all");
	return 0;
}

static const struct args_verb pin_verb = {
	.doc = "Count what the workers of a process do as skua trace does, "
	       "until skua unpin: the maps are in " PINS_FOLDER
	       "/PID, for bpftool and others",
	.check = check,
	ARGS_OPTIONS(ARGS_PID(struct options, PICK_PROCESS_HELP)),
};

static const struct args_verb unpin_verb = {
	.doc = "End the counting that skua pin began",
	.check = check,
	ARGS_OPTIONS(
		ARGS_FLAG_OF(struct options, "all", all, "Unpin all processes"),
		ARGS_PID(struct options,
			 "Unpin this process, which may have ended")),
};

/* ---- the folder of a process ----------------------------------------------- */

static int fail(const struct options *options, const char *what,
		const char *why)
{
	fprintf(stderr, ARGS_PROGRAM " %s: %s%s%s\n", options->verb, what,
		*why ? ": " : "", why);
	return EXIT_FAILED;
}

/* Print the error that pins_folder_say() has stored. */
static int fail_said(const struct options *options,
		     const struct pins_folder *folder)
{
	return fail(options, folder->said, "");
}

/* Remove the files of a folder; closes @fd. Without its links, a program stops
 * counting. Return: 0; -errno. */
static int remove_files(int fd)
{
	DIR *list = fdopendir(fd);
	struct dirent *entry;
	int err = 0;

	if (!list) {
		err = -errno;
		close(fd);
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

/* Remove the folder @name in @above, which is open as @fd; closes @fd. Return:
 * 0; -errno with the reason in @folder->said. */
static int remove_folder(struct pins_folder *folder, int above,
			 const char *name, int fd)
{
	int err = remove_files(fd);

	if (!err && unlinkat(above, name, AT_REMOVEDIR) != 0)
		err = -errno;
	return err ? pins_folder_say(folder, err, PINS_FOLDER "/%.64s: %s",
				     name, strerror(-err))
		   : 0;
}

/* Remove the folder of a process. Return: 0; -ENOENT: there is none; another
 * -errno with the reason in @folder->said. */
static int remove_process(struct pins_folder *folder, const char *name)
{
	int fd = pins_folder_enter(folder, name), links, err;

	if (fd < 0)
		return fd;
	unlinkat(fd, PINS_BEGUN,
		 0); /* without this link the rest counts as incomplete */
	links = pins_folder_below(folder, fd, PINS_LINKS);
	err = links < 0 ? links : remove_folder(folder, fd, PINS_LINKS, links);
	if (err == 0 || err == -ENOENT)
		return remove_folder(folder, folder->fd, name, fd);
	close(fd);
	return err;
}

/* ---- pin ------------------------------------------------------------------- */

/* Remove the files that a killed skua pin has left. Refuse if anything else is
 * there. */
static int remove_remains(const struct options *options,
			  struct pins_folder *folder, const char *name,
			  pid_t pid)
{
	int fd = pins_folder_enter(folder, name), err;
	enum pins_state state;

	if (fd == -ENOENT)
		return EXIT_OK;
	if (fd < 0)
		return fail_said(options, folder);
	state = pins_look(fd, pid);
	close(fd);
	if (state == PINS_NOT) {
		err = remove_process(folder, name);
		return err ? fail_said(options, folder) : EXIT_OK;
	}
	fprintf(stderr,
		ARGS_PROGRAM " %s: " PINS_FOLDER
			     "/%s: %s; end that by: " ARGS_PROGRAM
			     " unpin -p %s\n",
		options->verb, name,
		state == PINS_LIVE
			? "it is pinned already"
			: "another process of that number was pinned",
		name);
	return EXIT_FAILED;
}

/* Make the empty folders of the process. Return: a descriptor; -1: the reason
 * was printed. */
static int make_folders(const struct options *options,
			struct pins_folder *folder, const char *name, pid_t pid)
{
	int fd;

	if (remove_remains(options, folder, name, pid) != EXIT_OK)
		return -1;
	if (mkdirat(folder->fd, name, 0700) != 0) {
		fail(options, PINS_FOLDER, strerror(errno));
		return -1;
	}
	fd = pins_folder_enter(folder, name);
	if (fd < 0) {
		fail_said(options, folder);
	} else if (mkdirat(fd, PINS_LINKS, 0700) != 0) {
		fail(options, PINS_LINKS, strerror(errno));
		close(fd);
		fd = -1;
		remove_process(folder, name);
	}
	return fd;
}

/* Block signals, so that pinning is either finished or removed. */
static void hold_signals(void)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	sigset_t set;

	sigemptyset(&set);
	for (unsigned i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		sigaddset(&set, ends[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

/* Pin the counters. Fails without probes: context switches alone are not worth
 * it. */
static int pin_probes(const struct options *options, struct target *target,
		      int fd)
{
	struct attachment attached;
	pid_t pid = target_pid(target);
	int code = EXIT_OK, err;

	attach_process(&attached, target);
	if (attached.how == ATTACH_NOT) {
		code = fail(options, "no probes", attached.probes_missing);
	} else if ((err = pins_make(&attached, fd)) != 0 ||
		   (err = pins_sign(fd, pid)) != 0) {
		code = fail(options, PINS_FOLDER, strerror(-err));
	} else if (!attached.switches) {
		fail(options, "no context switches", attached.switches_missing);
	}
	attach_close(&attached);
	return code;
}

static int pin(const struct options *options, struct target *target)
{
	struct pins_folder folder;
	char name[24];
	int code = EXIT_FAILED, fd;

	snprintf(name, sizeof(name), "%d", target_pid(target));
	if (pins_folder_hold(&folder, true) != 0) {
		fail_said(options, &folder);
	} else {
		hold_signals();
		fd = make_folders(options, &folder, name, target_pid(target));
		if (fd >= 0) {
			code = pin_probes(options, target, fd);
			close(fd);
			if (code == EXIT_OK)
				printf(PINS_FOLDER "/%s\n", name);
			else
				remove_process(&folder, name);
		}
	}
	pins_folder_close(&folder);
	return code;
}

int verb_pin(int argc, char **argv)
{
	struct options options = { .verb = "pin" };
	struct target *target = NULL;
	int code;

	if (args_parse_verb(&pin_verb, "pin", argc, argv, &options) != 0)
		return EXIT_USAGE;
	code = pick_process(&target, "pin", options.pid);
	if (code == EXIT_OK)
		code = pin(&options, target);
	target_close(target);
	return code;
}

/* ---- unpin ----------------------------------------------------------------- */

static int unpin(const struct options *options, struct pins_folder *folder,
		 const char *name)
{
	int err = remove_process(folder, name);

	if (err == -ENOENT)
		return fail(options, name,
			    "no process of that number is pinned");
	return err ? fail_said(options, folder) : EXIT_OK;
}

/* Unpin all processes. It is no error if there are none. */
static int unpin_all(const struct options *options, struct pins_folder *folder)
{
	int copy = fcntl(folder->fd, F_DUPFD_CLOEXEC, 0);
	DIR *list = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *entry;
	int code = EXIT_OK;

	if (!list) {
		code = fail(options, PINS_FOLDER, strerror(errno));
		if (copy >= 0)
			close(copy);
		return code;
	}
	while ((entry = readdir(list)) != NULL)
		if (entry->d_name[0] != '.')
			code |= unpin(options, folder, entry->d_name);
	closedir(list);
	return code;
}

int verb_unpin(int argc, char **argv)
{
	struct options options = { .verb = "unpin" };
	struct pins_folder folder;
	char name[24];
	int code = EXIT_OK;

	if (args_parse_verb(&unpin_verb, "unpin", argc, argv, &options) != 0)
		return EXIT_USAGE;
	snprintf(name, sizeof(name), "%ju", (uintmax_t)options.pid);
	if (pins_folder_hold(&folder, false) != 0) {
		code = fail_said(&options, &folder);
	} else {
		if (!options.all)
			code = unpin(&options, &folder, name);
		else if (folder.fd >= 0)
			code = unpin_all(&options, &folder);
		if (folder.fd >= 0) /* succeeds only if it is empty */
			unlinkat(folder.mount, PINS_NAME, AT_REMOVEDIR);
	}
	pins_folder_close(&folder);
	return code;
}
