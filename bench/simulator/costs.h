/* SPDX-License-Identifier: MIT */
/**
 * costs.h - the costs of steps, in nanoseconds
 *
 * Guesses for a machine of two sockets with several nodes each, and the same in
 * all figures that the design has quoted since its prototype: only policies are
 * compared by them, and nothing is said of a machine that exists.
 */
#ifndef SKUA_BENCH_SIMULATOR_COSTS_H
#define SKUA_BENCH_SIMULATOR_COSTS_H

#include <stdint.h>

/* The distance between two workers. */
enum tier { TIER_CORE, TIER_CACHE, TIER_NODE, TIER_SOCKET, TIER_FAR, TIERS };

/* To read a victim's queue; a line of a work map costs half of it. */
static const uint64_t costs_probe_ns[TIERS] = { 15, 40, 110, 150, 300 };
/* To take from it, in addition. Thieves of one victim wait for each other for
 * COSTS_STEAL_SERIAL_PERCENT of that. */
static const uint64_t costs_steal_ns[TIERS] = { 40, 100, 250, 350, 700 };
#define COSTS_STEAL_SERIAL_PERCENT 40u
/* A task that was stolen finds cold caches, all the more as it uses memory. */
static const uint64_t costs_cold_ns[TIERS] = { 0, 150, 500, 800, 1300 };
/* A task that uses memory runs so much longer away from its node: on it, on the
 * same socket, elsewhere. */
static const unsigned costs_penalty_percent[] = { 0, 30, 100 };
/* The share of their time for which tasks wait for memory. */
#define COSTS_MEMORY_PERCENT 50u

#define COSTS_WAKE_NS  UINT64_C(4000) /* from a claim to the first step */
#define COSTS_ROUND_NS UINT64_C(50)   /* of a search, at least */

#endif
