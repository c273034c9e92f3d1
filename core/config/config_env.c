/* SPDX-License-Identifier: MIT */
/* config_env.c - take defaults of a configuration from environment variables */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/atomic.h"
#include "core/config/config.h"
#include "core/os/log.h"
#include "probes/environment.h"
#include "skua/fiber.h"

/* A word that a variable may have instead of a number, and the value of the field then. */
struct word {
	const char *text;
	uint64_t value;
};

/* A numeric field of struct skua_config, and the allowed values of its variable. */
struct variable {
	const char *name;
	size_t offset;
	size_t size;
	uint64_t min;
	uint64_t max;
	struct word words[2];
	bool power_of_two;
	bool threads; /* ignored with SKUA_CALLER_DRIVEN */
};

#define FIELD(field)                                   \
	.offset = offsetof(struct skua_config, field), \
	.size = sizeof(((struct skua_config *)0)->field)

static const struct variable variables[] = {
	{ .name = "SKUA_WORKERS",
	  FIELD(workers),
	  .min = 1,
	  .max = SKUA_MAX_WORKERS },
	{ .name = "SKUA_QUEUE_CAPACITY",
	  FIELD(queue_capacity),
	  .min = SKUA_MIN_QUEUE_CAPACITY,
	  .max = SKUA_MAX_QUEUE_CAPACITY,
	  .power_of_two = true },
	{ .name = "SKUA_STEAL_ATTEMPTS",
	  FIELD(steal_attempts),
	  .min = 1,
	  .max = SKUA_MAX_STEAL_ATTEMPTS },
	{ .name = "SKUA_MAX_QUEUED",
	  FIELD(max_queued),
	  .min = 1,
	  .max = UINT32_MAX },
	{ .name = "SKUA_SPIN_NS",
	  FIELD(spin_ns),
	  .min = 1,
	  .max = SKUA_MAX_DELAY_NS,
	  .words = { { "never", SKUA_SPIN_NEVER },
		     { "forever", SKUA_SPIN_FOREVER } } },
	{ .name = "SKUA_LIFO_STEAL_DELAY_NS",
	  FIELD(lifo_steal_delay_ns),
	  .min = SKUA_MIN_LIFO_DELAY_NS,
	  .max = SKUA_MAX_DELAY_NS,
	  .words = { { "private", SKUA_LIFO_PRIVATE } } },
	{ .name = "SKUA_STEAL_MAX",
	  FIELD(steal_max),
	  .min = 1,
	  .max = SKUA_MAX_STEAL },
	{ .name = "SKUA_STEAL_MAX_FAR",
	  FIELD(steal_max_far),
	  .min = 1,
	  .max = SKUA_MAX_STEAL },
	{ .name = "SKUA_FAR_DELAY_NS",
	  FIELD(far_delay_ns),
	  .min = 1,
	  .max = SKUA_MAX_DELAY_NS },
	{ .name = "SKUA_FAR_SAMPLES",
	  FIELD(far_samples),
	  .min = 1,
	  .max = SKUA_MAX_FAR_SAMPLES },
	{ .name = "SKUA_STALL_LIMIT_NS",
	  FIELD(stall_limit_ns),
	  .min = SKUA_MIN_STALL_LIMIT_NS,
	  .max = SKUA_MAX_STALL_LIMIT_NS,
	  .threads = true },
	{ .name = "SKUA_FIBER_STACK",
	  FIELD(fiber_stack),
	  .min = SKUA_MIN_STACK,
	  .max = SKUA_MAX_STACK },
	{ .name = "SKUA_BLOCKING_THREADS",
	  FIELD(blocking_threads),
	  .min = 1,
	  .max = SKUA_MAX_BLOCKING_THREADS },
	{ .name = "SKUA_BLOCKING_QUEUED",
	  FIELD(blocking_queued),
	  .min = 1,
	  .max = SKUA_MAX_BLOCKING_QUEUED },
	{ .name = "SKUA_BLOCKING_IDLE_NS",
	  FIELD(blocking_idle_ns),
	  .min = SKUA_MIN_BLOCKING_IDLE_NS,
	  .max = SKUA_FOREVER_NS - 1,
	  .words = { { "forever", SKUA_FOREVER_NS } } },
};

/* lookup - return the text of a variable; NULL if it is not set or is empty, or if the
 * program has rights that its caller lacks (set-uid) */
static const char *lookup(const char *name)
{
	const char *text = secure_getenv(name);

	return text && *text ? text : NULL;
}

static uint64_t read_field(const struct skua_config *cfg,
			   const struct variable *v)
{
	uint64_t value = 0;

	memcpy(&value, (const char *)cfg + v->offset, v->size);
	return value;
}

static void write_field(struct skua_config *cfg, const struct variable *v,
			uint64_t value)
{
	uint32_t narrow = (uint32_t)value;

	if (v->size == sizeof(value))
		memcpy((char *)cfg + v->offset, &value, sizeof(value));
	else
		memcpy((char *)cfg + v->offset, &narrow, sizeof(narrow));
}

/* parse - read a number within the range, or one of the words */
static int parse(const struct variable *v, const char *text, uint64_t *value)
{
	unsigned long long number;
	char *end;

	for (unsigned i = 0; i < 2 && v->words[i].text; i++) {
		if (strcmp(text, v->words[i].text) == 0) {
			*value = v->words[i].value;
			return 0;
		}
	}
	errno = 0;
	number = strtoull(text, &end, 10);
	if (!isdigit((unsigned char)*text) || *end != '\0' || errno != 0 ||
	    number < v->min || number > v->max)
		return -EINVAL;
	if (v->power_of_two && (number & (number - 1)) != 0)
		return -EINVAL;
	*value = number;
	return 0;
}

