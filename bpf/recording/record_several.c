/* SPDX-License-Identifier: MIT */
/* record_several.c - see record_several.h */
#include "bpf/recording/record_several.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bpf/cli/args.h"

/* @pid: 0: it has ended. @log: a file in memory, which is its stderr */
struct child {
	pid_t pid;
	int log;
	struct target *target;
};

/* @left: children that have not ended. @code: the exit code of all */
struct children {
	struct child *list;
	size_t count, left;
	int code;
};

static int complain(const char *why)
{
	fprintf(stderr, ARGS_PROGRAM " record: %s\n", why);
	return EXIT_FAILED;
}

/* ---- a child --------------------------------------------------------------- */

/* Runs in the child. In a process group of its own, it receives only the signals that its
 * parent passes on: a second one, from the terminal, would end the last copy of the rings. */
static void begin_child(const struct child *child, pid_t parent)
{
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent) /* it ended before the call */
		raise(SIGTERM);
	dup2(child->log, STDERR_FILENO);
}

static int start(struct child *child,
		 int (*record)(void *context, struct target *target),
		 void *context)
{
	pid_t parent = getpid();

	child->log = memfd_create("skua-record", MFD_CLOEXEC);
	if (child->log < 0)
		return complain(strerror(errno));
	child->pid = fork();
	if (child->pid < 0) {
		child->pid = 0;
		return complain(strerror(errno));
	}
	if (child->pid == 0) {
		begin_child(child, parent);
		_exit(args_flush(record(context, child->target)));
	}
	return EXIT_OK;
}

/* Print what a child that has ended has printed. */
static void show_log(const struct child *child)
{
	uint32_t rank = target_rank(child->target);
	char data[4096];
	ssize_t got;

	if (rank == TARGET_NO_RANK)
		fprintf(stderr, "process %d:\n", target_pid(child->target));
	else
		fprintf(stderr, "rank %" PRIu32 ", process %d:\n", rank,
			target_pid(child->target));
	lseek(child->log, 0, SEEK_SET);
	while ((got = read(child->log, data, sizeof(data))) > 0)
		fwrite(data, 1, (size_t)got, stderr);
}

/* ---- all children ---------------------------------------------------------- */

static void pass_on(const struct children *all, int number)
{
	for (size_t i = 0; i < all->count; i++)
		if (all->list[i].pid > 0)
			kill(all->list[i].pid, number);
}

static void reap(struct children *all, bool together)
{
	for (size_t i = 0; i < all->count; i++) {
		struct child *child = &all->list[i];
		int status, code;

		if (child->pid <= 0 ||
		    waitpid(child->pid, &status, WNOHANG) != child->pid)
			continue;
		child->pid = 0;
		all->left--;
		show_log(child);
		if (WIFSIGNALED(status))
			fprintf(stderr, "its recorder was ended by signal %d\n",
				WTERMSIG(status));
		code = WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILED;
		if (code != EXIT_OK)
			all->code = code;
		else if (together)
			pass_on(all, RECORD_STOP);
	}
}

static void wait_for(struct children *all, const sigset_t *signals,
		     bool together)
{
	while (all->left > 0) {
		int number = sigwaitinfo(signals, NULL);

		if (number == SIGCHLD)
			reap(all, together);
		else if (number > 0)
			pass_on(all, number);
	}
}

static void block(sigset_t *signals)
{
	sigset_t stop;

	/* An inherited SIG_IGN would keep the ends of the children from us. */
	signal(SIGCHLD, SIG_DFL);
	sigemptyset(signals);
	sigaddset(signals, SIGINT);
	sigaddset(signals, SIGTERM);
	sigaddset(signals, SIGHUP);
	sigaddset(signals, SIGCHLD);
	sigprocmask(SIG_BLOCK, signals, NULL);
	/* The children inherit the mask, so that none can die of the signal before it
	 * blocks it. */
	sigemptyset(&stop);
	sigaddset(&stop, RECORD_STOP);
	sigprocmask(SIG_BLOCK, &stop, NULL);
}

int record_several(const struct picked *picked,
		   int (*record)(void *context, struct target *target),
		   void *context, bool together)
{
	struct children all = { .list = calloc(picked->count,
					       sizeof(*all.list)) };
	sigset_t signals;

	if (!all.list)
		return complain(strerror(ENOMEM));
	block(&signals);
	for (; all.count < picked->count && all.code == EXIT_OK; all.count++) {
		struct child *child = &all.list[all.count];

		*child = (struct child){ .log = -1,
					 .target = picked->targets[all.count] };
		all.code = start(child, record, context);
		all.left += child->pid > 0;
	}
	if (all.code != EXIT_OK)
		pass_on(&all, SIGTERM);
	wait_for(&all, &signals, together);
	for (size_t i = 0; i < all.count; i++)
		if (all.list[i].log >= 0)
			close(all.list[i].log);
	free(all.list);
	return all.code;
}
