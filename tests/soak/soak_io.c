/* SPDX-License-Identifier: MIT */
/**
 * soak_io.c - connections that are closed, cancelled and given up, for as long as it runs
 *
 * One runtime lives as long as the program. In a round, each of 10,000 connections has a
 * fiber that reads, with deadlines, and opens the connection again when it has ended. Two
 * threads write, close an end, or cancel the fiber and start another one, at random. After
 * the round all connections are closed, and the process must have what it had before
 * (soak.h).
 *
 * SKUA_SOAK_CONNECTIONS is their number. Each has two descriptors: there are fewer if the
 * limit of descriptors is lower.
 */
#include <errno.h>
#include <fcntl.h>
#include <skua/skua.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "core/base/rng.h"
#include "tests/soak/soak.h"

#define CONNECTIONS 10000u
#define THREADS     2u
#define SPARE       200u /* descriptors */
#define ROUND_NS    (2 * SOAK_NS_PER_S)

static struct skua_runtime *rt;
static atomic_u32 over; /* the round */
/* Counts since the start. Writers: any thread. */
static atomic_u64 fibers, reads, timeouts, cancels, closes, opened, closed;

struct connection {
	struct skua_fiber fiber; /* first: a fiber is its connection */
	struct rng rng;
	/* The two ends, each [ serial:32 | fd:32 ]; 0: it is closed, or a thread closes
	 * it. Writers: the fiber, to set it; the thread that closes it, to 0. */
	atomic_u64 ends[2];
};

static uint64_t pack(struct skua_io io)
{
	return (uint64_t)io.serial << 32 | (uint32_t)io.fd;
}

static struct skua_io unpack(uint64_t word)
{
	return (struct skua_io){ (int)(uint32_t)word, (uint32_t)(word >> 32) };
}

/* Close an end, unless another thread does. Return: true if this thread did. */
static bool close_end(struct connection *it, unsigned i)
{
	uint64_t word = atomic_exchange_acquire(&it->ends[i], 0);

	if (word == 0)
		return false;
	stress_check(skua_io_close(unpack(word)), "close");
	atomic_fetch_add_relaxed(&closed, 1);
	return true;
}

/* ---- the fiber of a connection ------------------------------------------------ */

static void open_pair(struct connection *it, int fds[2])
{
	bool is_pipe = rng_below(&it->rng, 8) == 0;

	if (is_pipe ? pipe2(fds, O_CLOEXEC)
		    : socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds))
		stress_fail("a pair: errno %d", errno);
}

/* Return the end from which the fiber reads. */
static struct skua_io open_connection(struct connection *it)
{
	struct skua_io ends[2];
	int fds[2];

	open_pair(it, fds);
	for (unsigned i = 0; i < 2; i++) {
		stress_check(skua_io_attach(rt, fds[i], 0, &ends[i]), "attach");
		atomic_fetch_add_relaxed(&opened, 1);
	}
	for (unsigned i = 0; i < 2; i++)
		atomic_store_release(&it->ends[i], pack(ends[i]));
	return ends[0];
}

/* Return a deadline within half a second, or none. */
static uint64_t deadline(struct rng *rng)
{
	return rng_below(rng, 2) ? skua_now_ns() + rng_below(rng, 500000000)
				 : SKUA_FOREVER_NS;
}

/* Read until the connection has ended. Return: was the fiber cancelled? */
static bool read_connection(struct connection *it, struct skua_io io)
{
	char data[256];
	ssize_t n;

	/* The loop ends when the other end was closed, or the handle is stale. */
	for (;;) {
		n = skua_io_read(io, data, sizeof(data), deadline(&it->rng));
		if (n == -ETIMEDOUT) {
			atomic_fetch_add_relaxed(&timeouts, 1);
			if (rng_below(&it->rng, 4) == 0)
				return false;
		} else if (n <= 0) {
			break;
		} else {
			atomic_fetch_add_relaxed(&reads, 1);
		}
	}
	if (n != 0 && n != -EBADF && n != -ECANCELED)
		stress_fail("read: %d", (int)n);
	return n == -ECANCELED;
}

static void keep_connection(struct skua_fiber *self)
{
	struct connection *it = (struct connection *)self;
	bool cancelled = false;

	while (!cancelled && !atomic_load_relaxed(&over)) {
		cancelled = read_connection(it, open_connection(it));
		for (unsigned i = 0; i < 2; i++)
			close_end(it, i);
	}
}

static void start(struct connection *it)
{
	atomic_fetch_add_relaxed(&fibers, 1);
	stress_check(skua_fiber_init(&it->fiber, keep_connection, 0), "init");
	stress_check(skua_task_spawn(rt, &it->fiber.task), "spawn");
}

static void cancel(struct connection *it)
{
	int code = skua_task_cancel(&it->fiber.task);

	/* After the round, it may have ended by itself. */
	stress_check(code == -EALREADY ? 0 : code, "cancel");
	stress_check(skua_task_join(&it->fiber.task), "join");
}

/* ---- threads that disturb them -------------------------------------------------- */

