/* SPDX-License-Identifier: MIT */
/**
 * stress_io.c - many connections, read and written, closed and given up at any moment
 *
 * Two runtimes and some threads. Each link is a pair of descriptors with a reader (a fiber
 * or a thread) and a writer (a fiber or a poll). They move bytes in pieces of random sizes,
 * many calls with a deadline that is near. Another thread closes, detaches and shuts down
 * ends at random, and the reader cancels its writer. When a link has broken, it is opened
 * again, mostly with the same numbers. Checked: what is read is what was written, from its
 * beginning on; all of it, if nobody but the writer has ended the link; each descriptor is
 * closed once. A waiter that is not woken hangs the program.
 *
 * With SKUA_IO_FAULTS (tests/faults/io_faults.h), system calls also fail for a lack of
 * memory; then the same call is made again.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <skua/skua.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/rng.h"
#include "tests/stress/stress.h"

#define FIBERS  10u
#define THREADS 3u
#define LINKS   (FIBERS + THREADS)
#define MOST    3000u /* bytes of a call */

static atomic_u64 done, rounds, broken, closed, opened, late;
static uint64_t wanted;
static struct skua_runtime *runtimes[2];
static bool faulty; /* SKUA_IO_FAULTS is set */

static bool is_over(void)
{
	return atomic_load_relaxed(&done) >= wanted;
}

static unsigned char byte_at(uint64_t at)
{
	return (unsigned char)(at * 131 + at / 251);
}

struct link {
	struct skua_fiber reader; /* first: a fiber is its link */
	unsigned index;
	struct rng rng;
	struct skua_runtime *rt;
	struct skua_io ends[2]; /* reader's, writer's */
	/* The same, [ serial:32 | fd:32 ]; 0: a thread closes it. Writers: the reader, to
	 * set; the thread that closes it, to take. */
	atomic_u64 handles[2];
	atomic_u32 disturbed; /* by the third thread */
	uint64_t read, written;
	/* The writer. */
	struct skua_fiber writer;
	struct skua_task task;
	struct rng writer_rng;
	struct skua_wait wait;
	uint64_t deadline_ns;
	size_t size;
	unsigned char data[MOST];
	unsigned left; /* calls until it ends the link */
};

static struct link links[LINKS];

/* ---- descriptors ------------------------------------------------------------------ */

static uint64_t deadline(struct rng *rng)
{
	return rng_below(rng, 3) ? SKUA_FOREVER_NS
				 : skua_now_ns() + rng_below(rng, 20000);
}

static void open_tcp(int fds[2])
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t length = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	fds[1] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (listener < 0 || fds[1] < 0 ||
	    bind(listener, (struct sockaddr *)&address, length) ||
	    listen(listener, 1) ||
	    getsockname(listener, (struct sockaddr *)&address, &length) ||
	    connect(fds[1], (struct sockaddr *)&address, length))
		stress_fail("a TCP connection: errno %d", errno);
	fds[0] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (fds[0] < 0)
		stress_fail("accept4: errno %d", errno);
	close(listener);
}

/* Is it the error of a call that may be made again? */
static bool is_fault(ssize_t code)
{
	return faulty && (code == -ENOMEM || code == -ENOBUFS ||
			  code == -ENOSPC || code == -EMFILE);
}

static int attach(struct skua_runtime *rt, int fd, struct skua_io *out)
{
	int code;

	do
		code = skua_io_attach(rt, fd, 0, out);
	while (is_fault(code));
	return code;
}

static void open_link(struct link *link)
{
	unsigned kind = rng_below(&link->rng, 8);
	int fds[2];

	if (kind == 0)
		open_tcp(fds);
	else if (kind < 4 ? pipe2(fds, O_CLOEXEC)
			  : socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0,
				       fds))
		stress_fail("a pair: errno %d", errno);
	link->read = link->written = 0;
	atomic_store_relaxed(&link->disturbed, 0);
	for (unsigned i = 0; i < 2; i++) {
		stress_check(attach(link->rt, fds[i], &link->ends[i]),
			     "attach");
		atomic_fetch_add_relaxed(&opened, 1);
	}
	for (unsigned i = 0; i < 2; i++)
		atomic_store_release(&link->handles[i],
				     (uint64_t)link->ends[i].serial << 32 |
					     (uint32_t)link->ends[i].fd);
}

