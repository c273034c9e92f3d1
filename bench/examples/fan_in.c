/* SPDX-License-Identifier: MIT */
/**
 * fan_in.c - one fiber serves several sources, the most urgent first
 *
 * Each source has an spsc of its own, so that a source with many items fills no place of the
 * others, and waits alone when it is too fast. A semaphore counts the items, and the ends of
 * sources, that wait for the server. The server takes a permit, and then looks at the sources in
 * the order of their priorities: one of them has something.
 */
#include <skua/skua.h>

#include <errno.h>
#include <stdio.h>

#define SOURCES 3u
#define ITEMS   1000u /* of each source */
#define ROOM    8u

static const char *const names[SOURCES] = { "alarms", "requests", "reports" };

static struct source {
	struct skua_spsc spsc;
	uint64_t memory[SKUA_SPSC_BYTES(ROOM, sizeof(unsigned)) / 8];
	unsigned served;
	bool ended;
} sources[SOURCES]; /* the most urgent first */

static struct skua_semaphore ready;
static unsigned wrong;

static void send_items(void *arg)
{
	struct source *source = arg;

	for (unsigned i = 0; i < ITEMS; i++) {
		skua_spsc_send(&source->spsc, &i, SKUA_FOREVER_NS);
		skua_semaphore_release(&ready, 1);
	}
	skua_spsc_close(&source->spsc);
	skua_semaphore_release(&ready, 1);
}

/* Serve an item, or note the end. Return: was there either? */
static bool serve(struct source *source)
{
	unsigned item;
	int code = skua_spsc_receive_try(&source->spsc, &item);

	if (code == -EAGAIN || source->ended)
		return false;
	if (code)
		source->ended = true;
	else if (item != source->served++)
		wrong++;
	return true;
}

/* Return the most urgent source that has an item now. */
static unsigned most_urgent(void)
{
	unsigned i = 0;

	while (i < SOURCES && skua_spsc_length(&sources[i].spsc) == 0)
		i++;
	return i;
}

static void serve_all(void *arg)
{
	unsigned left = SOURCES * (ITEMS + 1);

	(void)arg;
	while (left-- > 0) {
		unsigned urgent, i = 0;

		skua_semaphore_acquire(&ready, 1, SKUA_FOREVER_NS);
		urgent = most_urgent();
		while (i < SOURCES && !serve(&sources[i]))
			i++;
		if (i == SOURCES || i > urgent)
			wrong++;
	}
}

int main(void)
{
	static const struct skua_task_type sender = SKUA_TASK_TYPE("source");
	static const struct skua_task_type server = SKUA_TASK_TYPE("server");
	struct skua_runtime *rt;
	int code = 0;

	skua_semaphore_init(&ready, 0);
	for (unsigned i = 0; i < SOURCES; i++)
		skua_spsc_init(&sources[i].spsc, sources[i].memory, ROOM,
			       sizeof(unsigned));
	if (skua_runtime_create(&rt, NULL, NULL))
		return 1;
	for (unsigned i = 0; !code && i < SOURCES; i++)
		code = skua_fiber_spawn(rt, &sender, send_items, &sources[i]);
	if (!code)
		code = skua_fiber_spawn(rt, &server, serve_all, NULL);
	if (code)
		return 1;
	skua_runtime_drain(rt);
	for (unsigned i = 0; i < SOURCES; i++)
		printf("%u %s\n", sources[i].served, names[i]);
	printf("%u before a more urgent one\n", wrong);
	return wrong || skua_runtime_destroy(rt) ? 1 : 0;
}
