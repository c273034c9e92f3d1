/* SPDX-License-Identifier: MIT */
/**
 * model_files.c - threads that wait for operations, a kernel that carries them out, and a
 * thread that takes completions when the driver tells of some
 *
 * The kernel writes to the buffer of an operation until it has completed it; the waiter
 * frees the buffer, the operation and the wait when its call returns. Events of the driver
 * are edges: several completions may make one. tests/model/mutants.toml has the broken
 * variants.
 */
#include "tests/model/waiter.h"

/* With one turn, the second thread takes the role of the first; with two, it leaves its
 * operation to that one. */
static unsigned submit_turns;
#define SUBMIT_TURNS submit_turns

#include "core/file/files.c"

#define OPERATIONS 2

static struct files files;
static atomic_u64 due_ns;
static struct skua_file_op ops[OPERATIONS];
static unsigned buffers[OPERATIONS]; /* plain: written by the kernel */
static int codes[OPERATIONS];
static unsigned takes; /* plain: written by uring_take() */
/* plain: written by uring_submit() and uring_cancel(), whose callers exclude each other */
static unsigned submits;
/* How many calls of uring_cancel() the kernel still refuses. */
static unsigned refusals;
static unsigned expected;

/* ---- the kernel -------------------------------------------------------------------- */

enum { NOWHERE, IN_FLIGHT, WRITING, COMPLETE, TAKEN };

static struct {
	atomic_u32 state[OPERATIONS];
	uint64_t tags[OPERATIONS];
	int results[OPERATIONS];
	atomic_u32 edges; /* of the driver's descriptor */
	atomic_u32 ended; /* calls */
	atomic_u32 news;  /* of both */
} kernel;

static void tell(atomic_u32 *word)
{
	atomic_fetch_add_release(word, 1);
	atomic_fetch_add_release(&kernel.news, 1);
	futex_wake(&kernel.news, 2);
}

static unsigned index_of(const struct skua_file_op *op)
{
	return (unsigned)(op - ops);
}

static void complete(unsigned i, int result)
{
	kernel.results[i] = result;
	atomic_store_release(&kernel.state[i], COMPLETE);
	tell(&kernel.edges);
}

/* The cases have a ring. */
int uring_create(struct uring **out, const struct skua_allocator *allocator)
{
	(void)out;
	(void)allocator;
	return -ENOSYS;
}

void uring_destroy(struct uring *ring)
{
	(void)ring;
}

int uring_fd(const struct uring *ring)
{
	(void)ring;
	return -EBADF;
}

unsigned uring_submit(struct uring *ring, const struct uring_request *requests,
		      unsigned count)
{
	(void)ring;
	explore_write(submits, 1);
	for (unsigned at = 0; at < count; at++) {
		unsigned i = index_of(requests[at].op);

		kernel.tags[i] = requests[at].tag;
		atomic_store_release(&kernel.state[i], IN_FLIGHT);
		futex_wake(&kernel.state[i], 1);
	}
	return count;
}

bool uring_cancel(struct uring *ring, uint64_t tag)
{
	(void)ring;
	explore_write(submits, 1);
	if (refusals > 0) {
		refusals--;
		return false;
	}
	for (unsigned i = 0; i < OPERATIONS; i++) {
		uint32_t state = IN_FLIGHT;

		if (kernel.tags[i] == tag &&
		    atomic_cas_acq_rel(&kernel.state[i], &state, WRITING))
			complete(i, -ECANCELED);
	}
	return true;
}

bool uring_has_done(const struct uring *ring)
{
	(void)ring;
	for (unsigned i = 0; i < OPERATIONS; i++)
		if (atomic_load_acquire(&kernel.state[i]) == COMPLETE)
			return true;
	return false;
}

unsigned uring_take(struct uring *ring, struct uring_done *out, unsigned count)
{
	unsigned taken = 0;

	(void)ring;
	explore_write(takes, 1); /* a race unless callers exclude each other */
	for (unsigned i = 0; i < OPERATIONS && taken < count; i++) {
		uint32_t state = COMPLETE;

		if (!atomic_cas_acq_rel(&kernel.state[i], &state, TAKEN))
			continue;
		out[taken].tag = kernel.tags[i];
		out[taken++].result = kernel.results[i];
	}
	return taken;
}

/* Carries out one operation, unless it is cancelled before. */
static void carries_out(unsigned i)
{
	uint32_t state;

	while (atomic_load_acquire(&kernel.state[i]) == NOWHERE)
		futex_wait(&kernel.state[i], NOWHERE);
	state = IN_FLIGHT;
	if (!atomic_cas_acq_rel(&kernel.state[i], &state, WRITING))
		return;
	explore_write(buffers[i], 7);
	complete(i, 4);
}

