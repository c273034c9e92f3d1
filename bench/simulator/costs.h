/* SPDX-License-Identifier: MIT */
/**
 * costs.h - the costs of steps, in nanoseconds
 *
 * These are guesses for a machine of two sockets with several nodes each. They are the
 * same in all figures that the design has quoted since its prototype. They only serve to
 * compare policies, and predict nothing about an existing machine.
 */
#ifndef SKUA_BENCH_SIMULATOR_COSTS_H
#define SKUA_BENCH_SIMULATOR_COSTS_H

#include <stdint.h>

/* The distance between two workers: the smallest unit of the machine that
 * they share. TIER_FAR: none. */
enum tier { TIER_CORE, TIER_CACHE, TIER_NODE, TIER_SOCKET, TIER_FAR, TIERS };

/* The cost of reading a victim's queue. Reading a line of a work map costs
 * half as much. */
static const uint64_t costs_probe_ns[TIERS] = { 15, 40, 110, 150, 300 };
/* The additional cost of taking tasks from the queue. For COSTS_STEAL_SERIAL_PERCENT of
 * this time, another thief of the same victim has to wait. */
static const uint64_t costs_steal_ns[TIERS] = { 40, 100, 250, 350, 700 };
#define COSTS_STEAL_SERIAL_PERCENT 40u
/* The cost of cold caches for a stolen task that does nothing but use memory. */
static const uint64_t costs_cold_ns[TIERS] = { 0, 150, 500, 800, 1300 };
/* How much longer, in percent, a task that does nothing but use memory runs on its home
 * node, elsewhere on the same socket, and on another socket. */
static const unsigned costs_penalty_percent[] = { 0, 30, 100 };
/* The percentage of their time for which tasks use memory. */
#define COSTS_MEMORY_PERCENT 50u

#define COSTS_WAKE_NS  UINT64_C(4000) /* from a claim to the first step */
#define COSTS_ROUND_NS UINT64_C(50)   /* least time of a round of a search */

#endif
