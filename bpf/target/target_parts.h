/* SPDX-License-Identifier: MIT */
/* target_parts.h - struct target, for the files of this folder */
#ifndef SKUA_BPF_TARGET_PARTS_H
#define SKUA_BPF_TARGET_PARTS_H

#include "bpf/target/target_area.h"
#include "bpf/target/target_budget.h"
#include "bpf/target/target_proc.h"

#define TARGET_SYMBOLS 512u

/* A cached name. */
struct target_symbol {
	uint64_t address; /* 0: the entry is free */
	bool is_name;
	char text[TARGET_NAME];
};

struct target {
	pid_t pid;
	int folder;        /* /proc/PID */
	int memory_folder; /* /proc/PID, or a thread's folder in it */
	int memory_fd;
	int written_fd;         /* memory, for writing; -1: not opened */
	char comm[TARGET_NAME]; /* name at the open */
	struct target_status status;
	uint32_t rank;
	struct target_memory memory;
	struct target_budget budget;
	uint64_t anywhere; /* an address that was mapped */
	uint64_t roots[TARGET_MAX_ROOTS];
	unsigned root_count;
	struct target_list list;
	char *maps_text;
	size_t maps_bytes; /* size of maps_text, at the last read */
	struct target_mapping *maps;
	size_t map_count;
	struct target_complaint complaint;
	struct target_complaint symbols_missing;
	struct target_symbol *symbols;
};

/* target_judge - set the complaint for those errors whose source has not set one. Return:
 * @code */
int target_judge(struct target *target, int code);

/* target_open_folder - open the folder of the process in /proc, and find one that leads to
 * its memory. Return: as target_open() */
int target_open_folder(struct target *target);

/* target_open_memory - open the memory for reading. Return: as target_open() */
int target_open_memory(struct target *target);

/* target_read_maps - read the mappings again, and keep them until the next call, to find
 * names. Return: as target_open() */
int target_read_maps(struct target *target);

/* target_mapping_at - return the mapping at @address, as of the last
 * target_read_maps(); NULL if there is none. Valid until the next
 * target_read_maps() */
const struct target_mapping *target_mapping_at(const struct target *target,
					       uint64_t address);

/* target_open_mapped - open the file of a mapping, if it is still the same
 * file. Return: a descriptor; -1: target_symbols_missing() says why */
int target_open_mapped(struct target *target,
		       const struct target_mapping *mapping);

/* target_hold_tables - reserve memory for the tables of a file. Return: false
 * if they are too large; target_symbols_missing() says so then */
bool target_hold_tables(struct target *target, int fd, const char *path);

void target_free_symbols(struct target *target);

#endif
