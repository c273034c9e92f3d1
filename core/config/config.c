/* SPDX-License-Identifier: MIT */
/* config.c - see config.h */
#include "core/config/config.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include "skua/fiber.h"

#include "core/idle/idle.h"
#include "core/queue/local_queue.h"

#define DEFAULT_QUEUE_CAPACITY 256u
/* A guess; the `wake` workload retunes it. */
#define DEFAULT_STEAL_ATTEMPTS 32u
#define DEFAULT_LIFO_DELAY_NS  UINT64_C(100000)
/* The best values in simulation (bench/simulator). */
#define DEFAULT_STEAL_MAX     32u
#define DEFAULT_STEAL_MAX_FAR 1u
#define DEFAULT_FAR_SAMPLES   2u
#define DEFAULT_FIBER_STACK   65536u
/* libuv has 4, and lookups starve its file operations; Tokio has 512. */
#define DEFAULT_BLOCKING_THREADS 64u
/* Guesses. */
#define DEFAULT_BLOCKING_QUEUED  1024u
#define DEFAULT_BLOCKING_IDLE_NS UINT64_C(10000000000)
#define DEFAULT_FAR_DELAY_NS     UINT64_C(5000)
/* About the time of a wake-up. A guess; the workload region retunes it: with 1 and
 * 3 us, calls of 3 to 4 us suffer, and with 6 us calls of 40 us are no slower. */
#define YOUNG_NS UINT64_C(5000)

/* The first version of the struct ended with the field reserved. A size of more than a
 * page is taken for an uninitialised field. */
#define CONFIG_MIN_SIZE \
	(offsetof(struct skua_config, reserved) + sizeof(unsigned))
#define CONFIG_MAX_SIZE ((size_t)4096)
#define TOPOLOGY_FLAGS  (SKUA_MEASURE_TOPOLOGY | SKUA_TRUST_TOPOLOGY)
#define ALL_FLAGS                                                             \
	(SKUA_UNPINNED | SKUA_NO_ENV | SKUA_CALLER_DRIVEN | SKUA_HUGE_PAGES | \
	 SKUA_REALTIME | SKUA_LOCK_MEMORY | SKUA_TRACK_TASKS | TOPOLOGY_FLAGS)
static_assert(SKUA_MAX_WORKERS == IDLE_MAX_WORKERS, "one limit, two layers");
static_assert(SKUA_MIN_QUEUE_CAPACITY == LOCAL_QUEUE_MIN_CAPACITY &&
		      SKUA_MAX_QUEUE_CAPACITY == LOCAL_QUEUE_MAX_CAPACITY,
	      "one limit, two layers");

/*
 * Copy the fields that both the caller and this library know. Fields of a newer caller
 * that this library does not know must be zero, the default of any field.
 */
static int copy_config(struct skua_config *copy, const struct skua_config *cfg,
		       struct skua_error *err)
{
	const char *bytes = (const char *)cfg;

	memset(copy, 0, sizeof(*copy));
	if (!cfg)
		return 0;
	if (cfg->size < CONFIG_MIN_SIZE)
		return error_set(err, -EINVAL,
				 "size: %zu, needed is sizeof(struct "
				 "skua_config), %zu: start from "
				 "SKUA_CONFIG_INIT",
				 cfg->size, sizeof(*cfg));
	if (cfg->size > CONFIG_MAX_SIZE)
		return error_set(err, -EINVAL,
				 "size: %zu, allowed are %zu to %zu", cfg->size,
				 CONFIG_MIN_SIZE, CONFIG_MAX_SIZE);
	for (size_t i = sizeof(*copy); i < cfg->size; i++) {
		if (bytes[i] != 0)
			return error_set(
				err, -EINVAL,
				"size: %zu, and a field is set that this "
				"version does not know: its size is %zu",
				cfg->size, sizeof(*copy));
	}
	memcpy(copy, cfg,
	       cfg->size < sizeof(*copy) ? cfg->size : sizeof(*copy));
	return 0;
}

