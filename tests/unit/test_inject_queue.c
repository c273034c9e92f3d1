/* SPDX-License-Identifier: MIT */
/* test_inject_queue.c - the list that anyone pushes to */
#include "core/queue/inject_queue.h"

#include <pthread.h>

#include "tests/unit/support.h"

#define NODES 100u

struct numbered {
	struct inject_node node; /* first: a node is its number */
	unsigned number;
	unsigned pusher;
};

struct fixture {
	struct inject_queue q;
	struct numbered items[NODES];
};

static int set_up(void **state)
{
	struct fixture *f = aligned_alloc(CACHE_PAIR, sizeof(*f));

	if (!f)
		return -1;
	inject_queue_init(&f->q);
	for (unsigned n = 0; n < NODES; n++) {
		atomic_init(&f->items[n].node.next, NULL);
		f->items[n].number = n;
	}
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	free(*state);
	return 0;
}

EACH_TEST(set_up, tear_down);

static void append(struct fixture *f, struct inject_list *list, unsigned first,
		   unsigned count)
{
	for (unsigned n = first; n < first + count; n++)
		inject_list_append(list, &f->items[n].node);
}

static void push(struct fixture *f, unsigned first, unsigned count)
{
	struct inject_list list = { NULL, NULL, 0 };

	append(f, &list, first, count);
	inject_queue_push(&f->q, &list);
}

static void expect_list(struct inject_list list, unsigned first, unsigned count)
{
	assert_int_equal(list.count, count);
	for (unsigned n = first; n < first + count; n++) {
		struct inject_node *node = inject_list_pop(&list);

		assert_non_null(node);
		assert_int_equal(((struct numbered *)node)->number, n);
	}
	assert_null(inject_list_pop(&list));
}

/* Nobody else takes: so nobody was turned away. */
static void expect_take(struct fixture *f, uint64_t most, unsigned first,
			unsigned count)
{
	struct inject_take take = inject_queue_take(&f->q, most);

	expect_list(take.list, first, count);
	assert_false(take.turned_away);
}

/* ---- lists -------------------------------------------------------------- */

TEST(inject_list__empty__pops_null)
{
	struct inject_list list = { NULL, NULL, 0 };

	assert_null(inject_list_pop(&list));
	assert_int_equal(list.count, 0);
}

TEST(inject_list__appended__pops_in_order)
{
	struct fixture *f = *state;
	struct inject_list list = { NULL, NULL, 0 };

	append(f, &list, 0, 5);
	assert_ptr_equal(list.first, &f->items[0].node);
	assert_ptr_equal(list.last, &f->items[4].node);
	expect_list(list, 0, 5);
}

TEST(inject_list__popped_empty__takes_nodes_again)
{
	struct fixture *f = *state;
	struct inject_list list = { NULL, NULL, 0 };

	append(f, &list, 0, 1);
	assert_ptr_equal(inject_list_pop(&list), &f->items[0].node);
	append(f, &list, 1, 2);
	expect_list(list, 1, 2);
}

/* ---- one thread --------------------------------------------------------- */

TEST(inject_queue__new__is_empty)
{
	struct fixture *f = *state;

	assert_false(inject_queue_visible(&f->q));
	assert_int_equal(inject_queue_length(&f->q), 0);
	expect_take(f, 10, 0, 0);
}

TEST(inject_queue_take__pushed_singly__in_order)
{
	struct fixture *f = *state;

	for (unsigned n = 0; n < NODES; n++) {
		push(f, n, 1);
		assert_true(inject_queue_visible(&f->q));
		assert_int_equal(inject_queue_length(&f->q), n + 1);
	}
	for (unsigned n = 0; n < NODES; n++) {
		expect_take(f, 1, n, 1);
		assert_int_equal(inject_queue_length(&f->q), NODES - n - 1);
	}
	assert_false(inject_queue_visible(&f->q));
	assert_null(atomic_load_relaxed(&f->q.tail)); /* J1 */
	expect_take(f, 1, 0, 0);
}

TEST(inject_queue_take__pushed_as_batches__in_order)
{
	struct fixture *f = *state;

	push(f, 0, 10);
	push(f, 10, 1);
	push(f, 11, 29);
	expect_take(f, 7, 0, 7);
	expect_take(f, 10, 7, 10);
	assert_int_equal(inject_queue_length(&f->q), 23);
	expect_take(f, UINT64_MAX, 17, 23);
	expect_take(f, UINT64_MAX, 0, 0);
}

