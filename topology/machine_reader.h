/* SPDX-License-Identifier: MIT */
/* machine_reader.h - what the parts of machine_load() have in common */
#ifndef SKUA_TOPOLOGY_MACHINE_READER_H
#define SKUA_TOPOLOGY_MACHINE_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "topology/machine.h"
#include "topology/sysfs.h"

#define MACHINE_CPUS  "sys/devices/system/cpu"
#define MACHINE_NODES "sys/devices/system/node"

#define MACHINE_UNKNOWN UINT32_MAX

/* What is needed while a machine is read. */
struct machine_reader {
	struct sysfs sysfs;
	struct machine *machine;
	unsigned *index; /* of a CPU by its number, or MACHINE_UNKNOWN */
	unsigned remarks;
	bool no_memory;
	char path[SYSFS_PATH_SIZE];
	char text[SYSFS_TEXT_SIZE];
};

/* machine_reader_remark - add a line to the machine's remarks; many are cut */
void machine_reader_remark(struct machine_reader *r, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* machine_reader_text - read a file to r->text; is there anything in it? */
bool machine_reader_text(struct machine_reader *r, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* machine_reader_list - the list that is in @folder/@list, or as a mask in
 * @folder/@mask; to be freed if there is one */
bool machine_reader_list(struct machine_reader *r, struct cpu_list *out,
			 const char *folder, const char *list,
			 const char *mask);

/* machine_reader_index - of a CPU, by its number; or MACHINE_UNKNOWN */
unsigned machine_reader_index(const struct machine_reader *r, unsigned cpu);

/* machine_read_groups - core, last cache and kind of each CPU, whose node is
 * known; 0 or -ENOMEM */
int machine_read_groups(struct machine_reader *r);

#endif
