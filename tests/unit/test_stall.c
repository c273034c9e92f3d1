/* SPDX-License-Identifier: MIT */
/* test_stall.c - polls that take too long are reported, others are not */
#include <dirent.h>
#include <poll.h>
#include <pthread.h>

#include "core/runtime/runtime.h"
#include "tests/unit/process.h"
#include "tests/unit/tasks.h"

/* A sanitizer runs a handler when the thread calls some functions, if ever. */
#if defined(__SANITIZE_THREAD__)
#define STACKS 0
#else
#define STACKS 1
#endif

#define LIMIT_NS UINT64_C(4000000)
/* Looks after which what is not seen is not there. */
#define MANY_LOOKS 40u

static const struct skua_task_type http_read = SKUA_TASK_TYPE("http_read");
static const struct skua_task_type patient = { "patient",
					       SKUA_MAX_STALL_LIMIT_NS,
					       { 0, 0 } };
static const struct skua_task_type hasty = { "hasty", LIMIT_NS, { 0, 0 } };

/* ---- what is told ------------------------------------------------------------- */

static struct {
	struct skua_stall last; /* written before the count */
	const void *ctx;        /* likewise */
	atomic_u32 stalls;
	atomic_u32 read;
	char said[2000]; /* the last warning; likewise */
	atomic_u32 warnings;
} told;

static void on_stall(void *ctx, const struct skua_stall *stall)
{
	/* Acquire: what was read of the last one. Pairs with hog_of(). */
	(void)atomic_load_acquire(&told.read);
	told.ctx = ctx;
	told.last = *stall;
	atomic_fetch_add_release(&told.stalls, 1);
}

static void on_log(void *ctx, enum skua_log_level level, const char *text)
{
	(void)ctx;
	if (level > SKUA_LOG_WARNING)
		return;
	snprintf(told.said, sizeof(told.said), "%s", text);
	atomic_fetch_add_release(&told.warnings, 1);
}

static uint32_t stalls_told(void)
{
	return atomic_load_acquire(&told.stalls);
}

static uint32_t warnings_told(void)
{
	return atomic_load_acquire(&told.warnings);
}

static const struct skua_hooks both_hooks = { .log = on_log,
					      .ctx = &told,
					      .stall = on_stall };
static const struct skua_hooks log_hook = { .log = on_log, .ctx = &told };

static struct skua_config config_of(unsigned workers, uint64_t limit_ns)
{
	struct skua_config cfg = SKUA_CONFIG_INIT;

	memset(&told, 0, sizeof(told));
	cfg.workers = workers;
	cfg.flags = SKUA_NO_ENV;
	cfg.hooks = &both_hooks;
	cfg.stall_limit_ns = limit_ns;
	return cfg;
}

static struct skua_runtime *create(const struct skua_config *cfg)
{
	struct skua_runtime *rt = NULL;
	struct skua_error err = { 0, "" };

	if (skua_runtime_create(&rt, cfg, &err) != 0)
		fail_msg("%s", err.text);
	return rt;
}

static struct skua_runtime *runtime_limited(unsigned workers, uint64_t limit_ns)
{
	struct skua_config cfg = config_of(workers, limit_ns);

	return create(&cfg);
}

static uint64_t stalls_of(const struct skua_runtime *rt, unsigned i)
{
	return counter_read(&rt->pool.workers[i]->area.counters.stalls);
}

static uint64_t stalls_counted(const struct skua_runtime *rt)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < rt->pool.worker_count; i++)
		sum += stalls_of(rt, i);
	return sum;
}

static void let_it_look(const struct skua_runtime *rt, uint64_t times)
{
	uint64_t end = counter_read(&rt->watch.looks) + times;

	while (counter_read(&rt->watch.looks) < end)
		sched_yield();
}

/* ---- tasks that take their time ------------------------------------------------- */

