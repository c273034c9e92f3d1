/* SPDX-License-Identifier: MIT */
/* test_runtime.c - the life of a runtime, and where its threads are */
#define SUPPORT_FAIL_ALLOCATIONS
#include "tests/unit/support.h"

#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>

#include "core/runtime.h"
#include "topology/cpu_list.h"

/* ---- threads that cannot be created ------------------------------------- */

#if SANITIZED
#define CAN_FAIL_THREADS 0
#else
#define CAN_FAIL_THREADS 1
/* How many more pthread_create() succeed; below zero: all do. */
static int threads_until_failure = -1;

/* Takes the place of the C library's, and forwards to it. */
int pthread_create(pthread_t *thread, const pthread_attr_t *attr,
		   void *(*start)(void *), void *arg)
{
	static int (*next)(pthread_t *, const pthread_attr_t *,
			   void *(*)(void *), void *);

	if (!next) {
		void *symbol = dlsym(RTLD_NEXT, "pthread_create");

		memcpy(&next, &symbol, sizeof(next));
	}
	if (threads_until_failure == 0)
		return EAGAIN;
	if (threads_until_failure > 0)
		threads_until_failure--;
	return next(thread, attr, start, arg);
}
#endif

/* ---- what the process has ----------------------------------------------- */

static unsigned count_entries(const char *path)
{
	DIR *dir = opendir(path);
	unsigned count = 0;

	assert_non_null(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

/* A thread that was joined may be listed for a moment longer. */
static void wait_for_threads(unsigned count)
{
	while (count_entries("/proc/self/task") != count)
		sched_yield();
}

struct belongings {
	unsigned threads;
	unsigned files;
};

static struct belongings belongings(void)
{
	return (struct belongings){ count_entries("/proc/self/task"),
				    count_entries("/proc/self/fd") };
}

static void expect_belongings(struct belongings before)
{
	wait_for_threads(before.threads);
	assert_int_equal(count_entries("/proc/self/fd"), before.files);
}

/* The first line of a file of a thread that begins with @key; false if the
 * thread is gone. */
static bool read_line(const char *tid, const char *file, const char *key,
		      char *line, size_t size)
{
	char path[300];
	bool found = false;
	FILE *stream;

	snprintf(path, sizeof(path), "/proc/self/task/%s/%s", tid, file);
	stream = fopen(path, "r");
	while (stream && !found && fgets(line, (int)size, stream))
		found = strncmp(line, key, strlen(key)) == 0;
	if (stream)
		fclose(stream);
	line[strcspn(line, "\n")] = '\0';
	return found;
}

#define TID_SIZE 256 /* of a name in a folder */

/* The thread "skua-@worker", as it is in /proc; "" if there is none. */
static void look_for_worker(unsigned worker, char tid[TID_SIZE])
{
	DIR *dir = opendir("/proc/self/task");
	struct dirent *entry;
	char name[32];
	char line[64];

	assert_non_null(dir);
	snprintf(name, sizeof(name), "skua-%u", worker);
	tid[0] = '\0';
	while (!tid[0] && (entry = readdir(dir)) != NULL) {
		line[0] = '\0';
		if (read_line(entry->d_name, "comm", "", line, sizeof(line)) &&
		    strcmp(line, name) == 0)
			snprintf(tid, TID_SIZE, "%s", entry->d_name);
	}
	closedir(dir);
}

/* A worker names itself, once it runs. */
static void find_worker(unsigned worker, char tid[TID_SIZE])
{
	for (;;) {
		look_for_worker(worker, tid);
		if (tid[0])
			return;
		sched_yield();
	}
}

static void worker_status(unsigned worker, const char *key, char *value,
			  size_t size)
{
	char line[4096] = "";
	char tid[TID_SIZE];

	find_worker(worker, tid);
	assert_true(read_line(tid, "status", key, line, sizeof(line)));
	snprintf(value, size, "%s", line + strlen(key) + 1); /* the tab */
}

static void expect_worker_cpus(unsigned worker, const unsigned *cpus,
			       unsigned count)
{
	char text[4096];
	struct cpu_list list;

	worker_status(worker, "Cpus_allowed_list:", text, sizeof(text));
	assert_int_equal(cpu_list_parse(&list, text), 0);
	assert_int_equal(list.count, count);
	assert_memory_equal(list.cpus, cpus, count * sizeof(*cpus));
	cpu_list_free(&list);
}

/* ---- tasks -------------------------------------------------------------- */

/* Calls @act with the runtime, from inside a poll. */
struct caller {
	struct skua_task task; /* first: a task is its caller */
	int (*act)(struct skua_runtime *rt);
	struct skua_runtime *rt;
	int result;
};

static enum skua_poll call_poll(struct skua_task *self)
{
	struct caller *caller = (struct caller *)self;

	caller->result = caller->act(caller->rt);
	return SKUA_DONE;
}

/* What @act(@rt) returns in a task on @on. */
static int call_on_worker(struct skua_runtime *on, struct skua_runtime *rt,
			  int (*act)(struct skua_runtime *rt))
{
	struct caller caller = { .task = SKUA_TASK_INIT(call_poll),
				 .act = act,
				 .rt = rt,
				 .result = 1 };

	assert_int_equal(skua_task_spawn(on, &caller.task), 0);
	assert_int_equal(skua_task_join(&caller.task), 0);
	return caller.result;
}

static int index_of_caller(struct skua_runtime *rt)
{
	return skua_worker_index(rt);
}

/* Doubles: each of a generation spawns the next, down to the leaves. */
struct tree {
	struct skua_task task; /* first: a task is its tree */
	struct tree *nodes;
	unsigned index;
	unsigned count;
	unsigned value;
};

static enum skua_poll tree_poll(struct skua_task *self)
{
	struct tree *it = (struct tree *)self;

	for (unsigned child = 2 * it->index + 1; child <= 2 * it->index + 2;
	     child++) {
		if (child < it->count)
			skua_task_spawn(self->runtime, &it->nodes[child].task);
	}
	it->value = it->index + 1;
	return SKUA_DONE;
}

static struct tree *tree_new(unsigned count)
{
	struct tree *nodes = calloc(count, sizeof(*nodes));

	assert_non_null(nodes);
	for (unsigned n = 0; n < count; n++)
		nodes[n] = (struct tree){ .task = SKUA_TASK_INIT(tree_poll),
					  .nodes = nodes,
					  .index = n,
					  .count = count };
	return nodes;
}

static void tree_free(struct tree *nodes)
{
	for (unsigned n = 0; n < nodes->count; n++)
		assert_int_equal(nodes[n].value, n + 1);
	free(nodes);
}

/* ---- bad input ---------------------------------------------------------- */

static void runtime_create__null_out__einval_and_says_so(void **state)
{
	struct skua_error err = { 0, "" };

	(void)state;
	assert_int_equal(skua_runtime_create(NULL, NULL, &err), -EINVAL);
	assert_int_equal(err.code, -EINVAL);
	assert_non_null(strstr(err.text, "out: NULL"));
	assert_int_equal(skua_runtime_create(NULL, NULL, NULL), -EINVAL);
}

static void runtime__null__einval_or_0(void **state)
{
	(void)state;
	assert_int_equal(skua_runtime_drain(NULL), -EINVAL);
	assert_int_equal(skua_runtime_destroy(NULL), -EINVAL);
	assert_int_equal(skua_runtime_workers(NULL), 0);
	assert_int_equal(skua_worker_index(NULL), -EINVAL);
}

static void runtime__in_a_poll__edeadlk_and_lives_on(void **state)
{
	struct skua_runtime *rt = runtime_new(2, 0);

	(void)state;
	assert_int_equal(call_on_worker(rt, rt, skua_runtime_drain), -EDEADLK);
	assert_int_equal(call_on_worker(rt, rt, skua_runtime_destroy),
			 -EDEADLK);
	assert_int_equal(call_on_worker(rt, NULL, skua_runtime_drain), -EINVAL);
	assert_int_equal(call_on_worker(rt, NULL, skua_runtime_destroy),
			 -EINVAL);
	/* Not closed: it takes tasks still. */
	assert_int_equal(skua_runtime_drain(rt), 0);
	assert_in_range(call_on_worker(rt, rt, index_of_caller), 0, 1);
	assert_int_equal(skua_runtime_destroy(rt), 0);
}

static void runtime_drain__from_another_runtimes_worker__edeadlk(void **state)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct skua_runtime *other = runtime_new(1, 0);

	(void)state;
	assert_int_equal(call_on_worker(other, rt, skua_runtime_drain),
			 -EDEADLK);
	assert_int_equal(skua_runtime_destroy(other), 0);
	assert_int_equal(skua_runtime_destroy(rt), 0);
}

static void worker_index__inside_outside_elsewhere__own_or_enoent(void **state)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct skua_runtime *other = runtime_new(3, 0);

	(void)state;
	assert_int_equal(skua_worker_index(rt), -ENOENT);
	assert_int_equal(call_on_worker(rt, rt, index_of_caller), 0);
	assert_in_range(call_on_worker(other, other, index_of_caller), 0, 2);
	assert_int_equal(call_on_worker(other, rt, index_of_caller), -ENOENT);
	assert_int_equal(call_on_worker(rt, NULL, index_of_caller), -EINVAL);
	assert_int_equal(skua_runtime_destroy(rt), 0);
	assert_int_equal(skua_runtime_destroy(other), 0);
}

