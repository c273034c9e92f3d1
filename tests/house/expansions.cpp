// SPDX-License-Identifier: MIT
//
// expansions.cpp - use the parts of the headers that are compiled into a program: macros,
// inline functions and the sort template
//
// headers.sh compiles it with more warnings than the rest of the tree. With THROWS it must
// not compile if SKUA_NOEXCEPT is noexcept.
#include <skua/skua.h>

#define SKUA_SORT_NAME            sort_longs
#define SKUA_SORT_TYPE            long
#define SKUA_SORT_LESS(a, b, arg) (*(a) < *(b))
#include <skua/sort_template.h>

namespace
{

struct Conn {
	int fd;
	skua_task task;
};

#ifdef THROWS
skua_poll poll(skua_task *self)
#else
skua_poll poll(skua_task *self) noexcept
#endif
{
	const Conn *conn = SKUA_CONTAINER_OF(self, Conn, task);

	return conn->fd < 0 ? SKUA_DONE : SKUA_PENDING;
}

void release(skua_task *task) noexcept
{
	delete SKUA_CONTAINER_OF(task, Conn, task);
}

int body(skua_ctx, size_t, size_t, void *) noexcept
{
	return 0;
}

int fold(skua_ctx, size_t, size_t, void *, void *) noexcept
{
	return 0;
}

int join(void *, void *, void *) noexcept
{
	return 0;
}

void run(skua_ctx, skua_job *) noexcept
{
}

void root(skua_ctx ctx, void *arg) noexcept
{
	long *items = static_cast<long *>(arg);
	skua_scope scope = skua_scope_begin(ctx);
	const skua_reduction how =
		SKUA_REDUCTION_INIT(sizeof(long), fold, join);
	skua_job job = { run };
	long sum;

	skua_scope_fork(&scope, &job);
	skua_scope_join(&scope);
	const skua_ctx inner = skua_fork(ctx, &job);
	if (skua_reclaim(inner, &job) && skua_wanted(ctx))
		run(ctx, &job);
	(void)skua_ctx_check(ctx);
	sort_longs(ctx, items, 10, nullptr);
	sort_longs_stable(ctx, items, 10, items + 10, nullptr);
	(void)skua_for(ctx, 0, 10, 0, body, nullptr);
	(void)skua_reduce(ctx, 0, 10, 0, &how, &sum, nullptr);
}

const skua_task_type type = SKUA_TASK_TYPE("conn");
const skua_config config = SKUA_CONFIG_INIT;

} // namespace

int main()
{
	static_assert(SKUA_VERSION >= 1000, "a number");
	skua_timer timer = SKUA_TIMER_INIT;
	Conn conn = { -1, SKUA_TASK_INIT(poll) };
	skua_runtime *rt = nullptr;
	long items[20] = {};

	if (skua_runtime_create(&rt, &config, nullptr) != 0)
		return 1;
	(void)skua_task_set_type(&conn.task, &type);
	(void)skua_task_detach(&conn.task, release);
	(void)skua_timer_cancel(&timer);
	(void)skua_run(rt, root, items);
	return skua_runtime_destroy(rt);
}