/* In a section of its own, so that its addresses are known. */
#define KNOWN __attribute__((noinline, section("stalls_here")))
extern const char __start_stalls_here[], __stop_stalls_here[];

/* Ends when a count has reached a number, or a gate is open. */
struct hog {
	struct skua_task task; /* first: a task is its hog */
	atomic_u32 *count;
	uint32_t until;
	const struct stall_watch *watch;
	unsigned looks; /* and stays for so many more */
	bool deaf;      /* to the signal */
	int fd;         /* -1, or what it reads a byte from instead */
	ssize_t got;
	int error; /* errno, after a report */
};

static void relax(void)
{
	if (STACKS)
		cpu_relax();
	else
		usleep(1);
}

static void stay(const struct hog *it)
{
	uint64_t end = counter_read(&it->watch->looks) + it->looks;

	while (it->looks && counter_read(&it->watch->looks) < end)
		relax();
}

KNOWN static void hog_it(struct hog *it)
{
	struct pollfd in = { .fd = it->fd, .events = POLLIN };
	char byte;

	errno = EXDEV;
	while (it->fd >= 0 && !STACKS && poll(&in, 1, -1) != 1)
		;
	if (it->fd >= 0)
		it->got = read(it->fd, &byte, 1);
	while (it->fd < 0 && atomic_load_acquire(it->count) < it->until)
		relax();
	it->error = errno;
	stay(it);
	__asm__ volatile("" ::: "memory"); /* no call at its end */
}

static enum skua_poll hog_poll(struct skua_task *self)
{
	struct hog *it = (struct hog *)self;
	sigset_t set, before;

	sigfillset(&set);
	if (it->deaf)
		pthread_sigmask(SIG_BLOCK, &set, &before);
	hog_it(it);
	if (it->deaf)
		pthread_sigmask(SIG_SETMASK, &before, NULL);
	return SKUA_DONE;
}

static struct hog hog_of(struct skua_runtime *rt,
			 const struct skua_task_type *type)
{
	struct hog it = { .task = SKUA_TASK_INIT(hog_poll),
			  .count = &told.stalls,
			  .until = stalls_told() + 1,
			  .watch = &rt->watch,
			  .fd = -1 };

	assert_int_equal(skua_task_set_type(&it.task, type), 0);
	/* Release: as in on_stall(). */
	atomic_fetch_add_release(&told.read, 1);
	return it;
}

static void run(struct skua_runtime *rt, struct skua_task *task)
{
	spawn(rt, task);
	join(task);
}

/* Hog a worker until that is reported. */
static void stall_once(struct skua_runtime *rt,
		       const struct skua_task_type *type)
{
	struct hog it = hog_of(rt, type);

	run(rt, &it.task);
}

static bool stack_has_it(const struct skua_stall *stall)
{
	for (unsigned i = 0; i < stall->frames; i++) {
		if ((const char *)stall->frame[i] >= __start_stalls_here &&
		    (const char *)stall->frame[i] <= __stop_stalls_here)
			return true;
	}
	return false;
}

/* There is no stack if the thread has no CPU for the time in which it has to answer. */
static bool has_stack(void)
{
	return STACKS && told.last.frames > 0;
}

static void expect_stack(void)
{
	if (has_stack())
		assert_true(stack_has_it(&told.last));
}

/* ---- reported --------------------------------------------------------------------- */

ALL_TESTS(process_settle, NULL);

