/* SPDX-License-Identifier: MIT */
/* affinity.c - see affinity.h */
#include "core/runtime/affinity.h"

#include <errno.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/os/log.h"
#include "core/base/memory.h"
#include "core/loop/worker.h"

#define NO_CPU UINT32_MAX

enum whereabouts {
	AT_HOME, /* on CPUs of its home */
	MOVED,   /* elsewhere; the kernel would allow its home */
	EXPELLED /* elsewhere; the kernel refuses its home */
};

/* The state of a worker, from its last check. Guarded by busy: the other workers read it
 * while they hold busy. */
struct affinity_worker {
	enum whereabouts where;
	bool limited;    /* the value of affinity.limited at its last check */
	bool crowded;    /* its home has fewer usable CPUs than workers */
	bool shares;     /* it may be on the same CPU as another worker */
	uint32_t taken;  /* the CPU that it took away from home, or NO_CPU */
	cpu_set_t *seen; /* its affinity at the end of its last check */
};

/* ---- sets ------------------------------------------------------------------ */

static bool read_set(const struct affinity *a, cpu_set_t *set)
{
	return sched_getaffinity(0, a->size, set) == 0;
}

static bool write_set(const struct affinity *a, const cpu_set_t *set)
{
	return sched_setaffinity(0, a->size, set) == 0;
}

static bool equal(const struct affinity *a, const cpu_set_t *one,
		  const cpu_set_t *other)
{
	return CPU_EQUAL_S(a->size, one, other);
}

static unsigned count(const struct affinity *a, const cpu_set_t *set)
{
	return (unsigned)CPU_COUNT_S(a->size, set);
}

static bool meet(const struct affinity *a, cpu_set_t *out, const cpu_set_t *one,
		 const cpu_set_t *other)
{
	CPU_AND_S(a->size, out, one, other);
	return count(a, out) > 0;
}

static void home_of(const struct affinity *a, unsigned i, bool limited,
		    cpu_set_t *set)
{
	const struct placement *placement = &a->config->placement;
	struct placement_range range = placement_range(placement, i, limited);

	CPU_ZERO_S(a->size, set);
	for (unsigned n = 0; n < range.count; n++)
		CPU_SET_S(placement->cpus[range.first + n], a->size, set);
}

/* housemates - count the workers that have the same home as worker @i, including it */
static unsigned housemates(const struct affinity *a, unsigned i, bool limited)
{
	const struct placement *placement = &a->config->placement;
	struct placement_range own = placement_range(placement, i, limited);
	unsigned mates = 0;

	for (unsigned k = 0; k < placement->worker_count; k++) {
		struct placement_range other =
			placement_range(placement, k, limited);

		mates += other.first == own.first && other.count == own.count;
	}
	return mates;
}

/* ---- away from home -------------------------------------------------------- */

/* sits_on - tell whether @cpu is the only CPU of worker @k, as far as known. The caller
 * holds busy */
static bool sits_on(const struct affinity *a, unsigned k, uint32_t cpu)
{
	const struct affinity_worker *other = &a->workers[k];
	const struct placement *placement = &a->config->placement;

	if (other->where != AT_HOME)
		return other->taken == cpu;
	return placement->workers[k].cpu == cpu &&
	       placement_range(placement, k, other->limited).count == 1;
}

/* is_alone - tell whether no other worker than @i sits on @cpu. The caller
 * holds busy */
static bool is_alone(const struct affinity *a, unsigned i, uint32_t cpu)
{
	for (unsigned k = 0; k < a->config->workers; k++) {
		if (k != i && sits_on(a, k, cpu))
			return false;
	}
	return true;
}

/* take_one - reduce @set to the one CPU that worker @i takes
 *
 * The only CPU of @set is taken even if it is another worker's. Otherwise the worker
 * takes a CPU that is in no home and that no worker has taken; if there is none, or if
 * workers are not bound to single CPUs, @set stays as it is. The caller holds busy. */
static void take_one(struct affinity *a, unsigned i, cpu_set_t *set)
{
	struct affinity_worker *it = &a->workers[i];
	bool only = count(a, set) == 1;

	it->taken = NO_CPU;
	if (!only && a->config->placement.binding != SKUA_BOUND_CPU)
		return;
	for (uint32_t cpu = 0; cpu < a->size * 8; cpu++) {
		if (!CPU_ISSET_S(cpu, a->size, set) ||
		    (!only && (CPU_ISSET_S(cpu, a->size, a->homes) ||
			       !is_alone(a, i, cpu))))
			continue;
		CPU_ZERO_S(a->size, set);
		CPU_SET_S(cpu, a->size, set);
		it->taken = cpu;
		return;
	}
}

/* go_away - handle a worker that may run on @a->now, outside its home. The caller
 * holds busy */
