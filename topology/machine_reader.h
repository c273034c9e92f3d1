/* SPDX-License-Identifier: MIT */
/* machine_reader.h - shared by the parts of machine_load() */
#ifndef SKUA_TOPOLOGY_MACHINE_READER_H
#define SKUA_TOPOLOGY_MACHINE_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "topology/machine.h"
#include "topology/sysfs.h"

#define MACHINE_CPUS  "sys/devices/system/cpu"
#define MACHINE_NODES "sys/devices/system/node"

#define MACHINE_UNKNOWN UINT32_MAX

/* The state of machine_load(). */
struct machine_reader {
	struct sysfs sysfs;
	struct machine *machine;
	unsigned *index; /* by CPU number: index in cpus, or MACHINE_UNKNOWN */
	unsigned remarks;
	bool no_memory;
	char path[SYSFS_PATH_SIZE];
	char text[SYSFS_TEXT_SIZE];
};

/* machine_reader_remark - add a line to the machine's remarks, up to a limit */
void machine_reader_remark(struct machine_reader *r, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* machine_reader_text - read a file to r->text; false if it is empty or missing */
bool machine_reader_text(struct machine_reader *r, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* machine_reader_list - read the list in @folder/@list or, if there is none, the mask in
 * @folder/@mask; @mask may be NULL. Return: true if @out was filled in: the caller
 * releases it with cpu_list_free() */
bool machine_reader_list(struct machine_reader *r, struct cpu_list *out,
			 const char *folder, const char *list,
			 const char *mask);

/* machine_reader_index - return the index of a CPU, by its number, or MACHINE_UNKNOWN */
unsigned machine_reader_index(const struct machine_reader *r, unsigned cpu);

/* machine_read_groups - read core, last-level cache and kind of each CPU; the nodes must
 * be known. Return: 0 or -ENOMEM */
int machine_read_groups(struct machine_reader *r);

#endif
