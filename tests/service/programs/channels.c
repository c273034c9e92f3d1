/* SPDX-License-Identifier: MIT */
/*
 * channels.c KIND - tasks, fibers and threads that wait for channels
 *
 * It prints "ready", and ends when its standard input has a line or ends.
 *
 *	calm     channels that are full, empty, closed and half full, and the other objects of
 *		 skua/channel.h, with receivers and senders that wait; a task that is done
 *		 and has left a wait armed
 *	slow     fibers that send to a channel, which is full because a fiber takes a
 *		 millisecond for each item
 *	starved  a fiber that receives from a channel, which is empty because a fiber takes a
 *		 millisecond for each item
 *	stuck    a fiber that has received some items, and waits for more: the fiber that has
 *		 sent them waits for a mutex
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "skua/skua.h"

#define MS_NS    UINT64_C(1000000)
#define CAPACITY 4

static struct skua_runtime *rt;

/* A channel and its memory. */
struct queue {
	struct skua_channel channel;
	uint64_t memory[SKUA_CHANNEL_BYTES(CAPACITY, 8) / 8];
};

static struct queue orders, replies, audits, closed;
static struct skua_oneshot answer = SKUA_ONESHOT_INIT;
static struct skua_broadcast prices;
static uint64_t prices_memory[SKUA_CHANNEL_BYTES(CAPACITY, 8) / 8];
static struct skua_watch settings;
static uint64_t settings_memory[1];
static struct skua_spsc events;
static uint64_t events_memory[SKUA_SPSC_BYTES(CAPACITY, 8) / 8];
static struct skua_mutex ledger = SKUA_MUTEX_INIT;

static const struct skua_task_type producer = SKUA_TASK_TYPE("producer");
static const struct skua_task_type consumer = SKUA_TASK_TYPE("consumer");
static const struct skua_task_type reader = SKUA_TASK_TYPE("reader");

static void check(int code, const char *what)
{
	if (code == 0)
		return;
	fprintf(stderr, "channels: %s failed: %d\n", what, code);
	exit(1);
}

static void start(const struct skua_task_type *type, void (*fn)(void *))
{
	check(skua_fiber_spawn(rt, type, fn, NULL), "skua_fiber_spawn()");
}

static void make(struct queue *queue)
{
	check(skua_channel_init(&queue->channel, queue->memory, CAPACITY, 8),
	      "skua_channel_init()");
}

static void name(enum skua_sync_kind kind, const void *object, const char *text)
{
	static struct skua_sync_name names[8];
	static unsigned used;

	check(skua_sync_set_name(rt, &names[used++], kind, object, text),
	      "skua_sync_set_name()");
}

static void fill(struct queue *queue, uint64_t items)
{
	for (uint64_t i = 0; i < items; i++)
		check(skua_channel_send(&queue->channel, &i, SKUA_FOREVER_NS),
		      "skua_channel_send()");
}

/* ---- calm ------------------------------------------------------------------------ */

static void send_order(void *arg)
{
	uint64_t item = 1;

	(void)arg;
	skua_channel_send(&orders.channel, &item, SKUA_FOREVER_NS);
}

static void *send_by_thread(void *arg)
{
	send_order(arg);
	return NULL;
}

static void receive_reply(void *arg)
{
	uint64_t item;

	(void)arg;
	skua_channel_receive(&replies.channel, &item, SKUA_FOREVER_NS);
}

static void receive_answer(void *arg)
{
	uintptr_t value;

	(void)arg;
	skua_oneshot_receive(&answer, &value, SKUA_FOREVER_NS);
}

static void receive_price(void *arg)
{
	struct skua_subscription subscription;
	uint64_t item;

	(void)arg;
	check(skua_broadcast_subscribe(&prices, &subscription), "subscribe");
	skua_subscription_receive(&subscription, &item, NULL, SKUA_FOREVER_NS);
}

static void await_settings(void *arg)
{
	uint64_t version = 2, value;

	(void)arg;
	skua_watch_changed(&settings, &version, &value, SKUA_FOREVER_NS);
}

static void send_event(void *arg)
{
	uint64_t item = 1;

	(void)arg;
	skua_spsc_send(&events, &item, SKUA_FOREVER_NS);
}

/* A poll that waits, and one that is done and still waits. */
struct polled {
	struct skua_task task;
	struct skua_wait wait;
	uint64_t item;
	enum skua_poll result;
};

static enum skua_poll receive_in_poll(struct skua_task *self)
{
	struct polled *it = (struct polled *)self;

	if (skua_channel_receive_poll(self, &replies.channel, &it->item,
				      &it->wait, SKUA_FOREVER_NS) != -EAGAIN)
		exit(1);
	return it->result;
}

static void spawn_polled(struct polled *it, enum skua_poll result)
{
	it->result = result;
	check(skua_task_init(&it->task, receive_in_poll), "skua_task_init()");
	skua_task_set_type(&it->task, &reader);
	check(skua_task_spawn(rt, &it->task), "skua_task_spawn()");
}

