/* SPDX-License-Identifier: MIT */
/* test_injector_api.c - skua_injector */
#define SUPPORT_FAIL_ALLOCATIONS
#include "tests/unit/support.h"

#include <pthread.h>

static struct skua_injector *injector_new(void)
{
	struct skua_injector *injector = NULL;

	assert_int_equal(skua_injector_create(&injector), 0);
	assert_non_null(injector);
	return injector;
}

TEST(injector_create__null_out__einval)
{
	assert_int_equal(skua_injector_create(NULL), -EINVAL);
}

TEST(injector_create__no_memory__enomem)
{
	struct skua_injector *injector = (struct skua_injector *)&injector;

	if (!CAN_FAIL_ALLOCATIONS) {
		skip_aloud(NO_FAILURES);
		return;
	}
	EXPECT_ENOMEM(skua_injector_create(&injector));
	assert_null(injector);
}

TEST(injector__null__einval_or_0)
{
	struct skua_injector *injector = injector_new();
	struct skua_node node = { NULL };
	struct skua_node *nodes[3] = { &node, NULL, NULL };

	assert_int_equal(skua_injector_push(NULL, &node), -EINVAL);
	assert_int_equal(skua_injector_push(injector, NULL), -EINVAL);
	assert_int_equal(skua_injector_push_batch(NULL, nodes, 1), -EINVAL);
	assert_int_equal(skua_injector_push_batch(injector, NULL, 1), -EINVAL);
	assert_int_equal(skua_injector_push_batch(NULL, NULL, 0), -EINVAL);
	assert_int_equal(skua_injector_take(NULL, nodes, 3), 0);
	assert_int_equal(skua_injector_take(injector, NULL, 3), 0);
	assert_int_equal(skua_injector_push(injector, &node), 0);
	assert_int_equal(skua_injector_take(injector, nodes, 0), 0);
	assert_int_equal(skua_injector_take(injector, nodes, 3), 1);
	assert_int_equal(skua_injector_length(NULL), 0);
	assert_int_equal(skua_injector_length(injector), 0);
	skua_injector_destroy(injector);
}

TEST(injector_push_batch__a_null_node__nothing_pushed)
{
	struct skua_injector *injector = injector_new();
	struct skua_node node[3];
	struct skua_node *nodes[3] = { &node[0], &node[1], NULL };
	struct skua_node *taken[3];

	assert_int_equal(skua_injector_push_batch(injector, nodes, 3), -EINVAL);
	assert_int_equal(skua_injector_length(injector), 0);
	assert_int_equal(skua_injector_take(injector, taken, 3), 0);
	/* The nodes are the caller's still. */
	nodes[2] = &node[2];
	assert_int_equal(skua_injector_push_batch(injector, nodes, 3), 0);
	assert_int_equal(skua_injector_take(injector, taken, 3), 3);
	assert_memory_equal(taken, nodes, sizeof(nodes));
	skua_injector_destroy(injector);
}

TEST(injector_push_batch__count_0__does_nothing)
{
	struct skua_injector *injector = injector_new();
	struct skua_node *none = NULL;

	assert_int_equal(skua_injector_push_batch(injector, NULL, 0), 0);
	assert_int_equal(skua_injector_push_batch(injector, &none, 0), 0);
	assert_int_equal(skua_injector_length(injector), 0);
	assert_int_equal(skua_injector_take(injector, &none, 1), 0);
	skua_injector_destroy(injector);
}

TEST(injector_take__singles_and_batches__in_order)
{
	struct skua_injector *injector = injector_new();
	struct skua_node nodes[20];
	struct skua_node *batch[10];
	struct skua_node *taken[20];
	size_t got = 0;

	for (unsigned n = 0; n < 5; n++)
		assert_int_equal(skua_injector_push(injector, &nodes[n]), 0);
	for (unsigned n = 0; n < 10; n++)
		batch[n] = &nodes[5 + n];
	assert_int_equal(skua_injector_push_batch(injector, batch, 10), 0);
	for (unsigned n = 15; n < 20; n++)
		assert_int_equal(skua_injector_push(injector, &nodes[n]), 0);
	assert_int_equal(skua_injector_length(injector), 20);

	assert_int_equal(skua_injector_take(injector, taken, 0), 0);
	assert_int_equal(skua_injector_length(injector), 20);
	while (got < 20) {
		size_t want = 20 - got < 3 ? 20 - got : 3;

		assert_int_equal(
			skua_injector_take(injector, taken + got, want), want);
		got += want;
		assert_int_equal(skua_injector_length(injector), 20 - got);
	}
	for (unsigned n = 0; n < 20; n++)
		assert_ptr_equal(taken[n], &nodes[n]);
	assert_int_equal(skua_injector_take(injector, taken, 20), 0);
	skua_injector_destroy(injector);
}

