/* SPDX-License-Identifier: MIT */
/*
 * test_file.c - operations on files, by io_uring and by the blocking pool
 *
 * Each test runs with both, unless it says why not: the program is linked with
 * --wrap for uring_create(), so that there is no ring.
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "core/runtime/runtime.h"
#include "tests/unit/process.h"
#include "tests/unit/users.h"

#define SOON_NS UINT64_C(3000000)

/* ---- engines -------------------------------------------------------------------- */

static bool refuse_ring;

int __real_uring_create(struct uring **out,
			const struct skua_allocator *allocator);
int __wrap_uring_create(struct uring **out,
			const struct skua_allocator *allocator);
int __wrap_uring_create(struct uring **out,
			const struct skua_allocator *allocator)
{
	return refuse_ring ? -EPERM : __real_uring_create(out, allocator);
}

static bool has_ring(struct skua_runtime *rt)
{
	return files_has_ring(&rt->files);
}

/* Is it built in, and forbidden by tests/faults/no_uring.c? */
static bool forbidden(void)
{
#ifdef SKUA_HAVE_LIBURING
	return getenv("SKUA_TEST_NO_URING") != NULL;
#else
	return false;
#endif
}

/* Why a test of the ring alone cannot run; "": it can. */
static const char *no_ring(struct skua_runtime *rt)
{
	return has_ring(rt) ? "" : "io_uring is not built in, or refused";
}

/* ---- files ------------------------------------------------------------------------ */

#define BYTES 100000u

struct fixture {
	struct skua_runtime *rt;
	struct belongings before;
	int fd;
	char path[64];
	unsigned char data[BYTES], copy[BYTES];
};

static void fixture_begin(struct fixture *f, unsigned workers, bool ring)
{
	refuse_ring = !ring;
	f->before = belongings();
	f->rt = runtime_new(workers, 0);
	strcpy(f->path, "/tmp/test_file.XXXXXX");
	f->fd = mkstemp(f->path);
	assert_true(f->fd >= 0);
	for (unsigned i = 0; i < BYTES; i++)
		f->data[i] = (unsigned char)(i * 31 + i / 256);
	memset(f->copy, 0, BYTES);
}

static void fixture_end(struct fixture *f)
{
	assert_int_equal(unlink(f->path), 0);
	if (f->fd >= 0)
		assert_int_equal(close(f->fd), 0);
	end(f->rt, f->before);
	refuse_ring = false;
}

ALL_TESTS(process_settle, NULL);

/* ---- each operation --------------------------------------------------------------- */

static int use_all(struct user *it)
{
	struct fixture *f = it->object;
	const uint64_t forever = SKUA_FOREVER_NS;
	int fd = skua_file_open(f->rt, f->path, O_RDWR, 0, forever);

	if (fd < 0)
		return fd;
	if (fcntl(fd, F_GETFD) != FD_CLOEXEC ||
	    skua_file_write(f->rt, fd, f->data, BYTES, 0, forever) != BYTES ||
	    skua_file_write(f->rt, fd, f->data, 10, BYTES, forever) != 10 ||
	    skua_file_sync(f->rt, fd, 0, forever) != 0 ||
	    skua_file_sync(f->rt, fd, SKUA_FILE_DATA_ONLY, forever) != 0 ||
	    skua_file_read(f->rt, fd, f->copy, BYTES, 0, forever) != BYTES ||
	    memcmp(f->data, f->copy, BYTES) != 0)
		return -EBADMSG;
	/* At the end, and beyond it. */
	if (skua_file_read(f->rt, fd, f->copy, 100, BYTES, forever) != 10 ||
	    skua_file_read(f->rt, fd, f->copy, 100, BYTES + 10, forever) != 0 ||
	    skua_file_read(f->rt, fd, f->copy, 0, 0, forever) != 0 ||
	    skua_file_write(f->rt, fd, f->data, 0, 0, forever) != 0)
		return -EBADMSG;
	/* At the position, which moves. */
	if (skua_file_read(f->rt, fd, f->copy, 7, SKUA_FILE_POSITION,
			   forever) != 7 ||
	    skua_file_read(f->rt, fd, f->copy, 7, SKUA_FILE_POSITION,
			   forever) != 7 ||
	    memcmp(f->data + 7, f->copy, 7) != 0 ||
	    lseek(fd, BYTES, SEEK_SET) != BYTES ||
	    skua_file_read(f->rt, fd, f->copy, 100, SKUA_FILE_POSITION,
			   forever) != 10 ||
	    skua_file_read(f->rt, fd, f->copy, 100, SKUA_FILE_POSITION,
			   forever) != 0)
		return -EBADMSG;
	if (skua_file_close(f->rt, fd, forever) != 0 ||
	    skua_file_read(f->rt, fd, f->copy, 1, 0, forever) != -EBADF)
		return -EBADMSG;
	return 0;
}

