/* SPDX-License-Identifier: MIT */
/* rpc_bare.c - see rpc_bare.h */
#include "bench/workloads/tasks/rpc_bare.h"

#include <errno.h>
#include <stdlib.h>

#include "bench/harness/clock.h"

/* Time from the start of the last thread to the earliest possible arrival. */
#define LEAD_NS 1000000u

struct bare {
	const struct rpc_call *calls;
	uint64_t count;
	uint64_t start_ns; /* start of the plan; 0: not yet */
	uint64_t next;     /* the next call that no thread has taken */
	uint64_t *end_ns;  /* of each call */
};

static void *serve(void *arg)
{
	struct bare *bare = arg;
	uint64_t i, start, now, end;

	while ((start = __atomic_load_n(&bare->start_ns, __ATOMIC_ACQUIRE)) ==
	       0)
		clock_relax();
	for (;;) {
		i = __atomic_fetch_add(&bare->next, 1, __ATOMIC_RELAXED);
		if (i >= bare->count)
			return NULL;
		now = clock_spin_until(start + bare->calls[i].arrival_ns);
		end = now + bare->calls[i].service_ns;
		bare->end_ns[i] = clock_spin_until(end);
	}
}

/* Start the threads and wait until they have served all calls. Return: 0;
 * -EAGAIN if not all threads could start. */
static int serve_all(struct bare *bare, pthread_t *threads, unsigned servers,
		     const struct pin *pin)
{
	unsigned started = 0;
	uint64_t start;

	while (started < servers &&
	       pthread_create(&threads[started], NULL, serve, bare) == 0) {
		pin_to_worker(pin, threads[started], started);
		started++;
	}
	if (started < servers)
		bare->next = bare->count; /* the started threads find no call */
	start = clock_ns() + LEAD_NS;
	__atomic_store_n(&bare->start_ns, start, __ATOMIC_RELEASE);
	if (started == servers)
		clock_spin_until(start +
				 bare->calls[bare->count - 1].arrival_ns);
	for (unsigned i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	return started == servers ? 0 : -EAGAIN;
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

	if (bare.end_ns != NULL && threads != NULL)
		err = serve_all(&bare, threads, servers, pin);
	for (uint64_t i = 0; err == 0 && i < count; i++)
		rpc_times_record(times, &calls[i],
				 bare.end_ns[i] -
					 (bare.start_ns + calls[i].arrival_ns));
	free(bare.end_ns);
	free(threads);
	return err;
}