/* Close an end, unless another thread does. @disturbs: it is not the link's own thread */
static void close_end(struct link *link, unsigned i, bool detach, bool disturbs)
{
	uint64_t word = atomic_exchange_acquire(&link->handles[i], 0);
	struct skua_io io = { (int)(uint32_t)word, (uint32_t)(word >> 32) };
	int code;

	if (word == 0)
		return;
	if (disturbs)
		atomic_store_relaxed(&link->disturbed, 1);
	if (detach) {
		code = skua_io_detach(io);
		if (code != io.fd)
			stress_fail("detach: %d", code);
		code = close(code);
	} else {
		code = skua_io_close(io);
	}
	stress_check(code, "close");
	if (skua_io_close(io) != -EBADF)
		stress_fail("a handle that was closed is not refused");
	atomic_fetch_add_relaxed(&closed, 1);
}

/* Is the link intact? False: it has ended, in one of the ways in which it may. */
static bool succeeded(struct link *link, ssize_t n, const char *what)
{
	if (n > 0) {
		atomic_fetch_add_relaxed(&done, 1);
		return true;
	}
	if (n == -ETIMEDOUT) {
		atomic_fetch_add_relaxed(&late, 1);
		return true;
	}
	if (n == 0 || n == -ECANCELED)
		return false;
	if (is_fault(n))
		return true;
	if (n != -EBADF && n != -EPIPE && n != -ECONNRESET)
		stress_fail("%s: %d", what, (int)n);
	if (n == -EBADF && !atomic_load_relaxed(&link->disturbed))
		stress_fail("%s: -EBADF, but nobody has closed it", what);
	return false;
}

/* ---- the writer ------------------------------------------------------------------- */

static void prepare(struct link *link)
{
	link->size = 1 + rng_below(&link->writer_rng, MOST);
	link->deadline_ns = deadline(&link->writer_rng);
	for (size_t i = 0; i < link->size; i++)
		link->data[i] = byte_at(link->written + i);
}

static bool wrote(struct link *link, ssize_t n)
{
	if (n > 0)
		link->written += (uint64_t)n;
	return succeeded(link, n, "write") && --link->left > 0;
}

static void fiber_writes(struct skua_fiber *self)
{
	struct link *link = SKUA_CONTAINER_OF(self, struct link, writer);

	do
		prepare(link);
	while (wrote(link, skua_io_write(link->ends[1], link->data, link->size,
					 link->deadline_ns)));
	close_end(link, 1, false, false);
}

static enum skua_poll poll_writes(struct skua_task *self)
{
	struct link *link = SKUA_CONTAINER_OF(self, struct link, task);

	for (;;) {
		ssize_t n;

		if (!skua_wait_armed(&link->wait))
			prepare(link);
		n = skua_io_write_poll(self, link->ends[1], link->data,
				       link->size, &link->wait,
				       link->deadline_ns);
		if (n == -EAGAIN && rng_below(&link->writer_rng, 8) == 0 &&
		    skua_wait_cancel(self, &link->wait) == 0)
			return SKUA_YIELD;
		if (n == -EAGAIN)
			return SKUA_PENDING;
		if (!wrote(link, n))
			break;
	}
	close_end(link, 1, false, false);
	return SKUA_DONE;
}

/* ---- the reader ------------------------------------------------------------------- */

static void check_bytes(struct link *link, const unsigned char *data, ssize_t n)
{
	for (ssize_t i = 0; i < n; i++, link->read++)
		if (data[i] != byte_at(link->read))
			stress_fail("byte %" PRIu64 " of a link is wrong",
				    link->read);
}

/* Read until the link has ended. Return: did it end by an end of file? */
static bool read_link(struct link *link)
{
	unsigned char data[MOST];
	ssize_t n;

	do {
		size_t size = 1 + rng_below(&link->rng, MOST);

		n = rng_below(&link->rng, 16)
			    ? skua_io_read(link->ends[0], data, size,
					   deadline(&link->rng))
			    : skua_io_read_try(link->ends[0], data, size);
		if (n == -EAGAIN)
			n = -ETIMEDOUT;
		check_bytes(link, data, n);
	} while (succeeded(link, n, "read"));
	return n == 0;
}

