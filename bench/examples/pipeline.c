/* SPDX-License-Identifier: MIT */
/**
 * pipeline.c - stages that pass items on through bounded queues
 *
 * A source makes numbers, several fibers square them, and a sink adds them up. Each
 * queue holds at most 16 items: a stage that is too fast waits for the next one, so
 * that memory does not grow. A queue is closed when its last producer has ended; its
 * consumers take what is left, and end.
 */
#include <skua/skua.h>

#include <stdio.h>

#define ITEMS   10000u
#define SQUARES 3u
#define ROOM    16u

struct queue {
	struct skua_mutex mutex;
	struct skua_condition changed;
	unsigned long items[ROOM];
	unsigned first, count, most;
	unsigned producers;
};

static void queue_put(struct queue *queue, unsigned long item)
{
	skua_mutex_lock(&queue->mutex, SKUA_FOREVER_NS);
	while (queue->count == ROOM)
		skua_condition_wait(&queue->changed, &queue->mutex,
				    SKUA_FOREVER_NS);
	queue->items[(queue->first + queue->count++) % ROOM] = item;
	if (queue->count > queue->most)
		queue->most = queue->count;
	skua_condition_broadcast(&queue->changed);
	skua_mutex_unlock(&queue->mutex);
}

/* Return: false: the queue is empty, and has no producer any more. */
static bool queue_take(struct queue *queue, unsigned long *item)
{
	bool taken;

	skua_mutex_lock(&queue->mutex, SKUA_FOREVER_NS);
	while (queue->count == 0 && queue->producers > 0)
		skua_condition_wait(&queue->changed, &queue->mutex,
				    SKUA_FOREVER_NS);
	taken = queue->count > 0;
	if (taken) {
		*item = queue->items[queue->first];
		queue->first = (queue->first + 1) % ROOM;
		queue->count--;
		skua_condition_broadcast(&queue->changed);
	}
	skua_mutex_unlock(&queue->mutex);
	return taken;
}

static void queue_end_producer(struct queue *queue)
{
	skua_mutex_lock(&queue->mutex, SKUA_FOREVER_NS);
	queue->producers--;
	skua_condition_broadcast(&queue->changed);
	skua_mutex_unlock(&queue->mutex);
}

static struct queue numbers = { .producers = 1 };
static struct queue squares = { .producers = SQUARES };
static unsigned long sum;

static void make(void *arg)
{
	(void)arg;
	for (unsigned long i = 1; i <= ITEMS; i++)
		queue_put(&numbers, i);
	queue_end_producer(&numbers);
}

static void square(void *arg)
{
	unsigned long item;

	(void)arg;
	while (queue_take(&numbers, &item))
		queue_put(&squares, item * item);
	queue_end_producer(&squares);
}

static void add(void *arg)
{
	unsigned long item;

	(void)arg;
	while (queue_take(&squares, &item))
		sum += item;
}

int main(void)
{
	static const struct skua_task_type source = SKUA_TASK_TYPE("source");
	static const struct skua_task_type stage = SKUA_TASK_TYPE("stage");
	static const struct skua_task_type sink = SKUA_TASK_TYPE("sink");
	struct skua_runtime *rt;
	int code;

	if (skua_runtime_create(&rt, NULL, NULL))
		return 1;
	code = skua_fiber_spawn(rt, &sink, add, NULL);
	for (unsigned i = 0; !code && i < SQUARES; i++)
		code = skua_fiber_spawn(rt, &stage, square, NULL);
	if (!code)
		code = skua_fiber_spawn(rt, &source, make, NULL);
	if (code)
		return 1;
	skua_runtime_drain(rt);
	printf("the sum of %u squares is %lu, and no queue had more than %u "
	       "items\n",
	       ITEMS, sum, ROOM);
	if (numbers.most > ROOM || squares.most > ROOM)
		return 1;
	return skua_runtime_destroy(rt) != 0;
}
