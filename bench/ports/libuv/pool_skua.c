/* SPDX-License-Identifier: MIT */
/*
 * pool_skua.c - the thread pool of libuv, as a runtime of skua
 *
 * src/threadpool.c of libuv includes this file instead of its own queue and threads
 * (skua.patch), and keeps its interface. A piece of work is a task. Slow work, such as
 * a lookup of a name, first gets one of the permits of a semaphore, so that it leaves
 * half of the workers to other work.
 */
#include <skua/skua.h>

#define MAX_THREADS 1024

struct piece {
	struct skua_task task;
	struct skua_wait wait;
	bool slow;
	struct uv__work *work; /* NULL: cancelled. Taken once, by an exchange */
};

static uv_once_t once = UV_ONCE_INIT;
static struct skua_runtime *pool;
static struct skua_semaphore slow_permits;

static const struct skua_task_type quick_type = SKUA_TASK_TYPE("uv_work");
static const struct skua_task_type slow_type = SKUA_TASK_TYPE("uv_slow_work");

static void uv__cancelled(struct uv__work *w)
{
	(void)w;
	abort();
}

/* Run a piece of work, unless it was cancelled, and pass it to its loop. */
static void run_piece(struct piece *piece)
{
	/* Acquire: pairs with the release in uv__work_submit(), although the spawn
	 * orders the two already. Of this exchange and the one in uv__work_cancel(),
	 * one gets the work. */
	struct uv__work *w =
		__atomic_exchange_n(&piece->work, NULL, __ATOMIC_ACQUIRE);

	if (!w)
		return;
	w->work(w);
	uv_mutex_lock(&w->loop->wq_mutex);
	w->work =
		NULL; /* tells uv__work_cancel() that the piece is out of reach */
	QUEUE_INSERT_TAIL(&w->loop->wq, &w->wq);
	uv_async_send(&w->loop->wq_async);
	uv_mutex_unlock(&w->loop->wq_mutex);
}

static enum skua_poll poll_piece(struct skua_task *task)
{
	struct piece *piece = SKUA_CONTAINER_OF(task, struct piece, task);

	if (piece->slow &&
	    skua_semaphore_acquire_poll(task, &slow_permits, 1, &piece->wait,
					SKUA_FOREVER_NS) == -EAGAIN)
		return SKUA_PENDING;
	run_piece(piece);
	if (piece->slow)
		skua_semaphore_release(&slow_permits, 1);
	return SKUA_DONE;
}

static void release_piece(struct skua_task *task)
{
	uv__free(SKUA_CONTAINER_OF(task, struct piece, task));
}

static void reset_once(void)
{
	const uv_once_t child_once = UV_ONCE_INIT;

	memcpy(&once, &child_once, sizeof(child_once));
}

/* As many workers as libuv has threads, and they share the CPUs as its threads do:
 * work may block in the kernel. */
static void start_pool(void)
{
	struct skua_config cfg = SKUA_CONFIG_INIT;
	const char *size = getenv("UV_THREADPOOL_SIZE");
	const int threads = size ? atoi(size) : 4;

	cfg.workers = threads < 1             ? 1
		      : threads > MAX_THREADS ? MAX_THREADS
					      : (unsigned)threads;
	cfg.flags = SKUA_UNPINNED;
	if (skua_semaphore_init(&slow_permits, (cfg.workers + 1) / 2) < 0 ||
	    skua_runtime_create(&pool, &cfg, NULL) < 0)
		abort();
}

static void init_once(void)
{
	/* The child of a fork() has no workers: it starts a pool of its own. */
	if (pthread_atfork(NULL, NULL, reset_once))
		abort();
	start_pool();
}

void uv__threadpool_cleanup(void)
{
	if (pool)
		skua_runtime_destroy(pool);
	pool = NULL;
}

void uv__work_submit(uv_loop_t *loop, struct uv__work *w,
		     enum uv__work_kind kind, void (*work)(struct uv__work *w),
		     void (*done)(struct uv__work *w, int status))
{
	const bool slow = kind == UV__WORK_SLOW_IO;
	struct piece *piece = uv__malloc(sizeof(*piece));

	uv_once(&once, init_once);
	if (!piece)
		abort();
	*piece = (struct piece){ .wait = SKUA_WAIT_INIT,
				 .slow = slow,
				 .work = w };
	w->loop = loop;
	w->work = work;
	w->done = done;
	w->wq[0] = piece; /* until the work is in the queue of its loop */
	skua_task_init(&piece->task, poll_piece);
	skua_task_set_type(&piece->task, slow ? &slow_type : &quick_type);
	skua_task_detach(&piece->task, release_piece);
	if (skua_task_spawn(pool, &piece->task) < 0)
		abort();
}

/* The piece is freed only after its work is in the queue of the loop, which needs the
 * mutex of the loop. */
static int uv__work_cancel(uv_loop_t *loop, uv_req_t *req, struct uv__work *w)
{
	bool cancelled = false;

	(void)req;
	uv_mutex_lock(&loop->wq_mutex);
	if (w->work && w->work != uv__cancelled) {
		struct piece *piece = w->wq[0];

		/* Relaxed: @w was written by this thread. */
		cancelled = __atomic_exchange_n(&piece->work, NULL,
						__ATOMIC_RELAXED) == w;
	}
	if (cancelled) {
		w->work = uv__cancelled;
		QUEUE_INSERT_TAIL(&loop->wq, &w->wq);
		uv_async_send(&loop->wq_async);
	}
	uv_mutex_unlock(&loop->wq_mutex);
	return cancelled ? 0 : UV_EBUSY;
}