static int check_delays(const struct skua_config *cfg, struct skua_error *err)
{
	if (cfg->spin_ns > SKUA_MAX_DELAY_NS &&
	    cfg->spin_ns != SKUA_SPIN_NEVER &&
	    cfg->spin_ns != SKUA_SPIN_FOREVER)
		return error_set(err, -EINVAL,
				 "spin_ns: %" PRIu64 ", allowed are 1 to "
				 "%" PRIu64 ", SKUA_SPIN_NEVER, "
				 "SKUA_SPIN_FOREVER, or 0 for the default",
				 cfg->spin_ns, SKUA_MAX_DELAY_NS);
	if (cfg->lifo_steal_delay_ns != 0 &&
	    cfg->lifo_steal_delay_ns != SKUA_LIFO_PRIVATE &&
	    (cfg->lifo_steal_delay_ns < SKUA_MIN_LIFO_DELAY_NS ||
	     cfg->lifo_steal_delay_ns > SKUA_MAX_DELAY_NS))
		return error_set(err, -EINVAL,
				 "lifo_steal_delay_ns: %" PRIu64 ", allowed "
				 "are %" PRIu64 " to %" PRIu64
				 ", SKUA_LIFO_PRIVATE, or 0 for the default",
				 cfg->lifo_steal_delay_ns,
				 SKUA_MIN_LIFO_DELAY_NS, SKUA_MAX_DELAY_NS);
	return 0;
}

static int check_stalls(const struct skua_config *cfg, struct skua_error *err)
{
	if (cfg->stall_limit_ns != 0 &&
	    (cfg->stall_limit_ns < SKUA_MIN_STALL_LIMIT_NS ||
	     cfg->stall_limit_ns > SKUA_MAX_STALL_LIMIT_NS))
		return error_set(err, -EINVAL,
				 "stall_limit_ns: %" PRIu64 ", allowed are "
				 "%" PRIu64 " to %" PRIu64 ", or 0 for none",
				 cfg->stall_limit_ns, SKUA_MIN_STALL_LIMIT_NS,
				 SKUA_MAX_STALL_LIMIT_NS);
	if (cfg->stall_limit_ns != 0 && (cfg->flags & SKUA_CALLER_DRIVEN))
		return error_set(
			err, -EINVAL,
			"stall_limit_ns: %" PRIu64 ", allowed is 0 "
			"with SKUA_CALLER_DRIVEN: stall reports need a thread",
			cfg->stall_limit_ns);
	if (cfg->stall_signal != 0 &&
	    cfg->stall_signal != SKUA_STALL_NO_SIGNAL &&
	    (cfg->stall_signal < SIGRTMIN || cfg->stall_signal > SIGRTMAX))
		return error_set(err, -EINVAL,
				 "stall_signal: %d, allowed are SIGRTMIN (%d) "
				 "to SIGRTMAX (%d), SKUA_STALL_NO_SIGNAL, or 0 "
				 "for one that is free",
				 cfg->stall_signal, SIGRTMIN, SIGRTMAX);
	if (cfg->fiber_stack != 0 && (cfg->fiber_stack < SKUA_MIN_STACK ||
				      cfg->fiber_stack > SKUA_MAX_STACK))
		return error_set(
			err, -EINVAL,
			"fiber_stack: %" PRIu32 ", allowed are %" PRIu64
			" to %" PRIu64 ", or 0 for the default",
			cfg->fiber_stack, SKUA_MIN_STACK, SKUA_MAX_STACK);
	return 0;
}

static int check_stealing(const struct skua_config *cfg, struct skua_error *err)
{
	if (cfg->steal_max > SKUA_MAX_STEAL)
		return error_set(err, -EINVAL,
				 "steal_max: %u, allowed are 1 to %d, or 0 for "
				 "%u",
				 cfg->steal_max, SKUA_MAX_STEAL,
				 DEFAULT_STEAL_MAX);
	if (cfg->steal_max_far > SKUA_MAX_STEAL)
		return error_set(err, -EINVAL,
				 "steal_max_far: %u, allowed are 1 to %d, or 0 "
				 "for %u",
				 cfg->steal_max_far, SKUA_MAX_STEAL,
				 DEFAULT_STEAL_MAX_FAR);
	if (cfg->far_samples > SKUA_MAX_FAR_SAMPLES)
		return error_set(err, -EINVAL,
				 "far_samples: %u, allowed are 1 to %d, or 0 "
				 "for %u",
				 cfg->far_samples, SKUA_MAX_FAR_SAMPLES,
				 DEFAULT_FAR_SAMPLES);
	if (cfg->far_delay_ns > SKUA_MAX_DELAY_NS)
		return error_set(err, -EINVAL,
				 "far_delay_ns: %" PRIu64 ", allowed are 1 to "
				 "%" PRIu64 ", or 0 for %" PRIu64,
				 cfg->far_delay_ns, SKUA_MAX_DELAY_NS,
				 DEFAULT_FAR_DELAY_NS);
	return 0;
}