TEST(inject_queue_take__most_0__takes_nothing)
{
	struct fixture *f = *state;

	push(f, 0, 3);
	expect_take(f, 0, 0, 0);
	assert_int_equal(inject_queue_length(&f->q), 3);
	expect_take(f, 3, 0, 3);
}

TEST(inject_queue__emptied__is_used_again)
{
	struct fixture *f = *state;

	for (unsigned round = 0; round < 50; round++) {
		push(f, 0, 2);
		push(f, 2, 1);
		expect_take(f, 10, 0, 3);
		assert_false(inject_queue_visible(&f->q));
		assert_int_equal(inject_queue_length(&f->q), 0);
	}
}

TEST(inject_queue_take__another_taker_at_work__leaves_a_mark)
{
	struct fixture *f = *state;

	push(f, 0, 3);
	atomic_store_relaxed(&f->q.lock, INJECT_HELD);
	for (unsigned n = 0; n < 3; n++) {
		expect_take(f, 3, 0, 0);
		assert_int_equal(atomic_load_relaxed(&f->q.lock),
				 INJECT_MARKED);
	}
	assert_int_equal(inject_queue_length(&f->q), 3);
	atomic_store_relaxed(&f->q.lock, INJECT_FREE);
	expect_take(f, 3, 0, 3);
	assert_int_equal(atomic_load_relaxed(&f->q.lock), INJECT_FREE);
}

/* There is nothing that the other taker could leave behind. */
TEST(inject_queue_take__empty_and_locked__leaves_no_mark)
{
	struct fixture *f = *state;

	atomic_store_relaxed(&f->q.lock, INJECT_HELD);
	expect_take(f, 3, 0, 0);
	assert_int_equal(atomic_load_relaxed(&f->q.lock), INJECT_HELD);
}

/* ---- a push between its two steps --------------------------------------- */

TEST(inject_queue_take__cut_behind_a_node__leaves_that_node)
{
	struct fixture *f = *state;
	struct inject_node *behind = &f->items[2].node;

	push(f, 0, 2);
	/* The first step of a push of item 2: tail, and no link yet. */
	atomic_store_relaxed(&behind->next, NULL);
	assert_ptr_equal(atomic_exchange_acq_rel(&f->q.tail, behind),
			 &f->items[1].node);
	expect_take(f, 10, 0, 1);
	expect_take(f, 10, 0, 0); /* J3: the push still writes to item 1 */
	assert_true(inject_queue_visible(&f->q));
	/* The second step. */
	atomic_store_release(&f->items[1].node.next, behind);
	expect_take(f, 10, 1, 2);
	assert_false(inject_queue_visible(&f->q));
	push(f, 3, 2);
	expect_take(f, 10, 3, 2);
}

TEST(inject_queue_take__push_to_empty_unfinished__finds_none)
{
	struct fixture *f = *state;
	struct inject_node *first = &f->items[0].node;

	assert_null(atomic_exchange_acq_rel(&f->q.tail, first));
	assert_false(inject_queue_visible(&f->q));
	expect_take(f, 10, 0, 0);
	/* A push that comes behind it finishes earlier. */
	push(f, 1, 1);
	expect_take(f, 10, 0, 0);
	atomic_store_release(&f->q.head, first); /* J2 */
	expect_take(f, 10, 0, 2);
}

TEST(inject_queue_length__taken_ahead_of_pushed__is_0)
{
	struct fixture *f = *state;

	atomic_store_relaxed(&f->q.taken, 1);
	assert_int_equal(inject_queue_length(&f->q), 0);
	/* Both wrap at 2^64. */
	atomic_store_relaxed(&f->q.taken, UINT64_MAX);
	atomic_store_relaxed(&f->q.pushed, 2);
	assert_int_equal(inject_queue_length(&f->q), 3);
}

/* ---- threads ------------------------------------------------------------ */

#define RACE_NODES  60000u
#define RACE_PUSHES 2u

struct racer {
	struct inject_queue *q;
	struct numbered *items; /* RACE_NODES of its own */
	unsigned index;
};