/* Holds its worker, and knows which one that is. */
struct indexed {
	struct holder holder; /* first: a task is its indexed */
	int index;
};

static enum skua_poll note_index_and_hold(struct skua_task *self)
{
	((struct indexed *)self)->index = skua_worker_index(self->runtime);
	return holder_poll(self);
}

static void worker_index__all_workers_held__each_index_once(void **state)
{
	struct skua_runtime *rt = runtime_new(4, 0);
	struct indexed tasks[4];
	unsigned seen = 0;

	(void)state;
	for (unsigned n = 0; n < 4; n++) {
		tasks[n] = (struct indexed){ .holder = HOLDER_INIT };
		skua_task_init(&tasks[n].holder.task, note_index_and_hold);
		holder_hold(rt, &tasks[n].holder);
	}
	for (unsigned n = 0; n < 4; n++) {
		holder_end(&tasks[n].holder);
		assert_in_range(tasks[n].index, 0, 3);
		seen |= 1u << tasks[n].index;
	}
	assert_int_equal(seen, 0xf);
	assert_int_equal(skua_runtime_destroy(rt), 0);
}

/* ---- numbers of workers ------------------------------------------------- */

static void runtime_create__some_workers__all_tasks_run(void **state)
{
	static const unsigned counts[] = { 1, 2, 3, 64, 200 };
	const struct belongings before = belongings();

	(void)state;
	for (size_t c = 0; c < COUNT_OF(counts); c++) {
		struct skua_runtime *rt = runtime_new(counts[c], 0);
		struct tree *nodes = tree_new(4000);

		assert_int_equal(skua_runtime_workers(rt), counts[c]);
		assert_int_equal(skua_task_spawn(rt, &nodes[0].task), 0);
		assert_int_equal(skua_runtime_drain(rt), 0);
		tree_free(nodes);
		assert_int_equal(skua_runtime_destroy(rt), 0);
		expect_belongings(before);
	}
}

