/* SPDX-License-Identifier: MIT */
/*
 * test_file_submit.c - how operations on files reach the ring
 *
 * The program is linked with --wrap for uring_submit(), to count its calls, and to refuse
 * operations as the kernel does when it is out of memory.
 */
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/stat.h>

#include "core/runtime/runtime.h"
#include "tests/unit/users.h"

#define WRITERS     8u
#define ROUNDS      200u
#define BYTES       64u
#define SHORT_POLLS 20000u
#define REST_NS     UINT64_C(20000000)
#define BEGINS      10u
#define SUBMITS_MAX 8u /* of one call */

static atomic_u32 submissions, operations;
static bool refuse;

/* Of a thread that begins an operation beside others: set while it does so; how often it
 * submits. */
static _Thread_local struct files *kept_busy;
static _Thread_local unsigned calls;
static atomic_u32 writing; /* number of the others */

static bool any_queued(struct files *files)
{
	bool any;

	waiters_lock(&files->waiters);
	any = files->queued.first != NULL;
	waiters_unlock(&files->waiters);
	return any;
}

/* Another worker has taken the role, and waits for the lock that the caller holds. Until then
 * it polls no fiber that could queue an operation. */
static bool other_waits(struct files *files)
{
	return atomic_load_relaxed(&files->lock.word) & FUTEX_WAITERS;
}

/* Until another thread has queued an operation, or cannot. */
static void wait_for_more(struct files *files)
{
	while (atomic_load_relaxed(&writing) > 0 && !any_queued(files) &&
	       !other_waits(files))
		sched_yield();
}

unsigned __real_uring_submit(struct uring *ring,
			     const struct uring_request *requests,
			     unsigned count);
unsigned __wrap_uring_submit(struct uring *ring,
			     const struct uring_request *requests,
			     unsigned count);
unsigned __wrap_uring_submit(struct uring *ring,
			     const struct uring_request *requests,
			     unsigned count)
{
	atomic_fetch_add_relaxed(&submissions, 1);
	atomic_fetch_add_relaxed(&operations, count);
	calls++;
	/* The kernel takes the first ones, if any. */
	count = __real_uring_submit(ring, requests, refuse ? count / 2 : count);
	if (kept_busy)
		wait_for_more(kept_busy);
	return count;
}

struct fixture {
	struct skua_runtime *rt;
	int fd;
	struct user writers[WRITERS];
};

/* Return: "", or why the tests cannot run. */
static const char *fixture_begin(struct fixture *f, unsigned workers)
{
	char path[] = "/tmp/test_file_submit.XXXXXX";

	memset(f, 0, sizeof(*f));
	f->rt = runtime_new(workers, 0);
	f->fd = mkstemp(path);
	assert_true(f->fd >= 0);
	assert_int_equal(unlink(path), 0);
	atomic_init(&submissions, 0);
	atomic_init(&operations, 0);
	return files_has_ring(&f->rt->files)
		       ? ""
		       : "io_uring is not built in, or refused";
}

static void fixture_end(struct fixture *f, const char *why)
{
	assert_int_equal(count_of(&f->rt->files.queued), 0);
	destroy(f->rt);
	close(f->fd);
	refuse = false;
	if (*why)
		skip_aloud(why);
}

static int write_blocks(struct user *it)
{
	struct fixture *f = it->object;
	unsigned char block[BYTES], copy[BYTES];
	const int64_t offset = (int64_t)it->number * BYTES;

	for (unsigned i = 0; i < ROUNDS; i++) {
		memset(block, (int)(i + it->number), BYTES);
		if (skua_file_write(f->rt, f->fd, block, BYTES, offset,
				    SKUA_FOREVER_NS) != BYTES ||
		    pread(f->fd, copy, BYTES, offset) != BYTES ||
		    memcmp(block, copy, BYTES) != 0)
			return -EBADMSG;
	}
	return 0;
}

static void write_all(struct fixture *f, bool fibers)
{
	for (unsigned i = 0; i < WRITERS; i++) {
		f->writers[i].number = i;
		user_start(&f->writers[i], f->rt, fibers, write_blocks, f);
	}
	for (unsigned i = 0; i < WRITERS; i++)
		assert_int_equal(user_end(&f->writers[i]), 0);
}

TEST(write__many_fibers__submitted_together)
{
	struct fixture f;
	const char *why = fixture_begin(&f, 1);

	if (!*why) {
		write_all(&f, true);
		assert_int_equal(atomic_load_relaxed(&operations),
				 WRITERS * ROUNDS);
		assert_true(atomic_load_relaxed(&submissions) <
			    WRITERS * ROUNDS / 2);
	}
	fixture_end(&f, why);
}

TEST(write__many_threads__all_end)
{
	struct fixture f;
	const char *why = fixture_begin(&f, 2);

	if (!*why)
		write_all(&f, false);
	fixture_end(&f, why);
}

TEST(write__ring_refuses__pool_carries_it_out)
{
	struct fixture f;
	const char *why = fixture_begin(&f, 2);

	refuse = true;
	if (!*why)
		write_all(&f, true);
	fixture_end(&f, why);
}

static atomic_u32 written;

static int write_and_tell(struct user *it)
{
	struct fixture *f = it->object;
	int code =
		(int)skua_file_write(f->rt, f->fd, "y", 1, 0, SKUA_FOREVER_NS);

	atomic_store_release(&written, 1);
	return code;
}

