/* SPDX-License-Identifier: MIT */
/* peers.c - see peers.h */
#include "bench/report/peers.h"

#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/cli/args.h"
#include "bench/report/subprocess.h"

#define PREFIX "skua-peer-"

/* The peers that bench/peers/build can build. */
static const char *const known[] = { "epoll", "libuv", "tokio", "go",
				     "tbb",   "rayon", "openmp" };

enum { KNOWN = sizeof(known) / sizeof(known[0]) };

char *peers_self(void)
{
	char path[4096];
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path));

	if (length <= 0 || (size_t)length == sizeof(path))
		return NULL;
	return strndup(path, (size_t)length);
}

static char *default_folder(void)
{
	char *self = peers_self();
	char *folder = NULL;

	if (self != NULL &&
	    asprintf(&folder, "%.*s/peers", (int)(strrchr(self, '/') - self),
		     self) < 0)
		folder = NULL;
	free(self);
	return folder;
}

/* Return the output of the peer's verb `list`. NULL if it fails, with the
 * reason printed. */
static char *ask(const struct peer *peer)
{
	char verb[] = "list";
	char *const argv[] = { peer->path, verb, NULL };
	struct subprocess child;
	int err = subprocess_run(peer->path, argv, &child);
	char *out = NULL;

	if (err != 0) {
		fprintf(stderr, ARGS_PROGRAM " report: cannot run %s: %s\n",
			peer->path, strerror(-err));
		return NULL;
	}
	if (child.code == 0) {
		out = child.out;
		child.out = NULL;
	} else {
		fprintf(stderr,
			"%s" ARGS_PROGRAM
			" report: '%s list' failed: exit code %d\n",
			child.err, peer->path, child.code);
	}
	subprocess_free(&child);
	return out;
}

static int add(struct peers *peers, const char *path)
{
	struct peer *peer = &peers->peer[peers->count];
	const char *name = strrchr(path, '/') + 1 + strlen(PREFIX);

	if (access(path, X_OK) != 0 || peers->count == PEERS_MAX)
		return 0;
	snprintf(peer->name, sizeof(peer->name), "%s", name);
	peer->path = strdup(path);
	if (peer->path == NULL)
		return -ENOMEM;
	peer->workloads = ask(peer);
	peers->count++;
	return 0;
}

int peers_find(struct peers *peers, const char *folder)
{
	char pattern[4096];
	glob_t found = { 0 };
	int err = 0;

	*peers = (struct peers){
		.folder = folder != NULL ? strdup(folder) : default_folder(),
	};
	if (peers->folder == NULL)
		return -ENOMEM;
	snprintf(pattern, sizeof(pattern), "%s/" PREFIX "*", peers->folder);
	if (glob(pattern, 0, NULL, &found) == 0)
		for (size_t i = 0; i < found.gl_pathc && err == 0; i++)
			err = add(peers, found.gl_pathv[i]);
	globfree(&found);
	return err;
}

void peers_free(struct peers *peers)
{
	for (unsigned i = 0; i < peers->count; i++) {
		free(peers->peer[i].path);
		free(peers->peer[i].workloads);
	}
	free(peers->folder);
	peers->folder = NULL;
	peers->count = 0;
}

/* In the output of `list`, a line begins with the name of a workload and a
 * blank. */
bool peers_has(const struct peer *peer, const char *workload)
{
	size_t length = strlen(workload);

	for (const char *line = peer->workloads; line != NULL;
	     line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, workload, length) == 0 &&
		    (line[length] == ' ' || line[length] == '\n'))
			return true;
	}
	return false;
}

static bool is_there(const struct peers *peers, const char *name)
{
	for (unsigned i = 0; i < peers->count; i++)
		if (strcmp(peers->peer[i].name, name) == 0)
			return true;
	return false;
}

void peers_print_missing(FILE *file, const struct peers *peers)
{
	unsigned missing = 0;

	for (unsigned i = 0; i < KNOWN; i++) {
		if (is_there(peers, known[i]))
			continue;
		fprintf(file, "%s%s", missing++ == 0 ? "Left out: " : ", ",
			known[i]);
	}
	if (missing > 0)
		fprintf(file,
			" (not built in %s; bench/run builds those that can "
			"be built).\n\n",
			peers->folder);
}
