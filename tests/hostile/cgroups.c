/* SPDX-License-Identifier: MIT */
/* cgroups.c - see cgroups.h */
#include "tests/hostile/cgroups.h"

#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/stress/stress.h"

/* Return whether @word is in @text, a list separated by commas. */
static bool listed(const char *text, const char *word)
{
	size_t length = strlen(word);

	for (const char *at = text; (at = strstr(at, word)) != NULL; at++) {
		if ((at == text || at[-1] == ',') &&
		    (at[length] == ',' || at[length] == '\0'))
			return true;
	}
	return false;
}

/* ---- the groups of this process ------------------------------------------ */

/* Get the group of this process in the hierarchy of @controller, "" for version 2, as a
 * path below the mount point. */
static bool own_group(const char *controller, char *path)
{
	FILE *file = fopen("/proc/self/cgroup", "r");
	char line[CGROUP_PATH + 100];
	bool found = false;

	while (file && !found && fgets(line, sizeof(line), file)) {
		char *names = strchr(line, ':');
		char *group = names ? strchr(names + 1, ':') : NULL;

		if (!group)
			continue;
		*group++ = '\0';
		group[strcspn(group, "\n")] = '\0';
		found = *controller ? listed(names + 1, controller)
				    : names[1] == '\0';
		snprintf(path, CGROUP_PATH, "%s", group);
	}
	if (file)
		fclose(file);
	return found;
}

/* Get the mount point of the hierarchy of @controller. */
static bool mount_point(const char *controller, char *path)
{
	FILE *file = setmntent("/proc/self/mounts", "r");
	struct mntent *mount;
	bool found = false;

	while (file && !found && (mount = getmntent(file)) != NULL) {
		found = *controller
				? strcmp(mount->mnt_type, "cgroup") == 0 &&
					  listed(mount->mnt_opts, controller)
				: strcmp(mount->mnt_type, "cgroup2") == 0;
		snprintf(path, CGROUP_PATH, "%s", mount->mnt_dir);
	}
	if (file)
		endmntent(file);
	return found;
}

/* ---- files ---------------------------------------------------------------- */

static const char *in(const char *folder, const char *file)
{
	static char path[2 * CGROUP_PATH];

	snprintf(path, sizeof(path), "%s/%s", folder, file);
	return path;
}

static bool put(const char *folder, const char *file, const char *text)
{
	int fd = open(in(folder, file), O_WRONLY | O_CLOEXEC);
	bool done = fd >= 0 && write(fd, text, strlen(text)) >= 0;

	if (fd >= 0)
		close(fd);
	return done;
}

static void must_put(const char *folder, const char *file, const char *text)
{
	if (!put(folder, file, text))
		stress_fail("\"%s\" to %s: %s", text, in(folder, file),
			    strerror(errno));
}

/* Return the content of a file without the newline; empty if it cannot be
 * read. */
static const char *get(const char *folder, const char *file)
{
	static char text[CGROUP_PATH];
	int fd = open(in(folder, file), O_RDONLY | O_CLOEXEC);
	ssize_t length = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	text[length < 0 ? 0 : length] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return text;
}

/* ---- making groups -------------------------------------------------------- */

/* Make a group below that of this process. @path receives its folder; empty
 * on failure. */
static bool make(const char *controller, char *path)
{
	char group[CGROUP_PATH];
	char mount[CGROUP_PATH];
	int length;

	*path = '\0';
	if (!mount_point(controller, mount) || !own_group(controller, group))
		return false;
	length = snprintf(path, CGROUP_PATH, "%s%s/skua-hostile-%d", mount,
			  strcmp(group, "/") ? group : "", (int)getpid());
	if (length < CGROUP_PATH && mkdir(path, 0755) == 0)
		return true;
	*path = '\0';
	return false;
}

static bool make_version_2(struct cgroups *own)
{
	bool quota;
	bool set;

	if (!make("", own->cpu))
		return false;
	quota = access(in(own->cpu, "cpu.max"), W_OK) == 0;
	set = access(in(own->cpu, "cpuset.cpus"), W_OK) == 0;
	if (!quota && !set)
		rmdir(own->cpu);
	if (set)
		memcpy(own->cpuset, own->cpu, sizeof(own->cpu));
	if (!quota)
		*own->cpu = '\0';
	return quota || set;
}

bool cgroups_make(struct cgroups *own)
{
	char parent[CGROUP_PATH];

	memset(own, 0, sizeof(*own));
	own->version_2 = make_version_2(own);
	if (own->version_2)
		return true;
	make("cpu", own->cpu);
	if (make("cpuset", own->cpuset)) {
		/* A process can enter the group only if the group has CPUs
		 * and memory nodes. */
		snprintf(parent, sizeof(parent), "%s", own->cpuset);
		*strrchr(parent, '/') = '\0';
		must_put(own->cpuset, "cpuset.cpus",
			 get(parent, "cpuset.cpus"));
		must_put(own->cpuset, "cpuset.mems",
			 get(parent, "cpuset.mems"));
	}
	return *own->cpu || *own->cpuset;
}

/* ---- using groups --------------------------------------------------------- */

void cgroups_enter(const struct cgroups *own, pid_t process)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", (int)process);
	if (*own->cpu)
		must_put(own->cpu, "cgroup.procs", text);
	if (*own->cpuset && !(own->version_2 && *own->cpu))
		must_put(own->cpuset, "cgroup.procs", text);
}

void cgroups_quota(const struct cgroups *own, unsigned percent)
{
	char text[32];

	if (!*own->cpu)
		return;
	/* The period is 100 ms, which is the default. */
	snprintf(text, sizeof(text), "%u000", percent);
	if (own->version_2) {
		strcat(percent ? text : strcpy(text, "max"), " 100000");
		must_put(own->cpu, "cpu.max", text);
	} else {
		must_put(own->cpu, "cpu.cfs_quota_us", percent ? text : "-1");
	}
}

void cgroups_set(const struct cgroups *own, const char *cpus)
{
	if (*own->cpuset)
		must_put(own->cpuset, "cpuset.cpus", cpus);
}

uint64_t cgroups_throttled(const struct cgroups *own)
{
	FILE *file = *own->cpu ? fopen(in(own->cpu, "cpu.stat"), "r") : NULL;
	char line[100];
	uint64_t times = 0;

	while (file && fgets(line, sizeof(line), file))
		sscanf(line, "nr_throttled %" SCNu64, &times);
	if (file)
		fclose(file);
	return times;
}

void cgroups_remove(const struct cgroups *own)
{
	if (*own->cpu && rmdir(own->cpu) != 0)
		fprintf(stderr, "%s stays: %s\n", own->cpu, strerror(errno));
	if (*own->cpuset && !(own->version_2 && *own->cpu) &&
	    rmdir(own->cpuset) != 0)
		fprintf(stderr, "%s stays: %s\n", own->cpuset, strerror(errno));
}
