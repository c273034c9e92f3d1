/* SPDX-License-Identifier: MIT */
/* config_place.c - choose the CPUs of a runtime, and place its workers on them */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "core/config/config.h"
#include "topology/machine_cache.h"
#include "topology/machine_measure.h"

void config_forget_machine(struct config *config)
{
	machine_free(config->machine);
	config->machine = NULL;
}

/* check_allowed - check that this thread may use each CPU of @wanted */
static int check_allowed(const struct cpu_list *wanted, const char *key,
			 const char *text, struct skua_error *err)
{
	struct cpu_list allowed;
	int code = cpu_list_allowed(&allowed);

	if (code)
		return error_set(err, code, "cannot read the affinity mask: %s",
				 strerror(-code));
	for (unsigned i = 0; !code && i < wanted->count; i++) {
		if (!cpu_list_contains(&allowed, wanted->cpus[i]))
			code = error_set(err, -EINVAL,
					 "%s: \"%.60s\", but CPU %u is not "
					 "among those that this thread may use",
					 key, text, wanted->cpus[i]);
	}
	cpu_list_free(&allowed);
	return code;
}

/* choose_cpus - return the CPUs that the user named, if all are allowed; if the user named
 * none, return all allowed CPUs */
static int choose_cpus(struct cpu_list *out, const char *key, const char *text,
		       struct skua_error *err)
{
	int code;

	if (!text) {
		code = cpu_list_allowed(out);
		return code ? error_set(err, code,
					"cannot read the affinity mask: %s",
					strerror(-code))
			    : 0;
	}
	code = cpu_list_parse(out, text);
	if (code == -EINVAL)
		return error_set(err, code,
				 "%s: \"%.60s\", allowed are numbers below %u "
				 "and ranges, as in \"0-3,8\"",
				 key, text, CPU_LIST_LIMIT);
	if (code)
		return error_set(err, code, "%s: %s", key, strerror(-code));
	code = check_allowed(out, key, text, err);
	if (code)
		cpu_list_free(out);
	return code;
}

static unsigned cpu_here(void)
{
	int saved = errno; /* the library never sets it */
	int cpu = sched_getcpu();

	errno = saved;
	return cpu < 0 ? 0 : (unsigned)cpu;
}

static int place(struct config *out, const struct skua_config *cfg,
		 const struct cpu_list *cpus)
{
	const struct placement_request request = {
		.machine = out->machine,
		.cpus = cpus,
		.policy = cfg->placement,
		.workers = out->caller_driven ? 1 : cfg->workers,
		.max_workers = out->limited && quota_cpus(&out->quota) <
						       SKUA_MAX_WORKERS
				       ? quota_cpus(&out->quota)
				       : SKUA_MAX_WORKERS,
		.unpinned = (cfg->flags & SKUA_UNPINNED) || out->caller_driven,
		/* With less CPU time than CPUs, the set of free CPUs changes all the time.
		 * So a worker may move, but only among the CPUs of one cache, where it finds
		 * its data. The placement starts at the CPU of this thread, because the
		 * kernel spreads processes over the CPUs: otherwise all processes with such
		 * a quota would start at the first CPU. */
		.limited = out->limited,
		.start = cpu_here(),
	};

	out->pinned = !request.unpinned;
	return placement_make(&out->placement, &request);
}

static enum measure_when measure_topology(unsigned flags)
{
	if (flags & SKUA_MEASURE_TOPOLOGY)
		return MEASURE_ALWAYS;
	return flags & SKUA_TRUST_TOPOLOGY ? MEASURE_NEVER
					   : MEASURE_IF_DOUBTFUL;
}

/* load_machine - read the topology
 *
 * The runtimes of the process share it, except one that is measured, which changes it. */
static int load_machine(struct config *out)
{
	int code = machine_here(&out->machine);

	if (code || !machine_measure_due(out->machine, out->measure_topology))
		return code;
	config_forget_machine(out);
	code = machine_load(&out->machine, "/", NULL);
	if (!code)
		/* If measuring fails, the description from sysfs stays as it is. */
		machine_measure_when(out->machine, &out->cpus,
				     out->measure_topology);
	return code;
}

/* Read the CPU quota and the topology, and place the workers. A file that cannot be
 * read, for example because no descriptor is free, sets no quota and describes no
 * CPUs; it does not make this function fail. */
static int measure_and_place(struct config *out, const struct skua_config *cfg)
{
	struct cpu_list listed = { .cpus = NULL };
	int code = 0;

	out->machine = NULL;
	/* No CPU quota applies to threads of a real-time class. */
	out->quota = (struct quota){ 0, 0 };
	if (!out->realtime)
		code = quota_read(&out->quota, "/", NULL);
	out->limited = quota_below(&out->quota, out->cpus.count);
	if (code != -ENOMEM && !out->caller_driven)
		code = load_machine(out);
	if (code != -ENOMEM)
		code = cfg->placement == SKUA_PLACE_LISTED
			       ? cpu_list_parse_ordered(&listed, cfg->cpus)
			       : 0;
	if (!code)
		code = place(out, cfg, listed.cpus ? &listed : &out->cpus);
	cpu_list_free(&listed);
	if (code)
		config_forget_machine(out);
	return code;
}

int config_place(struct config *out, const struct skua_config *cfg,
		 const char *key, struct skua_error *err)
{
	int code;

	out->caller_driven = cfg->flags & SKUA_CALLER_DRIVEN;
	out->realtime = cfg->flags & SKUA_REALTIME;
	out->measure_topology = measure_topology(cfg->flags);
	code = choose_cpus(&out->cpus, key, cfg->cpus, err);
	if (code)
		return code;
	code = measure_and_place(out, cfg);
	if (code) {
		cpu_list_free(&out->cpus);
		error_set(err, code, "no memory to place the workers");
	}
	return code;
}
