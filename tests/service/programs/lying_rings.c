/* SPDX-License-Identifier: MIT */
/*
 * lying_rings.c [bad] - a process whose debug area says that 64 workers have rings of
 * 2 GiB each, which never get empty; until a line or the end of its standard input
 *
 * All rings are the same memory, of which no page exists. `bad`: rings of 24 events.
 */
#include <skua/skua.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "probes/area.h"

#define WORKERS 64u
#define EVENTS  (UINT64_C(1) << 26)
#define BYTES   (EVENTS * 32)

extern struct area_root skua_debug_root;

static struct area_runtime area;
static struct area_worker workers[WORKERS];
static uint64_t addresses[WORKERS];
static bool stopping;

/* New events come faster than anybody can read them. */
static void *fill(void *unused)
{
	const struct timespec pause = { .tv_nsec = 1000000 };

	(void)unused;
	/* Relaxed: nothing comes with it. */
	while (!__atomic_load_n(&stopping, __ATOMIC_RELAXED)) {
		for (unsigned i = 0; i < WORKERS; i++) {
			/* Relaxed: nothing is where it says. */
			__atomic_fetch_add(&workers[i].ring_head, EVENTS / 4096,
					   __ATOMIC_RELAXED);
		}
		nanosleep(&pause, NULL);
	}
	return NULL;
}

static void lie(void *rings, uint64_t events)
{
	const struct area_runtime *real =
		(const void *)(uintptr_t)skua_debug_root.runtimes;
	const uint64_t *theirs = (const void *)(uintptr_t)real->workers;

	memcpy(&area, real, sizeof(area));
	area.workers = (uintptr_t)addresses;
	area.worker_count = WORKERS;
	for (unsigned i = 0; i < WORKERS; i++) {
		memcpy(&workers[i],
		       (const void *)(uintptr_t)(theirs[0] +
						 real->worker_offset),
		       sizeof(workers[i]));
		workers[i].index = i;
		workers[i].ring = (uintptr_t)rings;
		workers[i].ring_events = events;
		workers[i].ring_head = EVENTS;
		addresses[i] = (uintptr_t)&workers[i] - real->worker_offset;
	}
	skua_debug_root.runtimes = (uintptr_t)&area;
}

int main(int argc, char **argv)
{
	struct skua_config cfg = { .size = sizeof(cfg), .workers = 1 };
	uint64_t truth;
	struct skua_runtime *rt;
	pthread_t thread;
	void *rings = mmap(NULL, BYTES, PROT_READ,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (rings == MAP_FAILED || skua_runtime_create(&rt, &cfg, NULL) != 0)
		return 1;
	truth = skua_debug_root.runtimes;
	lie(rings, argc > 1 && strcmp(argv[1], "bad") == 0 ? 24 : EVENTS);
	if (pthread_create(&thread, NULL, fill, NULL) != 0)
		return 1;
	puts("ready");
	fflush(stdout);
	getchar();
	/* Relaxed: as the load. */
	__atomic_store_n(&stopping, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	skua_debug_root.runtimes = truth;
	skua_runtime_destroy(rt);
	return 0;
}