TEST(file__each_operation__as_the_system_call)
{
	for (unsigned ring = 0; ring < 2; ring++) {
		for (unsigned fiber = 0; fiber < 2; fiber++) {
			struct fixture f;

			fixture_begin(&f, 1, ring);
			assert_int_equal(user_run(f.rt, fiber, use_all, &f), 0);
			fixture_end(&f);
		}
	}
}

static int use_wrongly(struct user *it)
{
	struct fixture *f = it->object;
	char byte;

	assert_int_equal(skua_file_read(NULL, f->fd, &byte, 1, 0, 0), -EINVAL);
	assert_int_equal(skua_file_read(f->rt, f->fd, NULL, 1, 0, 0), -EINVAL);
	assert_int_equal(skua_file_read(f->rt, f->fd, &byte, 1, -2, 0),
			 -EINVAL);
	assert_int_equal(skua_file_write(f->rt, f->fd, NULL, 1, 0, 0), -EINVAL);
	assert_int_equal(skua_file_sync(f->rt, f->fd, 2, 0), -EINVAL);
	assert_int_equal(skua_file_open(f->rt, NULL, 0, 0, 0), -EINVAL);
	assert_int_equal(skua_file_open(f->rt, "/no/such/file", O_RDONLY, 0,
					SKUA_FOREVER_NS),
			 -ENOENT);
	assert_int_equal(
		skua_file_read(f->rt, -1, &byte, 1, 0, SKUA_FOREVER_NS),
		-EBADF);
	assert_int_equal(skua_file_close(f->rt, -1, SKUA_FOREVER_NS), -EBADF);
	assert_int_equal(skua_file_sync(f->rt, -1, 0, SKUA_FOREVER_NS), -EBADF);
	return 0;
}

TEST(file__wrong_arguments__errno)
{
	for (unsigned ring = 0; ring < 2; ring++) {
		struct fixture f;

		fixture_begin(&f, 1, ring);
		assert_int_equal(user_run(f.rt, false, use_wrongly, &f), 0);
		assert_int_equal(user_run(f.rt, true, use_wrongly, &f), 0);
		fixture_end(&f);
	}
}

static int read_in_poll(struct skua_task *self, void *arg)
{
	struct fixture *f = arg;
	char byte;

	(void)self;
	return (int)skua_file_read(f->rt, f->fd, &byte, 1, 0, SKUA_FOREVER_NS);
}

TEST(file__in_a_poll__edeadlk)
{
	struct fixture f;

	fixture_begin(&f, 1, true);
	assert_int_equal(call_in_poll(f.rt, read_in_poll, &f), -EDEADLK);
	fixture_end(&f);
}

