/* SPDX-License-Identifier: MIT */
/**
 * model_inject_queue.c - core/queue/inject_queue.h in every interleaving
 *
 * Producers push single nodes and batches, consumers take. Checked in each
 * case: every item is taken once, at the latest when all threads are done;
 * its taker sees its payload; the items that one consumer takes of one producer
 * come in the order of pushing, and if there is only one consumer, without a
 * gap; in the end the queue is empty and its counts agree.
 *
 * The last cases are small variants that are wrong.
 *
 *   cc -std=gnu11 -O2 -I. -Iinclude -include tests/model/explore.h \
 *      tests/model/model_inject_queue.c tests/model/explore*.c \
 *      -o model_inject_queue
 *
 * The core file is included, not linked: the variants reach its inner parts.
 */
#include "core/queue/inject_queue.c"

#include <string.h>

#define PRODUCERS 2
#define ITEMS     4 /* most of a producer */

struct item {
	struct inject_node node; /* first, so that a node is an item */
	unsigned producer;
	unsigned number; /* from 1, in the order of pushing */
	unsigned payload;
	unsigned runs;
};

struct consumer {
	unsigned newest[PRODUCERS]; /* number of the last one taken */
};

static struct inject_queue queue;
static struct item items[PRODUCERS][ITEMS];
static unsigned pushed[PRODUCERS];
static struct consumer first, second, last;

static void setup(void)
{
	inject_queue_init(&queue);
	memset(items, 0, sizeof(items));
	memset(pushed, 0, sizeof(pushed));
	memset(&first, 0, sizeof(first));
	memset(&second, 0, sizeof(second));
	memset(&last, 0, sizeof(last));
	for (unsigned p = 0; p < PRODUCERS; p++)
		for (unsigned i = 0; i < ITEMS; i++)
			items[p][i] =
				(struct item){ .producer = p, .number = i + 1 };
}

static struct inject_list next_items(unsigned producer, unsigned count)
{
	struct inject_list list = { NULL, NULL, 0 };

	while (count--) {
		struct item *item = &items[producer][pushed[producer]++];

		explore_write(item->payload, 7);
		inject_list_append(&list, &item->node);
	}
	return list;
}

typedef void push_fn(struct inject_queue *q, const struct inject_list *list);

static void push_by(push_fn *push_list, unsigned producer, unsigned count)
{
	struct inject_list list = next_items(producer, count);

	push_list(&queue, &list);
}

static void push(unsigned producer, unsigned count)
{
	push_by(inject_queue_push, producer, count);
}

static void run(struct consumer *consumer, struct item *item)
{
	unsigned *newest = &consumer->newest[item->producer];

	explore_assert(explore_read(item->payload) == 7);
	explore_assert(item->runs == 0);
	item->runs++;
	explore_assert(item->number > *newest);
	*newest = item->number;
}

static uint64_t run_all(struct consumer *consumer, struct inject_list list)
{
	uint64_t count = list.count;
	struct inject_node *node;

	while ((node = inject_list_pop(&list)) != NULL)
		run(consumer, (struct item *)node);
	return count;
}

static uint64_t take(struct consumer *consumer, uint64_t most)
{
	struct inject_take got = inject_queue_take(&queue, most);

	explore_assert(got.list.count <= most);
	/* I5 of core/idle/IDLE.md: a consumer that turned others away has something. */
	explore_assert(got.list.count > 0 || !got.turned_away);
	return run_all(consumer, got.list);
}

/* ---- fixtures and checks ------------------------------------------------ */

static void setup_one(void)
{
	setup();
	push(0, 1);
}

static void setup_four(void)
{
	setup();
	push(0, 4);
}

static void check_runs(void)
{
	while (inject_queue_visible(&queue))
		explore_assert(take(&last, 2) > 0);
	for (unsigned p = 0; p < PRODUCERS; p++)
		for (unsigned i = 0; i < pushed[p]; i++)
			explore_assert(items[p][i].runs == 1);
}

static void check(void)
{
	check_runs();
	explore_assert(atomic_load_relaxed(&queue.tail) == NULL);
	explore_assert(inject_queue_length(&queue) == 0);
}

/* One consumer: it has taken all up to the newest. */
static void check_one_consumer(void)
{
	for (unsigned p = 0; p < PRODUCERS; p++)
		for (unsigned i = 0; i < pushed[p]; i++)
			explore_assert(items[p][i].runs ==
				       (i + 1 <= first.newest[p]));
	check();
}

/* ---- threads ------------------------------------------------------------ */

