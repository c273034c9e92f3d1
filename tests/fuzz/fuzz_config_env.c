/* SPDX-License-Identifier: MIT */
/**
 * fuzz_config_env.c - any text in the environment variables
 *
 * The input is one line for each variable, in the order below; an empty line
 * leaves it unset, or empty. The model says for each text what it means, or
 * that it is refused; the first one that is refused is the one that the error
 * names, with the text.
 */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "core/config/config.h"
#include "tests/fuzz/fuzz.h"

#define MAX_INPUT 1024u
/* Of a text, as much as an error shows at least. */
#define SHOWN 40u

struct word {
	const char *text;
	uint64_t value;
};

/* A variable, by runtime.h. */
struct variable {
	const char *name;
	uint64_t min;
	uint64_t max;
	bool power_of_two;
	struct word words[2];
};

enum { WORKERS, CAPACITY, ATTEMPTS, QUEUED, SPIN, LIFO, NUMBERS };
enum { UNPINNED = NUMBERS, CPUS, PLACEMENT, VARIABLES };

static const struct variable variables[VARIABLES] = {
	{ "SKUA_WORKERS", 1, 4096, false, { { NULL, 0 } } },
	{ "SKUA_QUEUE_CAPACITY", 4, 32768, true, { { NULL, 0 } } },
	{ "SKUA_STEAL_ATTEMPTS", 1, 1000000, false, { { NULL, 0 } } },
	{ "SKUA_MAX_QUEUED", 1, UINT32_MAX, false, { { NULL, 0 } } },
	{ "SKUA_SPIN_NS",
	  1,
	  1000000000,
	  false,
	  { { "never", SKUA_SPIN_NEVER }, { "forever", SKUA_SPIN_FOREVER } } },
	{ "SKUA_LIFO_STEAL_DELAY_NS",
	  1000,
	  1000000000,
	  false,
	  { { "private", SKUA_LIFO_PRIVATE } } },
	{ "SKUA_UNPINNED", 0, 1, false, { { NULL, 0 } } },
	{ "SKUA_CPUS", 0, 0, false, { { NULL, 0 } } },
	{ "SKUA_PLACEMENT", 1, 0, false, { { NULL, 0 } } },
};

static const char *const placements[] = { "default", "compact", "scatter",
					  "cores",   "caches",  "listed" };

/* The meaning of a text; -1: it is refused. */
static int model_placement(const char *text)
{
	for (int i = 0; i <= SKUA_PLACE_LISTED; i++) {
		if (strcmp(text, placements[i]) == 0)
			return i;
	}
	return *text ? -1 : SKUA_PLACE_DEFAULT;
}

/* Digits alone, read without strtoull(); false: none, or above 2^64 - 1. */
static bool model_number(const char *text, uint64_t *number)
{
	*number = 0;
	for (const char *at = text; *at; at++) {
		if (*at < '0' || *at > '9' ||
		    __builtin_mul_overflow(*number, 10, number) ||
		    __builtin_add_overflow(*number, (uint64_t)(*at - '0'),
					   number))
			return false;
	}
	return *text != '\0';
}

/* The value of a text; false: it is refused. */
static bool model_value(const struct variable *v, const char *text,
			uint64_t *value)
{
	for (unsigned i = 0; i < 2 && v->words[i].text; i++) {
		if (strcmp(text, v->words[i].text) == 0) {
			*value = v->words[i].value;
			return true;
		}
	}
	return model_number(text, value) && *value >= v->min &&
	       *value <= v->max &&
	       (!v->power_of_two || __builtin_popcountll(*value) == 1);
}

/* Cut the input into lines, and set the variables by them. */
static void set_environment(char *text, char *values[VARIABLES])
{
	for (unsigned i = 0; i < VARIABLES; i++) {
		char *end = text + strcspn(text, "\n");
		bool last = *end == '\0';

		*end = '\0';
		values[i] = text;
		if (*text || i % 2) /* an empty one counts as not set */
			setenv(variables[i].name, text, 1);
		else
			unsetenv(variables[i].name);
		text = last ? end : end + 1;
	}
}

static uint64_t field(const struct skua_config *cfg, unsigned i)
{
	const uint64_t fields[NUMBERS] = {
		[WORKERS] = cfg->workers,
		[CAPACITY] = cfg->queue_capacity,
		[ATTEMPTS] = cfg->steal_attempts,
		[QUEUED] = cfg->max_queued,
		[SPIN] = cfg->spin_ns,
		[LIFO] = cfg->lifo_steal_delay_ns,
	};

	return fields[i];
}