static void go_away(struct affinity *a, unsigned i)
{
	struct affinity_worker *it = &a->workers[i];
	bool may_go_home;

	home_of(a, i, it->limited, a->wanted);
	may_go_home = write_set(a, a->wanted);
	it->where = !may_go_home && errno == EINVAL ? EXPELLED : MOVED;
	if (!meet(a, a->wanted, a->now, a->start))
		memcpy(a->wanted, a->now, a->size);
	take_one(a, i, a->wanted);
	/* Otherwise the thread has these CPUs already. If it is left alone, kernels from
	 * 6.2 on return it to its home when those CPUs come back. */
	if (may_go_home || !equal(a, a->wanted, a->now))
		write_set(a, a->wanted);
}

/* ---- at home --------------------------------------------------------------- */

/* is_rest_refused - tell whether the kernel refuses the rest of the home of worker @i
 *
 * The worker may use @a->wanted, a part of its home. It asks for the whole home: if it
 * gets no more than that part, the kernel refuses the rest. If it gets more, then
 * another program restricted the thread on purpose, and the restriction is restored. */
static bool is_rest_refused(const struct affinity *a, unsigned i)
{
	struct affinity_worker *it = &a->workers[i];

	home_of(a, i, it->limited, a->now);
	write_set(a, a->now);
	if (!read_set(a, a->now) || equal(a, a->now, a->wanted))
		return true;
	write_set(a, a->wanted);
	return false;
}

static void stay_home(const struct affinity *a, unsigned i)
{
	struct affinity_worker *it = &a->workers[i];

	if (!equal(a, a->wanted, a->now))
		write_set(a, a->wanted);
	it->where = AT_HOME;
	it->crowded = housemates(a, i, it->limited) > count(a, a->wanted) &&
		      is_rest_refused(a, i);
}

/* ---- a check --------------------------------------------------------------- */

/* try_home - ask for the home, which has changed or may be allowed again
 *
 * A worker that another program has moved stays where it is. */
static void try_home(const struct affinity *a, unsigned i, bool limited)
{
	struct affinity_worker *it = &a->workers[i];

	home_of(a, i, it->limited, a->wanted);
	if (it->where == EXPELLED ||
	    (it->where == AT_HOME && equal(a, it->seen, a->wanted))) {
		home_of(a, i, limited, a->wanted);
		write_set(a, a->wanted);
	}
}

static void report(const struct affinity *a, unsigned i)
{
	const struct affinity_worker *it = &a->workers[i];
	const struct skua_hooks *hooks = &a->config->hooks;
	const char *why = it->where == MOVED ? "was moved"
					     : "may not use its CPUs any more";

	if (it->where == AT_HOME)
		log_say(hooks, SKUA_LOG_INFO, "worker %u is on its CPUs again",
			i);
	else if (it->taken != NO_CPU)
		log_say(hooks, SKUA_LOG_WARNING,
			"worker %u %s, and is on CPU %u", i, why, it->taken);
	else
		log_say(hooks, SKUA_LOG_WARNING,
			"worker %u %s, and shares %u CPUs with others", i, why,
			count(a, a->wanted));
}

/* settle - adapt to the affinity that the thread has now, and report a change */
static void settle(struct affinity *a, unsigned i)
{
	struct affinity_worker *it = &a->workers[i];
	bool was_home = it->where == AT_HOME;

	home_of(a, i, it->limited, a->wanted);
	if (meet(a, a->wanted, a->now, a->wanted))
		stay_home(a, i);
	else
		go_away(a, i);
	/* The kernel may have granted only a part of the requested set. */
	read_set(a, it->seen);
	if (it->where != AT_HOME || !was_home)
		report(a, i);
}

/* Other workers take CPUs and leave them, so each check counts this again. */
static void count_shares(const struct affinity *a, unsigned i)
{
	struct affinity_worker *it = &a->workers[i];
	bool shared = it->shares;

	it->shares = it->where == AT_HOME ? it->crowded
					  : it->taken == NO_CPU ||
						    !is_alone(a, i, it->taken);
	/* Relaxed: any recent count will do. */
	if (it->shares && !shared)
		atomic_fetch_add_relaxed(&a->pool->idle.sharing_cpus, 1);
	else if (!it->shares && shared)
		atomic_fetch_sub_relaxed(&a->pool->idle.sharing_cpus, 1);
}

static void recheck(struct affinity *a, unsigned i)
{
	struct affinity_worker *it = &a->workers[i];
	/* Relaxed: a worker that sees it late follows at its next check. */
	bool limited = atomic_load_relaxed(&a->limited) != 0;
	bool changed = it->limited != limited;

	if (changed || it->where == EXPELLED)
		try_home(a, i, limited);
	it->limited = limited;
	if (read_set(a, a->now) && (changed || !equal(a, a->now, it->seen)))
		settle(a, i);
	count_shares(a, i);
}

