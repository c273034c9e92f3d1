/* SPDX-License-Identifier: MIT */
/* quota.c - see quota.h */
#include "topology/quota.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "topology/error.h"
#include "topology/sysfs.h"

/* The control group of this process in a hierarchy. */
struct place {
	bool found;
	bool second; /* version 2 */
	char *path;  /* of the group, as the kernel names it */
	char *mount; /* where the hierarchy is mounted */
	char *top;   /* the group at the mount */
};

/* ---- /proc/self/cgroup ----------------------------------------------------- */

/* has_word - tell whether a word is in a list that is separated by commas */
static bool has_word(const char *list, const char *word)
{
	size_t length = strlen(word);

	while (list) {
		if (strncmp(list, word, length) == 0 &&
		    (list[length] == ',' || list[length] == '\0'))
			return true;
		list = strchr(list, ',');
		list = list ? list + 1 : NULL;
	}
	return false;
}

/* A line is "4:cpu,cpuacct:/path" or, in version 2, "0::/path". */
static void find_group(struct place *place, char *text)
{
	char *line;

	while ((line = strsep(&text, "\n")) != NULL) {
		char *controllers, *path = line;

		strsep(&path, ":");
		controllers = strsep(&path, ":");
		if (!path)
			continue;
		if (has_word(controllers, "cpu")) {
			place->found = true;
			place->second = false;
			place->path = path;
			return;
		}
		if (*controllers == '\0') {
			place->found = true;
			place->second = true;
			place->path = path;
		}
	}
}

/* ---- /proc/self/mountinfo -------------------------------------------------- */

/* Replace the kernel's escapes of white space and backslashes, as \040, in place. */
static void unescape_octal(char *text)
{
	char *to = text;

	for (; *text; text++) {
		unsigned value;

		if (*text == '\\' && sscanf(text + 1, "%3o", &value) == 1 &&
		    strspn(text + 1, "01234567") >= 3) {
			*to++ = (char)value;
			text += 3;
		} else {
			*to++ = *text;
		}
	}
	*to = '\0';
}

/* A line is "36 35 98:0 /top /mount options optional... - type source options".
 * Return: true if it is the hierarchy of @place. */
static bool read_mount(struct place *place, char *line)
{
	char *behind = strstr(line, " - "), *type, *options;
	char *top = NULL, *mount = NULL;

	if (!behind)
		return false;
	*behind = '\0';
	behind += strlen(" - ");
	type = strsep(&behind, " ");
	strsep(&behind, " ");
	options = behind;
	for (int i = 0; i < 5; i++) {
		top = mount;
		mount = strsep(&line, " ");
	}
	if (!top || !mount || !options ||
	    strcmp(type, place->second ? "cgroup2" : "cgroup") != 0 ||
	    (!place->second && !has_word(options, "cpu")))
		return false;
	unescape_octal(top);
	unescape_octal(mount);
	place->top = top;
	place->mount = mount;
	return true;
}

static bool find_mount(struct place *place, char *text)
{
	char *line;

	while ((line = strsep(&text, "\n")) != NULL)
		if (read_mount(place, line))
			return true;
	return false;
}

/* ---- the hierarchy of this process ----------------------------------------- */

/* Enough for "cgroup:[4026531835]". */
#define NAMESPACE_NAME 32u

/*
 * A hierarchy of "/", as /proc/self/mountinfo had it. To read that file takes 50 us, more
 * than all the rest, so the process keeps the hierarchy, as it keeps the description of the
 * machine (machine_cache.h). It is in force for threads of the same namespace, which the
 * names of groups depend on, while the same folder is found at its mount. The group of the
 * process and the limits are read each time.
 */
struct hierarchy {
	bool second; /* version 2 */
	char namespace[NAMESPACE_NAME];
	dev_t device;
	ino_t inode;
	char *mount; /* as in struct place */
	char *top;
};

/* NULL: none. A thread takes it out while it uses it, so there is no lock: another thread, or a
 * forked child, finds none and reads the file. Writers: threads that read a quota. */
