/* SPDX-License-Identifier: MIT */
/**
 * pipeline.c - stages that pass blocks of memory on through bounded channels
 *
 * A source makes numbers, several fibers square them, and a sink adds them up. Each number
 * is in a block of its own, which the source allocates and the sink frees. A channel has room
 * for 16 blocks: a stage that is too fast waits for the next one. So the room of the channels
 * and the number of fibers limit the number of blocks, whatever the number of items. A channel
 * is closed when its last sender has ended; its receivers take what is left, and end.
 */
#include <skua/skua.h>

#include <stdio.h>
#include <stdlib.h>

#define ITEMS   10000u
#define SQUARES 3u
#define ROOM    16u
/* In two channels, and one in the hands of each fiber. */
#define BLOCKS (2 * ROOM + SQUARES + 2)

struct block {
	unsigned long number;
};

static struct skua_channel numbers, squares;
static uint64_t memory[2][SKUA_CHANNEL_BYTES(ROOM, sizeof(struct block *)) / 8];
static unsigned squaring = SQUARES;  /* atomic: fibers */
static unsigned blocks, most_blocks; /* atomic */
static unsigned long sum;

static struct block *allocate(void)
{
	unsigned now = __atomic_add_fetch(&blocks, 1, __ATOMIC_RELAXED);

	if (now > most_blocks) /* only the source allocates */
		most_blocks = now;
	return malloc(sizeof(struct block));
}

static void release(struct block *block)
{
	free(block);
	__atomic_sub_fetch(&blocks, 1, __ATOMIC_RELAXED);
}

static void make(void *arg)
{
	(void)arg;
	for (unsigned long i = 1; i <= ITEMS; i++) {
		struct block *block = allocate();

		if (!block)
			break;
		block->number = i;
		skua_channel_send(&numbers, &block, SKUA_FOREVER_NS);
	}
	skua_channel_close(&numbers);
}

static void square(void *arg)
{
	struct block *block;

	(void)arg;
	while (!skua_channel_receive(&numbers, &block, SKUA_FOREVER_NS)) {
		block->number *= block->number;
		skua_channel_send(&squares, &block, SKUA_FOREVER_NS);
	}
	/* The last sender closes. */
	if (__atomic_sub_fetch(&squaring, 1, __ATOMIC_ACQ_REL) == 0)
		skua_channel_close(&squares);
}

static void add(void *arg)
{
	struct block *block;

	(void)arg;
	while (!skua_channel_receive(&squares, &block, SKUA_FOREVER_NS)) {
		sum += block->number;
		release(block);
	}
}

int main(void)
{
	static const struct skua_task_type source = SKUA_TASK_TYPE("source");
	static const struct skua_task_type stage = SKUA_TASK_TYPE("stage");
	static const struct skua_task_type sink = SKUA_TASK_TYPE("sink");
	struct skua_runtime *rt;
	int code;

	skua_channel_init(&numbers, memory[0], ROOM, sizeof(struct block *));
	skua_channel_init(&squares, memory[1], ROOM, sizeof(struct block *));
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
	printf("the sum of %u squares is %lu, and there were never more than "
	       "%u blocks\n",
	       ITEMS, sum, BLOCKS);
	if (most_blocks > BLOCKS || blocks > 0)
		return 1;
	return skua_runtime_destroy(rt) != 0;
}