static int check_blocking(const struct skua_config *cfg, struct skua_error *err)
{
	if (cfg->blocking_threads > SKUA_MAX_BLOCKING_THREADS)
		return error_set(err, -EINVAL,
				 "blocking_threads: %" PRIu32
				 ", allowed are 1 to %d, or 0 for %u",
				 cfg->blocking_threads,
				 SKUA_MAX_BLOCKING_THREADS,
				 DEFAULT_BLOCKING_THREADS);
	if (cfg->blocking_queued > SKUA_MAX_BLOCKING_QUEUED)
		return error_set(err, -EINVAL,
				 "blocking_queued: %" PRIu32
				 ", allowed are 1 to %d, or 0 for %u",
				 cfg->blocking_queued, SKUA_MAX_BLOCKING_QUEUED,
				 DEFAULT_BLOCKING_QUEUED);
	if (cfg->blocking_idle_ns != 0 &&
	    cfg->blocking_idle_ns < SKUA_MIN_BLOCKING_IDLE_NS)
		return error_set(err, -EINVAL,
				 "blocking_idle_ns: %" PRIu64
				 ", allowed are at least %" PRIu64
				 ", SKUA_FOREVER_NS, or 0 for %" PRIu64,
				 cfg->blocking_idle_ns,
				 SKUA_MIN_BLOCKING_IDLE_NS,
				 DEFAULT_BLOCKING_IDLE_NS);
	return 0;
}

static int check_callbacks(const struct skua_config *cfg,
			   struct skua_error *err)
{
	if (cfg->allocator && (!cfg->allocator->alloc || !cfg->allocator->free))
		return error_set(err, -EINVAL,
				 "allocator: alloc or free is NULL, needed are "
				 "both");
	return 0;
}

static int check_ranges(const struct skua_config *cfg, struct skua_error *err)
{
	if (cfg->workers > SKUA_MAX_WORKERS)
		return error_set(err, -EINVAL,
				 "workers: %u, allowed are 1 to %d, or 0 for "
				 "one per allowed CPU",
				 cfg->workers, SKUA_MAX_WORKERS);
	if (cfg->queue_capacity != 0 &&
	    !local_queue_capacity_valid(cfg->queue_capacity))
		return error_set(err, -EINVAL,
				 "queue_capacity: %u, allowed are powers of "
				 "two from %d to %d, or 0 for %u",
				 cfg->queue_capacity, SKUA_MIN_QUEUE_CAPACITY,
				 SKUA_MAX_QUEUE_CAPACITY,
				 DEFAULT_QUEUE_CAPACITY);
	if (cfg->steal_attempts > SKUA_MAX_STEAL_ATTEMPTS)
		return error_set(err, -EINVAL,
				 "steal_attempts: %u, allowed are 1 to %d, or "
				 "0 for the default",
				 cfg->steal_attempts, SKUA_MAX_STEAL_ATTEMPTS);
	if (cfg->reserved != 0)
		return error_set(err, -EINVAL, "reserved: %u, allowed is 0",
				 cfg->reserved);
	return 0;
}

