/* SPDX-License-Identifier: MIT */
/* target_parts.h - what a struct target is, for its own files */
#ifndef SKUA_BPF_TARGET_PARTS_H
#define SKUA_BPF_TARGET_PARTS_H

#include "bpf/target/target_area.h"
#include "bpf/target/target_budget.h"
#include "bpf/target/target_proc.h"

#define TARGET_SYMBOLS 512u

/* A name that was looked for, and what was found. */
struct target_symbol {
	uint64_t address; /* 0: none yet */
	bool is_name;
	char text[TARGET_NAME];
};

struct target {
	pid_t pid;
	int folder;        /* /proc/PID */
	int memory_folder; /* the same, or of a thread */
	int memory_fd;
	int written_fd; /* the same, to write; -1: nothing was written yet */
	char comm[TARGET_NAME]; /* as it was at the open */
	struct target_status status;
	struct target_memory memory;
	struct target_budget budget;
	uint64_t anywhere; /* an address where something was */
	uint64_t roots[TARGET_MAX_ROOTS];
	unsigned root_count;
	struct target_list list;
	char *maps_text;
	size_t maps_bytes; /* of the last time */
	struct target_mapping *maps;
	size_t map_count;
	struct target_complaint complaint;
	struct target_complaint symbols_missing;
	struct target_symbol *symbols;
};

/* target_read_maps - once more. As target_open() */
int target_read_maps(struct target *target);

/* target_mapping_at - what is mapped there, as of the last time; or NULL. Valid until
 * the next */
const struct target_mapping *target_mapping_at(const struct target *target,
					       uint64_t address);

/* target_open_mapped - the file of a mapping, if that is still the same. Return: a
 * descriptor; -1: target_symbols_missing() says why */
int target_open_mapped(struct target *target,
		       const struct target_mapping *mapping);

/* target_hold_tables - may the tables of that file be kept? If not, then
 * target_symbols_missing() says so */
bool target_hold_tables(struct target *target, int fd, const char *path);

void target_free_symbols(struct target *target);

#endif
