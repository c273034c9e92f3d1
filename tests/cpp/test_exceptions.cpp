// SPDX-License-Identifier: MIT
//
// test_exceptions.cpp - a function of the program that throws, or ends its thread,
// ends the program with a line that says which one it was
//
// Each case runs in a child, whose caller would catch the exception.
#include <skua/skua.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <stdexcept>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "../sanitized.h"

#define SKUA_SORT_NAME            sort_thrown
#define SKUA_SORT_TYPE            long
#define SKUA_SORT_LESS(a, b, arg) less_thrown(*(a), *(b))
static bool less_thrown(long a, long b);
#include <skua/sort_template.h>

namespace
{

[[noreturn]] void boom()
{
	throw std::runtime_error("boom");
}

// Not to be reached except by a throw.
[[noreturn]] void wait_for_end()
{
	for (;;)
		pause();
}

// The first thread throws. The compiler takes this to return.
void maybe_boom()
{
	static std::atomic<int> calls(0);
	if (calls.fetch_add(1) > 0)
		wait_for_end();
	if (getpid() > 0)
		boom();
}

skua_runtime *create(unsigned flags = 0, const skua_hooks *hooks = nullptr,
		     const skua_allocator *allocator = nullptr)
{
	skua_config config = SKUA_CONFIG_INIT;
	skua_runtime *rt = nullptr;
	config.workers = flags & SKUA_CALLER_DRIVEN ? 1 : 2;
	config.flags = flags;
	config.hooks = hooks;
	config.allocator = allocator;
	if (skua_runtime_create(&rt, &config, nullptr) != 0)
		_exit(4);
	return rt;
}

const skua_task_type thrower_type = SKUA_TASK_TYPE("thrower");

skua_poll poll_throws(skua_task *)
{
	maybe_boom();
	return SKUA_DONE;
}

skua_poll poll_exits(skua_task *)
{
	pthread_exit(nullptr);
}

skua_poll poll_done(skua_task *)
{
	return SKUA_DONE;
}

skua_poll poll_pending(skua_task *)
{
	return SKUA_PENDING;
}

void release_throws(skua_task *)
{
	maybe_boom();
}

void run_on_worker(skua_task_fn poll)
{
	static skua_task task;
	skua_task_init(&task, poll);
	skua_task_set_type(&task, &thrower_type);
	skua_task_spawn(create(), &task);
	wait_for_end();
}

// --- tasks ------------------------------------------------------------------------

void poll_on_worker()
{
	run_on_worker(poll_throws);
}

void poll_on_worker_exits()
{
	run_on_worker(poll_exits);
}

// Waits first, so that it may be on another thread.
extern "C" void fiber_throws(skua_fiber *)
{
	skua_yield();
	maybe_boom();
}

void fiber_exits(skua_fiber *)
{
	pthread_exit(nullptr);
}

void run_fiber(skua_fiber_fn fn)
{
	static skua_fiber fiber;
	skua_fiber_init(&fiber, fn, 0);
	skua_task_set_type(&fiber.task, &thrower_type);
	skua_task_spawn(create(), &fiber.task);
	wait_for_end();
}

void fiber_on_worker()
{
	run_fiber(fiber_throws);
}

void fiber_on_worker_exits()
{
	run_fiber(fiber_exits);
}

extern "C" void blocking_throws(skua_blocking *)
{
	boom();
}

extern "C" void blocking_exits(skua_blocking *)
{
	pthread_exit(nullptr);
}

void run_blocking(void (*fn)(skua_blocking *))
{
	skua_blocking call = SKUA_BLOCKING_INIT(fn);
	skua_blocking_call(create(), &call, SKUA_FOREVER_NS);
}

void blocking_on_pool()
{
	run_blocking(blocking_throws);
}

void blocking_on_pool_exits()
{
	run_blocking(blocking_exits);
}

void call_throws(void *)
{
	maybe_boom();
}

void fiber_of_library()
{
	skua_fiber_spawn(create(), &thrower_type, call_throws, nullptr);
	wait_for_end();
}

void poll_while_recorded()
{
	skua_runtime *rt = create();
	static skua_task task;
	skua_record_start(rt);
	// Until the worker has taken note of that.
	for (int i = 0; i < 100; i++) {
		skua_task done = SKUA_TASK_INIT(poll_done);
		skua_runtime_block_on(rt, &done);
	}
	skua_task_init(&task, poll_throws);
	skua_task_spawn(rt, &task);
	wait_for_end();
}

void poll_by_caller()
{
	skua_runtime *rt = create(SKUA_CALLER_DRIVEN);
	skua_task task = SKUA_TASK_INIT(poll_throws);
	skua_task_set_type(&task, &thrower_type);
	skua_task_spawn(rt, &task);
	skua_runtime_poll(rt, UINT64_MAX);
}

void poll_in_drain()
{
	skua_runtime *rt = create(SKUA_CALLER_DRIVEN);
	skua_task task = SKUA_TASK_INIT(poll_throws);
	skua_task_spawn(rt, &task);
	skua_runtime_drain(rt);
}

void release_on_worker()
{
	static skua_task task;
	skua_task_init(&task, poll_done);
	skua_task_detach(&task, release_throws);
	skua_task_spawn(create(), &task);
	wait_for_end();
}

void release_by_waker()
{
	skua_runtime *rt = create(SKUA_CALLER_DRIVEN);
	skua_task task = SKUA_TASK_INIT(poll_pending);
	skua_task_detach(&task, release_throws);
	skua_task_spawn(rt, &task);
	skua_waker waker = skua_task_waker(&task);
	task.poll = poll_done;
	skua_runtime_poll(rt, UINT64_MAX);
	skua_waker_drop(waker);
}

void release_by_detach()
{
	skua_runtime *rt = create(SKUA_CALLER_DRIVEN);
	skua_task task = SKUA_TASK_INIT(poll_done);
	skua_task_spawn(rt, &task);
	skua_runtime_poll(rt, UINT64_MAX);
	skua_task_detach(&task, release_throws);
}

void called()
{
	skua_call(
		create(), [](void *) { maybe_boom(); }, nullptr);
	wait_for_end();
}

// --- pollers, hooks, allocators ----------------------------------------------------

int poller_throws(skua_poller *)
{
	maybe_boom();
	return 0;
}

void poller_poll()
{
	static skua_poller poller = { poller_throws, nullptr, nullptr,
				      nullptr };
	skua_runtime *rt = create(SKUA_CALLER_DRIVEN);
	skua_runtime_add_poller(rt, 0, &poller);
	skua_runtime_poll(rt, 0);
}

void poller_park()
{
	static skua_poller poller = { [](skua_poller *) { return 0; },
				      [](skua_poller *, uint64_t) {
					      maybe_boom();
				      },
				      [](skua_poller *) {}, nullptr };
	skua_runtime_add_poller(create(), 0, &poller);
	wait_for_end();
}

void hook_start()
{
	static skua_hooks hooks = {};
	hooks.worker_start = [](void *, unsigned) { maybe_boom(); };
	create(0, &hooks);
	wait_for_end();
}

void hook_log()
{
	skua_hooks hooks = {};
	hooks.log = [](void *, skua_log_level, const char *) { maybe_boom(); };
	create(0, &hooks);
}

void allocator()
{
	skua_allocator throws = { [](void *, size_t, size_t) -> void * {
					 maybe_boom();
					 return nullptr;
				 },
				  [](void *, void *, size_t) {}, nullptr };
	create(0, nullptr, &throws);
}

// --- computations -------------------------------------------------------------------

long array[10000];

int body_throws(skua_ctx, size_t, size_t, void *)
{
	maybe_boom();
	return 0;
}

int fold_throws(skua_ctx, size_t, size_t, void *, void *)
{
	maybe_boom();
	return 0;
}

int fold_nothing(skua_ctx, size_t, size_t, void *, void *)
{
	return 0;
}

int fold_fails(skua_ctx, size_t, size_t, void *, void *)
{
	return 1;
}

int join_throws(void *, void *, void *)
{
	maybe_boom();
	return 0;
}

void drop_throws(void *, void *)
{
	maybe_boom();
}

int compare_throws(const void *, const void *, void *)
{
	maybe_boom();
	return 0;
}

// The root catches, too: what it called must not be left.
void compute(void (*root)(skua_ctx))
{
	skua_run(
		create(),
		[](skua_ctx ctx, void *arg) {
			try {
				(*static_cast<void (**)(skua_ctx)>(arg))(ctx);
			} catch (...) {
				std::puts("caught in the root");
				_exit(3);
			}
		},
		&root);
}

void root()
{
	skua_run(
		create(), [](skua_ctx, void *) { maybe_boom(); }, nullptr);
}

void root_exits()
{
	skua_run(
		create(), [](skua_ctx, void *) { pthread_exit(nullptr); },
		nullptr);
}

void loop_for()
{
	compute([](skua_ctx ctx) {
		skua_for(ctx, 0, 10000, 0, body_throws, nullptr);
	});
}

void loop_reduce(int (*fold)(skua_ctx, size_t, size_t, void *, void *),
		 int (*join)(void *, void *, void *),
		 void (*drop)(void *, void *), size_t grain)
{
	static skua_reduction how;
	static size_t items;
	how = { sizeof(long), nullptr, fold, join, drop };
	items = grain;
	compute([](skua_ctx ctx) {
		long value;
		skua_reduce(ctx, 0, 10000, items, &how, &value, nullptr);
	});
}

void loop_fold()
{
	loop_reduce(fold_throws, join_throws, nullptr, 0);
}

void loop_fold_grain()
{
	loop_reduce(fold_throws, join_throws, nullptr, 100);
}

void loop_join()
{
	loop_reduce(fold_nothing, join_throws, nullptr, 100);
}

// Results that two threads folded are joined.
void loop_join_taken()
{
	loop_reduce(
		[](skua_ctx, size_t, size_t, void *, void *) {
			usleep(1000);
			return 0;
		},
		join_throws, nullptr, 0);
}

void loop_drop()
{
	loop_reduce(fold_fails, join_throws, drop_throws, 0);
}

void loop_scan()
{
	compute([](skua_ctx ctx) {
		skua_reduction how = { sizeof(long), nullptr, fold_nothing,
				       join_throws, nullptr };
		skua_scan(ctx, 0, 10000, 0, &how, fold_throws, nullptr,
			  nullptr);
	});
}

void loop_scan_join()
{
	compute([](skua_ctx ctx) {
		skua_reduction how = { sizeof(long), nullptr, fold_nothing,
				       join_throws, nullptr };
		skua_scan(ctx, 0, 10000, 100, &how, fold_nothing, nullptr,
			  nullptr);
	});
}

void loop_find()
{
	compute([](skua_ctx ctx) {
		skua_find_first(
			ctx, 0, 10000, 0,
			[](skua_ctx, size_t, size_t, size_t *, void *) {
				maybe_boom();
				return 0;
			},
			nullptr, nullptr);
	});
}

void loop_all()
{
	compute([](skua_ctx ctx) {
		skua_all(ctx, 0, 10000, 0, body_throws, nullptr);
	});
}

void loop_map()
{
	compute([](skua_ctx ctx) {
		skua_map(
			ctx, array, sizeof(long), array, sizeof(long), 10000, 0,
			[](skua_ctx, const void *, void *, size_t, void *) {
				maybe_boom();
				return 0;
			},
			nullptr);
	});
}

void loop_collect()
{
	compute([](skua_ctx ctx) {
		size_t count;
		skua_collect(
			ctx, 0, 10000, 0, array, sizeof(long), &count,
			[](skua_ctx, size_t, size_t, void *, size_t *, void *) {
				maybe_boom();
				return 0;
			},
			nullptr);
	});
}

void loop_partition()
{
	compute([](skua_ctx ctx) {
		size_t split;
		skua_partition(
			ctx, array, 10000, sizeof(long), 0,
			[](skua_ctx, const void *, size_t, unsigned char *,
			   void *) {
				maybe_boom();
				return 0;
			},
			&split, nullptr);
	});
}

void sort()
{
	compute([](skua_ctx ctx) {
		skua_sort(ctx, array, 10000, sizeof(long), compare_throws,
			  nullptr);
	});
}

void sort_odd()
{
	compute([](skua_ctx ctx) {
		skua_sort_stable(ctx, array, 1000, 24, compare_throws, nullptr);
	});
}

void sort_key()
{
	compute([](skua_ctx ctx) {
		skua_sort_by_key(
			ctx, array, 10000, sizeof(long),
			[](const void *, void *) -> uint64_t {
				maybe_boom();
				return 0;
			},
			nullptr);
	});
}

void sort_template()
{
	compute([](skua_ctx ctx) { sort_thrown(ctx, array, 10000, nullptr); });
}

// --- jobs ---------------------------------------------------------------------------

struct ThrowingJob {
	skua_job job = { run };
	volatile bool begun = false;

