/* SPDX-License-Identifier: MIT */
/* echo_start.c - see echo_start.h */
#include "bench/clients/echo_start.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <sched.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROGRAM "skua-echo-client"
#define BACKLOG 4096

extern char **environ;

/* ---- the program ---------------------------------------------------------- */

/* Write the path of the client: in the folder of this program, or above it. */
static void find_client(char *path, size_t size)
{
	const char *chosen = getenv("SKUA_ECHO_CLIENT");
	char self[4096];
	ssize_t length;

	snprintf(path, size, "%s", chosen != NULL ? chosen : PROGRAM);
	length = readlink("/proc/self/exe", self, sizeof(self));
	if (chosen != NULL || length <= 0 || (size_t)length == sizeof(self))
		return;
	for (unsigned up = 0; up < 2; up++) {
		while (length > 0 && self[length - 1] != '/')
			length--;
		snprintf(path, size, "%.*s" PROGRAM, (int)length, self);
		if (access(path, X_OK) == 0)
			return;
		length -= length > 0;
	}
}

/* Start the program with two pipes as its stdin and stdout. */
static int spawn(const char *path, char *const *argv, int in, int out,
		 pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	int err = posix_spawn_file_actions_init(&actions);

	if (err != 0)
		return -err;
	posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	err = posix_spawn(pid, path, &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return -err;
}

/* Start the program, and keep our ends of the pipes. */
static int start(struct echo_client *client, const char *path,
		 char *const *argv)
{
	int to[2], from[2], err;

	if (pipe2(to, O_CLOEXEC) != 0)
		return -errno;
	if (pipe2(from, O_CLOEXEC) != 0) {
		err = -errno;
		close(to[0]);
		close(to[1]);
		return err;
	}
	err = spawn(path, argv, to[0], from[1], &client->pid);
	close(to[0]);
	close(from[1]);
	client->to = fdopen(to[1], "w");
	client->from = fdopen(from[0], "r");
	return err;
}

int echo_client_start(struct echo_client *client, const char *workload,
		      unsigned port, unsigned workers, const char *mode,
		      uint64_t requests)
{
	char path[4200], numbers[4][24];
	const char *argv[] = { PROGRAM,
			       "run",
			       workload,
			       "--port",
			       numbers[0],
			       "--pid",
			       numbers[1],
			       "--workers",
			       numbers[2],
			       "--requests",
			       numbers[3],
			       "--client",
			       mode ? mode : "auto",
			       NULL };
	int err;

	*client = (struct echo_client){ .pid = -1 };
	find_client(path, sizeof(path));
	snprintf(numbers[0], sizeof(numbers[0]), "%u", port);
	snprintf(numbers[1], sizeof(numbers[1]), "%d", (int)getpid());
	snprintf(numbers[2], sizeof(numbers[2]), "%u", workers);
	snprintf(numbers[3], sizeof(numbers[3]), "%" PRIu64, requests);
	err = start(client, path, (char *const *)argv);
	if (err != 0)
		fprintf(stderr, "cannot start %s: %s\n", path, strerror(-err));
	return err;
}

/* ---- lines ---------------------------------------------------------------- */

int echo_client_ready(struct echo_client *client)
{
	if (fscanf(client->from, "%" SCNu64 " %199[^\n]%*c", &client->ops,
		   client->params) != 2)
		return -EPIPE;
	return 0;
}

int echo_client_round(struct echo_client *client, double *ns, bool *right)
{
	char word[8];

	if (fputs("round\n", client->to) < 0 || fflush(client->to) != 0 ||
	    fscanf(client->from, "%7s %lf%*c", word, ns) != 2)
		return -EPIPE;
	*right = strcmp(word, "right") == 0;
	return 0;
}

char *echo_client_figure(struct echo_client *client, char **line, size_t *size)
{
	ssize_t length;

	if (client->to != NULL) {
		fclose(client->to);
		client->to = NULL;
	}
	length = getline(line, size, client->from);
	if (length <= 0)
		return NULL;
	(*line)[length - 1] = '\0';
	return *line;
}

int echo_client_end(struct echo_client *client)
{
	int status = 0;

	if (client->to != NULL)
		fclose(client->to);
	if (client->from != NULL)
		fclose(client->from);
	client->to = NULL;
	client->from = NULL;
	if (client->pid <= 0 || waitpid(client->pid, &status, 0) < 0)
		return 1;
	client->pid = -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* ---- the server ------------------------------------------------------------ */

int echo_listen(unsigned *port)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr =
					       htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof(address);
	struct rlimit limit;
	int err, fd;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) != 0 ||
	    listen(fd, BACKLOG) != 0 ||
	    getsockname(fd, (struct sockaddr *)&address, &length) != 0) {
		err = -errno;
		close(fd);
		return err;
	}
	*port = ntohs(address.sin_port);
	return fd;
}

void echo_pin_server(unsigned workers)
{
	cpu_set_t cpus;
	size_t last = CPU_SETSIZE - 1;

	if (sched_getaffinity(0, sizeof(cpus), &cpus) != 0 ||
	    workers >= (unsigned)CPU_COUNT(&cpus))
		return;
	while (!CPU_ISSET(last, &cpus))
		last--;
	CPU_CLR(last, &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus);
}
