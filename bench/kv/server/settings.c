/* SPDX-License-Identifier: MIT */
/* settings.c - the settings of the server, which CONFIG GET and CONFIG SET see */
#include "bench/kv/server/settings.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>

enum kind { MEMORY, COUNT, PASSWORD, LIMITS, TEXT, FIXED };

/* The settings, and some of Redis that clients ask for and that have one value here. */
static const struct {
	const char *name;
	enum kind kind;
	size_t field;
	const char *fixed;
	uint64_t least, most;
} names[] = {
	{ "maxmemory", MEMORY, offsetof(struct settings, max_memory), NULL, 0,
	  UINT64_MAX / 2 },
	{ "maxmemory-clients", MEMORY, offsetof(struct settings, max_buffers),
	  NULL, 0, UINT64_MAX / 2 },
	{ "maxclients", COUNT, offsetof(struct settings, max_clients), NULL, 1,
	  UINT_MAX },
	{ "proto-max-bulk-len", MEMORY, offsetof(struct settings, max_bulk),
	  NULL, 1 << 20, SETTING_MAX_BULK },
	{ "requirepass", PASSWORD, offsetof(struct settings, password), NULL, 0,
	  0 },
	{ "client-output-buffer-limit", LIMITS, 0, NULL, 0, 0 },
	{ "auto-aof-rewrite-percentage", COUNT,
	  offsetof(struct settings, rewrite_percent), NULL, 0, INT_MAX },
	{ "auto-aof-rewrite-min-size", MEMORY,
	  offsetof(struct settings, rewrite_min_size), NULL, 0, INT64_MAX },
	{ "maxmemory-policy", FIXED, 0, "noeviction", 0, 0 },
	{ "appendonly", TEXT, offsetof(struct settings, append_only), NULL, 0,
	  0 },
	{ "appendfsync", TEXT, offsetof(struct settings, append_fsync), NULL, 0,
	  0 },
	{ "appendfilename", TEXT, offsetof(struct settings, append_file), NULL,
	  0, 0 },
	{ "dir", TEXT, offsetof(struct settings, folder), NULL, 0, 0 },
	{ "save", FIXED, 0, "", 0, 0 },
	{ "databases", FIXED, 0, "1", 0, 0 },
	{ "timeout", FIXED, 0, "0", 0, 0 },
};

#define SETTINGS (sizeof(names) / sizeof(names[0]))

void settings_init(struct settings *settings)
{
	memset(settings, 0, sizeof(*settings));
	settings->max_clients = 10000;
	settings->max_bulk = SETTING_MAX_BULK;
	settings->max_reply = 1ull << 30;
	settings->pubsub_hard = 32 << 20;
	settings->pubsub_soft = 8 << 20;
	settings->pubsub_soft_s = 60;
	settings->rewrite_percent = 100;
	settings->rewrite_min_size = 64 << 20;
	settings->append_only = "no";
	settings->append_fsync = "everysec";
	settings->folder = ".";
	settings->append_file = "skua-kv.log";
	settings->port = 6379;
	strcpy(settings->address, "127.0.0.1");
}

/* The classes of clients, as Redis names them. Only that of subscribers can be changed. */
#define OTHER_LIMITS "normal 0 0 0 slave 268435456 67108864 60 pubsub"

const char *settings_read(const struct settings *settings, unsigned i,
			  const char **name, char text[SETTING_TEXT])
{
	const char *at = (const char *)settings;

	if (i >= SETTINGS)
		return NULL;
	*name = names[i].name;
	if (names[i].kind == FIXED)
		return names[i].fixed;
	if (names[i].kind == LIMITS) {
		snprintf(text, SETTING_TEXT, OTHER_LIMITS " %llu %llu %llu",
			 (unsigned long long)setting(&settings->pubsub_hard),
			 (unsigned long long)setting(&settings->pubsub_soft),
			 (unsigned long long)setting(&settings->pubsub_soft_s));
		return text;
	}
	at += names[i].field;
	if (names[i].kind == PASSWORD)
		return at;
	if (names[i].kind == TEXT)
		return *(const char *const *)(const void *)at;
	text[number_format(
		text, (int64_t)setting((const uint64_t *)(const void *)at))] =
		'\0';
	return text;
}