static void *push_all(void *arg)
{
	struct racer *racer = arg;

	for (unsigned n = 0; n < RACE_NODES;) {
		struct inject_list list = { NULL, NULL, 0 };

		for (unsigned i = 0; i <= n % 3 && n < RACE_NODES; i++, n++) {
			racer->items[n].number = n;
			racer->items[n].pusher = racer->index;
			inject_list_append(&list, &racer->items[n].node);
		}
		inject_queue_push(racer->q, &list);
		/* So that all do run beside each other. */
		while (n % 64 == 0 && inject_queue_length(racer->q) > 32)
			sched_yield();
	}
	return NULL;
}

TEST(inject_queue__pushes_beside_a_taker__all_once_in_order)
{
	struct fixture *f = *state;
	struct racer racers[RACE_PUSHES];
	unsigned next[RACE_PUSHES] = { 0, 0 };
	pthread_t threads[RACE_PUSHES];
	unsigned taken = 0;

	for (unsigned r = 0; r < RACE_PUSHES; r++) {
		racers[r].q = &f->q;
		racers[r].index = r;
		racers[r].items = calloc(RACE_NODES, sizeof(struct numbered));
		assert_non_null(racers[r].items);
	}
	for (unsigned r = 0; r < RACE_PUSHES; r++)
		assert_int_equal(
			pthread_create(&threads[r], NULL, push_all, &racers[r]),
			0);
	/* One taker only. */
	while (taken < RACE_PUSHES * RACE_NODES) {
		struct inject_take take = inject_queue_take(&f->q, 5);
		struct inject_node *node;

		while ((node = inject_list_pop(&take.list)) != NULL) {
			struct numbered *it = (struct numbered *)node;

			assert_int_equal(it->number, next[it->pusher]++);
			taken++;
		}
	}
	for (unsigned r = 0; r < RACE_PUSHES; r++) {
		assert_int_equal(pthread_join(threads[r], NULL), 0);
		free(racers[r].items);
	}
	assert_int_equal(inject_queue_length(&f->q), 0);
	expect_take(f, 10, 0, 0);
}

/* Each taker may be turned away by the other; together they get all. */
struct taker {
	struct inject_queue *q;
	struct gate *done;
	unsigned taken;
	unsigned disordered;
	unsigned unseen; /* others turned away, and nothing taken */
};

static void *take_all(void *arg)
{
	struct taker *taker = arg;
	unsigned newest = 0;

	for (;;) {
		bool last = gate_is_open(taker->done);
		struct inject_take take = inject_queue_take(taker->q, 3);
		bool none = take.list.count == 0;
		struct inject_node *node;

		while ((node = inject_list_pop(&take.list)) != NULL) {
			unsigned number = ((struct numbered *)node)->number;

			taker->disordered += number < newest;
			newest = number;
			taker->taken++;
		}
		taker->unseen += none && take.turned_away;
		if (none && last && !inject_queue_visible(taker->q))
			return NULL;
	}
}

TEST(inject_queue__two_takers__all_once_in_order)
{
	struct fixture *f = *state;
	struct gate done = { 0 };
	struct taker takers[2] = { { &f->q, &done, 0, 0, 0 },
				   { &f->q, &done, 0, 0, 0 } };
	struct racer racer = { &f->q,
			       calloc(RACE_NODES, sizeof(struct numbered)), 0 };
	pthread_t threads[2];

	assert_non_null(racer.items);
	for (unsigned t = 0; t < 2; t++)
		assert_int_equal(
			pthread_create(&threads[t], NULL, take_all, &takers[t]),
			0);
	push_all(&racer);
	gate_open(&done);
	for (unsigned t = 0; t < 2; t++)
		assert_int_equal(pthread_join(threads[t], NULL), 0);
	assert_int_equal(inject_queue_length(&f->q), 0);
	assert_int_equal(takers[0].taken + takers[1].taken, RACE_NODES);
	assert_int_equal(takers[0].disordered + takers[1].disordered, 0);
	assert_int_equal(takers[0].unseen + takers[1].unseen, 0);
	assert_int_equal(atomic_load_relaxed(&f->q.lock), INJECT_FREE);
	free(racer.items);
}

/* ---- misuse ------------------------------------------------------------- */

#ifndef NDEBUG
static void push_an_empty_list(void)
{
	static struct inject_queue q;
	struct inject_list list = { NULL, NULL, 0 };

	inject_queue_init(&q);
	inject_queue_push(&q, &list);
}
#endif

TEST(inject_queue_push__empty_list__asserts)
{
#ifdef NDEBUG
	skip_aloud(NO_ASSERTS);
#else
	assert_true(aborts(push_an_empty_list));
#endif
}
