/* SPDX-License-Identifier: MIT */
/**
 * pins.h - what skua pin has left in the BPF file system for a process
 *
 * A folder PINS_FOLDER/PID has the maps by their names, PINS_LINKS with all that
 * keeps programs attached, and at last a symbolic link PINS_BEGUN, which leads nowhere:
 * it says since when the process runs, as numbers of processes are used again, and
 * which program. Without it the rest is not whole.
 */
#ifndef SKUA_BPF_PINS_H
#define SKUA_BPF_PINS_H

#include "bpf/trace/attach.h"
#include "bpf/trace/pins_folder.h"

#define PINS_LINKS "links"
#define PINS_BEGUN "begun"

/* @PINS_NOT: nothing that is whole; @PINS_OTHERS: of a process that had the number, or
 * the program that it was */
enum pins_state { PINS_NOT, PINS_OTHERS, PINS_LIVE };

/* pins_look - whose are the pins in the folder of a process? @fd: of that folder, as
 * below */
enum pins_state pins_look(int fd, pid_t pid);

/* pins_sign - say whose the folder of the process is. Return: 0; -errno */
int pins_sign(int fd, pid_t pid);

/* pins_make - pin what is attached, in that folder. Return: 0; -errno */
int pins_make(const struct attachment *a, int fd);

/**
 * pins_attach - take what is pinned in place of an attachment
 *
 * It stays attached as long as @a, even if it is unpinned meanwhile. Folders that other
 * users can change are not read.
 *
 * Return: true: the caller closes it; false: nothing that this version can read is
 * pinned for the process.
 */
bool pins_attach(struct attachment *a, pid_t pid);

#endif
