/* SPDX-License-Identifier: MIT */
/**
 * pins.h - what skua pin leaves in the BPF file system for a process
 *
 * The folder PINS_FOLDER/PID contains the maps under their names and the folder
 * PINS_LINKS with everything that keeps programs attached. The symbolic link
 * PINS_BEGUN is made last. It leads nowhere: its text says when the process
 * began, because numbers of processes are used again, and which program it
 * runs. Without that link the folder is incomplete.
 */
#ifndef SKUA_BPF_PINS_H
#define SKUA_BPF_PINS_H

#include "bpf/trace/attach.h"
#include "bpf/trace/pins_folder.h"

#define PINS_LINKS "links"
#define PINS_BEGUN "begun"

/* State of a folder. PINS_NOT: nothing, or incomplete; PINS_OTHERS: belongs to
 * an earlier process of that number, or to another program of this process;
 * PINS_LIVE: belongs to the process as it is. */
enum pins_state { PINS_NOT, PINS_OTHERS, PINS_LIVE };

/* pins_look - return the state of the folder @fd of process @pid */
enum pins_state pins_look(int fd, pid_t pid);

/* pins_sign - make PINS_BEGUN, which completes the folder @fd. Return: 0;
 * -errno */
int pins_sign(int fd, pid_t pid);

/* pins_make - pin the maps and links of @a in the folder @fd. Return: 0;
 * -errno */
int pins_make(const struct attachment *a, int fd);

/**
 * pins_attach - use the maps and links that are pinned for the process as an
 * attachment
 *
 * It stays attached as long as @a, even if it is unpinned meanwhile. Folders
 * that other users can change are not read.
 *
 * Return: true: the caller must call attach_close(); false: nothing that this
 * version can read is pinned for the process.
 */
bool pins_attach(struct attachment *a, pid_t pid);

#endif