	static void run(skua_ctx, skua_job *job)
	{
		reinterpret_cast<ThrowingJob *>(job)->begun = true;
		maybe_boom();
	}
};

// A worker takes the job: the thread waits for that before the join.
void job_taken()
{
	compute([](skua_ctx ctx) {
		ThrowingJob job;
		skua_ctx inner = skua_fork(ctx, &job.job);
		while (!job.begun) {
			if (skua_wanted(inner)) {
				skua_job other = { [](skua_ctx, skua_job *) {
				} };
				skua_ctx deeper = skua_fork(inner, &other);
				if (skua_reclaim(deeper, &other))
					std::this_thread::yield();
			}
		}
		wait_for_end();
	});
}

void job_of_scope()
{
	compute([](skua_ctx ctx) {
		skua_scope scope = skua_scope_begin(ctx);
		ThrowingJob job;
		skua_scope_fork(&scope, &job.job);
		skua_scope_join(&scope);
	});
}

// --- in children --------------------------------------------------------------------

struct Case {
	const char *name;
	void (*run)();
	const char *says;
};

const char type_of_task[] = " a poll function, in the poll of a task of type "
			    "thrower, by cpp_exceptions";
const char loop[] = "skua: an exception leaves a function that a parallel loop "
		    "or sort was given";

const Case cases[] = {
	{ "poll__on_a_worker__names_the_type", poll_on_worker, type_of_task },
	{ "poll__pthread_exit__names_the_type", poll_on_worker_exits,
	  "skua: pthread_exit() or a cancellation leaves a poll function, in "
	  "the poll of a task of type thrower" },
	{ "fiber__throws__names_the_type_and_the_function", fiber_on_worker,
	  "skua: an exception leaves the function of a fiber, in the poll of a "
	  "task of type thrower, by " },
	{ "fiber__pthread_exit__names_the_type", fiber_on_worker_exits,
	  "skua: pthread_exit() or a cancellation leaves the function of a "
	  "fiber, in the poll of a task of type thrower" },
	{ "fiber__of_the_library__says_so", fiber_of_library,
	  "leaves a function that skua_call() was given" },
	{ "poll__while_recorded__says_so", poll_while_recorded,
	  " a poll function, in the poll of a task of type (none), by " },
	{ "poll__in_runtime_poll__names_the_type", poll_by_caller,
	  type_of_task },
	{ "poll__in_drain__says_so", poll_in_drain, " a poll function" },
	{ "release__on_a_worker__says_so", release_on_worker,
	  "leaves a release function: it has to return" },
	{ "release__by_waker_drop__says_so", release_by_waker,
	  "leaves a release function" },
	{ "release__by_detach__says_so", release_by_detach,
	  "leaves a release function" },
	{ "blocking__throws__says_so", blocking_on_pool,
	  "skua: an exception leaves a function that skua_blocking_call() or "
	  "_start() was given" },
	{ "blocking__pthread_exit__says_so", blocking_on_pool_exits,
	  "skua: pthread_exit() or a cancellation leaves a function that "
	  "skua_blocking_call() or _start() was given" },
	{ "call__throws__says_so", called, "that skua_call() was given" },
	{ "poller__poll__says_so", poller_poll, "of struct skua_poller" },
	{ "poller__park__says_so", poller_park, "of struct skua_poller" },
	{ "hook__worker_start__says_so", hook_start, "of struct skua_hooks" },
	{ "hook__log__says_so", hook_log, "of struct skua_hooks" },
	{ "allocator__throws__says_so", allocator, "of struct skua_allocator" },
	{ "run__root__says_so", root, "that skua_run() was given" },
	{ "run__root_pthread_exit__says_so", root_exits,
	  "pthread_exit() or a cancellation leaves a function that "
	  "skua_run() was given" },
	{ "for__body__says_so", loop_for, loop },
	{ "reduce__fold__says_so", loop_fold, loop },
	{ "reduce__fold_with_grain__says_so", loop_fold_grain, loop },
	{ "reduce__join__says_so", loop_join, loop },
	{ "reduce__join_of_taken_part__says_so", loop_join_taken, loop },
	{ "reduce__drop__says_so", loop_drop, loop },
	{ "scan__scan__says_so", loop_scan, loop },
	{ "scan__join__says_so", loop_scan_join, loop },
	{ "find__find__says_so", loop_find, loop },
	{ "all__test__says_so", loop_all, loop },
	{ "map__map__says_so", loop_map, loop },
	{ "collect__collect__says_so", loop_collect, loop },
	{ "partition__test__says_so", loop_partition, loop },
	{ "sort__compare__says_so", sort, loop },
	{ "sort__compare_by_address__says_so", sort_odd, loop },
	{ "sort__key__says_so", sort_key, loop },
	// These are the program's own, inlined: the C++ runtime ends it.
	{ "sort_template__less__ends_the_program", sort_template, "boom" },
	{ "scope__job__ends_the_program", job_of_scope, "boom" },
	{ "job__on_another_thread__says_so", job_taken,
	  "leaves the function of a job" },
};

// The output of the case, and its wait status.
std::string run(const Case &it, int *status)
{
	const rlimit no_core = { 0, 0 };
	std::string said;
	char bytes[512];
	int ends[2];
	if (pipe(ends) != 0)
		std::abort();
	std::fflush(nullptr);
	const pid_t child = fork();
	if (child == 0) {
		setrlimit(RLIMIT_CORE, &no_core);
		dup2(ends[1], STDOUT_FILENO);
		dup2(ends[1], STDERR_FILENO);
		close(ends[0]);
		close(ends[1]);
		try {
			it.run();
		} catch (...) {
			_exit(3);
		}
		_exit(5);
	}
	close(ends[1]);
	for (ssize_t got; (got = read(ends[0], bytes, sizeof(bytes))) > 0;)
		said.append(bytes, static_cast<size_t>(got));
	close(ends[0]);
	waitpid(child, status, 0);
	return said;
}

bool right(const Case &it)
{
	int status = 0;
	const std::string said = run(it, &status);
	// The C++ runtime's own line follows, unless it was no exception.
	const bool named = said.find(it.says) != std::string::npos &&
			   (said.find("boom") != std::string::npos ||
			    said.find("pthread_exit") != std::string::npos);
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT && named)
		return true;
	std::printf("FAILED: %s: wait status 0x%x, printed:\n%s\n", it.name,
		    static_cast<unsigned>(status), said.c_str());
	return false;
}

} // namespace

static bool less_thrown(long, long)
{
	maybe_boom();
	return false;
}

int main(int argc, char **argv)
{
	int wrong = 0;
	size_t count = 0;
	for (const Case &it : cases) {
		if (argc > 1 && std::strcmp(argv[1], it.name) != 0)
			continue;
		count++;
		if (THREAD_SANITIZED && it.run == fiber_on_worker_exits) {
			std::printf(
				"skipped: %s: ThreadSanitizer ends a program "
				"that calls pthread_exit() on another stack\n",
				it.name);
			continue;
		}
		wrong += !right(it);
	}
	std::printf("%zu cases\n", count);
	return wrong != 0 || count == 0;
}