/* ---- the quota ------------------------------------------------------------- */

static void apply_quota(struct affinity *a, const struct quota *quota)
{
	uint32_t limited = quota_below(quota, a->config->cpus.count);

	/* Relaxed, all: as in recheck() and count_shares(). The only writer holds busy. */
	if (limited == atomic_load_relaxed(&a->limited))
		return;
	atomic_store_relaxed(&a->limited, limited);
	atomic_store_relaxed(&a->pool->idle.quota_limited, limited);
	log_say(&a->config->hooks, SKUA_LOG_INFO,
		limited ? "the control groups allow less CPU time than there are CPUs: "
			  "workers are no longer pinned to one CPU"
			: "the control groups allow CPU time for all CPUs again");
}

static void recheck_quota(struct affinity *a, uint64_t now_ns)
{
	struct quota quota;

	if (a->config->realtime || /* no quota applies to these */
	    now_ns < atomic_load_relaxed(&a->quota_due_ns))
		return;
	/* If the quota cannot be read now, the last value stays in force. */
	if (quota_read(&quota, "/", NULL) == 0)
		apply_quota(a, &quota);
	/* Relaxed: guarded by busy. */
	atomic_store_relaxed(&a->quota_due_ns, now_ns + AFFINITY_PERIOD_NS);
}

/* The callback pool.recheck_affinity. */
static void recheck_affinity(struct worker *w, uint64_t now_ns)
{
	struct affinity *a = w->pool->affinity;
	int saved = errno; /* the library never sets it */

	/* Acquire: the writes of other workers in their checks. Pairs with the release
	 * below. If another worker is checking, this worker retries at its next tick. */
	if (atomic_exchange_acquire(&a->busy, 1))
		return;
	recheck_quota(a, now_ns);
	recheck(a, w->index);
	/* Release: this check's writes. Pairs with the acquire above. */
	atomic_store_release(&a->busy, 0);
	w->affinity_due_ns = now_ns + AFFINITY_PERIOD_NS;
	errno = saved;
}

/* ---- life ------------------------------------------------------------------ */

static cpu_set_t *next_set(struct affinity *a, char **memory)
{
	cpu_set_t *set = (cpu_set_t *)*memory;

	*memory += a->size;
	return set;
}

static size_t set_count(const struct config *config)
{
	return (size_t)config->workers + 4;
}

static int allocate(struct affinity *a)
{
	const struct skua_allocator *allocator = a->config->allocator;
	unsigned workers = a->config->workers;
	char *memory;

	a->workers = memory_alloc(allocator, CACHE_PAIR, workers,
				  sizeof(*a->workers));
	a->sets = memory_alloc(allocator, CACHE_PAIR, set_count(a->config),
			       a->size);
	if (!a->workers || !a->sets)
		return -ENOMEM;
	memory = a->sets;
	a->start = next_set(a, &memory);
	a->homes = next_set(a, &memory);
	a->now = next_set(a, &memory);
	a->wanted = next_set(a, &memory);
	for (unsigned i = 0; i < workers; i++)
		a->workers[i].seen = next_set(a, &memory);
	return 0;
}

static void fill(struct affinity *a)
{
	const struct config *config = a->config;
	uint64_t due_ns = clock_now_ns() + AFFINITY_PERIOD_NS;

	for (unsigned n = 0; n < config->cpus.count; n++)
		CPU_SET_S(config->cpus.cpus[n], a->size, a->start);
	for (unsigned i = 0; i < config->workers; i++) {
		CPU_SET_S(config->placement.workers[i].cpu, a->size, a->homes);
		a->workers[i].taken = NO_CPU;
		a->workers[i].limited = config->limited;
		home_of(a, i, config->limited, a->workers[i].seen);
		a->pool->workers[i]->affinity_due_ns = due_ns;
	}
	atomic_init(&a->limited, config->limited);
	atomic_init(&a->quota_due_ns, due_ns);
	atomic_init(&a->pool->idle.quota_limited, config->limited);
	a->pool->affinity = a;
	a->pool->recheck_affinity = recheck_affinity;
}

int affinity_init(struct affinity *a, struct pool *pool,
		  const struct config *config)
{
	cpu_set_t *allowed;
	int code = cpu_list_allowed_set(&allowed, &a->size);

	a->pool = pool;
	a->config = config;
	if (code)
		return code;
	CPU_FREE(allowed);
	code = allocate(a);
	if (!code)
		fill(a);
	return code;
}

void affinity_destroy(struct affinity *a)
{
	if (!a->config)
		return;
	memory_free(a->config->allocator, a->workers, CACHE_PAIR,
		    a->config->workers, sizeof(*a->workers));
	memory_free(a->config->allocator, a->sets, CACHE_PAIR,
		    set_count(a->config), a->size);
}