static int read_nonblocking(struct user *it)
{
	struct fixture *f = it->object;
	int pipes[2];
	char byte;

	/* A file is ready in any case. */
	assert_int_equal(fcntl(f->fd, F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(write(f->fd, f->data, BYTES), BYTES);
	assert_int_equal(posix_fadvise(f->fd, 0, 0, POSIX_FADV_DONTNEED), 0);
	assert_int_equal(skua_file_read(f->rt, f->fd, f->copy, BYTES, 0,
					SKUA_FOREVER_NS),
			 BYTES);
	/* A pipe is for skua/io.h: the ring waits for it, the pool does not. */
	assert_int_equal(pipe2(pipes, O_NONBLOCK), 0);
	if (has_ring(f->rt))
		assert_int_equal(skua_file_read(f->rt, pipes[0], &byte, 1,
						SKUA_FILE_POSITION,
						skua_now_ns() + SOON_NS),
				 -ETIMEDOUT);
	else
		assert_int_equal(skua_file_read(f->rt, pipes[0], &byte, 1,
						SKUA_FILE_POSITION,
						SKUA_FOREVER_NS),
				 -EINVAL);
	close(pipes[0]);
	close(pipes[1]);
	return 0;
}

TEST(file__nonblocking_descriptor__a_file_is_read_a_pipe_is_not)
{
	for (unsigned ring = 0; ring < 2; ring++) {
		struct fixture f;

		fixture_begin(&f, 1, ring);
		assert_int_equal(user_run(f.rt, true, read_nonblocking, &f), 0);
		fixture_end(&f);
	}
}

/* ---- deadlines and cancels ---------------------------------------------------------- */

/* A pipe that blocks, so that an operation takes as long as the test wants. */
struct slow {
	struct skua_runtime *rt;
	int pipes[2];
	uint64_t deadline_ns; /* from now; SKUA_FOREVER_NS */
	char byte;
};

static int read_slowly(struct user *it)
{
	struct slow *slow = it->object;
	uint64_t deadline_ns = slow->deadline_ns;

	if (deadline_ns != SKUA_FOREVER_NS)
		deadline_ns += skua_now_ns();
	return (int)skua_file_read(slow->rt, slow->pipes[0], &slow->byte, 1,
				   SKUA_FILE_POSITION, deadline_ns);
}

static void wait_for_operation(struct skua_runtime *rt)
{
	wait_for_waiters(&rt->files.waiters, 1);
}

TEST(read__deadline_passes__nothing_was_read)
{
	struct slow slow = { .rt = runtime_new(1, 0), .deadline_ns = SOON_NS };
	const char *why = no_ring(slow.rt);

	assert_int_equal(pipe(slow.pipes), 0);
	for (unsigned fiber = 0; !*why && fiber < 2; fiber++) {
		assert_int_equal(user_run(slow.rt, fiber, read_slowly, &slow),
				 -ETIMEDOUT);
		assert_int_equal(count_of(&slow.rt->files.waiters), 0);
		assert_int_equal(write(slow.pipes[1], "x", 1), 1);
		assert_int_equal(user_run(slow.rt, fiber, read_slowly, &slow),
				 1);
		assert_int_equal(slow.byte, 'x');
	}
	destroy(slow.rt);
	close(slow.pipes[0]);
	close(slow.pipes[1]);
	if (*why)
		skip_aloud(why);
}

TEST(read__cancelled__nothing_was_read)
{
	struct slow slow = { .rt = runtime_new(1, 0),
			     .deadline_ns = SKUA_FOREVER_NS };
	const char *why = no_ring(slow.rt);
	struct user it = { .number = 0 };

	assert_int_equal(pipe(slow.pipes), 0);
	if (!*why) {
		user_start(&it, slow.rt, true, read_slowly, &slow);
		wait_for_operation(slow.rt);
		skua_task_cancel(&it.fiber.task);
		assert_int_equal(user_end(&it), -ECANCELED);
		assert_int_equal(count_of(&slow.rt->files.waiters), 0);
	}
	destroy(slow.rt);
	close(slow.pipes[0]);
	close(slow.pipes[1]);
	if (*why)
		skip_aloud(why);
}

/* The operation ends before the worker's long poll does: another worker reaps it. */
static int reap_beside(struct user *it)
{
	struct slow *slow = it->object;

	assert_int_equal(write(slow->pipes[1], "y", 1), 1);
	/* Hold the worker up until the reader, on the other one, is done. */
	while (count_of(&slow->rt->files.waiters) != 0)
		sched_yield();
	return 0;
}

TEST(read__ends_during_a_long_poll__another_worker_reaps_it)
{
	struct slow slow = { .rt = runtime_new(2, 0),
			     .deadline_ns = SKUA_FOREVER_NS };
	const char *why = no_ring(slow.rt);
	struct user reader = { .number = 0 };

	assert_int_equal(pipe(slow.pipes), 0);
	for (unsigned round = 0; !*why && round < 100; round++) {
		user_start(&reader, slow.rt, true, read_slowly, &slow);
		wait_for_operation(slow.rt);
		assert_int_equal(user_run(slow.rt, true, reap_beside, &slow),
				 0);
		assert_int_equal(user_end(&reader), 1);
	}
	destroy(slow.rt);
	close(slow.pipes[0]);
	close(slow.pipes[1]);
	if (*why)
		skip_aloud(why);
}

static int give_up_at_once(struct user *it)
{
	struct fixture *f = it->object;

	assert_int_equal(skua_file_close(f->rt, f->fd, 0), -ETIMEDOUT);
	assert_int_equal(skua_file_write(f->rt, f->fd, f->data, 1, 0, 0),
			 -ETIMEDOUT);
	return (int)lseek(f->fd, 0, SEEK_END);
}

TEST(file__deadline_has_passed__nothing_was_done)
{
	for (unsigned ring = 0; ring < 2; ring++) {
		struct fixture f;

		fixture_begin(&f, 1, ring);
		assert_int_equal(user_run(f.rt, true, give_up_at_once, &f), 0);
		assert_int_equal(user_run(f.rt, false, give_up_at_once, &f), 0);
		fixture_end(&f);
	}
}

/* ---- polls -------------------------------------------------------------------------- */

#define OPS    200u
#define ROUNDS 20u

/* Writes pieces of the file at once, then reads them at once, and so on. */
struct worker_task {
	struct skua_task task; /* first: a task is its worker_task */
	struct fixture *f;
	struct skua_file_op ops[OPS];
	bool open[OPS];
	unsigned left, round;
	unsigned char pieces[OPS][100];
	unsigned wrong;
};

static void begin_round(struct worker_task *it)
{
	it->left = OPS;
	for (unsigned i = 0; i < OPS; i++) {
		it->open[i] = true;
		if (it->round % 2 == 0)
			skua_file_prep_write(&it->ops[i], it->f->fd,
					     it->f->data + i * 100, 100,
					     i * 100);
		else
			skua_file_prep_read(&it->ops[i], it->f->fd,
					    it->pieces[i], 100, i * 100);
	}
}

static enum skua_poll worker_poll(struct skua_task *self)
{
	struct worker_task *it = (struct worker_task *)self;

	for (;;) {
		if (it->left == 0 && ++it->round == ROUNDS)
			return SKUA_DONE;
		if (it->left == 0)
			begin_round(it);
		for (unsigned i = 0; i < OPS; i++) {
			ssize_t code;

			if (!it->open[i])
				continue;
			code = skua_file_poll(self, &it->ops[i],
					      SKUA_FOREVER_NS);
			if (code == -EAGAIN)
				continue;
			it->wrong += code != 100;
			it->open[i] = false;
			it->left--;
		}
		if (it->left != 0)
			return SKUA_PENDING;
		if (it->round % 2 == 1)
			it->wrong += memcmp(it->pieces, it->f->data,
					    sizeof(it->pieces)) != 0;
	}
}

TEST(poll__many_operations_of_a_task__all_end)
{
	static struct worker_task it;

	for (unsigned ring = 0; ring < 2; ring++) {
		struct fixture f;

		fixture_begin(&f, 2, ring);
		memset(&it, 0, sizeof(it));
		it.f = &f;
		assert_int_equal(skua_task_init(&it.task, worker_poll), 0);
		begin_round(&it);
		spawn(f.rt, &it.task);
		join(&it.task);
		assert_int_equal(it.wrong, 0);
		assert_int_equal(it.round, ROUNDS);
		fixture_end(&f);
	}
}

static int poll_wrongly(struct skua_task *self, void *arg)
{
	struct fixture *f = arg;
	struct skua_file_op op = { .fd = 0 };
	struct skua_task other = SKUA_TASK_INIT(count_poll);
	char byte;

	assert_int_equal(skua_file_poll(self, NULL, 0), -EINVAL);
	assert_int_equal(skua_file_poll(self, &op, 0), -EINVAL);
	skua_file_prep_read(NULL, f->fd, &byte, 1, 0);
	skua_file_prep_read(&op, f->fd, NULL, 1, 0);
	assert_int_equal(skua_file_poll(self, &op, 0), -EINVAL);
	skua_file_prep_read(&op, f->fd, &byte, 1, 0);
	assert_int_equal(skua_file_poll(&other, &op, 0), -EPERM);
	assert_int_equal(skua_file_poll(NULL, &op, 0), -EINVAL);
	assert_int_equal(skua_file_poll(self, &op, 0), -ETIMEDOUT);
	return 0;
}

TEST(poll__wrong_arguments__errno)
{
	for (unsigned ring = 0; ring < 2; ring++) {
		struct fixture f;

		fixture_begin(&f, 1, ring);
		assert_int_equal(call_in_poll(f.rt, poll_wrongly, &f), 0);
		fixture_end(&f);
	}
}

/* ---- processes ------------------------------------------------------------------------ */

static char logged[256];
static unsigned lines;

static void log_line(void *ctx, enum skua_log_level level, const char *text)
{
	(void)ctx;
	(void)level;
	if (strncmp(text, "files:", 6) != 0)
		return;
	lines++;
	snprintf(logged, sizeof(logged), "%s", text);
}

static const struct skua_hooks hooks = { .log = log_line };

TEST(file__first_operation__logs_what_carries_it_out)
{
	for (unsigned ring = 0; ring < 2; ring++) {
		struct skua_runtime *rt;
		char byte;

		refuse_ring = !ring;
		lines = 0;
		rt = RUNTIME(.workers = 1, .flags = SKUA_NO_ENV,
			     .hooks = &hooks);
		for (unsigned i = 0; i < 3; i++)
			assert_int_equal(skua_file_read(rt, -1, &byte, 1, 0,
							SKUA_FOREVER_NS),
					 -EBADF);
		assert_int_equal(lines, 1);
		if (!ring || forbidden())
			assert_string_equal(
				logged,
				"files: by up to 64 threads; no io_uring: "
				"Operation not permitted (a filter of system "
				"calls, or kernel.io_uring_disabled, forbids "
				"it)");
		else if (has_ring(rt))
			assert_string_equal(logged, "files: by io_uring");
		destroy(rt);
	}
	refuse_ring = false;
}

TEST(file__forked_child__eownerdead)
{
	struct fixture f;
	int status;
	pid_t child;
	char byte;

	fixture_begin(&f, 1, true);
	assert_int_equal(user_run(f.rt, false, use_all, &f), 0);
	child = fork();
	if (child == 0)
		_exit(skua_file_read(f.rt, f.fd, &byte, 1, 0, 0) == -EOWNERDEAD
			      ? 0
			      : 1);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	fixture_end(&f);
}
