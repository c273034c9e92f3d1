/* SPDX-License-Identifier: MIT */
/* guest_workers.c - where the workers of a default runtime are, and their memory */
#include "tests/guest/guest.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/runtime/runtime.h"

/* ---- CPUs ------------------------------------------------------------------ */

static int began_on[GUEST_MAX_CPUS];

static void note_cpu(unsigned worker)
{
	began_on[worker] = sched_getcpu();
}

void guest_pinning(void)
{
	static struct hostile h;
	unsigned cpus[GUEST_MAX_CPUS];
	cpu_set_t all, seen;

	CPU_ZERO(&seen);
	sched_getaffinity(0, sizeof(all), &all);
	hostile_open(&h, 0, note_cpu);
	if (h.workers != (unsigned)CPU_COUNT(&all))
		stress_fail("%u workers on %d CPUs", h.workers,
			    CPU_COUNT(&all));
	guest_cpus(cpus, h.workers);
	for (unsigned i = 0; i < h.workers; i++) {
		cpu_set_t set;

		if (sched_getaffinity(h.tids[i], sizeof(set), &set) != 0 ||
		    CPU_COUNT(&set) != 1 || !CPU_ISSET(cpus[i], &set))
			stress_fail("worker %u may run on %d CPUs, and must "
				    "run on CPU %u",
				    i, CPU_COUNT(&set), cpus[i]);
		if (began_on[i] != (int)cpus[i])
			stress_fail("worker %u began on CPU %d, not %u", i,
				    began_on[i], cpus[i]);
		CPU_OR(&seen, &seen, &set);
	}
	if (!CPU_EQUAL(&seen, &all))
		stress_fail("the workers have %d CPUs of %d", CPU_COUNT(&seen),
			    CPU_COUNT(&all));
	hostile_close(&h);
	printf("pinning: %u workers, each on its CPU\n", h.workers);
}

/* ---- memory ---------------------------------------------------------------- */

/* Fail if a page of these bytes, all of which were written to, is elsewhere. */
static unsigned check_pages(unsigned worker, const char *what,
			    const void *memory, size_t size, unsigned node)
{
	uintptr_t page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t first = (uintptr_t)memory & ~(page_bytes - 1);
	unsigned pages = 0;

	for (uintptr_t at = first; at < (uintptr_t)memory + size;
	     at += page_bytes, pages++) {
		void *page = (void *)at;
		int found = -1;

		/* Without nodes to move to, it tells where the page is. */
		if (syscall(SYS_move_pages, 0, 1ul, &page, NULL, &found, 0) !=
		    0)
			stress_fail("move_pages: %s", strerror(errno));
		if (found != (int)node)
			stress_fail("worker %u is on node %u, page %u of its "
				    "%s on %d",
				    worker, node, pages, what, found);
	}
	return pages;
}

void guest_pages(void)
{
	static struct hostile h;
	struct skua_topology *topology = guest_topology();
	unsigned cpus[GUEST_MAX_CPUS];
	unsigned pages = 0;

	hostile_open(&h, 0, NULL);
	guest_cpus(cpus, h.workers);
	for (unsigned i = 0; i < h.workers; i++) {
		const struct worker *worker = h.rt->pool.workers[i];
		unsigned node = guest_cpu(topology, cpus[i])->node;

		pages += check_pages(i, "struct worker", worker,
				     sizeof(*worker), node);
		/* Not its slots: the kernel provides their pages when the
		 * worker first writes to them. */
		pages += check_pages(i, "local queue", worker->queue,
				     sizeof(*worker->queue), node);
	}
	hostile_close(&h);
	skua_topology_free(topology);
	printf("pages: %u workers, %u pages, each on its worker's node\n",
	       h.workers, pages);
}