/* A node belongs to its taker, which may push it again at once. */
TEST(injector__node_taken__may_be_pushed_again)
{
	struct skua_injector *injector = injector_new();
	struct skua_node nodes[2];
	struct skua_node *taken;

	assert_int_equal(skua_injector_push(injector, &nodes[0]), 0);
	assert_int_equal(skua_injector_push(injector, &nodes[1]), 0);
	for (unsigned n = 0; n < 1000; n++) {
		assert_int_equal(skua_injector_take(injector, &taken, 1), 1);
		assert_ptr_equal(taken, &nodes[n % 2]);
		assert_int_equal(skua_injector_push(injector, taken), 0);
	}
	assert_int_equal(skua_injector_length(injector), 2);
	skua_injector_destroy(injector);
}

#define RACE_NODES 50000u

struct pushed {
	struct skua_node node; /* first: a node is its payload */
	unsigned pusher;
	unsigned number;
};

struct pusher {
	struct skua_injector *injector;
	struct pushed *items;
	unsigned index;
};

static void *push_all(void *arg)
{
	struct pusher *pusher = arg;

	for (unsigned n = 0; n < RACE_NODES; n++) {
		pusher->items[n].pusher = pusher->index;
		pusher->items[n].number = n;
		skua_injector_push(pusher->injector, &pusher->items[n].node);
		/* So that the three do run beside each other. */
		while (n % 64 == 0 &&
		       skua_injector_length(pusher->injector) > 32)
			sched_yield();
	}
	return NULL;
}

TEST(injector__two_pushers__all_taken_in_each_ones_order)
{
	struct skua_injector *injector = injector_new();
	struct pusher pushers[2];
	pthread_t threads[2];
	unsigned next[2] = { 0, 0 };

	for (unsigned p = 0; p < 2; p++) {
		pushers[p].injector = injector;
		pushers[p].index = p;
		pushers[p].items = calloc(RACE_NODES, sizeof(struct pushed));
		assert_non_null(pushers[p].items);
		assert_int_equal(pthread_create(&threads[p], NULL, push_all,
						&pushers[p]),
				 0);
	}
	while (next[0] + next[1] < 2 * RACE_NODES) {
		struct skua_node *taken[8];
		size_t count = skua_injector_take(injector, taken, 8);

		for (size_t i = 0; i < count; i++) {
			struct pushed *it = (struct pushed *)taken[i];

			assert_int_equal(it->number, next[it->pusher]++);
		}
	}
	for (unsigned p = 0; p < 2; p++) {
		assert_int_equal(pthread_join(threads[p], NULL), 0);
		free(pushers[p].items);
	}
	assert_int_equal(skua_injector_length(injector), 0);
	skua_injector_destroy(injector);
}

static struct skua_injector *signalled;
static struct skua_node signalled_node;

static void push_from_handler(int signal)
{
	(void)signal;
	skua_injector_push(signalled, &signalled_node);
}

TEST(injector_push__from_a_signal_handler__is_taken)
{
	const struct sigaction action = { .sa_handler = push_from_handler };
	struct sigaction before;
	struct skua_node *taken;

	signalled = injector_new();
	assert_int_equal(sigaction(SIGUSR1, &action, &before), 0);
	assert_int_equal(raise(SIGUSR1), 0);
	assert_int_equal(sigaction(SIGUSR1, &before, NULL), 0);
	assert_int_equal(skua_injector_take(signalled, &taken, 1), 1);
	assert_ptr_equal(taken, &signalled_node);
	skua_injector_destroy(signalled);
}
