/* SPDX-License-Identifier: MIT */
/**
 * test_realtime.c - workers of a real-time class, memory that stays; or an error
 * that says what is missing
 *
 * Each in a process of its own: memory stays locked, and a right once given up is
 * gone.
 */
#include <pthread.h>
#include <sys/mman.h>

#include "core/os/realtime.h"
#include "tests/unit/process.h"
#include "tests/unit/tasks.h"

#define CANNOT 77

#define NO_LOCKS "a sanitizer has mlockall() do nothing"

/* ---- limits that the kernel does not have ---------------------------------- */

/* In place of the library's calls: see tests/CMakeLists.txt. */
static bool refuses_locks; /* although the limit of locked memory is this: */
static rlim_t lock_limit;

int __real_mlockall(int flags);
int __wrap_mlockall(int flags);
int __wrap_mlockall(int flags)
{
	if (!refuses_locks)
		return __real_mlockall(flags);
	errno = ENOMEM;
	return -1;
}

int __real_getrlimit(__rlimit_resource_t which, struct rlimit *limit);
int __wrap_getrlimit(__rlimit_resource_t which, struct rlimit *limit);
int __wrap_getrlimit(__rlimit_resource_t which, struct rlimit *limit)
{
	if (!refuses_locks)
		return __real_getrlimit(which, limit);
	limit->rlim_cur = limit->rlim_max = lock_limit;
	return 0;
}

/* ---- rights ---------------------------------------------------------------- */

/* Be one who may do nothing special; false: the machine does not let it. */
static bool give_up_rights(void)
{
	const struct rlimit none = { 0, 0 };
	const uid_t nobody = 65534;

	return setrlimit(RLIMIT_RTPRIO, &none) == 0 &&
	       setrlimit(RLIMIT_MEMLOCK, &none) == 0 &&
	       (geteuid() != 0 || setresuid(nobody, nobody, nobody) == 0);
}

static bool may_be_realtime(void)
{
	struct sched_param param = { .sched_priority = 1 };
	bool may = sched_setscheduler(0, SCHED_FIFO, &param) == 0;

	param.sched_priority = 0;
	sched_setscheduler(0, SCHED_OTHER, &param);
	return may;
}

static bool may_lock_memory(void)
{
	return mlockall(MCL_CURRENT) == 0 && munlockall() == 0;
}

/* ---- children -------------------------------------------------------------- */

/* Run a test in a child; skip if it cannot be. */
static void in_child(int (*body)(void), const char *reason)
{
	int code = exit_of(body);

	if (code == CANNOT) {
		fprintf(stderr, "skipped: %s\n", reason);
		skip();
	}
	assert_int_equal(code, 0);
}

#define CHECK(condition)                                                   \
	do {                                                               \
		if (!(condition)) {                                        \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, \
				#condition);                               \
			return 1;                                          \
		}                                                          \
	} while (0)

/* Refused, with an error that has these words, and nothing is left. */
static int check_refused(unsigned flags, const char *flag, const char *right,
			 const char *limit)
{
	const struct skua_config cfg = { .size = sizeof(cfg),
					 .workers = 2,
					 .flags = flags };
	struct skua_runtime *rt = (struct skua_runtime *)&cfg;
	struct belongings before = belongings();
	struct skua_error err = { 0, "" };
	int code;

	if (!give_up_rights())
		return CANNOT;
	errno = 123;
	code = skua_runtime_create(&rt, &cfg, &err);
	CHECK(errno == 123);
	CHECK(code == -EPERM && err.code == code && !rt);
	CHECK(strstr(err.text, flag) && strstr(err.text, right) &&
	      strstr(err.text, limit));
	CHECK(strlen(err.text) + 1 < sizeof(err.text));
	wait_for_threads(before.threads);
	CHECK(belongings().files == before.files);
	return 0;
}

static int fifo_refused(void)
{
	return check_refused(SKUA_REALTIME, "SKUA_REALTIME", "CAP_SYS_NICE",
			     "RLIMIT_RTPRIO of 1 (it is 0)");
}

