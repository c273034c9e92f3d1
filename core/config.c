/* SPDX-License-Identifier: MIT */
/* config.c - see config.h */
#include "core/config.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/idle.h"
#include "core/local_queue.h"

#define DEFAULT_QUEUE_CAPACITY 256u
/* A guess, from the executor seed; the `wake` workload retunes it. */
#define DEFAULT_STEAL_ATTEMPTS 32u

/* The first version of the struct ended with flags. */
#define CONFIG_MIN_SIZE (offsetof(struct skua_config, flags) + sizeof(unsigned))

static_assert(SKUA_MAX_WORKERS == IDLE_MAX_WORKERS, "one limit, two layers");
static_assert(SKUA_MIN_QUEUE_CAPACITY == LOCAL_QUEUE_MIN_CAPACITY &&
		      SKUA_MAX_QUEUE_CAPACITY == LOCAL_QUEUE_MAX_CAPACITY,
	      "one limit, two layers");

int error_set(struct skua_error *err, int code, const char *format, ...)
{
	va_list args;

	if (err) {
		err->code = code;
		va_start(args, format);
		vsnprintf(err->text, sizeof(err->text), format, args);
		va_end(args);
	}
	return code;
}

/*
 * Copy the part of the struct that both sides know. A newer caller's fields
 * are refused unless they are zero, the default of any field.
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
				 "size: %zu, but sizeof(struct skua_config) "
				 "is at least %zu",
				 cfg->size, CONFIG_MIN_SIZE);
	for (size_t i = sizeof(*copy); i < cfg->size; i++) {
		if (bytes[i] != 0)
			return error_set(
				err, -EINVAL,
				"size: %zu, with a field set that this "
				"version, of size %zu, does not know",
				cfg->size, sizeof(*copy));
	}
	memcpy(copy, cfg,
	       cfg->size < sizeof(*copy) ? cfg->size : sizeof(*copy));
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
	if (cfg->flags & ~SKUA_UNPINNED)
		return error_set(err, -EINVAL,
				 "flags: 0x%x, allowed is SKUA_UNPINNED (0x%x)",
				 cfg->flags, SKUA_UNPINNED);
	return 0;
}

/* Take the CPUs that the user named, if each is allowed, or all allowed. */
static int choose_cpus(struct cpu_list *out, const char *text,
		       struct skua_error *err)
{
	struct cpu_list allowed;
	int code = cpu_list_allowed(&allowed);

	if (code)
		return error_set(err, code, "cannot read the affinity mask: %s",
				 strerror(-code));
	if (!text) {
		*out = allowed;
		return 0;
	}
	code = cpu_list_parse(out, text);
	if (code == -EINVAL)
		error_set(err, code,
			  "cpus: \"%.60s\", allowed are numbers below %u and "
			  "ranges, as in \"0-3,8\"",
			  text, CPU_LIST_LIMIT);
	else if (code)
		error_set(err, code, "cpus: %s", strerror(-code));
	for (unsigned i = 0; !code && i < out->count; i++) {
		if (!cpu_list_contains(&allowed, out->cpus[i]))
			code = error_set(err, -EINVAL,
					 "cpus: \"%.60s\", but CPU %u is not "
					 "among those that this thread may use",
					 text, out->cpus[i]);
		if (code)
			cpu_list_free(out);
	}
	cpu_list_free(&allowed);
	return code;
}

int config_resolve(struct config *out, const struct skua_config *cfg,
		   struct skua_error *err)
{
	struct skua_config copy;
	int code = copy_config(&copy, cfg, err);

	if (!code)
		code = check_ranges(&copy, err);
	if (!code)
		code = choose_cpus(&out->cpus, copy.cpus, err);
	if (code)
		return code;

	out->workers = copy.workers ? copy.workers : out->cpus.count;
	if (out->workers > SKUA_MAX_WORKERS)
		out->workers = SKUA_MAX_WORKERS;
	out->queue_capacity = copy.queue_capacity ? copy.queue_capacity
						  : DEFAULT_QUEUE_CAPACITY;
	out->steal_attempts = copy.steal_attempts;
	/* More workers than CPUs: searching takes time from those that work. */
	if (out->steal_attempts == 0)
		out->steal_attempts = out->workers > out->cpus.count
					      ? 1
					      : DEFAULT_STEAL_ATTEMPTS;
	out->pinned = !(copy.flags & SKUA_UNPINNED);
	return 0;
}

void config_free(struct config *config)
{
	cpu_list_free(&config->cpus);
}