TEST(stall__hog__told_once_with_all_there_is)
{
	struct skua_runtime *rt = runtime_limited(2, LIMIT_NS);
	struct hog it = hog_of(rt, &http_read);

	it.looks = MANY_LOOKS;
	assert_int_equal(skua_task_spawn_on(rt, 1, &it.task), 0);
	join(&it.task);
	assert_int_equal(stalls_told(), 1);
	assert_int_equal(stalls_counted(rt), 1);
	assert_int_equal(stalls_of(rt, 1), 1);
	assert_ptr_equal(told.ctx, &told);
	assert_int_equal(told.last.size, sizeof(struct skua_stall));
	assert_int_equal(told.last.worker, 1);
	assert_ptr_equal(told.last.type, &http_read);
	assert_ptr_equal(told.last.poll, hog_poll);
	assert_true(told.last.duration_ns > LIMIT_NS);
	assert_true(told.last.cpu_ns <= told.last.duration_ns);
	assert_int_equal(told.last.suppressed, 0);
	expect_stack();
	/* The one that it was interrupted in comes first. */
	if (has_stack())
		assert_true((const char *)told.last.frame[0] >=
				    __start_stalls_here &&
			    (const char *)told.last.frame[0] <
				    __stop_stalls_here);
	assert_int_equal(it.error, EXDEV);
	destroy(rt);
}

TEST(stall__sleeps_in_a_call__told_with_stack)
{
	struct skua_runtime *rt = runtime_limited(2, LIMIT_NS);
	struct hog it = hog_of(rt, &http_read);
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	it.fd = ends[0];
	spawn(rt, &it.task);
	while (stalls_told() == 0)
		sched_yield();
	let_it_look(rt, MANY_LOOKS);
	assert_int_equal(write(ends[1], "x", 1), 1);
	join(&it.task);
	assert_int_equal(stalls_told(), 1);
	assert_int_equal(it.got, 1);
	assert_ptr_equal(told.last.type, &http_read);
	assert_true(told.last.duration_ns > LIMIT_NS);
	expect_stack();
	destroy(rt);
	close(ends[0]);
	close(ends[1]);
}

TEST(stall__no_type__told_with_null)
{
	struct skua_runtime *rt = runtime_limited(1, LIMIT_NS);

	stall_once(rt, NULL);
	assert_null(told.last.type);
	assert_ptr_equal(told.last.poll, hog_poll);
	destroy(rt);
}

TEST(stall__again_and_again__told_with_stack_in_the_end)
{
	struct skua_runtime *rt = runtime_limited(1, LIMIT_NS);

	do
		stall_once(rt, &http_read);
	while (STACKS && !has_stack());
	expect_stack();
	destroy(rt);
}

struct late_hog {
	struct hog hog; /* first: a task is its late_hog */
	uint64_t looks;
};

static enum skua_poll yield_then_hog(struct skua_task *self)
{
	struct late_hog *it = (struct late_hog *)self;

	if (counter_read(&it->hog.watch->looks) < it->looks)
		return SKUA_YIELD;
	return hog_poll(self);
}

/* The poll before it has the same task. */
TEST(stall__after_many_short_polls__told)
{
	for (unsigned n = 0; n < 8; n++) {
		struct skua_runtime *rt = runtime_limited(1, LIMIT_NS);
		struct late_hog it = { hog_of(rt, &http_read), n };

		it.hog.task.poll = yield_then_hog;
		run(rt, &it.hog.task);
		assert_int_equal(stalls_told(), 1);
		destroy(rt);
	}
}

TEST(stall__each_worker_at_once__each_told)
{
	struct skua_runtime *rt = runtime_limited(3, LIMIT_NS);
	struct hog hogs[3];

	for (unsigned i = 0; i < 3; i++) {
		hogs[i] = hog_of(rt, &http_read);
		hogs[i].until = 3;
		assert_int_equal(skua_task_spawn_on(rt, i, &hogs[i].task), 0);
	}
	for (unsigned i = 0; i < 3; i++)
		join(&hogs[i].task);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(stalls_of(rt, i), 1);
	destroy(rt);
}

TEST(stall__two_runtimes__each_tells_of_its_own)
{
	struct skua_runtime *one = runtime_limited(1, LIMIT_NS);
	struct skua_runtime *other = runtime_limited(1, LIMIT_NS);

	stall_once(one, &http_read);
	expect_stack();
	assert_int_equal(stalls_counted(one), 1);
	stall_once(other, NULL);
	expect_stack();
	assert_int_equal(stalls_counted(one), 1);
	assert_int_equal(stalls_counted(other), 1);
	destroy(one);
	destroy(other);
}