bool memory_parse(struct bytes text, uint64_t *out)
{
	static const struct {
		const char *name;
		uint64_t bytes;
	} units[] = { { "", 1 },           { "b", 1 },       { "k", 1000 },
		      { "kb", 1 << 10 },   { "m", 1000000 }, { "mb", 1 << 20 },
		      { "g", 1000000000 }, { "gb", 1 << 30 } };
	size_t digits = 0;
	int64_t number;

	while (digits < text.size && text.data[digits] >= '0' &&
	       text.data[digits] <= '9')
		digits++;
	if (!number_parse((struct bytes){ text.data, digits }, &number))
		return false;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		struct bytes unit = { text.data + digits, text.size - digits };

		if (bytes_is(unit, units[i].name))
			return !__builtin_mul_overflow((uint64_t)number,
						       units[i].bytes, out);
	}
	return false;
}

static const char *set_password(struct settings *settings, struct bytes value)
{
	if (value.size >= sizeof(settings->password))
		return "the password must be shorter than 128 bytes";
	memcpy(settings->password, value.data, value.size);
	settings->password[value.size] = '\0';
	setting_store(&settings->has_password, value.size > 0);
	return NULL;
}

/* The text of a setting that cannot be changed. */
static const char *fixed_text(const struct settings *settings, unsigned i)
{
	const char *at = (const char *)settings + names[i].field;

	return names[i].kind == FIXED ? names[i].fixed
				      : *(const char *const *)(const void *)at;
}

/* Take the next word, up to a space, off a text. */
static struct bytes next_word(struct bytes *text)
{
	struct bytes word = *text;
	const char *space = memchr(text->data, ' ', text->size);

	if (space)
		word.size = (size_t)(space - text->data);
	text->data += word.size + (space != NULL);
	text->size -= word.size + (space != NULL);
	return word;
}

/* Set the limits of one class of clients or of several: "pubsub 32mb 8mb 60". */
static const char *set_limits(struct settings *settings, struct bytes value)
{
	static const char *const counts = "Wrong number of arguments in buffer "
					  "limit configuration.";
	uint64_t hard, soft;
	int64_t seconds;

	do {
		struct bytes class = next_word(&value);
		struct bytes words[3];

		for (int i = 0; i < 3; i++) {
			if (!value.size)
				return counts;
			words[i] = next_word(&value);
		}
		if (!bytes_is(class, "pubsub"))
			return "Invalid client class specified in buffer limit "
			       "configuration.";
		if (!memory_parse(words[0], &hard) ||
		    !memory_parse(words[1], &soft) ||
		    !number_parse(words[2], &seconds) || seconds < 0)
			return "Error in hard, soft or soft_seconds setting in "
			       "buffer limit configuration.";
		setting_store(&settings->pubsub_hard, hard);
		setting_store(&settings->pubsub_soft, soft);
		setting_store(&settings->pubsub_soft_s, (uint64_t)seconds);
	} while (value.size);
	return NULL;
}

/* Return the number of a setting; that of all settings: there is none. */
static unsigned find(struct bytes name)
{
	unsigned i = 0;

	while (i < SETTINGS && !bytes_is(name, names[i].name))
		i++;
	return i;
}

bool settings_know(const struct settings *settings, struct bytes name,
		   struct bytes value, bool *refused)
{
	unsigned i = find(name);

	*refused = i < SETTINGS &&
		   (names[i].kind == FIXED || names[i].kind == TEXT) &&
		   !bytes_is(value, fixed_text(settings, i));
	return i < SETTINGS;
}

const char *settings_write(struct settings *settings, struct bytes name,
			   struct bytes value, char text[SETTING_TEXT])
{
	unsigned i = find(name);
	uint64_t number;
	int64_t signed_number;

	if (names[i].kind == FIXED || names[i].kind == TEXT)
		return NULL;
	if (names[i].kind == PASSWORD)
		return set_password(settings, value);
	if (names[i].kind == LIMITS)
		return set_limits(settings, value);
	if (names[i].kind == MEMORY) {
		if (!memory_parse(value, &number))
			return "argument must be a memory value";
	} else {
		if (!number_parse(value, &signed_number))
			return "argument couldn't be parsed into an integer";
		/* A negative number is larger than any limit. */
		number = (uint64_t)signed_number;
	}
	if (number < names[i].least || number > names[i].most) {
		snprintf(text, SETTING_TEXT,
			 "argument must be between %" PRIu64 " and %" PRIu64
			 " inclusive",
			 names[i].least, names[i].most);
		return text;
	}
	setting_store((uint64_t *)(void *)((char *)settings + names[i].field),
		      number);
	return NULL;
}
