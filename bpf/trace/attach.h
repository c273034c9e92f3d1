/* SPDX-License-Identifier: MIT */
/**
 * attach.h - attach counting programs (bpf/programs) to the probes of a process
 *
 * All programs and their maps disappear when the attachment is closed or this
 * process ends, unless they are pinned. The semaphores of the probes then go
 * down again.
 * Threads: an attachment belongs to one thread, as in programs.h.
 */
#ifndef SKUA_BPF_ATTACH_H
#define SKUA_BPF_ATTACH_H

#include "bpf/trace/usdt.h"
#include "bpf/target/target.h"

/* The maps; attach_map_names has the names under which they are pinned. */
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
	ATTACH_MULTI,  /* one call per file: a uprobe_multi link */
	ATTACH_EACH,   /* a perf event per probe */
	ATTACH_PINNED, /* by skua pin */
};

/* A descriptor that keeps a program attached. */
struct attach_link {
	char name[USDT_NAME + 16];
	int fd;
	struct bpf_link *owner; /* owns fd; NULL: this struct does */
};

/**
 * struct attachment - attached programs
 * @how: how probes are attached; ATTACH_NOT: @probes_missing says why not
 * @places: number of probe locations; 0 if pinned
 * @switches: context switches are counted; if false, @switches_missing says why
 *     not
 * @maps: descriptors; -1: no such map
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

/* attach_process - attach to everything that is possible; @a says what that is.
 * The caller must call attach_close() */
void attach_process(struct attachment *a, struct target *target);

/* attach_file - attach to all processes, present and future, that map the file;
 * without context switches. Return: 0; -errno, also if the file has no probes:
 * a->probes_missing explains it. The caller must call attach_close() in either
 * case */
int attach_file(struct attachment *a, const char *path);

/* attach_nothing - initialise an empty attachment */
void attach_nothing(struct attachment *a);

/* attach_take_link - keep @fd until attach_close(). A negative @fd is an error,
 * with errno set. Return: 0; -errno */
int attach_take_link(struct attachment *a, int fd);

void attach_close(struct attachment *a);

#endif
