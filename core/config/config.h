/* SPDX-License-Identifier: MIT */
/* config.h - a struct skua_config, checked and with its defaults filled in */
#ifndef SKUA_CORE_CONFIG_CONFIG_H
#define SKUA_CORE_CONFIG_CONFIG_H

#include "core/base/tuning.h"
#include "skua/runtime.h"
#include "topology/cpu_list.h"
#include "topology/error.h"
#include "topology/machine_measure.h"
#include "topology/placement.h"
#include "topology/quota.h"

struct config {
	unsigned workers;
	uint32_t queue_capacity;
	struct tuning tuning;
	uint64_t stall_limit_ns; /* 0: none */
	int stall_signal;        /* 0: any free one; negative: none */
	uint32_t fiber_stack;    /* in bytes */
	uint32_t blocking_threads;
	uint32_t blocking_queued;
	uint64_t blocking_idle_ns; /* SKUA_FOREVER_NS: never */
	bool pinned;               /* each worker is bound to its own CPUs */
	bool limited;              /* the CPU quota is less than cpus.count */
	bool caller_driven;
	bool realtime;
	bool lock_memory;
	bool huge_pages;
	bool track_tasks;
	enum measure_when measure_topology;
	struct cpu_list cpus; /* the CPUs to run on; at least one */
	struct quota quota;
	struct placement placement; /* the places of the workers on these
				     * CPUs */
	/* NULL: the topology is unknown. Only set while the runtime is created. */
	struct machine *machine;
	const struct skua_allocator *allocator;
	struct skua_hooks hooks;
};

/**
 * config_resolve - check @cfg, and add values from the environment and defaults
 * @out: filled in on success; the caller releases it with config_free()
 * @cfg: NULL: all defaults
 * @err: receives a description of the error; may be NULL
 *
 * Return: 0 or a negative errno.
 */
int config_resolve(struct config *out, const struct skua_config *cfg,
		   struct skua_error *err);

/**
 * config_place - choose the CPUs, and place the workers on them
 * @cfg: checked
 * @key: name of the source of the CPU list, for error messages
 */
int config_place(struct config *out, const struct skua_config *cfg,
		 const char *key, struct skua_error *err);

/* config_forget_machine - free the description of the machine when it is not needed any
 * more */
void config_forget_machine(struct config *config);

void config_free(struct config *config);

/**
 * config_from_environment - fill in fields of @cfg that are at their defaults
 *
 * A variable does not change a field that the program has set. Strings stay in the
 * environment: @cfg points to them.
 */
int config_from_environment(struct skua_config *cfg, struct skua_error *err);

/* config_warn_misspelt - log the variables in the environment that look like misspelt ones of the
 * library, once in a process. Does nothing if the program has rights that its caller lacks. */
void config_warn_misspelt(const struct skua_hooks *hooks);

/* config_track_from_environment - the same for SKUA_TRACK_TASKS
 *
 * Without NDEBUG, tasks are tracked unless the variable says otherwise. */
int config_track_from_environment(struct skua_config *cfg,
				  struct skua_error *err);

#endif
