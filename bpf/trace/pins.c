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

#define TICKS 32u  /* bytes of a number in text */
#define SIGN  100u /* bytes of three numbers and spaces */

#define PATH 96u /* bytes of a path below /proc/self/fd */

/* Build a path below a descriptor, because bpf() takes paths only. */
static void path_of(char *path, int fd, const char *name)
{
	snprintf(path, PATH, "/proc/self/fd/%d/%s", fd, name);
}

/* Open a pinned object; do not follow a symbolic link of that name. */
static int get_object(int fd, const char *name)
{
	int file = openat(fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	int object, error;
	struct stat status;
	char path[PATH];

	if (file < 0)
		return -1;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	errno = EINVAL;
	object = fstat(file, &status) == 0 && S_ISREG(status.st_mode)
			 ? bpf_obj_get(path)
			 : -1;
	error = errno;
	close(file);
	errno = error;
	return object;
}

/* Open a folder in another one. Return: NULL on failure, with errno set. */
static DIR *list_folder(int fd, const char *name)
{
	int below = openat(fd, name,
			   O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *list = below < 0 ? NULL : fdopendir(below);

	if (below >= 0 && !list)
		close(below);
	return list;
}

/* ---- whose they are -------------------------------------------------------- */

/* Read when the process began, in clock ticks since boot: word 22 of its stat.
 * Word 2, the name, may contain spaces and brackets, so the search begins after
 * it. */
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

/* Identify a process and its program: when it began, and its program's
 * device and inode. Probes belong to a file, and the process may execute
 * another one. */
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

int pins_sign(int fd, pid_t pid)
{
	char sign[SIGN];
	int err = begun(pid, sign);

	if (!err && symlinkat(sign, fd, PINS_BEGUN) != 0)
		err = -errno;
	return err;
}

/* Compare the sign with the process. If there is none, skua pin was killed
 * before it finished. */
static enum pins_state look_at_sign(int fd, pid_t pid)
{
	char now[SIGN], then[SIGN];
	ssize_t length = readlinkat(fd, PINS_BEGUN, then, sizeof(then) - 1);

	if (length < 0)
		return PINS_NOT;
	then[length] = '\0';
	return begun(pid, now) == 0 && strcmp(now, then) == 0 ? PINS_LIVE
							      : PINS_OTHERS;
}

enum pins_state pins_look(int fd, pid_t pid)
{
	DIR *list = list_folder(fd, PINS_LINKS);
	struct dirent *entry;
	bool found = false;

	while (list && (entry = readdir(list)) != NULL)
		found |= entry->d_name[0] != '.';
	if (list)
		closedir(list);
	return found ? look_at_sign(fd, pid) : PINS_NOT;
}

/* ---- making and taking them ------------------------------------------------ */

int pins_make(const struct attachment *a, int fd)
{
	char path[PATH], name[USDT_NAME + 32];
	int err = 0;

	for (unsigned i = 0; !err && i < ATTACH_MAPS; i++) {
		if (a->maps[i] < 0)
			continue;
		path_of(path, fd, attach_map_names[i]);
		err = bpf_obj_pin(a->maps[i], path);
	}
	for (unsigned i = 0; !err && i < a->link_count; i++) {
		snprintf(name, sizeof(name), PINS_LINKS "/%s",
			 a->links[i].name);
		path_of(path, fd, name);
		err = bpf_obj_pin(a->links[i].fd, path);
	}
	return err;
}

static int take_links(struct attachment *a, int fd)
{
	DIR *list = list_folder(fd, PINS_LINKS);
	struct dirent *entry;
	int err = 0;

	if (!list)
		return -errno;
	while (!err && (entry = readdir(list)) != NULL)
		if (entry->d_name[0] != '.')
			err = attach_take_link(
				a, get_object(dirfd(list), entry->d_name));
	closedir(list);
	return err;
}

static bool take(struct attachment *a, int fd)
{
	a->how = ATTACH_PINNED;
	for (unsigned i = 0; i < ATTACH_MAPS; i++)
		a->maps[i] = get_object(fd, attach_map_names[i]);
	a->switches = a->maps[ATTACH_SWITCHES] >= 0;
	if (!a->switches)
		snprintf(a->switches_missing, sizeof(a->switches_missing),
			 "skua pin could not attach to them");
	if (take_links(a, fd) == 0 && counts_can_read(a->maps))
		return true;
	attach_close(a);
	return false;
}

bool pins_attach(struct attachment *a, pid_t pid)
{
	struct pins_folder folder;
	char name[24];
	bool taken = false;
	int fd = -1;

	attach_nothing(a);
	snprintf(name, sizeof(name), "%d", pid);
	if (pins_folder_open(&folder) == 0)
		fd = pins_folder_enter(&folder, name);
	if (fd >= 0) {
		taken = pins_look(fd, pid) == PINS_LIVE && take(a, fd);
		close(fd);
	}
	pins_folder_close(&folder);
	return taken;
}
