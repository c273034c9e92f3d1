/* SPDX-License-Identifier: MIT */
/* claim.h - claim a parked worker, and wake it */
#ifndef SKUA_CORE_IDLE_CLAIM_H
#define SKUA_CORE_IDLE_CLAIM_H

#include "core/idle/idle.h"

/* claim_worker - clear the parked bit of worker @i, and wake it. The caller has
 * counted a searcher on its behalf (I4). @told: how many tasks the worker is told
 * of. Return: false if the bit was clear. */
bool claim_worker(struct idle *idle, unsigned i, uint32_t told);

/* claim_any - claim the parked worker of @group that is best to wake. Otherwise as
 * claim_worker(). Return: false if no bit is set. */
bool claim_any(struct idle *idle, unsigned group, uint32_t told);

#endif
