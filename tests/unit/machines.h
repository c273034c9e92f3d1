/* SPDX-License-Identifier: MIT */
/* machines.h - the machines of tests/topology/machines.py, and of other files */
#ifndef SKUA_TESTS_UNIT_MACHINES_H
#define SKUA_TESTS_UNIT_MACHINES_H

#include "tests/unit/support.h"
#include "topology/machine.h"

static inline struct machine *machine_from(const char *path)
{
	struct machine *machine = NULL;
	struct skua_error err = { 0, "" };

	if (machine_load(&machine, path, &err) != 0)
		fail_msg("%s: %s", path, err.text);
	return machine;
}

/* machine_named - of machines.py; a @name with a slash is a file's */
static inline struct machine *machine_named(const char *name)
{
	char path[512];

	snprintf(path, sizeof(path),
		 strchr(name, '/') ? "%s" : MACHINES "%s.snapshot", name);
	return machine_from(path);
}

#endif
