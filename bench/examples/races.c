/* SPDX-License-Identifier: MIT */
/**
 * races.c - wait for all of some fibers, for the first, or for a limited time
 *
 * A group joins all of its members. A select takes the first of several results; the group
 * then cancels the others, and waits for them: nothing outlives the call. A deadline is an
 * argument of each call that waits. No other functions are needed to combine waits.
 */
#include <skua/skua.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MS       UINT64_C(1000000)
#define REPLICAS 3u

/* A server that is asked. It answers after some time; SKUA_FOREVER_NS: never. */
struct replica {
	struct skua_fiber fiber; /* first: the function casts back */
	struct skua_channel *answers;
	uint64_t number, takes_ns;
	int result;
};

static struct skua_runtime *rt;

static uint64_t after(uint64_t ns)
{
	return ns == SKUA_FOREVER_NS ? ns : skua_now_ns() + ns;
}

static void replica_main(struct skua_fiber *self)
{
	struct replica *it = (struct replica *)self;

	it->result = skua_sleep_until(after(it->takes_ns));
	/* There is room for all answers: this does not wait. */
	if (!it->result)
		it->result = skua_channel_send_try(it->answers, &it->number);
}

static void ask(struct skua_group *group, struct replica *replicas,
		struct skua_channel *answers, const uint64_t *takes_ns)
{
	for (unsigned i = 0; i < REPLICAS; i++) {
		replicas[i] = (struct replica){ .answers = answers,
						.number = i,
						.takes_ns = takes_ns[i] };
		skua_fiber_init(&replicas[i].fiber, replica_main, 0);
		skua_group_spawn(group, &replicas[i].fiber.task);
	}
}

/* Wait until all have ended, whether the caller is cancelled or not. */
static void end(struct skua_group *group)
{
	skua_cancel_mask();
	skua_group_wait(group);
	skua_cancel_unmask();
}

/* Return the sum of all answers. */
static uint64_t join_all(const uint64_t *takes_ns)
{
	uint64_t memory[SKUA_CHANNEL_BYTES(4, 8) / 8], answer, sum = 0;
	struct replica replicas[REPLICAS];
	struct skua_channel answers;
	struct skua_group group;

	skua_channel_init(&answers, memory, 4, sizeof(answer));
	skua_group_init(&group, rt);
	ask(&group, replicas, &answers, takes_ns);
	end(&group);
	while (skua_channel_receive_try(&answers, &answer) == 0)
		sum += answer;
	return sum;
}

/* Return the number of the replica that answers first; -ETIMEDOUT; -ECANCELED (also if the
 * program stops). @left: receives how many were cancelled. */
static int race(const uint64_t *takes_ns, struct skua_event *stopping,
		uint64_t deadline_ns, unsigned *left)
{
	uint64_t memory[SKUA_CHANNEL_BYTES(4, 8) / 8], answer = 0;
	struct replica replicas[REPLICAS];
	struct skua_channel answers;
	struct skua_group group;
	struct skua_select_case cases[] = {
		SKUA_SELECT_CASE(SKUA_SELECT_EVENT, stopping, NULL, 0),
		SKUA_SELECT_CASE(SKUA_SELECT_RECEIVE, &answers, &answer, 0),
	};
	int at;

	skua_channel_init(&answers, memory, 4, sizeof(answer));
	skua_group_init(&group, rt);
	ask(&group, replicas, &answers, takes_ns);
	at = skua_select(cases, 2, SKUA_SELECT_IN_ORDER, deadline_ns);
	skua_group_cancel(&group);
	end(&group);
	*left = 0;
	for (unsigned i = 0; i < REPLICAS; i++)
		*left += replicas[i].result == -ECANCELED;
	if (at == 0)
		return -ECANCELED;
	return at == 1 ? (int)answer : at;
}

/* The same with tasks that are joined one by one. */
static int race_of_tasks(const uint64_t *takes_ns)
{
	uint64_t memory[SKUA_CHANNEL_BYTES(4, 8) / 8];
	struct replica replicas[REPLICAS];
	struct skua_select_case cases[REPLICAS];
	struct skua_channel answers;
	int first;

	skua_channel_init(&answers, memory, 4, 8);
	for (unsigned i = 0; i < REPLICAS; i++) {
		replicas[i] = (struct replica){ .answers = &answers,
						.takes_ns = takes_ns[i] };
		skua_fiber_init(&replicas[i].fiber, replica_main, 0);
		skua_task_spawn(rt, &replicas[i].fiber.task);
		cases[i] = (struct skua_select_case)SKUA_SELECT_CASE(
			SKUA_SELECT_JOIN, &replicas[i].fiber.task, NULL, 0);
	}
	skua_cancel_mask();
	first = skua_select(cases, REPLICAS, 0, SKUA_FOREVER_NS);
	for (unsigned i = 0; i < REPLICAS; i++) {
		if ((int)i == first)
			continue;
		skua_task_cancel(&replicas[i].fiber.task);
		skua_task_join(&replicas[i].fiber.task);
	}
	skua_cancel_unmask();
	return first;
}

static void main_fiber(struct skua_fiber *self)
{
	static struct skua_event stopping = SKUA_EVENT_INIT;
	const uint64_t soon[REPLICAS] = { MS, 2 * MS, 3 * MS };
	const uint64_t second[REPLICAS] = { SKUA_FOREVER_NS, MS,
					    SKUA_FOREVER_NS };
	const uint64_t never[REPLICAS] = { SKUA_FOREVER_NS, SKUA_FOREVER_NS,
					   SKUA_FOREVER_NS };
	unsigned left;
	int first;

	(void)self;
	printf("all: the sum is %u\n", (unsigned)join_all(soon));
	first = race(second, &stopping, SKUA_FOREVER_NS, &left);
	printf("first: replica %d; %u were cancelled\n", first, left);
	first = race(never, &stopping, skua_now_ns() + 2 * MS, &left);
	printf("late: %s; %u were cancelled\n", strerror(-first), left);
	skua_event_set(&stopping);
	first = race(never, &stopping, SKUA_FOREVER_NS, &left);
	printf("stopped: %s; %u were cancelled\n", strerror(-first), left);
	printf("first of the tasks: %d\n", race_of_tasks(second));
}

int main(void)
{
	struct skua_config config = { .size = sizeof(config) };
	struct skua_fiber fiber;
	struct skua_error error;

	if (skua_runtime_create(&rt, &config, &error)) {
		fprintf(stderr, "%s\n", error.text);
		return 1;
	}
	skua_fiber_init(&fiber, main_fiber, 0);
	skua_task_spawn(rt, &fiber.task);
	skua_task_join(&fiber.task);
	return skua_runtime_destroy(rt) ? 1 : 0;
}