/* The error is one line that names the variable and its text, as far as it
 * fits and
 * is a line. */
static void check_error(const struct skua_error *err, int code,
			const struct variable *v, const char *text)
{
	char shown[SHOWN + 1];

	fuzz_check(code == -EINVAL && err->code == code, "%s: %d, %d", v->name,
		   code, err->code);
	fuzz_check(memchr(err->text, '\0', sizeof(err->text)) != NULL,
		   "%s: text without end", v->name);
	fuzz_check(strstr(err->text, v->name), "%s: not in \"%s\"", v->name,
		   err->text);
	snprintf(shown, sizeof(shown), "%s", text);
	for (char *at = shown; *at; at++) {
		if (iscntrl((unsigned char)*at))
			*at = '?';
	}
	fuzz_check(strstr(err->text, shown), "\"%s\": not in \"%s\"", shown,
		   err->text);
	for (const char *at = err->text; *at; at++)
		fuzz_check(!iscntrl((unsigned char)*at), "%s: byte %d", v->name,
			   *at);
}

/* Each field as the model has it; @given: those that were no default. */
static void check_fields(const struct skua_config *cfg,
			 const struct skua_config *given, char *values[])
{
	for (unsigned i = 0; i < NUMBERS; i++) {
		uint64_t value = field(given, i);

		if (value == 0 && *values[i])
			model_value(&variables[i], values[i], &value);
		fuzz_check(field(cfg, i) == value,
			   "%s: %" PRIu64 ", not %" PRIu64, variables[i].name,
			   field(cfg, i), value);
	}
	if (given->cpus)
		fuzz_check(cfg->cpus == given->cpus, "cpus replaced");
	else
		fuzz_check(*values[CPUS]
				   ? cfg->cpus && strcmp(cfg->cpus,
							 values[CPUS]) == 0
				   : !cfg->cpus,
			   "cpus: \"%s\"", values[CPUS]);
	fuzz_check((int)cfg->placement ==
			   (given->placement
				    ? (int)given->placement
				    : model_placement(values[PLACEMENT])),
		   "placement %d", (int)cfg->placement);
	fuzz_check(cfg->flags == (strcmp(values[UNPINNED], "1") == 0
					  ? given->flags | SKUA_UNPINNED
					  : given->flags),
		   "flags 0x%x", cfg->flags);
}

/* The first variable that is refused, VARIABLES if there is none. */
static unsigned first_refused(const struct skua_config *given, char *values[])
{
	for (unsigned i = 0; i < CPUS; i++) {
		uint64_t value;

		if (*values[i] && (i >= NUMBERS || field(given, i) == 0) &&
		    !(model_value(&variables[i], values[i], &value) &&
		      (i != UNPINNED || values[i][1] == '\0')))
			return i;
	}
	return given->placement || model_placement(values[PLACEMENT]) >= 0
		       ? VARIABLES
		       : PLACEMENT;
}

/* A field that is set keeps its value, whatever the environment says. */
static void give_fields(struct skua_config *cfg, unsigned which)
{
	if (which & 1)
		cfg->workers = 3;
	if (which & 2)
		cfg->queue_capacity = 64;
	if (which & 4)
		cfg->spin_ns = SKUA_SPIN_NEVER;
	if (which & 8)
		cfg->cpus = "7";
	if (which & 16)
		cfg->flags = SKUA_UNPINNED;
	if (which & 32)
		cfg->placement = SKUA_PLACE_SCATTER;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct skua_config given = SKUA_CONFIG_INIT;
	struct skua_config cfg;
	struct skua_error err = { 0 };
	char text[MAX_INPUT + 1];
	char *values[VARIABLES];
	unsigned refused;
	int code;

	if (size < 1 || size > MAX_INPUT)
		return -1; /* says nothing new */
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	set_environment(text, values);
	give_fields(&given, data[0] >= '@' ? data[0] - '@' : 0);
	refused = first_refused(&given, values);

	cfg = given;
	code = config_from_environment(&cfg, &err);
	if (refused == VARIABLES) {
		fuzz_check(code == 0 && err.code == 0, "refused: %s", err.text);
		check_fields(&cfg, &given, values);
	} else {
		check_error(&err, code, &variables[refused], values[refused]);
		cfg = given;
		fuzz_check(config_from_environment(&cfg, NULL) == code,
			   "another code without a place for the error");
	}
	return 0;
}