static int check_flags(const struct skua_config *cfg, struct skua_error *err)
{
	if (cfg->flags & ~ALL_FLAGS)
		return error_set(err, -EINVAL,
				 "flags: 0x%x, allowed are SKUA_UNPINNED, "
				 "_NO_ENV, _CALLER_DRIVEN, _HUGE_PAGES, "
				 "_REALTIME, _LOCK_MEMORY, _MEASURE_TOPOLOGY, "
				 "_TRUST_TOPOLOGY, _TRACK_TASKS (0x1 to 0x%x)",
				 cfg->flags, SKUA_TRACK_TASKS);
	if ((cfg->flags & TOPOLOGY_FLAGS) == TOPOLOGY_FLAGS)
		return error_set(err, -EINVAL,
				 "flags: 0x%x, allowed is one of "
				 "SKUA_MEASURE_TOPOLOGY (0x%x) and "
				 "SKUA_TRUST_TOPOLOGY (0x%x)",
				 cfg->flags, SKUA_MEASURE_TOPOLOGY,
				 SKUA_TRUST_TOPOLOGY);
	if (!(cfg->flags & SKUA_CALLER_DRIVEN))
		return 0;
	if (cfg->workers > 1)
		return error_set(err, -EINVAL,
				 "workers: %u, allowed is 1, or 0, with "
				 "SKUA_CALLER_DRIVEN",
				 cfg->workers);
	if (cfg->flags & SKUA_REALTIME)
		return error_set(err, -EINVAL,
				 "flags: SKUA_REALTIME and SKUA_CALLER_DRIVEN, "
				 "allowed is one: the thread is the caller's");
	return 0;
}

static int check_placement(const struct skua_config *cfg,
			   struct skua_error *err)
{
	if ((unsigned)cfg->placement > SKUA_PLACE_LISTED)
		return error_set(err, -EINVAL,
				 "placement: %u, allowed are "
				 "SKUA_PLACE_DEFAULT (%d) to SKUA_PLACE_LISTED "
				 "(%d)",
				 (unsigned)cfg->placement, SKUA_PLACE_DEFAULT,
				 SKUA_PLACE_LISTED);
	if (cfg->placement == SKUA_PLACE_LISTED && !cfg->cpus)
		return error_set(err, -EINVAL,
				 "placement: SKUA_PLACE_LISTED (listed), "
				 "needed are CPUs in cpus or SKUA_CPUS");
	return 0;
}

static void fill_in_blocking(struct config *out, const struct skua_config *cfg)
{
	out->blocking_threads = cfg->blocking_threads
					? cfg->blocking_threads
					: DEFAULT_BLOCKING_THREADS;
	out->blocking_queued = cfg->blocking_queued ? cfg->blocking_queued
						    : DEFAULT_BLOCKING_QUEUED;
	out->blocking_idle_ns = cfg->blocking_idle_ns
					? cfg->blocking_idle_ns
					: DEFAULT_BLOCKING_IDLE_NS;
}

static uint64_t spin(const struct skua_config *cfg, bool oversubscribed)
{
	switch (cfg->spin_ns) {
	case 0:
		return oversubscribed ? 0 : TUNING_SPIN_MEASURED;
	case SKUA_SPIN_NEVER:
		return 0;
	case SKUA_SPIN_FOREVER:
		return TUNING_SPIN_FOREVER;
	default:
		return cfg->spin_ns;
	}
}

static uint64_t lifo_delay(const struct skua_config *cfg)
{
	switch (cfg->lifo_steal_delay_ns) {
	case 0:
		return DEFAULT_LIFO_DELAY_NS;
	case SKUA_LIFO_PRIVATE:
		return TUNING_LIFO_PRIVATE;
	default:
		return cfg->lifo_steal_delay_ns;
	}
}

static void fill_in_stealing(struct config *out, const struct skua_config *cfg)
{
	out->tuning.steal_max =
		cfg->steal_max ? cfg->steal_max : DEFAULT_STEAL_MAX;
	out->tuning.steal_max_far =
		cfg->steal_max_far ? cfg->steal_max_far : DEFAULT_STEAL_MAX_FAR;
	out->tuning.far_samples =
		cfg->far_samples ? cfg->far_samples : DEFAULT_FAR_SAMPLES;
	out->tuning.far_delay_ns =
		cfg->far_delay_ns ? cfg->far_delay_ns : DEFAULT_FAR_DELAY_NS;
	out->tuning.young_ns = YOUNG_NS;
}

