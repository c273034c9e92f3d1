/* SPDX-License-Identifier: MIT */
/* waits_io.h - print the descriptors and blocking calls for which a process waits */
#ifndef SKUA_BPF_WAITS_WAITS_IO_H
#define SKUA_BPF_WAITS_WAITS_IO_H

#include <jansson.h>

#include "bpf/waits/waits.h"

/* waits_io_text - print a table of the waits for descriptors, in which those that differ only
 * in the descriptor, its addresses and the waiter share a row; nothing if there are none */
void waits_io_text(const struct waits *waits);

/* waits_io_json - return an array with an object for each descriptor */
json_t *waits_io_json(const struct waits *waits);

/* waits_io_pools_text - print a table of the pools of threads for calls that block; nothing if
 * none is used */
void waits_io_pools_text(const struct waits *waits);

/* waits_io_pools_json - return an array with an object for each pool */
json_t *waits_io_pools_json(const struct waits *waits);

/* waits_io_name - write "descriptor 7 (TCP 10.0.0.1:80, peer 10.0.0.2:999), to read". @text:
 * WAITS_WHAT bytes. Return: @text */
const char *waits_io_name(const struct waits *waits, uint32_t descriptor,
			  unsigned way, char *text);

#endif
