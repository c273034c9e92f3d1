/* SPDX-License-Identifier: MIT */
/*
 * subprocess.c - see subprocess.h
 *
 * The program writes to files in memory, which are read after its end. It never has to
 * wait for this process to read its output, however much it writes.
 */
#include "bench/report/subprocess.h"

#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* Read a whole file as a string, owned by the caller; NULL: no memory, or it
 * cannot be read. */
static char *read_all(int fd)
{
	struct stat stat;
	size_t size, used = 0;
	char *text;

	if (fstat(fd, &stat) != 0)
		return NULL;
	size = (size_t)stat.st_size;
	text = malloc(size + 1);
	while (text != NULL && used < size) {
		ssize_t n = pread(fd, text + used, size - used, (off_t)used);

		if (n <= 0) {
			free(text);
			return NULL;
		}
		used += (size_t)n;
	}
	if (text != NULL)
		text[used] = '\0';
	return text;
}

static int spawn(const char *path, char *const *argv, int out, int err,
		 pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	int failed = posix_spawn_file_actions_init(&actions);

	if (failed != 0)
		return -failed;
	failed = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	if (failed == 0)
		failed = posix_spawn_file_actions_adddup2(&actions, err,
							  STDERR_FILENO);
	if (failed == 0)
		failed = posix_spawn(pid, path, &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return -failed;
}

static int wait_for(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int run_into(const char *path, char *const *argv, int out, int err,
		    struct subprocess *child)
{
	pid_t pid;
	int failed = spawn(path, argv, out, err, &pid);

	if (failed != 0)
		return failed;
	child->code = wait_for(pid);
	if (child->code < 0)
		return child->code;
	child->out = read_all(out);
	child->err = read_all(err);
	if (child->out != NULL && child->err != NULL)
		return 0;
	subprocess_free(child);
	return -ENOMEM;
}

int subprocess_run(const char *path, char *const *argv,
		   struct subprocess *child)
{
	int out = memfd_create("stdout", MFD_CLOEXEC);
	int err = memfd_create("stderr", MFD_CLOEXEC);
	int failed = -ENFILE;

	*child = (struct subprocess){ 0 };
	if (out >= 0 && err >= 0)
		failed = run_into(path, argv, out, err, child);
	if (out >= 0)
		close(out);
	if (err >= 0)
		close(err);
	return failed;
}

void subprocess_free(struct subprocess *child)
{
	free(child->out);
	free(child->err);
	child->out = NULL;
	child->err = NULL;
}

const char *subprocess_last_line(char *text)
{
	size_t length = strlen(text);
	const char *line;

	while (length > 0 && text[length - 1] == '\n')
		text[--length] = '\0';
	line = strrchr(text, '\n');
	return line == NULL ? text : line + 1;
}
