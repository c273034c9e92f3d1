/* SPDX-License-Identifier: MIT */
/**
 * pins_folder.h - the folders of pins, opened so that no other user can redirect them
 *
 * A BPF file system may be writable for everybody, and the tool removes files as root.
 * Each level is therefore opened from the descriptor of the one above it, and never
 * through a symbolic link. It must be a folder of the BPF file system that belongs to
 * this user or to root, and that no other user may write to. From PINS_FOLDER on, only
 * trusted users can then change what a name stands for.
 */
#ifndef SKUA_BPF_PINS_FOLDER_H
#define SKUA_BPF_PINS_FOLDER_H

#include <stdbool.h>
#include <sys/types.h>

#define PINS_MOUNT  "/sys/fs/bpf"
#define PINS_NAME   "skua"
#define PINS_FOLDER PINS_MOUNT "/" PINS_NAME
#define PINS_ADVICE "mount -t bpf -o mode=0700 bpf " PINS_MOUNT

#define PINS_SAID 480u

/**
 * struct pins_folder - the folder of all pins
 * @mount: descriptor of PINS_MOUNT
 * @fd: of PINS_FOLDER; -1: it does not exist
 * @said: after an error: which path, what is wrong, and what to do
 */
struct pins_folder {
	int mount;
	int fd;
	char said[PINS_SAID];
};

/**
 * pins_folder_open - open PINS_FOLDER
 *
 * Return: 0, also if it does not exist; -errno, and @folder->said says why. To be
 * closed in any case.
 */
int pins_folder_open(struct pins_folder *folder);

/**
 * pins_folder_hold - open PINS_FOLDER and lock it for changes, until the close
 * @make: create it if it does not exist
 *
 * Blocks: never. Return: as pins_folder_open(); -EWOULDBLOCK: another process holds it.
 */
int pins_folder_hold(struct pins_folder *folder, bool make);

void pins_folder_close(struct pins_folder *folder);

/* pins_folder_say - fill @folder->said with an error. Return: @err */
int pins_folder_say(struct pins_folder *folder, int err, const char *format,
		    ...) __attribute__((format(printf, 3, 4)));

/**
 * pins_folder_enter - open the folder of a process
 * @name: a decimal number
 *
 * Return: a descriptor to be closed; -ENOENT: there is none; -errno; both of the latter
 * set @folder->said.
 */
int pins_folder_enter(struct pins_folder *folder, const char *name);

/* pins_folder_below - the same for a folder of any name in the folder @above */
int pins_folder_below(struct pins_folder *folder, int above, const char *name);

/* pins_folder_is_process - is @name how a process's folder is named: a number of one to
 * ten digits, the first of which is no 0? */
bool pins_folder_is_process(const char *name);

#endif
