/* SPDX-License-Identifier: MIT */
/* server.c - see server.h */
#include "bench/load/server.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "probes/perf_group.h"

/* A server that does not answer INFO for this long never will. */
#define SILENCE_S 10

#define INFO_MAX 65536

static const char info_request[] = "*2\r\n$4\r\nINFO\r\n$6\r\nserver\r\n";

/* ---- the process ---------------------------------------------------------------- */

/* Return the number of bytes of a reply to INFO; 0: not known yet; -EPROTO. */
static ssize_t reply_bytes(const char *text, size_t size)
{
	const char *end = memchr(text, '\n', size);
	long bytes;

	if (!end)
		return size < 512 ? 0 : -EPROTO;
	if (*text == '-')
		return end + 1 - text;
	bytes = *text == '$' ? strtol(text + 1, NULL, 10) : -1;
	if (bytes < 0 || bytes > INFO_MAX - 64)
		return -EPROTO;
	return end + 1 - text + bytes + 2;
}

/* Read the reply to INFO. Return: its size; -errno. */
static ssize_t read_info(int fd, char *text)
{
	size_t used = 0;
	ssize_t bytes = 0;

	while (!bytes || used < (size_t)bytes) {
		ssize_t n = recv(fd, text + used, INFO_MAX - 1 - used, 0);

		if (n < 0)
			return errno == EAGAIN ? -ETIMEDOUT : -errno;
		if (!n)
			return -ECONNRESET;
		used += (size_t)n;
		bytes = reply_bytes(text, used);
		if (bytes < 0)
			return bytes;
	}
	text[used] = '\0';
	return (ssize_t)used == bytes ? bytes : -EPROTO;
}

int server_find(struct server *server, int fd)
{
	const struct timeval silence = { .tv_sec = SILENCE_S };
	static char text[INFO_MAX];
	const char *line;
	ssize_t size;

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &silence, sizeof(silence));
	if (send(fd, info_request, sizeof(info_request) - 1, MSG_NOSIGNAL) < 0)
		return -errno;
	size = read_info(fd, text);
	if (size < 0)
		return (int)size;
	line = strstr(text, "process_id:");
	server->pid = line ? (pid_t)strtol(line + 11, NULL, 10) : 0;
	if (server->pid <= 0) {
		server->pid = 0;
		snprintf(server->why, sizeof(server->why),
			 "INFO does not give the process_id: use --pid");
	}
	return 0;
}

void server_check(struct server *server)
{
	struct threads_usage usage;
	int err;

	if (!server->pid)
		return;
	err = threads_usage_read(server->pid, &usage);
	if (!err)
		return;
	snprintf(server->why, sizeof(server->why), "process %d: %s",
		 (int)server->pid, strerror(-err));
	server->pid = 0;
}

/* ---- instructions --------------------------------------------------------------- */

static const char *const events[] = { "instructions" };

static int add_thread(struct server *server, pid_t tid)
{
	struct perf_group **group =
		realloc(server->group, (server->groups + 1) * sizeof(*group));
	int err;

	if (!group)
		return -ENOMEM;
	server->group = group;
	err = perf_group_open(&group[server->groups], tid, events, 1,
			      server->counter_why, sizeof(server->counter_why));
	if (!err)
		server->groups++;
	/* The thread has just ended. */
	return err == -ESRCH ? 0 : err;
}

static void close_groups(struct server *server)
{
	while (server->groups)
		perf_group_close(server->group[--server->groups]);
}

void server_prepare(struct server *server)
{
	char path[64];
	struct dirent *thread;
	DIR *threads;
	int err = 0;

	if (!server->pid)
		return;
	snprintf(path, sizeof(path), "/proc/%d/task", (int)server->pid);
	threads = opendir(path);
	while (threads && !err && (thread = readdir(threads)))
		if (thread->d_name[0] != '.')
			err = add_thread(server, (pid_t)atoi(thread->d_name));
	if (threads)
		closedir(threads);
	if (err)
		close_groups(server);
	else
		server->counter_why[0] = '\0';
}

static bool read_instructions(const struct server *server, uint64_t *out)
{
	struct perf_group_values values;

	*out = 0;
	for (unsigned i = 0; i < server->groups; i++) {
		if (perf_group_read(server->group[i], &values) ||
		    !values.event[0].counted)
			continue;
		*out += values.event[0].value;
	}
	return *out > 0;
}

/* ---- begin and end --------------------------------------------------------------- */

/* Instructions of only some threads would mislead. */
static void start_groups(struct server *server)
{
	int err = 0;

	for (unsigned i = 0; !err && i < server->groups; i++)
		err = perf_group_start(server->group[i]);
	if (!err)
		return;
	close_groups(server);
	snprintf(server->counter_why, sizeof(server->counter_why),
		 "the counters do not start: %s", strerror(-err));
}

void server_begin(struct server *server)
{
	int err;

	if (!server->pid)
		return;
	start_groups(server);
	err = threads_usage_read(server->pid, &server->begin);
	server->begun = !err;
	if (err)
		snprintf(server->why, sizeof(server->why),
			 "process %d, at the start of the measurement: %s",
			 (int)server->pid, strerror(-err));
}

struct server_usage server_end(struct server *server)
{
	struct server_usage usage = { 0 };
	struct threads_usage end;
	int err;

	if (!server->pid || !server->begun)
		return usage;
	err = threads_usage_read(server->pid, &end);
	if (err) {
		snprintf(server->why, sizeof(server->why),
			 "process %d, at the end of the measurement: %s",
			 (int)server->pid, strerror(-err));
		return usage;
	}
	usage.counted = read_instructions(server, &usage.instructions);
	usage.known = true;
	/* The sums lack threads that have ended, and may therefore be smaller than before. */
	if (end.cpu_ns > server->begin.cpu_ns)
		usage.cpu_ns = end.cpu_ns - server->begin.cpu_ns;
	if (end.switches > server->begin.switches)
		usage.switches = end.switches - server->begin.switches;
	return usage;
}

void server_free(struct server *server)
{
	close_groups(server);
	free(server->group);
	server->group = NULL;
}