static void p0_pushes_one(void)
{
	push(0, 1);
}

static void p0_pushes_one_twice(void)
{
	push(0, 1);
	push(0, 1);
}

static void p0_pushes_one_and_two(void)
{
	push(0, 1);
	push(0, 2);
}

static void p1_pushes_one(void)
{
	push(1, 1);
}

static void p1_pushes_two(void)
{
	push(1, 2);
}

static void first_takes_twice(void)
{
	take(&first, 2);
	take(&first, 8);
}

static void first_takes_three_times(void)
{
	take(&first, 8);
	take(&first, 8);
	take(&first, 8);
}

static void first_takes_ones(void)
{
	take(&first, 1);
	take(&first, 1);
}

static void second_takes_twice(void)
{
	take(&second, 2);
	take(&second, 2);
}

static void second_takes(void)
{
	take(&second, 8);
}

static void second_measures(void)
{
	explore_assert(inject_queue_length(&queue) <= 3);
	explore_assert(inject_queue_length(&queue) <= 3);
}

/* ---- the mark (I5) ------------------------------------------------------- */

static bool second_taken, owed, met;
static atomic_u32 second_pushed;

/* Node 0 is queued, node 1 is pushed behind it meanwhile. */
static void setup_mark(void)
{
	setup_one();
	second_taken = false;
	owed = false;
	met = false;
	atomic_init(&second_pushed, 0);
}

/* A taker of one; it owes a look if it turned others away. */
static void take_and_owe(void)
{
	struct inject_take got = inject_queue_take(&queue, 1);
	struct item *item = (struct item *)inject_list_pop(&got.list);

	if (!item)
		return;
	if (item == &items[0][0])
		owed |= got.turned_away;
	else
		second_taken = true;
}

static void push_second(void)
{
	push(0, 1);
	atomic_store_release(&second_pushed, 1);
}

/* Sees the second node, so that from now on somebody has to see to it. */
static void see_and_take(void)
{
	if (atomic_load_relaxed(&queue.head) != &items[0][1].node)
		return;
	met = true;
	take_and_owe();
}

/* Knows of the second node, though the first may be there still. A consumer
 * that gets one is awake, and sees to the other. */
static void know_and_take(void)
{
	if (atomic_load_acquire(&second_pushed) == 0)
		return;
	met = inject_queue_take(&queue, 1).list.count == 0;
}

/* Its look comes behind its push; the rest as above. */
static void push_second_and_take(void)
{
	push(0, 1);
	met = inject_queue_take(&queue, 1).list.count == 0;
}

static void check_mark(void)
{
	explore_assert(second_taken || owed || !met);
}

/* ---- threads that push and take (I1) --------------------------------------- */

static struct consumer each[3];

static struct item single[3]; /* one of each thread */

static void setup_single(void)
{
	setup();
	memset(single, 0, sizeof(single));
	memset(each, 0, sizeof(each));
	for (unsigned i = 0; i < 3; i++)
		single[i] = (struct item){ .producer = i % PRODUCERS,
					   .number = 1 + i / PRODUCERS };
}

static void push_then_take_all(unsigned i, bool fenced)
{
	struct inject_list list = { NULL, NULL, 0 };

	explore_write(single[i].payload, 7);
	inject_list_append(&list, &single[i].node);
	inject_queue_push(&queue, &list);
	if (fenced)
		atomic_fence_seq_cst();
	while (take(&each[i], 8) > 0)
		;
}

static void single_0(void)
{
	push_then_take_all(0, true);
}

static void single_1(void)
{
	push_then_take_all(1, true);
}

static void single_0_unfenced(void)
{
	push_then_take_all(0, false);
}

static void single_1_unfenced(void)
{
	push_then_take_all(1, false);
}

static void single_2_unfenced(void)
{
	push_then_take_all(2, false);
}

static void check_none_left(void)
{
	explore_assert(!inject_queue_visible(&queue));
}

/* ---- variants that are wrong -------------------------------------------- */

static void first_takes_unlocked(void)
{
	run_all(&first, take_locked(&queue, 8));
}

static void second_takes_unlocked(void)
{
	run_all(&second, take_locked(&queue, 8));
}

/* Hands on what the lock guards without order. */
static void take_unlocking_relaxed(struct consumer *consumer)
{
	struct inject_list list;

	if (!try_lock(&queue))
		return;
	list = take_locked(&queue, 1);
	atomic_store_relaxed(&queue.lock, INJECT_FREE);
	run_all(consumer, list);
}

static void first_unlocks_relaxed(void)
{
	take_unlocking_relaxed(&first);
}