static int lock_refused(void)
{
	return check_refused(SKUA_LOCK_MEMORY, "SKUA_LOCK_MEMORY",
			     "CAP_IPC_LOCK", "RLIMIT_MEMLOCK");
}

/* A task that tells of which class its worker is. */
struct question {
	struct skua_task task;
	int policy, priority;
};

static enum skua_poll ask_class(struct skua_task *task)
{
	struct question *question = (struct question *)task;
	struct sched_param param;

	pthread_getschedparam(pthread_self(), &question->policy, &param);
	question->priority = param.sched_priority;
	return SKUA_DONE;
}

static int realtime_granted(void)
{
	const struct skua_config cfg = { .size = sizeof(cfg),
					 .workers = 2,
					 .flags = SKUA_REALTIME };
	struct skua_runtime *rt;

	if (!may_be_realtime())
		return CANNOT;
	CHECK(skua_runtime_create(&rt, &cfg, NULL) == 0);
	for (unsigned i = 0; i < 2; i++) {
		struct question question = { .policy = -1 };

		CHECK(skua_task_init(&question.task, ask_class) == 0);
		CHECK(skua_task_spawn_on(rt, i, &question.task) == 0);
		CHECK(skua_task_join(&question.task) == 0);
		CHECK(question.policy == SCHED_FIFO && question.priority == 1);
	}
	CHECK(sched_getscheduler(0) == SCHED_OTHER);
	CHECK(skua_runtime_destroy(rt) == 0);
	return 0;
}

/* In KiB, as /proc/self/status has it. */
static unsigned long locked_memory(void)
{
	FILE *file = fopen("/proc/self/status", "r");
	unsigned long locked = 0;
	char line[200];

	while (file && fgets(line, sizeof(line), file))
		sscanf(line, "VmLck: %lu", &locked);
	if (file)
		fclose(file);
	return locked;
}

static int lock_granted(void)
{
	struct skua_config cfg = { .size = sizeof(cfg),
				   .workers = 2,
				   .flags = SKUA_LOCK_MEMORY };
	struct skua_runtime *rt;

	if (!may_lock_memory())
		return CANNOT;
	CHECK(locked_memory() == 0);
	CHECK(skua_runtime_create(&rt, &cfg, NULL) == 0);
	CHECK(locked_memory() > 0);
	CHECK(skua_runtime_destroy(rt) == 0);
	/* It is the process's, and not undone. */
	CHECK(locked_memory() > 0);
	cfg.flags |= SKUA_CALLER_DRIVEN;
	cfg.workers = 0;
	CHECK(skua_runtime_create(&rt, &cfg, NULL) == 0);
	CHECK(skua_runtime_destroy(rt) == 0);
	return 0;
}

/* ---- cases ----------------------------------------------------------------- */

ALL_TESTS(process_settle, NULL);

TEST(realtime__without_the_right__refused_by_name)
{
	in_child(fifo_refused, "the user cannot be changed");
}

TEST(realtime__with_the_right__workers_are_fifo)
{
	in_child(realtime_granted, "no SCHED_FIFO: CAP_SYS_NICE is missing");
}

TEST(lock_memory__without_the_right__refused_by_name)
{
	if (SANITIZED) {
		skip_aloud(NO_LOCKS);
		return;
	}
	in_child(lock_refused, "the user cannot be changed");
}

TEST(lock_memory__with_the_right__is_locked)
{
	if (SANITIZED) {
		skip_aloud(NO_LOCKS);
		return;
	}
	in_child(lock_granted, "no mlockall(): CAP_IPC_LOCK is missing");
}

TEST(lock_memory__fails__says_the_limit)
{
	struct skua_error err;

	refuses_locks = true;
	lock_limit = RLIM_INFINITY;
	assert_int_equal(realtime_lock_memory(&err), -ENOMEM);
	assert_non_null(strstr(err.text, "(it is unlimited)"));
	lock_limit = 65536;
	assert_int_equal(realtime_lock_memory(&err), -ENOMEM);
	assert_non_null(strstr(err.text, "(it is 65536 bytes)"));
	refuses_locks = false;
}