TEST(stall__no_hook__log_is_told)
{
	struct skua_config cfg = config_of(1, LIMIT_NS);
	struct skua_runtime *rt;
	struct hog it;

	cfg.hooks = &log_hook;
	rt = create(&cfg);
	it = hog_of(rt, &http_read);
	it.count = &told.warnings;
	run(rt, &it.task);
	assert_non_null(strstr(told.said, "worker 0"));
	assert_non_null(strstr(told.said, "type http_read"));
	if (STACKS)
		assert_non_null(strstr(told.said, "; stack: "));
	assert_int_equal(stalls_counted(rt), 1);
	destroy(rt);
}

/* ---- not reported ------------------------------------------------------------------ */

TEST(stall__many_short_polls__not_told)
{
	struct skua_runtime *rt = runtime_limited(2, LIMIT_NS);
	uint64_t end = MANY_LOOKS;

	while (counter_read(&rt->watch.looks) < end) {
		struct counter it = COUNTER_INIT;

		run(rt, &it.task);
	}
	assert_int_equal(stalls_counted(rt), 0);
	destroy(rt);
}

struct yielder {
	struct skua_task task; /* first: a task is its yielder */
	const struct stall_watch *watch;
};

static enum skua_poll yield_for_long(struct skua_task *self)
{
	const struct stall_watch *watch = ((struct yielder *)self)->watch;

	return counter_read(&watch->looks) < MANY_LOOKS ? SKUA_YIELD
							: SKUA_DONE;
}

/* The same task, all the time; but another poll each time. */
TEST(stall__one_task_yields_for_long__not_told)
{
	struct skua_runtime *rt = runtime_limited(1, LIMIT_NS);
	struct yielder it = { SKUA_TASK_INIT(yield_for_long), &rt->watch };

	run(rt, &it.task);
	assert_int_equal(stalls_counted(rt), 0);
	destroy(rt);
}

TEST(stall__type_with_longer_limit__not_told)
{
	struct skua_runtime *rt = runtime_limited(2, LIMIT_NS);
	struct hog it = hog_of(rt, &patient);

	it.until = 0;
	it.looks = MANY_LOOKS;
	run(rt, &it.task);
	assert_int_equal(stalls_counted(rt), 0);
	destroy(rt);
}

TEST(stall__type_with_shorter_limit__told)
{
	struct skua_runtime *rt = runtime_limited(2, SKUA_MAX_STALL_LIMIT_NS);

	stall_once(rt, &hasty);
	assert_true(counter_read(&rt->watch.period_ns) < LIMIT_NS);
	assert_ptr_equal(told.last.type, &hasty);
	assert_int_equal(stalls_counted(rt), 1);
	destroy(rt);
}

static bool thread_named(const char *wanted)
{
	DIR *dir = opendir("/proc/self/task");
	const struct dirent *entry;
	bool found = false;

	assert_non_null(dir);
	while (!found && (entry = readdir(dir)) != NULL) {
		char path[300], name[32] = "";
		FILE *file;

		snprintf(path, sizeof(path), "/proc/self/task/%s/comm",
			 entry->d_name);
		file = fopen(path, "re");
		if (file && fgets(name, sizeof(name), file))
			found = strncmp(name, wanted, strlen(wanted)) == 0;
		if (file)
			fclose(file);
	}
	closedir(dir);
	return found;
}

TEST(stall__no_limit__no_thread)
{
	struct skua_runtime *rt = runtime_limited(1, 0);

	assert_int_equal(skua_runtime_drain(rt), 0);
	assert_false(thread_named("skua-watch"));
	assert_int_equal(stalls_of(rt, 0), 0);
	destroy(rt);
}