static void carries_out_0(void)
{
	carries_out(0);
}

static void carries_out_both(void)
{
	carries_out(0);
	carries_out(1);
}

/* ---- the threads ------------------------------------------------------------------- */

static void setup_of(unsigned count)
{
	waiters_reset();
	memset(&files, 0, sizeof(files));
	memset(ops, 0, sizeof(ops));
	memset(&kernel, 0, sizeof(kernel));
	atomic_init(&files.ring, (uintptr_t)&kernel);
	atomic_init(&due_ns, 0);
	files.due_ns = &due_ns;
	expected = count;
	refusals = 0;
	for (unsigned i = 0; i < OPERATIONS; i++) {
		buffers[i] = 0;
		ops[i].kind = FILE_READ;
		codes[i] = i < count ? -EAGAIN : 0;
	}
	explore_watch(&files, sizeof(files));
	explore_watch(ops, sizeof(ops));
}

static void setup(void)
{
	setup_of(1);
	submit_turns = 2;
}

static void setup_refused(void)
{
	setup();
	refusals = 1;
}

static void setup_two(void)
{
	setup_of(2);
	submit_turns = 2;
}

static void setup_turns(void)
{
	setup_of(2);
	submit_turns = 1;
}

static void reads(unsigned i, uint64_t deadline_ns)
{
	struct skua_file_op *op = &ops[i];
	uint32_t never = NOWHERE;
	int code;

	waiter_begin(i);
	code = await(&files_verb, &files, (uintptr_t)op, deadline_ns);
	if (code == 0)
		explore_assert(op->result == 4 &&
			       explore_read(buffers[i]) == 7);
	else
		explore_assert(code == -ETIMEDOUT &&
			       deadline_ns != SKUA_FOREVER_NS &&
			       explore_read(buffers[i]) == 0);
	codes[i] = code;
	/* If it gave up before it began, the kernel need not wait. */
	if (atomic_cas_acq_rel(&kernel.state[i], &never, TAKEN))
		futex_wake(&kernel.state[i], 1);
	tell(&kernel.ended);
	explore_free(&buffers[i], sizeof(buffers[i]));
	explore_free(op, sizeof(*op));
}

static void reads_0(void)
{
	reads(0, SKUA_FOREVER_NS);
}

static void reads_0_soon(void)
{
	reads(0, SOON_NS);
}

static void reads_1(void)
{
	reads(1, SKUA_FOREVER_NS);
}

/* A worker, to which the driver hands events. */
static void reaps(void)
{
	uint32_t edges = 0;

	waiter_begin(2);
	for (;;) {
		uint32_t seen = atomic_load_acquire(&kernel.news);
		uint32_t now = atomic_load_acquire(&kernel.edges);

		if (now != edges) {
			edges = now;
			files_reap(&files);
		} else if (atomic_load_acquire(&kernel.ended) == expected) {
			break;
		} else {
			futex_wait(&kernel.news, seen);
		}
	}
}

/* Operation 0 ends by its cancel alone, as a read of a pipe that nobody writes to. */
static void setup_submits(void)
{
	setup();
	files.submitting = true;
	files.submitter = 1;
}

/* A thread that submits at the start, and a worker after that. */
static void submits_and_reaps(void)
{
	while (submit_some(&files, 1))
		;
	reaps();
}

static void none_left(void)
{
	explore_assert(!files.waiters.first && !files.queued.first);
	explore_assert(!files.submitting);
	for (unsigned i = 0; i < expected; i++)
		explore_assert(codes[i] != -EAGAIN);
}

static const struct explore_case cases[] = {
	{ EXPLORE_PASS("read", setup, none_left, reads_0, carries_out_0, reaps),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("read__deadline", setup, none_left, reads_0_soon,
		       carries_out_0, reaps),
	  EXPLORE_WITHIN(2, 1) },
	/* The kernel does not end the read by itself. */
	{ EXPLORE_PASS("read__deadline_refused", setup_refused, none_left,
		       reads_0_soon, reaps),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("two", setup_two, none_left, reads_0, reads_1,
		       carries_out_both, reaps),
	  EXPLORE_WITHIN(1, 1) },
	{ EXPLORE_PASS("two__in_turns", setup_turns, none_left, reads_0,
		       reads_1, carries_out_both, reaps),
	  EXPLORE_WITHIN(1, 1) },
	{ EXPLORE_PASS("two__deadline", setup_two, none_left, reads_0_soon,
		       reads_1, carries_out_both, reaps),
	  EXPLORE_WITHIN(1, 1) },
	{ EXPLORE_PASS("submission__deadline", setup_submits, none_left,
		       reads_0_soon, submits_and_reaps),
	  EXPLORE_WITHIN(2, 1) },
};

EXPLORE_MAIN(cases)