static struct hierarchy *kept;

/* keep - keep @it, which may be NULL. Return: what was kept before; the caller owns it. */
static struct hierarchy *keep(struct hierarchy *it)
{
	/* Acquire, release: the content of what is returned, and of @it. Pairs with itself. */
	return __atomic_exchange_n(&kept, it, __ATOMIC_ACQ_REL);
}

static void hierarchy_free(struct hierarchy *hierarchy)
{
	if (!hierarchy)
		return;
	free(hierarchy->mount);
	free(hierarchy->top);
	free(hierarchy);
}

/* Also when a program unloads the library. */
__attribute__((destructor)) static void clear_at_exit(void)
{
	hierarchy_free(keep(NULL));
}

/* namespace_here - write the name of the namespace of control groups of this thread to @name;
 * "": kernels before 4.6 have only one. To read the name takes half the time of stat(). */
static void namespace_here(char name[NAMESPACE_NAME])
{
	ssize_t length = readlink("/proc/thread-self/ns/cgroup", name,
				  NAMESPACE_NAME - 1);

	name[length > 0 ? length : 0] = '\0';
}

/* hierarchy_of - return a copy of what was found for @place; NULL: no memory, or the mount
 * is not there any more */
static struct hierarchy *hierarchy_of(const struct place *place)
{
	struct hierarchy *it = calloc(1, sizeof(*it));
	struct stat status;

	if (!it)
		return NULL;
	it->second = place->second;
	namespace_here(it->namespace);
	it->mount = strdup(place->mount);
	it->top = strdup(place->top);
	if (!it->mount || !it->top || stat(it->mount, &status) != 0) {
		hierarchy_free(it);
		return NULL;
	}
	it->device = status.st_dev;
	it->inode = status.st_ino;
	return it;
}

static bool is_in_force(const struct hierarchy *it, const struct place *place)
{
	char namespace[NAMESPACE_NAME];
	struct stat status;

	namespace_here(namespace);
	return it->second == place->second &&
	       strcmp(it->namespace, namespace) == 0 &&
	       stat(it->mount, &status) == 0 && status.st_dev == it->device &&
	       status.st_ino == it->inode;
}

/* take_hierarchy - take out the hierarchy that is kept, if it is that of @place and in force;
 * else free it. NULL: none */
static struct hierarchy *take_hierarchy(struct place *place)
{
	struct hierarchy *it = keep(NULL);

	if (!it)
		return NULL;
	if (!is_in_force(it, place)) {
		hierarchy_free(it);
		return NULL;
	}
	place->mount = it->mount;
	place->top = it->top;
	return it;
}

/* ---- the files of a group -------------------------------------------------- */

/* The text is "max 100000" or "150000 100000". */
static bool parse_max(const char *text, struct quota *quota)
{
	char *end;

	quota->runtime_us = strtoull(text, &end, 10);
	if (end == text || *end != ' ')
		return false;
	quota->period_us = strtoull(end, NULL, 10);
	return true;
}

static bool read_number(const struct sysfs *sysfs, const char *group,
			const char *name, char *text, uint64_t *number)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", group, name);
	if (sysfs_read(sysfs, path, text) || *text < '0' || *text > '9')
		return false;
	*number = strtoull(text, NULL, 10);
	return true;
}

/* read_group - read the limit of a group itself; return false if it has none */
static bool read_group(const struct sysfs *sysfs, const char *group,
		       bool second, char *text, struct quota *quota)
{
	char path[4096];
	bool limited;

	if (second) {
		snprintf(path, sizeof(path), "%s/cpu.max", group);
		limited = !sysfs_read(sysfs, path, text) &&
			  parse_max(text, quota);
	} else {
		/* -1: no limit. */
		limited = read_number(sysfs, group, "cpu.cfs_quota_us", text,
				      &quota->runtime_us) &&
			  read_number(sysfs, group, "cpu.cfs_period_us", text,
				      &quota->period_us);
	}
	return limited && quota->runtime_us > 0 && quota->period_us > 0;
}