static void runtime_create__no_config__a_worker_for_each_cpu(void **state)
{
	struct skua_runtime *rt = NULL;
	struct cpu_list allowed;

	(void)state;
	assert_int_equal(cpu_list_allowed(&allowed), 0);
	assert_int_equal(skua_runtime_create(&rt, NULL, NULL), 0);
	assert_int_equal(skua_runtime_workers(rt), allowed.count);
	assert_int_equal(skua_runtime_destroy(rt), 0);
	cpu_list_free(&allowed);
}

static struct skua_runtime *created_inside;

static int create_inside(struct skua_runtime *rt)
{
	const struct skua_config cfg = { .size = sizeof(cfg), .workers = 2 };

	(void)rt;
	return skua_runtime_create(&created_inside, &cfg, NULL);
}

static void runtime_create__by_a_task__lives_beside_the_other(void **state)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct tree *nodes = tree_new(100);

	(void)state;
	assert_int_equal(call_on_worker(rt, NULL, create_inside), 0);
	assert_int_equal(skua_runtime_destroy(rt), 0);
	assert_int_equal(skua_runtime_workers(created_inside), 2);
	assert_int_equal(skua_task_spawn(created_inside, &nodes[0].task), 0);
	assert_int_equal(skua_runtime_destroy(created_inside), 0);
	tree_free(nodes);
}

