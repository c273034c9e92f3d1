/* SPDX-License-Identifier: MIT */
/* pins.c - see pins.h */
#include "bpf/trace/pins.h"

#include <bpf/bpf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bpf/target/target_proc.h"
#include "bpf/trace/counts.h"

#define TICKS 32u  /* bytes of a number */
#define SIGN  100u /* of three, and spaces */

static void path_of(char *path, pid_t pid, const char *name)
{
	snprintf(path, PINS_PATH, PINS_FOLDER "/%d/%s", pid, name);
}

/* ---- whose they are -------------------------------------------------------- */

/* The 22nd word of its stat, in ticks since the machine began; the second may have
 * spaces, and brackets. */
static int begun_at(pid_t pid, char *ticks)
{
	char path[32], *text, *word, *next;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	text = target_proc_read(-1, path);
	word = text ? strrchr(text, ')') : NULL;
	word = word ? strtok_r(word, " ", &next) : NULL;
	for (unsigned i = 2; word && i < 22; i++)
		word = strtok_r(NULL, " ", &next);
	if (word)
		snprintf(ticks, TICKS, "%s", word);
	free(text);
	return word ? 0 : -ESRCH;
}

/* When it began, and its program: probes are those of a file, and it may execute
 * another. */
static int begun(pid_t pid, char *sign)
{
	char path[32], ticks[TICKS];
	struct stat program;
	int err = begun_at(pid, ticks);

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	if (!err && stat(path, &program) != 0)
		err = -errno;
	if (!err)
		snprintf(sign, SIGN, "%s %jx %ju", ticks,
			 (uintmax_t)program.st_dev, (uintmax_t)program.st_ino);
	return err;
}

int pins_sign(pid_t pid)
{
	char path[PINS_PATH], sign[SIGN];
	int err = begun(pid, sign);

	path_of(path, pid, PINS_BEGUN);
	if (!err && symlink(sign, path) != 0)
		err = -errno;
	return err;
}

/* What was killed while it pinned has not come to that. */
static enum pins_state look_at_sign(pid_t pid)
{
	char path[PINS_PATH], now[SIGN], then[SIGN];
	ssize_t length;

	path_of(path, pid, PINS_BEGUN);
	length = readlink(path, then, sizeof(then) - 1);
	if (length < 0)
		return PINS_NOT;
	then[length] = '\0';
	return begun(pid, now) == 0 && strcmp(now, then) == 0 ? PINS_LIVE
							      : PINS_OTHERS;
}

enum pins_state pins_look(pid_t pid)
{
	char path[PINS_PATH];
	struct dirent *entry;
	bool found = false;
	DIR *list;

	path_of(path, pid, PINS_LINKS);
	list = opendir(path);
	while (list && (entry = readdir(list)) != NULL)
		found |= entry->d_name[0] != '.';
	if (list)
		closedir(list);
	return found ? look_at_sign(pid) : PINS_NOT;
}

/* ---- making and taking them ------------------------------------------------ */

int pins_make(const struct attachment *a, pid_t pid)
{
	char path[PINS_PATH], name[NOTES_NAME + 32];
	int err = 0;

	for (unsigned i = 0; !err && i < ATTACH_MAPS; i++) {
		if (a->maps[i] < 0)
			continue;
		path_of(path, pid, attach_map_names[i]);
		err = bpf_obj_pin(a->maps[i], path);
	}
	for (unsigned i = 0; !err && i < a->link_count; i++) {
		snprintf(name, sizeof(name), PINS_LINKS "/%s",
			 a->links[i].name);
		path_of(path, pid, name);
		err = bpf_obj_pin(a->links[i].fd, path);
	}
	return err;
}

static int take_links(struct attachment *a, pid_t pid)
{
	char path[PINS_PATH], name[NOTES_NAME + 32];
	struct dirent *entry;
	int err = 0;
	DIR *list;

	path_of(path, pid, PINS_LINKS);
	list = opendir(path);
	if (!list)
		return -errno;
	while (!err && (entry = readdir(list)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(name, sizeof(name), PINS_LINKS "/%.48s",
			 entry->d_name);
		path_of(path, pid, name);
		err = attach_take_link(a, bpf_obj_get(path));
	}
	closedir(list);
	return err;
}

bool pins_attach(struct attachment *a, pid_t pid)
{
	char path[PINS_PATH];

	attach_nothing(a);
	if (pins_look(pid) != PINS_LIVE)
		return false;
	a->how = ATTACH_PINNED;
	for (unsigned i = 0; i < ATTACH_MAPS; i++) {
		path_of(path, pid, attach_map_names[i]);
		a->maps[i] = bpf_obj_get(path);
	}
	a->switches = a->maps[ATTACH_SWITCHES] >= 0;
	if (!a->switches)
		snprintf(a->switches_missing, sizeof(a->switches_missing),
			 "skua pin could not attach to them");
	if (take_links(a, pid) == 0 && counts_can_read(a->maps))
		return true;
	attach_close(a);
	return false;
}
