/* SPDX-License-Identifier: MIT */
/* plan_api.c - what a runtime would be, without making it */
#include <errno.h>

#include "core/config.h"
#include "skua/runtime.h"

int skua_runtime_plan(const struct skua_config *cfg, unsigned *cpus,
		      unsigned room, bool *pinned, struct skua_error *err)
{
	int saved = errno; /* the library never sets it */
	struct config config = { .workers = 0 };
	int code = config_resolve(&config, cfg, err);

	if (!code) {
		for (unsigned i = 0; cpus && i < room && i < config.workers;
		     i++)
			cpus[i] = config.cpus.cpus[i % config.cpus.count];
		/* Surplus workers are on no CPU of their own. */
		if (pinned)
			*pinned = config.pinned &&
				  config.workers <= config.cpus.count;
		code = (int)config.workers;
		config_free(&config);
	}
	errno = saved;
	return code;
}