/* ---- threads: names, CPUs, signals -------------------------------------- */

static struct skua_runtime *runtime_of(unsigned workers, const char *cpus,
				       unsigned flags)
{
	const struct skua_config cfg = { .size = sizeof(cfg),
					 .workers = workers,
					 .cpus = cpus,
					 .flags = flags };
	struct skua_runtime *rt = NULL;

	assert_int_equal(skua_runtime_create(&rt, &cfg, NULL), 0);
	return rt;
}

/* Destroy, and wait until no thread of that name can be mistaken. */
static void end(struct skua_runtime *rt, struct belongings before)
{
	assert_int_equal(skua_runtime_destroy(rt), 0);
	expect_belongings(before);
}

static void runtime_create__any__workers_have_their_names(void **state)
{
	const struct belongings before = belongings();
	struct skua_runtime *rt = runtime_new(12, 0);
	char tid[TID_SIZE];

	(void)state;
	assert_int_equal(count_entries("/proc/self/task"), before.threads + 12);
	for (unsigned worker = 0; worker < 12; worker++)
		find_worker(worker, tid);
	look_for_worker(12, tid);
	assert_string_equal(tid, "");
	end(rt, before);
}

static void runtime_create__a_worker_each_cpu__pinned_one_by_one(void **state)
{
	const struct belongings before = belongings();
	struct cpu_list allowed;
	struct skua_runtime *rt;

	(void)state;
	assert_int_equal(cpu_list_allowed(&allowed), 0);
	rt = runtime_of(allowed.count, NULL, 0);
	for (unsigned i = 0; i < allowed.count; i++)
		expect_worker_cpus(i, &allowed.cpus[i], 1);
	end(rt, before);
	cpu_list_free(&allowed);
}

static void runtime_create__surplus_workers__may_use_all_chosen(void **state)
{
	const struct belongings before = belongings();
	struct cpu_list allowed;
	struct skua_runtime *rt;

	(void)state;
	assert_int_equal(cpu_list_allowed(&allowed), 0);
	rt = runtime_of(allowed.count + 2, NULL, 0);
	for (unsigned i = 0; i < allowed.count; i++)
		expect_worker_cpus(i, &allowed.cpus[i], 1);
	for (unsigned i = allowed.count; i < allowed.count + 2; i++)
		expect_worker_cpus(i, allowed.cpus, allowed.count);
	end(rt, before);
	cpu_list_free(&allowed);
}

static void runtime_create__cpus_named__workers_stay_there(void **state)
{
	const struct belongings before = belongings();
	struct cpu_list allowed;
	struct skua_runtime *rt;
	unsigned *last;
	char text[16];

	(void)state;
	assert_int_equal(cpu_list_allowed(&allowed), 0);
	last = &allowed.cpus[allowed.count - 1];
	snprintf(text, sizeof(text), "%u", *last);
	rt = runtime_of(0, text, 0);
	assert_int_equal(skua_runtime_workers(rt), 1);
	expect_worker_cpus(0, last, 1);
	end(rt, before);
	/* Unpinned and surplus ones, too. */
	for (unsigned flags = 0; flags <= SKUA_UNPINNED; flags++) {
		rt = runtime_of(3, text, flags);
		for (unsigned i = 0; i < 3; i++)
			expect_worker_cpus(i, last, 1);
		end(rt, before);
	}
	cpu_list_free(&allowed);
}

static void runtime_create__unpinned__all_may_use_all_chosen(void **state)
{
	const struct belongings before = belongings();
	struct cpu_list allowed;
	struct skua_runtime *rt;

	(void)state;
	assert_int_equal(cpu_list_allowed(&allowed), 0);
	rt = runtime_of(3, NULL, SKUA_UNPINNED);
	for (unsigned i = 0; i < 3; i++)
		expect_worker_cpus(i, allowed.cpus, allowed.count);
	end(rt, before);
	cpu_list_free(&allowed);
}