/* ---- not too often ------------------------------------------------------------------ */

/* Stalls until the next one is reported; @counted are known before. */
TEST(stall__often__others_are_counted)
{
	struct skua_runtime *rt = runtime_limited(1, LIMIT_NS);
	uint64_t counted = 1;

	stall_once(rt, &http_read);
	while (stalls_told() == 1) {
		struct hog it = hog_of(rt, &http_read);

		/* Until it is counted. */
		it.until = 0;
		spawn(rt, &it.task);
		join(&it.task);
		it = hog_of(rt, &http_read);
		it.until = 0;
		it.looks = 12;
		run(rt, &it.task);
		counted = stalls_counted(rt);
	}
	assert_int_equal(stalls_told(), 2);
	assert_true(counted > 2);
	/* All between the first and the last. */
	assert_int_equal(told.last.suppressed, counted - 2);
	destroy(rt);
}

/* ---- the signal ---------------------------------------------------------------------- */

static atomic_u32 foreign_signals;

static void on_foreign(int signal)
{
	(void)signal;
	atomic_fetch_add_relaxed(&foreign_signals, 1);
}

static void handle_it(int signal, void (*handler)(int))
{
	struct sigaction action = { .sa_handler = handler };

	assert_int_equal(sigaction(signal, &action, NULL), 0);
}

TEST(signal__handled_by_the_program__no_stack_and_said)
{
	struct skua_config cfg = config_of(1, LIMIT_NS);
	struct skua_runtime *rt;

	handle_it(SIGRTMIN + 3, on_foreign);
	cfg.stall_signal = SIGRTMIN + 3;
	rt = create(&cfg);
	assert_int_equal(warnings_told(), 1);
	assert_non_null(strstr(told.said, "without stacks"));
	stall_once(rt, NULL);
	assert_int_equal(told.last.frames, 0);
	assert_int_equal(atomic_load_relaxed(&foreign_signals), 0);
	destroy(rt);
	handle_it(SIGRTMIN + 3, SIG_DFL);
}

TEST(signal__handled_by_the_program_later__left_alone)
{
	struct skua_config cfg = config_of(2, LIMIT_NS);
	struct skua_runtime *rt;

	cfg.stall_signal = SIGRTMIN + 4;
	rt = create(&cfg);
	assert_int_equal(warnings_told(), 0);
	handle_it(SIGRTMIN + 4, on_foreign);
	for (unsigned i = 0; i < 2; i++) {
		struct hog it = hog_of(rt, NULL);

		assert_int_equal(skua_task_spawn_on(rt, i, &it.task), 0);
		join(&it.task);
		assert_int_equal(told.last.frames, 0);
	}
	assert_int_equal(warnings_told(), 1);
	assert_int_equal(atomic_load_relaxed(&foreign_signals), 0);
	destroy(rt);
	handle_it(SIGRTMIN + 4, SIG_DFL);
}

TEST(signal__highest_is_handled__next_one_is_taken)
{
	struct sigaction before;
	struct skua_runtime *rt;

	assert_int_equal(sigaction(SIGRTMAX, NULL, &before), 0);
	handle_it(SIGRTMAX, on_foreign);
	rt = runtime_limited(1, LIMIT_NS);
	assert_int_equal(warnings_told(), 0);
	assert_int_equal(rt->watch.signal, SIGRTMAX - 1);
	stall_once(rt, NULL);
	expect_stack();
	assert_int_equal(atomic_load_relaxed(&foreign_signals), 0);
	destroy(rt);
	assert_int_equal(sigaction(SIGRTMAX, &before, NULL), 0);
}

TEST(signal__none_wanted__no_stack)
{
	struct skua_config cfg = config_of(1, LIMIT_NS);
	struct skua_runtime *rt;

	cfg.stall_signal = SKUA_STALL_NO_SIGNAL;
	rt = create(&cfg);
	stall_once(rt, NULL);
	assert_int_equal(told.last.frames, 0);
	assert_int_equal(warnings_told(), 0);
	destroy(rt);
}