static void run_link(struct link *link)
{
	bool by_fiber = rng_below(&link->rng, 2);
	struct skua_task *writer;
	bool ended, cancelled = false;

	open_link(link);
	link->left = 1 + rng_below(&link->rng, 200);
	link->wait = (struct skua_wait)SKUA_WAIT_INIT;
	if (by_fiber)
		stress_check(skua_fiber_init(&link->writer, fiber_writes, 0),
			     "init");
	else
		link->task = (struct skua_task)SKUA_TASK_INIT(poll_writes);
	writer = by_fiber ? &link->writer.task : &link->task;
	stress_check(skua_task_spawn(link->rt, writer), "spawn");
	if (by_fiber && rng_below(&link->rng, 16) == 0) {
		cancelled = true;
		skua_task_cancel(writer);
	}
	ended = read_link(link);
	close_end(link, 0, false, false);
	stress_check(skua_task_join(writer), "join");
	if (link->read > link->written ||
	    (ended && !atomic_load_relaxed(&link->disturbed) && !cancelled &&
	     link->read != link->written))
		stress_fail("%" PRIu64 " bytes read of %" PRIu64, link->read,
			    link->written);
	atomic_fetch_add_relaxed(ended ? &rounds : &broken, 1);
}

static void fiber_reads(struct skua_fiber *self)
{
	struct link *link = (struct link *)self;

	while (!is_over())
		run_link(link);
}

static void *thread_reads(void *arg)
{
	struct link *link = arg;

	while (!is_over())
		run_link(link);
	return NULL;
}

/* ---- the third thread ------------------------------------------------------------- */

static void disturb(struct rng *rng)
{
	struct link *link = &links[rng_below(rng, LINKS)];
	unsigned end = rng_below(rng, 2);
	uint64_t word = atomic_load_acquire(&link->handles[end]);
	struct skua_io io = { (int)(uint32_t)word, (uint32_t)(word >> 32) };

	if (rng_below(rng, 3) > 0) {
		close_end(link, end, rng_below(rng, 2), true);
	} else if (word) {
		atomic_store_relaxed(&link->disturbed, 1);
		skua_io_shutdown(io, (int)rng_below(rng, 3));
	}
}

int main(void)
{
	pthread_t threads[THREADS];
	struct rng rng;

	wanted = stress_ops() / 10;
	faulty = getenv("SKUA_IO_FAULTS") != NULL;
	rng_init(&rng, 1000);
	for (unsigned i = 0; i < 2; i++) {
		struct skua_config config = { .size = sizeof(config),
					      .workers = 2 - i };
		struct skua_error error;

		if (skua_runtime_create(&runtimes[i], &config, &error))
			stress_fail("%s", error.text);
	}
	for (unsigned i = 0; i < LINKS; i++) {
		links[i].index = i;
		links[i].rt = runtimes[i % 2];
		rng_init(&links[i].rng, i);
		rng_init(&links[i].writer_rng, 100 + i);
	}
	for (unsigned i = 0; i < FIBERS; i++) {
		stress_check(skua_fiber_init(&links[i].reader, fiber_reads, 0),
			     "init");
		stress_check(
			skua_task_spawn(links[i].rt, &links[i].reader.task),
			"spawn");
	}
	for (unsigned i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, thread_reads,
				   &links[FIBERS + i]))
			stress_fail("cannot create thread %u", i);
	while (!is_over()) {
		skua_sleep_until(skua_now_ns() + 200000);
		disturb(&rng);
	}
	for (unsigned i = 0; i < FIBERS; i++)
		stress_check(skua_task_join(&links[i].reader.task), "join");
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (unsigned i = 0; i < 2; i++)
		stress_check(skua_runtime_destroy(runtimes[i]), "destroy");
	if (atomic_load_relaxed(&opened) != atomic_load_relaxed(&closed))
		stress_fail("%" PRIu64 " descriptors opened, %" PRIu64
			    " closed",
			    atomic_load_relaxed(&opened),
			    atomic_load_relaxed(&closed));
	printf("%" PRIu64 " calls, %" PRIu64 " late; %" PRIu64
	       " links ended, %" PRIu64 " broken; %" PRIu64 " descriptors\n",
	       atomic_load_relaxed(&done), atomic_load_relaxed(&late),
	       atomic_load_relaxed(&rounds), atomic_load_relaxed(&broken),
	       atomic_load_relaxed(&closed));
	return 0;
}
