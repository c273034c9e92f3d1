/* SPDX-License-Identifier: MIT */
/**
 * pins_folder.h - open folders of pins so that no other user can redirect them
 *
 * A BPF file system may be writable for all users, and the tool removes files
 * as root. So each level is opened from the descriptor of the level above,
 * never through a symbolic link. It must be a folder of the BPF file system
 * that belongs to this user or to root, and that no other user may write to.
 * Below PINS_FOLDER, only trusted users can then change what a name refers to.
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
 * @fd: descriptor of PINS_FOLDER; -1: it does not exist
 * @said: after an error: the path, what is wrong, and what to do
 */
struct pins_folder {
	int mount;
	int fd;
	char said[PINS_SAID];
};

/**
 * pins_folder_open - open PINS_FOLDER
 *
 * Return: 0, also if it does not exist; -errno with the reason in
 * @folder->said. The caller must call pins_folder_close() in either case.
 */
int pins_folder_open(struct pins_folder *folder);

/**
 * pins_folder_hold - open PINS_FOLDER and lock it for changes, until
 * pins_folder_close()
 * @make: create it if it does not exist
 *
 * Blocks: never. Return: as pins_folder_open(); -EWOULDBLOCK: another process
 * holds the lock.
 */
int pins_folder_hold(struct pins_folder *folder, bool make);

void pins_folder_close(struct pins_folder *folder);

/* pins_folder_say - fill @folder->said with an error. Return: @err */
int pins_folder_say(struct pins_folder *folder, int err, const char *format,
		    ...) __attribute__((format(printf, 3, 4)));

/**
 * pins_folder_enter - open the folder of a process
 * @name: its number, in decimal
 *
 * Return: a descriptor, which the caller closes; -ENOENT: there is none;
 * another -errno. Both errors set @folder->said.
 */
int pins_folder_enter(struct pins_folder *folder, const char *name);

/* pins_folder_below - open a folder of any name in @above. Return: as
 * pins_folder_enter() */
int pins_folder_below(struct pins_folder *folder, int above, const char *name);

/* pins_folder_is_process - return whether @name can be a process's folder: a
 * number of one to ten digits without a leading 0 */
bool pins_folder_is_process(const char *name);

#endif