static void calm(void)
{
	static struct polled waiting, done;
	pthread_t thread;
	uint64_t item = 0;

	name(SKUA_SYNC_CHANNEL, &orders.channel, "orders");
	name(SKUA_SYNC_CHANNEL, &replies.channel, "replies");
	name(SKUA_SYNC_CHANNEL, &audits.channel, "audits");
	name(SKUA_SYNC_CHANNEL, &closed.channel, "closed");
	name(SKUA_SYNC_ONESHOT, &answer, "answer");
	name(SKUA_SYNC_BROADCAST, &prices, "prices");
	name(SKUA_SYNC_WATCH, &settings, "settings");
	name(SKUA_SYNC_SPSC, &events, "events");
	check(skua_spsc_init(&events, events_memory, CAPACITY, 8),
	      "skua_spsc_init()");
	for (unsigned i = 0; i < CAPACITY; i++)
		check(skua_spsc_send_try(&events, &item), "skua_spsc_send()");
	fill(&orders, CAPACITY);
	fill(&audits, 3);
	fill(&closed, 1);
	check(skua_channel_close(&closed.channel), "skua_channel_close()");
	/* A channel of an older library has other data in this place. Nobody waits. */
	closed.channel.receiver = (struct skua_wait *)(void *)&closed;
	check(skua_broadcast_init(&prices, prices_memory, CAPACITY, 8),
	      "skua_broadcast_init()");
	for (unsigned i = 0; i < 6; i++)
		check(skua_broadcast_send(&prices, &item), "broadcast");
	check(skua_watch_init(&settings, settings_memory, 8),
	      "skua_watch_init()");
	check(skua_watch_set(&settings, &item), "skua_watch_set()");
	start(&producer, send_order);
	start(&producer, send_order);
	check(pthread_create(&thread, NULL, send_by_thread, NULL), "thread");
	start(&consumer, receive_reply);
	spawn_polled(&waiting, SKUA_PENDING);
	spawn_polled(&done, SKUA_DONE);
	start(&reader, receive_answer);
	start(&reader, receive_price);
	start(&reader, await_settings);
	start(&producer, send_event);
}

/* ---- slow and starved --------------------------------------------------------------- */

static void work_for(uint64_t ns)
{
	for (uint64_t until = skua_now_ns() + ns; skua_now_ns() < until;)
		;
}

static void send_on(void *arg)
{
	(void)arg;
	for (uint64_t i = 0;; i++)
		skua_channel_send(&orders.channel, &i, SKUA_FOREVER_NS);
}

static void receive_slowly(void *arg)
{
	uint64_t item;

	(void)arg;
	for (;;) {
		skua_channel_receive(&orders.channel, &item, SKUA_FOREVER_NS);
		work_for(MS_NS);
		skua_yield();
	}
}

static void send_slowly(void *arg)
{
	(void)arg;
	for (uint64_t i = 0;; i++) {
		work_for(MS_NS);
		skua_channel_send(&orders.channel, &i, SKUA_FOREVER_NS);
		skua_yield();
	}
}

static void receive_on(void *arg)
{
	uint64_t item;

	(void)arg;
	for (;;)
		skua_channel_receive(&orders.channel, &item, SKUA_FOREVER_NS);
}

/* ---- stuck -------------------------------------------------------------------------- */

/* It sends for long enough that a command sees it, and then no more. */
static void send_and_lock(void *arg)
{
	(void)arg;
	for (uint64_t i = 0; i < 300; i++) {
		skua_sleep_until(skua_now_ns() + 10 * MS_NS);
		skua_channel_send(&orders.channel, &i, SKUA_FOREVER_NS);
	}
	skua_mutex_lock(&ledger, SKUA_FOREVER_NS);
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "";
	struct skua_config config = { .size = sizeof(config), .workers = 2 };

	check(skua_runtime_create(&rt, &config, NULL), "skua_runtime_create()");
	make(&orders);
	make(&replies);
	make(&audits);
	make(&closed);
	if (strcmp(kind, "calm") == 0) {
		calm();
	} else if (strcmp(kind, "slow") == 0) {
		name(SKUA_SYNC_CHANNEL, &orders.channel, "orders");
		start(&consumer, receive_slowly);
		for (unsigned i = 0; i < 3; i++)
			start(&producer, send_on);
	} else if (strcmp(kind, "starved") == 0) {
		name(SKUA_SYNC_CHANNEL, &orders.channel, "orders");
		start(&consumer, receive_on);
		start(&producer, send_slowly);
	} else if (strcmp(kind, "stuck") == 0) {
		name(SKUA_SYNC_CHANNEL, &orders.channel, "orders");
		name(SKUA_SYNC_MUTEX, &ledger, "ledger");
		check(skua_mutex_lock(&ledger, SKUA_FOREVER_NS), "lock");
		start(&consumer, receive_on);
		start(&producer, send_and_lock);
	} else {
		fprintf(stderr, "channels: no kind '%s'\n", kind);
		return 2;
	}
	usleep(50000);
	puts("ready");
	fflush(stdout);
	getchar();
	_exit(0);
}