static void second_unlocks_relaxed(void)
{
	take_unlocking_relaxed(&second);
}

/* Says in head that the list is empty by a store, over what a push that found
 * it empty has written there (J2). */
static void first_overwrites_head(void)
{
	struct inject_node *node = atomic_load_acquire(&queue.head);
	struct inject_node *expected = node;

	if (!node || !atomic_cas_acq_rel(&queue.tail, &expected, NULL))
		return;
	atomic_store_relaxed(&queue.head, NULL);
	run(&first, (struct item *)node);
}

/* J3 ignored: takes the last linked node while somebody pushes behind it. */
static void first_takes_the_last_linked(void)
{
	struct inject_node *node = atomic_load_acquire(&queue.head);
	struct inject_node *expected = node;

	if (!node || atomic_load_acquire(&node->next))
		return;
	atomic_store_relaxed(&queue.head, NULL);
	atomic_cas_acq_rel(&queue.tail, &expected, NULL);
	run(&first, (struct item *)node);
}

static void push_linking_relaxed(struct inject_queue *q,
				 const struct inject_list *list)
{
	struct inject_node *before =
		atomic_exchange_acq_rel(&q->tail, list->last);

	if (before == NULL)
		atomic_store_relaxed(&q->head, list->first);
	else
		atomic_store_relaxed(&before->next, list->first);
}

static void p0_links_relaxed(void)
{
	push_by(push_linking_relaxed, 0, 2);
}

static const struct explore_case cases[] = {
	{ EXPLORE_PASS("mark__seen_by_who_unlocks", setup_mark, check_mark,
		       take_and_owe, take_and_owe, push_second, see_and_take) },
	{ EXPLORE_PASS("mark__of_an_earlier_round", setup_mark, check_mark,
		       take_and_owe, push_second, know_and_take) },
	{ EXPLORE_PASS("mark__made_again", setup_mark, check_mark, take_and_owe,
		       take_and_owe, push_second_and_take) },
	{ EXPLORE_PASS("two_producers__consumer", setup, check_one_consumer,
		       p0_pushes_one, p1_pushes_two, first_takes_twice) },
	{ EXPLORE_PASS("two_producers__behind_one__consumer", setup_one,
		       check_one_consumer, p0_pushes_one, p1_pushes_one,
		       first_takes_twice) },
	{ EXPLORE_PASS("producer__consumer_keeps_up", setup, check_one_consumer,
		       p0_pushes_one_and_two, first_takes_three_times) },
	{ EXPLORE_PASS("producer__two_consumers", setup_one, check,
		       p0_pushes_one_twice, first_takes_ones, second_takes) },
	{ EXPLORE_PASS("two_consumers", setup_four, check, first_takes_ones,
		       second_takes_twice) },
	{ EXPLORE_PASS("batches__two_consumers", setup, check,
		       p0_pushes_one_and_two, first_takes_twice,
		       second_takes) },
	{ EXPLORE_PASS("two_producers__two_consumers", setup, check,
		       p0_pushes_one, p1_pushes_one, first_takes_ones,
		       second_takes) },
	{ EXPLORE_PASS("length__producer__consumer", setup, check,
		       p0_pushes_one_and_two, first_takes_ones,
		       second_measures) },

	{ EXPLORE_PASS("push__fence__take", setup_single, check_none_left,
		       single_0, single_1) },

	{ EXPLORE_BUG("push__take__two_threads", "visible", setup_single,
		      check_none_left, single_0_unfenced, single_1_unfenced) },
	{ EXPLORE_BUG("push__take__three_threads", "visible", setup_single,
		      check_none_left, single_0_unfenced, single_1_unfenced,
		      single_2_unfenced) },
	{ EXPLORE_BUG("taken_unlocked", "", setup_four, check_runs,
		      first_takes_unlocked, second_takes_unlocked) },
	{ EXPLORE_BUG("unlocked_relaxed", "item->runs == 0", setup_four,
		      check_runs, first_unlocks_relaxed,
		      second_unlocks_relaxed) },
	{ EXPLORE_BUG("head_overwritten", "runs == 1", setup_one, check_runs,
		      p1_pushes_one, first_overwrites_head) },
	{ EXPLORE_BUG("last_linked_taken_under_push", "runs == 1", setup_one,
		      check_runs, p1_pushes_one, first_takes_the_last_linked) },
	{ EXPLORE_BUG("linked_relaxed", "data race", setup, check_runs,
		      p0_links_relaxed, first_takes_twice) },
};

EXPLORE_MAIN(cases)
