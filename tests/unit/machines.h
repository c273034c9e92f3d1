/* SPDX-License-Identifier: MIT */
/* machines.h - the machines of tests/topology/machines.py, and of other files */
#ifndef SKUA_TESTS_UNIT_MACHINES_H
#define SKUA_TESTS_UNIT_MACHINES_H

#include <glob.h>

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

/* machines_each - call @check with the path of each machine of machines.py */
static inline void machines_each(void (*check)(const char *path))
{
	glob_t paths;

	assert_int_equal(glob(MACHINES "*.snapshot", 0, NULL, &paths), 0);
	assert_true(paths.gl_pathc >= 13);
	for (size_t i = 0; i < paths.gl_pathc; i++)
		check(paths.gl_pathv[i]);
	globfree(&paths);
}

#endif