/* The handler runs when the report is long over; nothing of it is lost. */
TEST(signal__blocked_in_the_poll__no_stack_and_next_has_one)
{
	struct skua_runtime *rt = runtime_limited(2, LIMIT_NS);
	struct hog it = hog_of(rt, &http_read);

	it.deaf = true;
	assert_int_equal(skua_task_spawn_on(rt, 0, &it.task), 0);
	join(&it.task);
	assert_int_equal(told.last.frames, 0);
	/* Another worker: this one is not reported for a second. */
	it = hog_of(rt, &http_read);
	assert_int_equal(skua_task_spawn_on(rt, 1, &it.task), 0);
	join(&it.task);
	expect_stack();
	destroy(rt);
}

TEST(signal__from_elsewhere__nothing_happens)
{
	struct skua_runtime *rt = runtime_limited(1, LIMIT_NS);
	struct counter it = COUNTER_INIT;

	assert_int_equal(kill(getpid(), rt->watch.signal), 0);
	run(rt, &it.task);
	assert_int_equal(stalls_told(), 0);
	stall_once(rt, NULL);
	destroy(rt);
}

/* ---- idle ------------------------------------------------------------------------------ */

/* The context switches of the watcher; 0: it is not there, or it runs or waits for a CPU. */
static uint64_t watch_switches(void)
{
	DIR *dir = opendir("/proc/self/task");
	const struct dirent *entry;
	uint64_t sum = 0;

	assert_non_null(dir);
	while ((entry = readdir(dir)) != NULL) {
		char path[300], line[300];
		bool ours = false, asleep = false;
		FILE *file;

		snprintf(path, sizeof(path), "/proc/self/task/%s/status",
			 entry->d_name);
		file = fopen(path, "re");
		while (file && fgets(line, sizeof(line), file)) {
			const char *at = strstr(line, "voluntary_ctxt");

			ours |= strcmp(line, "Name:\tskua-watch\n") == 0;
			asleep |= strncmp(line, "State:\tS", 8) == 0;
			if (ours && asleep && at)
				sum += strtoull(strchr(at, ':') + 1, NULL, 10);
		}
		if (file)
			fclose(file);
	}
	closedir(dir);
	return sum;
}

static void wait_until_resting(const struct skua_runtime *rt)
{
	while (atomic_load_acquire(&rt->watch.rest.state) != STALL_RESTING)
		sched_yield();
}

TEST(idle__all_parked__watcher_does_nothing)
{
	struct skua_runtime *rt = runtime_limited(2, LIMIT_NS);
	uint64_t before, after;

	/* A tick may still be under way when it says that it rests, for as long as it has no
	 * CPU. */
	do {
		wait_until_resting(rt);
		before = watch_switches();
		usleep(200 * 1000);
		after = watch_switches();
	} while (before == 0 || after == 0);
	if (after != before) {
		before = after;
		usleep(200 * 1000);
		after = watch_switches();
	}
	assert_int_equal(after, before);
	destroy(rt);
}

TEST(idle__then_work__is_watched_again)
{
	struct skua_runtime *rt = runtime_limited(2, LIMIT_NS);

	for (unsigned i = 0; i < 2; i++) {
		struct hog it = hog_of(rt, &http_read);

		wait_until_resting(rt);
		assert_int_equal(skua_task_spawn_on(rt, i, &it.task), 0);
		join(&it.task);
		assert_int_equal(stalls_told(), i + 1);
	}
	destroy(rt);
}

/* ---- its life --------------------------------------------------------------------------- */