static int refuse(const struct variable *v, const char *text,
		  struct skua_error *err)
{
	char words[40] = "";

	for (unsigned i = 0; i < 2 && v->words[i].text; i++) {
		size_t length = strlen(words);

		snprintf(words + length, sizeof(words) - length, " or \"%s\"",
			 v->words[i].text);
	}
	return error_set(
		err, -EINVAL,
		"environment variable %s: \"%.40s\", allowed are "
		"%s%llu to %llu%s",
		v->name, text, v->power_of_two ? "powers of two from " : "",
		(unsigned long long)v->min, (unsigned long long)v->max, words);
}

/* In the order of enum skua_placement. */
static const char *const placements[] = { "default", "compact", "scatter",
					  "cores",   "caches",  "listed" };

static int read_placement(struct skua_config *cfg, struct skua_error *err)
{
	const char *text = lookup("SKUA_PLACEMENT");

	if (!text || cfg->placement != SKUA_PLACE_DEFAULT)
		return 0;
	for (unsigned i = 0; i <= SKUA_PLACE_LISTED; i++) {
		if (strcmp(text, placements[i]) == 0) {
			cfg->placement = (enum skua_placement)i;
			return 0;
		}
	}
	return error_set(err, -EINVAL,
			 "environment variable SKUA_PLACEMENT: \"%.40s\", "
			 "allowed are default, compact, scatter, cores, caches "
			 "and listed",
			 text);
}

/* Without NDEBUG, tasks are tracked unless the variable says otherwise. */
#ifdef NDEBUG
#define TRACK_BY_DEFAULT NULL
#else
#define TRACK_BY_DEFAULT "1"
#endif

/* read_flag_text - set flag @if_0 or @if_1, as @text says, unless the program set one of
 * them; @text: NULL if the variable is not set */
static int read_flag_text(struct skua_config *cfg, const char *name,
			  const char *text, unsigned if_0, unsigned if_1,
			  struct skua_error *err)
{
	if (!text)
		return 0;
	if (strcmp(text, "0") != 0 && strcmp(text, "1") != 0)
		return error_set(err, -EINVAL,
				 "environment variable %s: \"%.40s\", allowed "
				 "are 0 and 1",
				 name, text);
	if (!(cfg->flags & (if_0 | if_1)))
		cfg->flags |= *text == '1' ? if_1 : if_0;
	return 0;
}

static int read_flag(struct skua_config *cfg, const char *name, unsigned if_0,
		     unsigned if_1, struct skua_error *err)
{
	return read_flag_text(cfg, name, lookup(name), if_0, if_1, err);
}

int config_track_from_environment(struct skua_config *cfg,
				  struct skua_error *err)
{
	static const char name[] = "SKUA_TRACK_TASKS";
	const char *text = lookup(name);

	return read_flag_text(cfg, name, text ? text : TRACK_BY_DEFAULT, 0,
			      SKUA_TRACK_TASKS, err);
}

void config_warn_misspelt(const struct skua_hooks *hooks)
{
	static atomic_u32 warned;
	bool first = true;

	/* Relaxed, here and below: the word guards no data. */
	if (!hooks->log || atomic_load_relaxed(&warned))
		return;
	for (char **entry = environ; entry && *entry; entry++) {
		const char *meant = environment_meant(*entry);
		char name[48];

		if (!meant)
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(*entry, "="),
			 *entry);
		/* Not if it is empty, or if the program has more rights. */
		if (!lookup(name))
			continue;
		/* Of several threads, one goes on. */
		if (first && atomic_fetch_or_relaxed(&warned, 1))
			return;
		first = false;
		log_say(hooks, SKUA_LOG_WARNING,
			"environment variable %s is not known, and is ignored: "
			"did you mean %s?",
			name, meant);
	}
}

int config_from_environment(struct skua_config *cfg, struct skua_error *err)
{
	int code;

	/* A caller-driven runtime has one worker, whatever SKUA_WORKERS says. */
	if ((cfg->flags & SKUA_CALLER_DRIVEN) && cfg->workers == 0)
		cfg->workers = 1;
	for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++) {
		const struct variable *v = &variables[i];
		const char *text = lookup(v->name);
		uint64_t value;

		if (!text || read_field(cfg, v) != 0 ||
		    (v->threads && (cfg->flags & SKUA_CALLER_DRIVEN)))
			continue;
		if (parse(v, text, &value))
			return refuse(v, text, err);
		write_field(cfg, v, value);
	}
	if (!cfg->cpus)
		cfg->cpus = lookup("SKUA_CPUS");
	code = read_flag(cfg, "SKUA_UNPINNED", 0, SKUA_UNPINNED, err);
	if (!code)
		code = read_flag(cfg, "SKUA_HUGE_PAGES", 0, SKUA_HUGE_PAGES,
				 err);
	if (!code)
		code = read_flag(cfg, "SKUA_MEASURE_TOPOLOGY",
				 SKUA_TRUST_TOPOLOGY, SKUA_MEASURE_TOPOLOGY,
				 err);
	return code ? code : read_placement(cfg, err);
}
