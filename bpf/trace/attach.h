/* SPDX-License-Identifier: MIT */
/**
 * attach.h - programs that count (bpf/programs), at the probes of a process
 *
 * All programs and their maps are gone when the attachment is closed or this process
 * ends, unless somebody pins them; the semaphores of the probes then go down again.
 * Threads: an attachment belongs to one thread, as programs.h does.
 */
#ifndef SKUA_BPF_ATTACH_H
#define SKUA_BPF_ATTACH_H

#include "bpf/trace/usdt.h"
#include "bpf/target/target.h"

/* The maps, as they are called when they are pinned. */
enum attach_map {
	ATTACH_WORKERS,
	ATTACH_MATRIX,
	ATTACH_TIMES,
	ATTACH_LOST,
	ATTACH_SWITCHES,
	ATTACH_DELAYS,
	ATTACH_LOST_SWITCHES,
	ATTACH_MAPS
};

extern const char *const attach_map_names[ATTACH_MAPS];

enum attach_how {
	ATTACH_NOT,
	ATTACH_MULTI,  /* by one call a file: a uprobe_multi link */
	ATTACH_EACH,   /* a perf event for each probe */
	ATTACH_PINNED, /* by skua pin */
};

/* A link, or anything else that keeps a program in its place. */
struct attach_link {
	char name[USDT_NAME + 16];
	int fd;
	struct bpf_link *owner; /* of fd; NULL: it is this one */
};

/**
 * struct attachment - what is attached
 * @how: to probes; ATTACH_NOT: @probes_missing says why
 * @places: of probes; 0: they were counted when they were pinned
 * @switches: are context switches counted? If not, @switches_missing says why
 * @maps: descriptors, -1: none
 */
struct attachment {
	enum attach_how how;
	unsigned places;
	bool switches;
	char probes_missing[400];
	char switches_missing[400];
	int maps[ATTACH_MAPS];
	struct attach_link *links;
	unsigned link_count;
	size_t link_room;
	struct count_probes_bpf *counter;
	struct count_switches_bpf *switcher;
};

/* attach_process - to what can be had; @a says what. To be closed */
void attach_process(struct attachment *a, struct target *target);

/* attach_file - the same to all processes that have that file, or will have it, without
 * context switches. Return: 0; -errno, also for a file that has no probes: a line of
 * a->probes_missing says why. To be closed in any case */
int attach_file(struct attachment *a, const char *path);

/* attach_nothing - begin one that others fill */
void attach_nothing(struct attachment *a);

/* attach_take_link - keep @fd until the close; it may be negative, which is an error.
 * Return: 0; -errno */
int attach_take_link(struct attachment *a, int fd);

void attach_close(struct attachment *a);

#endif
