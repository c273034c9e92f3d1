/* SPDX-License-Identifier: MIT */
/**
 * pool_skua.c - the thread pool of libuv, as a runtime of skua
 *
 * src/threadpool.c of libuv includes this file instead of its own queue and threads
 * (skua.patch), and keeps its interface. Programs rely on work that starts in the
 * order in which it was submitted, which tasks do not promise. So the work is in a
 * queue, and a task is a ticket, which runs the oldest piece that may run. Slow work,
 * such as the lookup of a name, takes half of the workers at most.
 */
#include <skua/skua.h>

#define MAX_THREADS 1024

/* @place: in the queue. @uses: 2; one ends with the ticket, one when the piece leaves
 * the queue. w->wq[0] is the piece while it is in the queue, then NULL until the work is
 * in the queue of its loop. */
struct piece {
	struct skua_task ticket;
	QUEUE place;
	struct uv__work *work;
	bool slow;
	unsigned uses;
};

static uv_once_t once = UV_ONCE_INIT;
static struct skua_runtime *pool;
static const struct skua_task_type ticket_type = SKUA_TASK_TYPE("uv_work");

/* @lock guards the rest, and each @uses and wq[0] until its work has ended. */
static uv_mutex_t lock;
static QUEUE queue;
static unsigned slow_running, slow_allowed;

static void uv__cancelled(struct uv__work *w)
{
	(void)w;
	abort();
}

/* The caller holds @lock. */
static void drop(struct piece *piece)
{
	if (--piece->uses == 0)
		uv__free(piece);
}

/* The caller holds @lock. */
static void leave_queue(struct piece *piece)
{
	QUEUE_REMOVE(&piece->place);
	piece->work->wq[0] = NULL;
	drop(piece);
}

/* Take the oldest piece that may run. @slow: the caller has just run a slow piece;
 * receives whether the next one is slow. Return: its work; NULL: there is none. */
static struct uv__work *take(bool *slow)
{
	struct uv__work *w = NULL;
	QUEUE *place;

	uv_mutex_lock(&lock);
	slow_running -= *slow;
	QUEUE_FOREACH(place, &queue)
	{
		struct piece *piece = QUEUE_DATA(place, struct piece, place);

		if (piece->slow && slow_running == slow_allowed)
			continue;
		w = piece->work;
		*slow = piece->slow;
		slow_running += *slow;
		leave_queue(piece);
		break;
	}
	uv_mutex_unlock(&lock);
	return w;
}

static void run(struct uv__work *w)
{
	w->work(w);
	uv_mutex_lock(&w->loop->wq_mutex);
	w->work = NULL; /* tells uv__work_cancel() that it has ended */
	QUEUE_INSERT_TAIL(&w->loop->wq, &w->wq);
	uv_async_send(&w->loop->wq_async);
	uv_mutex_unlock(&w->loop->wq_mutex);
}

/* A ticket that finds only slow pieces that may not run leaves one of them to the
 * tickets that run slow pieces now: each goes on after a slow piece. */
static enum skua_poll poll_ticket(struct skua_task *task)
{
	bool slow = false;
	struct uv__work *w;

	(void)task;
	do {
		w = take(&slow);
		if (w)
			run(w);
	} while (w && slow);
	return SKUA_DONE;
}

static void release_ticket(struct skua_task *task)
{
	uv_mutex_lock(&lock);
	drop(SKUA_CONTAINER_OF(task, struct piece, ticket));
	uv_mutex_unlock(&lock);
}

static void reset_once(void)
{
	const uv_once_t child_once = UV_ONCE_INIT;

	memcpy(&once, &child_once, sizeof(child_once));
}

/* The pool has as many workers as libuv has threads. They are not pinned, because work
 * may block in the kernel. */
static void start_pool(void)
{
	struct skua_config cfg = SKUA_CONFIG_INIT;
	const char *size = getenv("UV_THREADPOOL_SIZE");
	const int threads = size ? atoi(size) : 4;

	cfg.workers = threads < 1             ? 1
		      : threads > MAX_THREADS ? MAX_THREADS
					      : (unsigned)threads;
	cfg.flags = SKUA_UNPINNED;
	QUEUE_INIT(&queue);
	slow_running = 0;
	slow_allowed = (cfg.workers + 1) / 2;
	if (uv_mutex_init(&lock) || skua_runtime_create(&pool, &cfg, NULL) < 0)
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
	if (!pool)
		return;
	skua_runtime_destroy(pool);
	uv_mutex_destroy(&lock);
	pool = NULL;
}

void uv__work_submit(uv_loop_t *loop, struct uv__work *w,
		     enum uv__work_kind kind, void (*work)(struct uv__work *w),
		     void (*done)(struct uv__work *w, int status))
{
	struct piece *piece = uv__malloc(sizeof(*piece));

	uv_once(&once, init_once);
	if (!piece)
		abort();
	*piece = (struct piece){ .work = w,
				 .slow = kind == UV__WORK_SLOW_IO,
				 .uses = 2 };
	w->loop = loop;
	w->work = work;
	w->done = done;
	uv_mutex_lock(&lock);
	w->wq[0] = piece;
	QUEUE_INSERT_TAIL(&queue, &piece->place);
	uv_mutex_unlock(&lock);
	skua_task_init(&piece->ticket, poll_ticket);
	skua_task_set_type(&piece->ticket, &ticket_type);
	skua_task_detach(&piece->ticket, release_ticket);
	if (skua_task_spawn(pool, &piece->ticket) < 0)
		abort();
}

static int uv__work_cancel(uv_loop_t *loop, uv_req_t *req, struct uv__work *w)
{
	bool cancelled;

	(void)req;
	uv_mutex_lock(&lock);
	uv_mutex_lock(&loop->wq_mutex);
	/* After its end wq[0] belongs to the queue of the loop. */
	cancelled = w->work && w->work != uv__cancelled && w->wq[0];
	if (cancelled) {
		leave_queue(w->wq[0]);
		w->work = uv__cancelled;
		QUEUE_INSERT_TAIL(&loop->wq, &w->wq);
		uv_async_send(&loop->wq_async);
	}
	uv_mutex_unlock(&loop->wq_mutex);
	uv_mutex_unlock(&lock);
	return cancelled ? 0 : UV_EBUSY;
}