TEST(life__created_and_destroyed__nothing_remains)
{
	struct belongings before;
	struct skua_runtime *rt;

	/* The memory for the first stack stays. */
	destroy(runtime_limited(1, LIMIT_NS));
	before = belongings();
	for (unsigned i = 0; i < 5; i++) {
		rt = runtime_limited(2, SKUA_MAX_STALL_LIMIT_NS);
		while (!thread_named("skua-watch"))
			sched_yield(); /* it says so itself */
		end(rt, before);
	}
}

TEST(life__forked__child_goes_on_without)
{
	struct skua_runtime *rt = runtime_limited(1, LIMIT_NS);
	int status = 0;
	pid_t child;

	if (!STACKS) {
		destroy(rt);
		skip_aloud("a sanitizer has no threads in a child");
	}
	stall_once(rt, NULL);
	fflush(NULL);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		/* Also one of its own. */
		struct skua_runtime *own = runtime_limited(1, LIMIT_NS);

		kill(getpid(), own->watch.signal);
		stall_once(own, NULL);
		_exit(skua_runtime_destroy(own) == 0 &&
				      skua_runtime_destroy(rt) == -EOWNERDEAD
			      ? 0
			      : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	destroy(rt);
}

/* ---- configuration ------------------------------------------------------------------------ */

static void expect_refused(const struct skua_config *cfg, const char *text)
{
	struct skua_runtime *rt;
	struct skua_error err = { 0, "" };

	assert_int_equal(skua_runtime_create(&rt, cfg, &err), -EINVAL);
	if (!strstr(err.text, text))
		fail_msg("'%s' does not say '%s'", err.text, text);
}

TEST(config__out_of_range__einval_with_text)
{
	struct skua_config cfg = config_of(1, SKUA_MIN_STALL_LIMIT_NS - 1);

	expect_refused(&cfg, "stall_limit_ns: 99999, allowed are 100000 to");
	cfg.stall_limit_ns = SKUA_MAX_STALL_LIMIT_NS + 1;
	expect_refused(&cfg, "stall_limit_ns: 1000000000001");
	cfg.stall_limit_ns = LIMIT_NS;
	cfg.flags |= SKUA_CALLER_DRIVEN;
	expect_refused(&cfg, "allowed is 0 with SKUA_CALLER_DRIVEN");
	cfg.flags &= ~SKUA_CALLER_DRIVEN;
	cfg.stall_signal = SIGUSR1;
	expect_refused(&cfg, "stall_signal: 10, allowed are SIGRTMIN");
	cfg.stall_signal = SIGRTMAX + 1;
	expect_refused(&cfg, "stall_signal: 65");
	cfg.stall_signal = 0;
	cfg.fiber_stack = 1;
	expect_refused(&cfg, "fiber_stack: 1");
}

TEST(config__environment__taken_with_threads_only)
{
	struct skua_config cfg = config_of(1, 0);
	struct skua_runtime *rt;

	cfg.flags = 0;
	setenv("SKUA_STALL_LIMIT_NS", "5000000", 1);
	rt = create(&cfg);
	assert_int_equal(rt->watch.limit_ns, 5000000);
	destroy(rt);
	cfg.flags = SKUA_CALLER_DRIVEN;
	rt = create(&cfg);
	assert_int_equal(rt->watch.limit_ns, 0);
	destroy(rt);
	cfg.flags = 0;
	setenv("SKUA_STALL_LIMIT_NS", "5", 1);
	expect_refused(&cfg, "SKUA_STALL_LIMIT_NS: \"5\", allowed are 100000");
	unsetenv("SKUA_STALL_LIMIT_NS");
}

/* A program compiled before there was the hook has nothing there. */
TEST(config__older_caller__hook_is_not_read)
{
	struct skua_config cfg = config_of(1, 0);
	struct skua_runtime *rt;

	cfg.size = offsetof(struct skua_config, stall_limit_ns);
	rt = create(&cfg);
	assert_null(rt->config.hooks.stall);
	assert_ptr_equal(rt->config.hooks.ctx, &told);
	destroy(rt);
}