struct part {
	struct rng rng;
	struct connection *connections;
	unsigned count;
	uint64_t until_ns;
};

static void disturb(struct part *part)
{
	struct connection *it =
		&part->connections[rng_below(&part->rng, part->count)];
	/* Acquire: the attachment. Pairs with open_connection(). */
	uint64_t word = atomic_load_acquire(&it->ends[1]);
	uint32_t way = rng_below(&part->rng, 8);

	if (way < 5) {
		/* It may have been closed meanwhile. */
		if (word)
			skua_io_write_try(unpack(word), "some bytes", 10);
	} else if (way < 7) {
		if (close_end(it, way - 5))
			atomic_fetch_add_relaxed(&closes, 1);
	} else {
		cancel(it);
		atomic_fetch_add_relaxed(&cancels, 1);
		start(it);
	}
}

static void *run_part(void *arg)
{
	struct part *part = arg;

	for (unsigned i = 0; i < part->count; i++)
		start(&part->connections[i]);
	while (skua_now_ns() < part->until_ns)
		for (unsigned i = 0; i < 64; i++)
			disturb(part);
	/* Relaxed: a fiber that misses it is cancelled. */
	atomic_store_relaxed(&over, 1);
	for (unsigned i = 0; i < part->count; i++)
		cancel(&part->connections[i]);
	return NULL;
}

/* ---- all of it -------------------------------------------------------------------- */

static unsigned connections(void)
{
	const char *text = getenv("SKUA_SOAK_CONNECTIONS");
	unsigned long count = text ? strtoul(text, NULL, 10) : CONNECTIONS;
	struct rlimit files;

	if (count < THREADS || count > 1000000)
		stress_fail("SKUA_SOAK_CONNECTIONS: \"%s\", allowed is %u to "
			    "1000000",
			    text, THREADS);
	if (getrlimit(RLIMIT_NOFILE, &files))
		stress_fail("no limit of descriptors");
	files.rlim_cur = files.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &files) || files.rlim_cur < 2 * SPARE)
		stress_fail("the limit of descriptors is too low");
	if (count > (files.rlim_cur - SPARE) / 2)
		count = (files.rlim_cur - SPARE) / 2;
	return (unsigned)count / THREADS * THREADS;
}

int main(void)
{
	struct skua_config config = { .size = sizeof(config), .workers = 2 };
	struct part parts[THREADS] = { 0 };
	unsigned count = connections(), rounds = 0;
	struct connection *all = calloc(count, sizeof(*all));
	uint64_t duration = soak_ns();
	uint64_t round_ns = duration / 16 < ROUND_NS ? duration / 16 : ROUND_NS;
	uint64_t begin, now, threads;

	if (!all)
		stress_fail("no memory");
	stress_check(skua_runtime_create(&rt, &config, NULL), "create");
	for (unsigned i = 0; i < count; i++)
		rng_init(&all[i].rng, i);
	for (unsigned i = 0; i < THREADS; i++) {
		rng_init(&parts[i].rng, 1000 + i);
		parts[i].count = count / THREADS;
		parts[i].connections = all + i * parts[i].count;
	}
	threads = soak_entries("/proc/self/task");
	begin = now = skua_now_ns();
	for (; now - begin < duration; now = skua_now_ns(), rounds++) {
		atomic_store_relaxed(&over, 0);
		for (unsigned i = 0; i < THREADS; i++)
			parts[i].until_ns = now + round_ns;
		stress_threads(THREADS, run_part, parts, sizeof(parts[0]));
		stress_check(skua_runtime_drain(rt), "drain");
		if (atomic_load_relaxed(&opened) !=
		    atomic_load_relaxed(&closed))
			stress_fail("a descriptor is left");
		soak_sample((now - begin) * SOAK_QUARTERS / duration, threads);
	}
	stress_check(skua_runtime_destroy(rt), "destroy");
	free(all);
	soak_check_growth();
	printf("soak: %" PRIu64 " tasks in %" PRIu64
	       " s, %u connections, %u rounds; %" PRIu64
	       " descriptors, %" PRIu64 " reads, %" PRIu64 " timeouts, %" PRIu64
	       " closes, %" PRIu64 " cancels; at most %" PRIu64
	       " bytes of heap, then %" PRIu64 "; %" PRIu64
	       " resident, then %" PRIu64 "; %" PRIu64
	       " mappings, then %" PRIu64 "\n",
	       atomic_load_relaxed(&fibers), duration / SOAK_NS_PER_S, count,
	       rounds, atomic_load_relaxed(&closed),
	       atomic_load_relaxed(&reads), atomic_load_relaxed(&timeouts),
	       atomic_load_relaxed(&closes), atomic_load_relaxed(&cancels),
	       soak_largest[2][SOAK_HEAP], soak_largest[3][SOAK_HEAP],
	       soak_largest[2][SOAK_RSS], soak_largest[3][SOAK_RSS],
	       soak_largest[2][SOAK_MAPPINGS], soak_largest[3][SOAK_MAPPINGS]);
	return 0;
}
