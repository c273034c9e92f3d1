/* SPDX-License-Identifier: MIT */
/* frozen_queue.h - see frozen_queue.c */
#ifndef SKUA_TESTS_FROZEN_QUEUE_H
#define SKUA_TESTS_FROZEN_QUEUE_H

#include <stdint.h>

/* frozen_in_steal - the hook: called between the claim of @count items and its release */
void frozen_in_steal(uint32_t count);

#endif
