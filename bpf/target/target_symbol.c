/* SPDX-License-Identifier: MIT */
/*
 * target_symbol.c - find names of types and functions of a process
 *
 * The name of a type is in memory. The name of a function is in the mapped
 * file, provided that it can be opened and has not been replaced by another
 * file.
 */
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "bpf/cli/sorted.h"
#include "bpf/target/target.h"
#include "bpf/target/target_demangle.h"
#include "bpf/target/target_elf.h"
#include "bpf/target/target_parts.h"

/* Bytes of the name at the start of struct skua_task_type. */
#define TYPE_NAME     40u
#define COMPARE_BYTES 4096u

/* Cost of opening a file, in units of target_budget.h. */
#define FILE_COST (UINT64_C(128) << 10)

/* ---- the file -------------------------------------------------------------- */

/* Whether the file is on the device of the mapping. On overlayfs and btrfs,
 * stat() and /proc/PID/maps show different devices for the same file. */
static bool is_of_device(int fd, const struct stat *status,
			 const struct target_mapping *mapping)
{
	struct statfs system;

	return status->st_dev == mapping->device ||
	       (fstatfs(fd, &system) == 0 &&
		(system.f_type == OVERLAYFS_SUPER_MAGIC ||
		 system.f_type == BTRFS_SUPER_MAGIC));
}

/* Whether the open file is the mapped one. Device and inode must agree, and the
 * first bytes must, too: some file systems use an inode number twice, and the
 * linker's build ID is near the start of the file. */
static bool is_mapped(struct target *target, int fd,
		      const struct target_mapping *mapping)
{
	unsigned char theirs[COMPARE_BYTES], ours[COMPARE_BYTES];
	struct stat status;
	ssize_t got;

	if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) ||
	    (uint64_t)status.st_ino != mapping->inode ||
	    !is_of_device(fd, &status, mapping))
		return false;
	for (size_t i = 0; i < target->map_count; i++) {
		const struct target_mapping *first = &target->maps[i];

		if (!target_budget_spend(&target->budget, sizeof(*first)))
			return false;
		if (first->inode != mapping->inode || first->offset != 0 ||
		    strcmp(first->path, mapping->path) != 0)
			continue;
		got = pread(fd, ours, sizeof(ours), 0);
		return got > 0 &&
		       target_copy(&target->memory, first->start, theirs,
				   (size_t)got) == 0 &&
		       memcmp(ours, theirs, (size_t)got) == 0;
	}
	return true;
}

/* Open the file by the kernel's own link, which works even for removed files;
 * otherwise by its path as the process sees it. */