static bool is_lower(const struct quota *a, const struct quota *b)
{
	return b->period_us == 0 ||
	       (double)a->runtime_us / (double)a->period_us <
		       (double)b->runtime_us / (double)b->period_us;
}

/* below - return the path of the group relative to the mount
 *
 * If the group is not visible, as in some containers, the mount counts as the group. */
static const char *below(const struct place *place)
{
	size_t length = strlen(place->top);

	if (strcmp(place->path, place->top) == 0)
		return "";
	if (strcmp(place->top, "/") == 0)
		length = 0;
	else if (strncmp(place->path, place->top, length) != 0 ||
		 (place->path[length] != '/' && place->path[length] != '\0'))
		return "";
	return strstr(place->path, "/..") ? "" : place->path + length;
}

/* read_groups - find the lowest limit of the group and of all visible groups above it */
static int read_groups(const struct sysfs *sysfs, const struct place *place,
		       struct quota *out)
{
	const char *path = below(place);
	size_t mount = strlen(place->mount);
	char *text = malloc(SYSFS_TEXT_SIZE);
	char *group = malloc(mount + strlen(path) + 1);

	if (!text || !group) {
		free(text);
		free(group);
		return -ENOMEM;
	}
	strcpy(stpcpy(group, place->mount), path);
	while (strlen(group) >= mount) {
		struct quota quota;
		char *last;

		/* The path is relative to the given root. */
		if (read_group(sysfs, group + strspn(group, "/"), place->second,
			       text, &quota) &&
		    is_lower(&quota, out))
			*out = quota;
		last = strrchr(group, '/');
		if (!last)
			break;
		*last = '\0';
	}
	free(group);
	free(text);
	return 0;
}

/* read_mounted - find the mount of @place, and read the limits of its groups */
static int read_mounted(struct quota *out, const struct sysfs *sysfs, bool here,
			struct place *place)
{
	char *mounts;
	int code = sysfs_read_whole(sysfs, "proc/self/mountinfo", &mounts);

	if (!code && find_mount(place, mounts)) {
		code = read_groups(sysfs, place, out);
		if (here)
			hierarchy_free(keep(hierarchy_of(place)));
	}
	free(mounts);
	return code;
}

/* @here: the root is that of this process. */
static int read_all(struct quota *out, const struct sysfs *sysfs, bool here)
{
	struct place place = { .found = false };
	struct hierarchy *hierarchy;
	char *groups;
	int code = sysfs_read_whole(sysfs, "proc/self/cgroup", &groups);

	if (!code)
		find_group(&place, groups);
	hierarchy = here && place.found ? take_hierarchy(&place) : NULL;
	if (hierarchy) {
		code = read_groups(sysfs, &place, out);
		hierarchy_free(keep(hierarchy));
	} else if (place.found) {
		code = read_mounted(out, sysfs, here, &place);
	}
	free(groups);
	/* A missing file means no limit. */
	return code == -ENOMEM ? -ENOMEM : 0;
}

int quota_read(struct quota *out, const char *root, struct skua_error *err)
{
	struct sysfs sysfs;
	int code = sysfs_open(&sysfs, root, err);

	*out = (struct quota){ 0, 0 };
	if (code)
		return code;
	code = read_all(out, &sysfs, strcmp(root, "/") == 0);
	sysfs_close(&sysfs);
	return code ? error_set(err, code, "%s: %s", root, strerror(-code)) : 0;
}

bool quota_below(const struct quota *quota, unsigned cpus)
{
	/* Divide, because a product might overflow. */
	return quota->period_us > 0 &&
	       quota->runtime_us / quota->period_us < cpus;
}

unsigned quota_cpus(const struct quota *quota)
{
	uint64_t cpus;

	if (quota->period_us == 0)
		return 0;
	cpus = quota->runtime_us / quota->period_us +
	       (quota->runtime_us % quota->period_us > 0);
	return cpus > UINT32_MAX ? UINT32_MAX : (unsigned)cpus;
}