static void runtime_create__narrow_affinity__is_never_widened(void **state)
{
	const struct belongings before = belongings();
	struct skua_runtime *rt;
	struct cpu_list allowed;
	cpu_set_t old;
	cpu_set_t one;

	(void)state;
	assert_int_equal(cpu_list_allowed(&allowed), 0);
	if (sched_getaffinity(0, sizeof(old), &old) != 0 || allowed.count < 2) {
		cpu_list_free(&allowed);
		skip_aloud("needs two CPUs, and a cpu_set_t that holds them");
		return;
	}
	CPU_ZERO(&one);
	CPU_SET(allowed.cpus[1], &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	rt = runtime_of(2, NULL, 0);
	expect_worker_cpus(0, &allowed.cpus[1], 1);
	expect_worker_cpus(1, &allowed.cpus[1], 1);
	assert_int_equal(sched_setaffinity(0, sizeof(old), &old), 0);
	end(rt, before);
	cpu_list_free(&allowed);
}

/* SIGKILL and SIGSTOP cannot be blocked, and the C library keeps two for
 * itself. */
static bool may_be_blocked(int signal)
{
	return signal != SIGKILL && signal != SIGSTOP && signal != 32 &&
	       signal != 33;
}

static void runtime_create__any__workers_block_every_signal(void **state)
{
	const struct belongings before = belongings();
	struct skua_runtime *rt = runtime_new(2, 0);

	(void)state;
	for (unsigned worker = 0; worker < 2; worker++) {
		unsigned long long blocked;
		char text[64];

		worker_status(worker, "SigBlk:", text, sizeof(text));
		blocked = strtoull(text, NULL, 16);
		for (int signal = 1; signal <= 64; signal++) {
			if (may_be_blocked(signal) &&
			    !(blocked >> (signal - 1) & 1))
				fail_msg("worker %u does not block signal %d",
					 worker, signal);
		}
	}
	end(rt, before);
}

static void expect_mask(const sigset_t *expected)
{
	sigset_t mask;

	assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &mask), 0);
	for (int signal = 1; signal <= 64; signal++)
		assert_int_equal(sigismember(&mask, signal),
				 sigismember(expected, signal));
}

/* Also when it fails, with the threads or before them. */
static void runtime_create__any__caller_keeps_affinity_and_mask(void **state)
{
	struct skua_config cfg = { .size = sizeof(cfg), .workers = 3 };
	struct skua_runtime *rt;
	sigset_t before;
	sigset_t mask;
	struct cpu_list cpus;
	struct cpu_list cpus_after;

	(void)state;
	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR2);
	sigaddset(&mask, SIGRTMIN + 3);
	assert_int_equal(pthread_sigmask(SIG_SETMASK, &mask, &before), 0);
	assert_int_equal(cpu_list_allowed(&cpus), 0);

	assert_int_equal(skua_runtime_create(&rt, &cfg, NULL), 0);
	expect_mask(&mask);
	assert_int_equal(skua_runtime_destroy(rt), 0);
	expect_mask(&mask);
	cfg.workers = SKUA_MAX_WORKERS + 1;
	assert_int_equal(skua_runtime_create(&rt, &cfg, NULL), -EINVAL);
	expect_mask(&mask);
#if CAN_FAIL_THREADS
	cfg.workers = 3;
	threads_until_failure = 2;
	assert_int_equal(skua_runtime_create(&rt, &cfg, NULL), -EAGAIN);
	threads_until_failure = -1;
	expect_mask(&mask);
#endif

	assert_int_equal(cpu_list_allowed(&cpus_after), 0);
	assert_int_equal(cpus.count, cpus_after.count);
	assert_memory_equal(cpus.cpus, cpus_after.cpus,
			    cpus.count * sizeof(*cpus.cpus));
	cpu_list_free(&cpus);
	cpu_list_free(&cpus_after);
	assert_int_equal(pthread_sigmask(SIG_SETMASK, &before, NULL), 0);
}

/* ---- failures ----------------------------------------------------------- */

