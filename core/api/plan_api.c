/* SPDX-License-Identifier: MIT */
/* plan_api.c - compute the workers' CPUs of a configuration without creating a
 * runtime */
#include <errno.h>

#include "core/config/config.h"
#include "skua/runtime.h"

int skua_runtime_plan(const struct skua_config *cfg, unsigned *cpus,
		      unsigned room, enum skua_binding *binding,
		      struct skua_error *err)
{
	int saved = errno; /* the library does not change errno */
	struct config config = { .workers = 0 };
	int code = config_resolve(&config, cfg, err);

	if (!code) {
		code = (int)placement_tell(&config.placement, cpus, room);
		if (binding)
			*binding = config.placement.binding;
		config_free(&config);
	}
	errno = saved;
	return code;
}
