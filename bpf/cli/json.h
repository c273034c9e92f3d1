/* SPDX-License-Identifier: MIT */
/* json.h - writes 64-bit numbers as JSON, and prints objects */
#ifndef SKUA_BPF_CLI_JSON_H
#define SKUA_BPF_CLI_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* json_count - return an integer; a value above INT64_MAX, the limit of
 * jansson, becomes INT64_MAX */
static inline json_t *json_count(uint64_t value)
{
	return json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value);
}

/* json_set_count - set a member of @object */
static inline void json_set_count(json_t *object, const char *name,
				  uint64_t value)
{
	json_object_set_new(object, name, json_count(value));
}

/* A number in a struct; its name in JSON is that of the member. A list ends
 * with an entry without a name. */
struct json_field {
	const char *name;
	size_t offset;
	size_t bytes; /* 4 or 8 */
};

#define JSON_FIELD(type, member)                                   \
	{                                                          \
		.name = #member, .offset = offsetof(type, member), \
		.bytes = sizeof(((type *)0)->member)               \
	}

/* json_set_fields - set members of @object from a list of fields, in its order */
static inline void json_set_fields(json_t *object,
				   const struct json_field *fields,
				   const void *from)
{
	for (; fields->name; fields++) {
		const char *at = (const char *)from + fields->offset;
		uint32_t narrow;
		uint64_t value;

		if (fields->bytes == sizeof(narrow)) {
			memcpy(&narrow, at, sizeof(narrow));
			value = narrow;
		} else {
			memcpy(&value, at, sizeof(value));
		}
		json_set_count(object, fields->name, value);
	}
}

/**
 * json_print - print an object as one line
 * @object: freed in any case; NULL: there was no memory for it
 * @digits: how many digits of a number with a fraction to print; 0: as many as
 *         an exact value needs
 *
 * Return: false if there is no memory; then nothing is printed.
 */
static inline bool json_print(FILE *file, json_t *object, unsigned digits)
{
	char *text =
		object ? json_dumps(object,
				    JSON_COMPACT | JSON_REAL_PRECISION(digits))
		       : NULL;
	bool printed = text != NULL;

	if (printed)
		fprintf(file, "%s\n", text);
	free(text);
	json_decref(object);
	return printed;
}

#endif
