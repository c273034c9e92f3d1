/* SPDX-License-Identifier: MIT */
/* json_count.h - counts and other words of 64 bits as JSON */
#ifndef SKUA_BPF_CLI_JSON_COUNT_H
#define SKUA_BPF_CLI_JSON_COUNT_H

#include <jansson.h>
#include <stdint.h>

/* json_count - an integer; a greater one than jansson has, INT64_MAX, is that */
static inline json_t *json_count(uint64_t value)
{
	return json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value);
}

#endif