/* hooks_size - return how many bytes of the caller's struct skua_hooks may be read
 *
 * A caller whose config has the field stall_limit_ns also has hooks with the stall
 * hook: both came in the same version. */
static size_t hooks_size(const struct skua_config *cfg)
{
	return cfg->size > offsetof(struct skua_config, stall_limit_ns)
		       ? sizeof(struct skua_hooks)
		       : offsetof(struct skua_hooks, stall);
}

/* fill_in - copy the checked values, and set the defaults that depend on the CPUs and on
 * the CPU time of the control groups */
static void fill_in(struct config *out, const struct skua_config *cfg)
{
	/* With more workers than CPUs, a searching worker takes CPU time from one that
	 * polls. */
	bool oversubscribed = out->placement.worker_count > out->cpus.count;

	out->workers = out->placement.worker_count;
	out->lock_memory = cfg->flags & SKUA_LOCK_MEMORY;
	out->queue_capacity = cfg->queue_capacity ? cfg->queue_capacity
						  : DEFAULT_QUEUE_CAPACITY;
	out->tuning.steal_attempts = cfg->steal_attempts;
	if (out->tuning.steal_attempts == 0)
		out->tuning.steal_attempts =
			oversubscribed ? 1 : DEFAULT_STEAL_ATTEMPTS;
	fill_in_stealing(out, cfg);
	out->tuning.max_queued =
		cfg->max_queued ? cfg->max_queued : TUNING_QUEUED_UNBOUNDED;
	/* The CPU quota is left out here, because it may change: see
	 * idle_oversubscribed(). */
	out->tuning.spin_ns = spin(cfg, oversubscribed);
	/* With one worker, no thief could take the task in the LIFO slot. */
	out->tuning.lifo_delay_ns =
		out->workers == 1 ? TUNING_LIFO_PRIVATE : lifo_delay(cfg);
	out->huge_pages = cfg->flags & SKUA_HUGE_PAGES;
	out->allocator = cfg->allocator;
	out->track_tasks = cfg->flags & SKUA_TRACK_TASKS;
	out->stall_limit_ns = cfg->stall_limit_ns;
	out->stall_signal = cfg->stall_signal;
	out->fiber_stack =
		cfg->fiber_stack ? cfg->fiber_stack : DEFAULT_FIBER_STACK;
	fill_in_blocking(out, cfg);
	out->hooks = (struct skua_hooks){ .log = NULL };
	if (cfg->hooks)
		memcpy(&out->hooks, cfg->hooks, hooks_size(cfg));
}

static int check(const struct skua_config *cfg, struct skua_error *err)
{
	int code = check_ranges(cfg, err);

	if (!code)
		code = check_flags(cfg, err);
	if (!code)
		code = check_placement(cfg, err);
	if (!code)
		code = check_delays(cfg, err);
	if (!code)
		code = check_stealing(cfg, err);
	if (!code)
		code = check_stalls(cfg, err);
	if (!code)
		code = check_blocking(cfg, err);
	return code ? code : check_callbacks(cfg, err);
}

int config_resolve(struct config *out, const struct skua_config *cfg,
		   struct skua_error *err)
{
	struct skua_config copy;
	int code = copy_config(&copy, cfg, err);

	if (!code && !(copy.flags & SKUA_NO_ENV))
		code = config_from_environment(&copy, err);
	if (!code)
		code = check(&copy, err);
	/* After check(): a debug build sets a flag that the program did not set, and no
	 * error message should show it. */
	if (!code && !(copy.flags & SKUA_NO_ENV))
		code = config_track_from_environment(&copy, err);
	if (!code)
		code = config_place(out, &copy,
				    cfg && cfg->cpus
					    ? "cpus"
					    : "environment variable SKUA_CPUS",
				    err);
	if (code)
		return code;
	fill_in(out, &copy);
	if (!(copy.flags & SKUA_NO_ENV))
		config_warn_misspelt(&out->hooks);
	return 0;
}

void config_free(struct config *config)
{
	config_forget_machine(config);
	cpu_list_free(&config->cpus);
	placement_free(&config->placement);
}