static void runtime_create__nth_thread_fails__eagain_nothing_left(void **state)
{
	(void)state;
#if CAN_FAIL_THREADS
	const struct skua_config cfg = { .size = sizeof(cfg), .workers = 5 };
	const struct belongings before = belongings();

	for (int created = 0; created < 5; created++) {
		struct skua_runtime *rt = (struct skua_runtime *)&cfg;
		struct skua_error err = { 0, "" };
		char expected[64];
		int code;

		threads_until_failure = created;
		code = skua_runtime_create(&rt, &cfg, &err);
		threads_until_failure = -1;
		assert_int_equal(code, -EAGAIN);
		assert_int_equal(err.code, -EAGAIN);
		snprintf(expected, sizeof(expected), "workers: thread %d of 5",
			 created + 1);
		assert_non_null(strstr(err.text, expected));
		assert_null(rt);
		expect_belongings(before);

		threads_until_failure = created;
		code = skua_runtime_create(&rt, &cfg, NULL);
		threads_until_failure = -1;
		assert_int_equal(code, -EAGAIN);
		expect_belongings(before);
	}
#else
	skip_aloud("threads cannot be made to fail under a sanitizer");
#endif
}

static void runtime_create__nth_allocation_fails__nothing_left(void **state)
{
	const struct belongings before = belongings();
	const struct skua_config cfg = { .size = sizeof(cfg), .workers = 3 };
	unsigned enomem = 0;
	unsigned nth = 0;
	long left;

	(void)state;
	if (!CAN_FAIL_ALLOCATIONS) {
		skip_aloud(NO_FAILURES);
		return;
	}
	/* The C library keeps the stacks of ended threads for the next ones:
	 * let it have them before anything is counted. */
	end(runtime_new(3, 0), before);
	for (;;) {
		struct skua_runtime *rt = (struct skua_runtime *)&cfg;
		struct skua_error err = { 0, "" };
		int code;

		allocations_begin(++nth);
		code = skua_runtime_create(&rt, &cfg, &err);
		if (code == 0)
			skua_runtime_destroy(rt);
		left = allocations_end();
		assert_int_equal(left, 0);
		if (!allocations_failed()) {
			assert_int_equal(code, 0);
			break;
		}
		assert_true(code == -ENOMEM || code == -EAGAIN);
		assert_int_equal(err.code, code);
		assert_true(strlen(err.text) > 0);
		assert_null(rt);
		expect_belongings(before);
		enomem += code == -ENOMEM;
	}
	/* At least: itself, its CPUs, three arrays and three queues. */
	assert_true(enomem >= 8);
	expect_belongings(before);
}

static void runtime__1000_cycles__nothing_grows(void **state)
{
	const struct belongings before = belongings();

	(void)state;
	for (unsigned n = 0; n < 1000; n++) {
		struct skua_runtime *rt = runtime_new(1 + n % 3, 4);

		if (n % 2)
			assert_true(call_on_worker(rt, rt, index_of_caller) >=
				    0);
		assert_int_equal(skua_runtime_destroy(rt), 0);
		/* Those that were joined are on their way out at most. */
		if (n % 100 == 99)
			expect_belongings(before);
	}
}

/* ---- drain -------------------------------------------------------------- */

static void runtime_drain__no_task_ever__returns_at_once(void **state)
{
	struct skua_runtime *rt = runtime_new(2, 0);

	(void)state;
	for (unsigned n = 0; n < 100; n++)
		assert_int_equal(skua_runtime_drain(rt), 0);
	assert_int_equal(skua_runtime_destroy(rt), 0);
}

/* Plain fields, read without a join: the drain orders them. */
static void runtime_drain__tasks_spawned_tasks__sees_all_they_wrote(void **s)
{
	struct skua_runtime *rt = runtime_new(3, 16);

	(void)s;
	for (unsigned round = 0; round < 50; round++) {
		struct tree *nodes = tree_new(500 + round);

		assert_int_equal(skua_task_spawn(rt, &nodes[0].task), 0);
		assert_int_equal(skua_runtime_drain(rt), 0);
		tree_free(nodes);
	}
	assert_int_equal(skua_runtime_destroy(rt), 0);
}