/* Hold up the worker, on which a writer has run, until the writer ends. */
static int hold_up(struct user *it)
{
	struct fixture *f = it->object;
	struct user *writer = &f->writers[0];

	/* A write waits only where polls are short. */
	for (unsigned i = 0; i < SHORT_POLLS; i++)
		skua_yield();
	*writer = (struct user){ .number = 0 };
	user_start(writer, f->rt, true, write_and_tell, f);
	skua_yield();
	while (atomic_load_acquire(&written) == 0)
		sched_yield();
	return 0;
}

/* In each round another worker, the sentinel, submits the write. */
static void hold_up_again(struct fixture *f)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		atomic_init(&written, 0);
		assert_int_equal(user_run(f->rt, true, hold_up, f), 0);
		assert_int_equal(user_end(&f->writers[0]), 1);
		/* All workers sleep. */
		if (i % 4 == 0)
			skua_sleep_until(skua_now_ns() + REST_NS);
	}
}

TEST(write__worker_then_in_a_long_poll__another_one_submits)
{
	struct fixture f;
	const char *why = fixture_begin(&f, 2);

	if (!*why)
		hold_up_again(&f);
	fixture_end(&f, why);
}

/* The sentinel wakes the writer, and no event tells it to leave its park. */
TEST(write__refused_beside_a_long_poll__the_writer_goes_on)
{
	struct fixture f;
	const char *why = fixture_begin(&f, 2);

	refuse = true;
	if (!*why)
		hold_up_again(&f);
	fixture_end(&f, why);
}

/* Writes a byte. It was written, or the call says that it was not. */
static int write_byte(struct user *it)
{
	struct fixture *f = it->object;
	char byte = 'x';

	return (int)skua_file_write(f->rt, f->fd, &byte, 1, 0, SKUA_FOREVER_NS);
}

/* Starts a writer, and cancels it once it has run. */
static int cancel_writer(struct user *it)
{
	struct fixture *f = it->object;
	struct user *writer = &f->writers[0];

	for (unsigned i = 0; i < SHORT_POLLS / 100; i++)
		skua_yield();
	*writer = (struct user){ .number = 0 };
	user_start(writer, f->rt, true, write_byte, f);
	skua_yield();
	skua_task_cancel(&writer->fiber.task);
	return 0;
}

TEST(write__cancelled_in_the_queue__nothing_was_written)
{
	struct fixture f;
	const char *why = fixture_begin(&f, 1);
	unsigned cancelled = 0;

	for (unsigned i = 0; !*why && i < ROUNDS; i++) {
		const uint32_t before = atomic_load_relaxed(&operations);
		struct stat status;
		int code;

		assert_int_equal(ftruncate(f.fd, 0), 0);
		assert_int_equal(user_run(f.rt, true, cancel_writer, &f), 0);
		code = user_end(&f.writers[0]);
		assert_true(code == 1 || code == -ECANCELED);
		assert_int_equal(fstat(f.fd, &status), 0);
		assert_int_equal(status.st_size, code == 1);
		cancelled += code == -ECANCELED &&
			     atomic_load_relaxed(&operations) == before;
	}
	if (!*why)
		assert_true(cancelled > 0);
	fixture_end(&f, why);
}

static int keep_writing(struct user *it)
{
	int code = write_blocks(it);

	atomic_fetch_add_relaxed(&writing, (uint32_t)-1);
	return code;
}

struct beginner {
	struct skua_task task;
	struct skua_file_op op;
	struct files *files;
	bool begun;
	/* Calls of uring_submit() in the call that began it. 0: another thread has submitted
	 * it. */
	unsigned submitted;
	ssize_t result;
};

/* Others queue operations as soon as this one has submitted theirs. */
static enum skua_poll begin_beside_others(struct skua_task *self)
{
	struct beginner *it = (struct beginner *)self;
	bool first = !it->begun;

	kept_busy = first ? it->files : NULL;
	it->begun = true;
	calls = 0;
	it->result = skua_file_poll(self, &it->op, SKUA_FOREVER_NS);
	kept_busy = NULL;
	if (first)
		it->submitted = calls;
	return it->result == -EAGAIN ? SKUA_PENDING : SKUA_DONE;
}

/* Return: how often it has submitted. */
static unsigned begin_one(struct fixture *f)
{
	struct beginner it = { .task = SKUA_TASK_INIT(begin_beside_others),
			       .files = &f->rt->files };

	skua_file_prep_sync(&it.op, f->fd, 0);
	spawn(f->rt, &it.task);
	join(&it.task);
	assert_int_equal(it.result, 0);
	return it.submitted;
}

static void begin_beside(bool fibers)
{
	struct fixture f;
	const char *why = fixture_begin(&f, 2);

	if (!*why) {
		atomic_init(&writing, WRITERS);
		for (unsigned i = 0; i < WRITERS; i++) {
			f.writers[i].number = i;
			user_start(&f.writers[i], f.rt, fibers, keep_writing,
				   &f);
		}
		for (unsigned i = 0; i < BEGINS; i++)
			assert_in_range(begin_one(&f), 0, SUBMITS_MAX);
		for (unsigned i = 0; i < WRITERS; i++)
			assert_int_equal(user_end(&f.writers[i]), 0);
	}
	fixture_end(&f, why);
}

TEST(begin__threads_write_on__submits_for_them_a_few_times)
{
	begin_beside(false);
}

TEST(begin__fibers_write_on__submits_for_them_a_few_times)
{
	begin_beside(true);
}