static int open_file(struct target *target,
		     const struct target_mapping *mapping)
{
	char path[4200];
	int fd;

	snprintf(path, sizeof(path), "map_files/%jx-%jx",
		 (uintmax_t)mapping->start, (uintmax_t)mapping->end);
	fd = openat(target->folder, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0)
		return fd;
	if (mapping->path[0] != '/' ||
	    snprintf(path, sizeof(path), "root%s", mapping->path) >=
		    (int)sizeof(path))
		return -1;
	return openat(target->memory_folder, path,
		      O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

static void say_missing(struct target *target, const char *path,
			const char *why)
{
	target_fail(&target->symbols_missing, 0,
		    "%.200s %s: some names of functions are not known", path,
		    why);
	target_printable(target->symbols_missing.text,
			 sizeof(target->symbols_missing.text));
}

int target_open_mapped(struct target *target,
		       const struct target_mapping *mapping)
{
	int fd = open_file(target, mapping);

	if (fd >= 0 && is_mapped(target, fd, mapping))
		return fd;
	say_missing(target, mapping->path,
		    fd >= 0 ? "is another file by now" : "cannot be read");
	if (fd >= 0)
		close(fd);
	return -1;
}

/* ---- names ----------------------------------------------------------------- */

/* The mappings are sorted by address. */
const struct target_mapping *target_mapping_at(const struct target *target,
					       uint64_t address)
{
	size_t n = SORTED_UP_TO(target->maps, target->map_count, end, address);

	return n < target->map_count && address >= target->maps[n].start
		       ? &target->maps[n]
		       : NULL;
}

static void name_place(const struct target_mapping *mapping, uint64_t address,
		       char *text)
{
	const char *file = mapping ? strrchr(mapping->path, '/') : NULL;

	/* Cut off the " (deleted)" that may follow. */
	if (file)
		snprintf(text, TARGET_NAME, "%.*s+0x%jx",
			 (int)strcspn(file + 1, " ") < 40
				 ? (int)strcspn(file + 1, " ")
				 : 40,
			 file + 1,
			 (uintmax_t)(address - mapping->start +
				     mapping->offset));
	else
		snprintf(text, TARGET_NAME, "0x%jx", (uintmax_t)address);
}

/* Search the file for a symbol at @address. Return: whether there is one. */
static bool search_file(struct target *target,
			const struct target_mapping *mapping, uint64_t address,
			char *text)
{
	char name[TARGET_MANGLED];
	int fd = target_open_mapped(target, mapping);
	int code;

	if (fd < 0)
		return false;
	code = target_elf_symbol(fd, &target->budget,
				 address - mapping->start + mapping->offset,
				 name, sizeof(name));
	close(fd);
	if (code == 0)
		target_demangle(&target->budget, name, text, TARGET_NAME);
	else
		say_missing(target, mapping->path,
			    code == -EFBIG ? "has more symbols than may be "
					     "read of a process"
					   : "has no symbol there");
	return code == 0;
}

static bool may_open(struct target *target,
		     const struct target_mapping *mapping)
{
	if (target_budget_spend(&target->budget, FILE_COST))
		return true;
	say_missing(target, mapping->path,
		    "is not read, as the process has cost too much");
	return false;
}

static bool look_up(struct target *target, uint64_t address, char *text)
{
	const struct target_mapping *mapping =
		target_mapping_at(target, address);
	bool found;

	if (!mapping && target_read_maps(target) == 0)
		mapping = target_mapping_at(target, address);
	name_place(mapping, address, text);
	found = mapping && mapping->inode != 0 && may_open(target, mapping) &&
		search_file(target, mapping, address, text);
	target_printable(text, TARGET_NAME);
	return found;
}

/* Names are cached. Two addresses with the same place in the cache replace each
 * other. */
bool target_symbol(struct target *target, uint64_t address, char *text)
{
	struct target_symbol *symbol;

	if (!target->symbols)
		target->symbols =
			calloc(TARGET_SYMBOLS, sizeof(*target->symbols));
	if (!target->symbols)
		return look_up(target, address, text);
	symbol = &target->symbols[address / 16 % TARGET_SYMBOLS];
	if (symbol->address != address) {
		symbol->address = address;
		symbol->is_name = look_up(target, address, symbol->text);
	}
	memcpy(text, symbol->text, TARGET_NAME);
	return symbol->is_name;
}

bool target_name(struct target *target, uint64_t type, uint64_t poll,
		 char *text)
{
	if (type && target_copy(&target->memory, type, text, TYPE_NAME) == 0) {
		text[TYPE_NAME] = 0;
		target_printable(text, TYPE_NAME + 1);
		if (text[0])
			return true;
	}
	return target_symbol(target, poll ? poll : type, text);
}

int target_open_file(struct target *target, unsigned index)
{
	const struct target_mapping *mapping;
	int fd;

	if (index >= target->root_count)
		return -ENOENT;
	mapping = target_mapping_at(target, target->roots[index]);
	if (!mapping || mapping->inode == 0)
		return target_fail(&target->complaint, -EACCES,
				   "process %d has skua in memory that is not "
				   "mapped from a file",
				   target->pid);
	fd = target_open_mapped(target, mapping);
	if (fd >= 0)
		return fd;
	target_fail(&target->complaint, 0,
		    "%.200s cannot be read, or is another file by now",
		    mapping->path);
	target_printable(target->complaint.text,
			 sizeof(target->complaint.text));
	return -EACCES;
}

const char *target_symbols_missing(const struct target *target)
{
	return target->symbols_missing.text;
}

void target_free_symbols(struct target *target)
{
	free(target->symbols);
	target->symbols = NULL;
}

bool target_hold_tables(struct target *target, int fd, const char *path)
{
	uint64_t bytes = target_elf_tables(fd, &target->budget);

	if (target_budget_hold(&target->budget, bytes))
		return true;
	say_missing(target, path,
		    "has more symbols than are kept of a process");
	return false;
}