struct drainer {
	struct skua_runtime *rt;
	struct tree *nodes;
	unsigned wrong;
	int code;
};

static void *drain(void *arg)
{
	struct drainer *it = arg;

	it->code = skua_runtime_drain(it->rt);
	for (unsigned n = 0; n < it->nodes->count; n++)
		it->wrong += it->nodes[n].value != n + 1;
	return NULL;
}

static void runtime_drain__several_wait__all_return(void **state)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	struct tree *nodes = tree_new(300);
	struct holder holder = HOLDER_INIT;
	struct drainer drainers[3];
	pthread_t threads[3];

	(void)state;
	holder_hold(rt, &holder);
	assert_int_equal(skua_task_spawn(rt, &nodes[0].task), 0);
	for (unsigned n = 0; n < 3; n++) {
		drainers[n] = (struct drainer){ rt, nodes, 0, 1 };
		assert_int_equal(
			pthread_create(&threads[n], NULL, drain, &drainers[n]),
			0);
	}
	while (atomic_load_acquire(&rt->pool.drainers) < 3)
		sched_yield();
	gate_open(&holder.go_on);
	for (unsigned n = 0; n < 3; n++) {
		assert_int_equal(pthread_join(threads[n], NULL), 0);
		assert_int_equal(drainers[n].code, 0);
		assert_int_equal(drainers[n].wrong, 0);
	}
	assert_int_equal(skua_runtime_destroy(rt), 0);
	tree_free(nodes);
}

/* ---- destroy ------------------------------------------------------------ */

static void runtime_destroy__tasks_queued__runs_them_all(void **state)
{
	const struct belongings before = belongings();

	(void)state;
	for (unsigned workers = 1; workers <= 3; workers++) {
		struct skua_runtime *rt = runtime_new(workers, 4);
		struct tree *trees[20];

		for (unsigned t = 0; t < 20; t++) {
			trees[t] = tree_new(200);
			assert_int_equal(skua_task_spawn(rt, &trees[t]->task),
					 0);
		}
		end(rt, before);
		for (unsigned t = 0; t < 20; t++)
			tree_free(trees[t]);
	}
}

static void *destroy(void *arg)
{
	return (void *)(intptr_t)skua_runtime_destroy(arg);
}

/* Holds the runtime open, and then spawns a tree. */
struct last_holder {
	struct holder holder; /* first: a task is its last_holder */
	struct tree *nodes;
	int code;
};

static enum skua_poll hold_then_spawn(struct skua_task *self)
{
	struct last_holder *it = (struct last_holder *)self;

	holder_poll(self);
	it->code = skua_task_spawn(self->runtime, &it->nodes[0].task);
	return SKUA_DONE;
}

static enum skua_poll do_nothing(struct skua_task *self)
{
	(void)self;
	return SKUA_DONE;
}

static int spawn_nothing(struct skua_runtime *rt)
{
	static struct skua_task task = SKUA_TASK_INIT(do_nothing);

	return skua_task_spawn(rt, &task);
}

static void runtime_destroy__waits_for_a_task__eshutdown_outside(void **state)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	struct skua_runtime *other = runtime_new(1, 0);
	struct skua_task probe = SKUA_TASK_INIT(do_nothing);
	struct last_holder last = { .holder = HOLDER_INIT };
	pthread_t thread;
	void *code;
	int spawned;

	(void)state;
	assert_int_equal(skua_task_init(&last.holder.task, hold_then_spawn), 0);
	last.nodes = tree_new(100);
	holder_hold(rt, &last.holder);
	assert_int_equal(pthread_create(&thread, NULL, destroy, rt), 0);
	/* The other worker takes what comes before the destroy has begun. */
	while ((spawned = skua_task_spawn(rt, &probe)) == 0)
		assert_int_equal(skua_task_join(&probe), 0);
	assert_int_equal(spawned, -ESHUTDOWN);
	assert_int_equal(skua_task_spawn(rt, &probe), -ESHUTDOWN);
	/* Never spawned, then; another runtime takes it. */
	assert_int_equal(skua_task_join(&probe), -EINVAL);
	assert_int_equal(skua_task_spawn(other, &probe), 0);
	assert_int_equal(skua_task_join(&probe), 0);
	/* Another runtime's worker is outside, too. */
	assert_int_equal(call_on_worker(other, rt, spawn_nothing), -ESHUTDOWN);

	gate_open(&last.holder.go_on);
	assert_int_equal(pthread_join(thread, &code), 0);
	assert_int_equal((intptr_t)code, 0);
	assert_int_equal(last.code, 0);
	tree_free(last.nodes);
	assert_int_equal(skua_runtime_destroy(other), 0);
}

