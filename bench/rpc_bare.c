/* SPDX-License-Identifier: MIT */
/* rpc_bare.c - see rpc_bare.h */
#include "bench/rpc_bare.h"

#include <errno.h>
#include <stdlib.h>

#include "bench/clock.h"

/* From when the threads are started to when the first call may arrive. */
#define LEAD_NS 1000000u

struct bare {
	const struct rpc_call *calls;
	uint64_t count;
	uint64_t start_ns;
	uint64_t next;    /* the call that is nobody's yet */
	uint64_t *end_ns; /* of each call */
};

static void *serve(void *arg)
{
	struct bare *bare = arg;
	uint64_t i, now, end;

	for (;;) {
		i = __atomic_fetch_add(&bare->next, 1, __ATOMIC_RELAXED);
		if (i >= bare->count)
			return NULL;
		now = clock_spin_until(bare->start_ns +
				       bare->calls[i].arrival_ns);
		end = now + bare->calls[i].service_ns;
		bare->end_ns[i] = clock_spin_until(end);
	}
}

static void serve_all(struct bare *bare, pthread_t *threads, unsigned servers,
		      const struct pin *pin)
{
	unsigned started = 0;

	bare->start_ns = clock_ns() + LEAD_NS;
	while (started < servers &&
	       pthread_create(&threads[started], NULL, serve, bare) == 0) {
		pin_beside(pin, threads[started], started);
		started++;
	}
	if (started > 0)
		clock_spin_until(bare->start_ns +
				 bare->calls[bare->count - 1].arrival_ns);
	for (unsigned i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
}

int rpc_bare(const struct rpc_call *calls, uint64_t count, unsigned servers,
	     const struct pin *pin, struct rpc_times *times)
{
	struct bare bare = {
		.calls = calls,
		.count = count,
		.end_ns = calloc(count, sizeof(*bare.end_ns)),
	};
	pthread_t *threads = calloc(servers, sizeof(*threads));
	int err = -ENOMEM;

	if (bare.end_ns != NULL && threads != NULL) {
		serve_all(&bare, threads, servers, pin);
		err = bare.end_ns[count - 1] != 0 ? 0 : -EAGAIN;
	}
	for (uint64_t i = 0; err == 0 && i < count; i++)
		rpc_times_record(times, &calls[i],
				 bare.end_ns[i] -
					 (bare.start_ns + calls[i].arrival_ns));
	free(bare.end_ns);
	free(threads);
	return err;
}
