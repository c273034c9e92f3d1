/* SPDX-License-Identifier: MIT */
/**
 * poll_task.h - a connection in the form of a poll task, and the steps that it takes
 *
 * It does the same as connection.c, in steps: a step that must wait arms the wait of the task,
 * and is called again. Commands must not wait: all locks that a command may need are taken
 * before it, in the order stripes, channels, clients.
 */
#ifndef SKUA_BENCH_KV_POLL_TASK_H
#define SKUA_BENCH_KV_POLL_TASK_H

#include <errno.h>

#include "bench/kv/commands/logged.h"
#include "bench/kv/output.h"
#include "bench/kv/parts.h"

struct task;

/* The steps return whether the task goes on at once, waits, lets others run, or is over. */
enum next { GO, WAIT, YIELD, OVER };
typedef enum next (*step_fn)(struct task *t);

/**
 * struct task - a connection in the form of a task
 * @step: what comes next; @after: what comes after the replies; @input: what waits for input
 * @begun: the session is in the list
 * @wait: of the step that waits
 * @set, @wanted: the locks that the next command needs: stripes, and HELD_*
 * @stripe, @got: the locks of these that are held: stripes below @stripe, and HELD_*
 * @batch, @count, @at, @result: commands that were parsed; those below @at have run
 * @prefetched: steps of connection_prefetch() that the batch has taken
 * @records, @waiter: the records of a command, until they are added to the log; a wait for the log
 * @rest, @visits: a wait until a rewrite has visited these stripes
 * @select, @cases: a wait for the socket and for messages
 * @output: replies that are being sent
 * @drain_ns, @drained: a refused client: until when its bytes are read, and reads so far
 */
struct task {
	struct connection c;
	struct skua_task task;
	step_fn step, after, input;
	bool begun;
	struct skua_wait wait;
	struct store_set set;
	unsigned wanted, stripe, got;
	struct request batch[BATCH];
	unsigned count, at, prefetched;
	enum resp_result result;
	struct record_batch records;
	struct log_waiter waiter;
	struct store_set rest;
	struct rewrite_waiter visits;
	struct skua_select select;
	struct skua_select_case cases[2];
	struct output output;
	uint64_t drain_ns;
	unsigned drained;
};

static inline enum next to(struct task *t, step_fn step)
{
	t->step = step;
	return GO;
}

/* A shutdown of the runtime cancels the task. It then cannot wait, and tries again later. */
static inline enum next not_yet(int code)
{
	return code == -EAGAIN ? WAIT : YIELD;
}

/* ---- locks and replies (poll_steps.c) ----------------------------------------- */

/* poll_want - want no locks but HELD_*, in @wanted; the caller may add stripes to t->set */
void poll_want(struct task *t, unsigned wanted);

/* poll_take_locks - take the locks, one after the other. Return: 0; -EAGAIN: call it again */
int poll_take_locks(struct task *t);
void poll_release_locks(struct task *t);

/* poll_end - the step that ends the connection */
enum next poll_end(struct task *t);

/* poll_send_then - send the replies; @after: the step after that */
enum next poll_send_then(struct task *t, step_fn after);

/* poll_refuse - reply with an error, and end the connection */
enum next poll_refuse(struct task *t, const char *error);

/* ---- commands (poll_commands.c) ------------------------------------------------ */

/* poll_parse - the step that runs the commands which have arrived; then comes t->input */
enum next poll_parse(struct task *t);

#endif