/* A refused task that was detached keeps its release for its next runtime. */
static atomic_u32 releases;

static void count_release(struct skua_task *task)
{
	(void)task;
	atomic_fetch_add_relaxed(&releases, 1);
}

static void runtime_destroy__detached_task_refused__is_not_released(void **s)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct skua_runtime *other = runtime_new(1, 0);
	struct skua_task task = SKUA_TASK_INIT(do_nothing);
	struct holder holder = HOLDER_INIT;
	pthread_t thread;

	(void)s;
	holder_hold(rt, &holder);
	assert_int_equal(pthread_create(&thread, NULL, destroy, rt), 0);
	while (!atomic_load_acquire(&rt->pool.closing))
		sched_yield();
	assert_int_equal(skua_task_detach(&task, count_release), 0);
	assert_int_equal(skua_task_spawn(rt, &task), -ESHUTDOWN);
	assert_int_equal(skua_task_spawn(rt, &task), -ESHUTDOWN);
	gate_open(&holder.go_on);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(atomic_load_relaxed(&releases), 0);
	assert_int_equal(skua_task_spawn(other, &task), 0);
	assert_int_equal(skua_runtime_destroy(other), 0);
	assert_int_equal(atomic_load_relaxed(&releases), 1);
}

/* clang-format off */
static const struct CMUnitTest tests[] = {
	cmocka_unit_test(runtime_create__null_out__einval_and_says_so),
	cmocka_unit_test(runtime__null__einval_or_0),
	cmocka_unit_test(runtime__in_a_poll__edeadlk_and_lives_on),
	cmocka_unit_test(runtime_drain__from_another_runtimes_worker__edeadlk),
	cmocka_unit_test(worker_index__inside_outside_elsewhere__own_or_enoent),
	cmocka_unit_test(worker_index__all_workers_held__each_index_once),
	cmocka_unit_test(runtime_create__some_workers__all_tasks_run),
	cmocka_unit_test(runtime_create__no_config__a_worker_for_each_cpu),
	cmocka_unit_test(runtime_create__by_a_task__lives_beside_the_other),
	cmocka_unit_test(runtime_create__any__workers_have_their_names),
	cmocka_unit_test(runtime_create__a_worker_each_cpu__pinned_one_by_one),
	cmocka_unit_test(runtime_create__surplus_workers__may_use_all_chosen),
	cmocka_unit_test(runtime_create__cpus_named__workers_stay_there),
	cmocka_unit_test(runtime_create__unpinned__all_may_use_all_chosen),
	cmocka_unit_test(runtime_create__narrow_affinity__is_never_widened),
	cmocka_unit_test(runtime_create__any__workers_block_every_signal),
	cmocka_unit_test(runtime_create__any__caller_keeps_affinity_and_mask),
	cmocka_unit_test(runtime_create__nth_thread_fails__eagain_nothing_left),
	cmocka_unit_test(runtime_create__nth_allocation_fails__nothing_left),
	cmocka_unit_test(runtime__1000_cycles__nothing_grows),
	cmocka_unit_test(runtime_drain__no_task_ever__returns_at_once),
	cmocka_unit_test(runtime_drain__tasks_spawned_tasks__sees_all_they_wrote),
	cmocka_unit_test(runtime_drain__several_wait__all_return),
	cmocka_unit_test(runtime_destroy__tasks_queued__runs_them_all),
	cmocka_unit_test(runtime_destroy__waits_for_a_task__eshutdown_outside),
	cmocka_unit_test(runtime_destroy__detached_task_refused__is_not_released),
};
/* clang-format on */

int main(void)
{
	return cmocka_run_group_tests_name("runtime", tests, NULL, NULL);
}
