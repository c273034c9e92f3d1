/* SPDX-License-Identifier: MIT */
/* sharing.c - see sharing.h */
#include "bench/mpi/sharing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A message that is being sent. */
struct sending {
	struct mpi_op op;
	struct sending *next;
	char bytes[PROTOCOL_MAX_BYTES];
};

struct sharing {
	struct protocol protocol;
	struct mpi_progress *progress;
	MPI_Comm comm;
	struct work_pool *pool;

	struct mpi_op receive;
	char received[PROTOCOL_MAX_BYTES];
	struct sending *sendings, *spare;

	struct mpi_op sum;
	struct protocol_sum own, total;
};

/* ---- messages ------------------------------------------------------------------- */

static int post_receive(struct sharing *sharing)
{
	mpi_enter(sharing->progress);
	MPI_Irecv(sharing->received, PROTOCOL_MAX_BYTES, MPI_BYTE,
		  MPI_ANY_SOURCE, MPI_ANY_TAG, sharing->comm,
		  &sharing->receive.request);
	mpi_leave(sharing->progress);
	return mpi_op_start(sharing->progress, &sharing->receive,
			    sharing->pool->changed);
}

static struct sending *new_sending(struct sharing *sharing)
{
	struct sending *sending = sharing->spare;

	if (!sending)
		return malloc(sizeof(*sending));
	sharing->spare = sending->next;
	return sending;
}

/* Send @sending, whose bytes are set. A message is not waited for, so that two ranks
 * that send to each other cannot wait for each other. */
static int post_send(struct sharing *sharing, struct sending *sending, int to,
		     int tag, size_t bytes)
{
	sending->next = sharing->sendings;
	sharing->sendings = sending;
	mpi_enter(sharing->progress);
	MPI_Isend(sending->bytes, (int)bytes, MPI_BYTE, to, tag, sharing->comm,
		  &sending->op.request);
	mpi_leave(sharing->progress);
	return mpi_op_start(sharing->progress, &sending->op, NULL);
}

static int send(void *of, int to, int tag, const void *data, size_t bytes)
{
	struct sharing *sharing = of;
	struct sending *sending = new_sending(sharing);

	if (!sending)
		return -ENOMEM;
	if (bytes > 0)
		memcpy(sending->bytes, data, bytes);
	return post_send(sharing, sending, to, tag, bytes);
}

static void reap_sendings(struct sharing *sharing)
{
	struct sending **link = &sharing->sendings, *sending;

	while ((sending = *link)) {
		if (!skua_event_is_set(&sending->op.done)) {
			link = &sending->next;
			continue;
		}
		*link = sending->next;
		sending->next = sharing->spare;
		sharing->spare = sending;
	}
}

static int sum(void *of, const struct protocol_sum *own)
{
	struct sharing *sharing = of;

	sharing->own = *own;
	mpi_enter(sharing->progress);
	MPI_Iallreduce(&sharing->own, &sharing->total, 2, MPI_INT64_T, MPI_SUM,
		       sharing->comm, &sharing->sum.request);
	mpi_leave(sharing->progress);
	return mpi_op_start(sharing->progress, &sharing->sum,
			    sharing->pool->changed);
}

/* ---- the pool ------------------------------------------------------------------- */

static void pool_ask(void *of, unsigned parts)
{
	work_pool_ask(((struct sharing *)of)->pool, parts);
}

static int pool_answer(void *of, void *parts, unsigned wanted, unsigned max)
{
	return work_pool_answer(((struct sharing *)of)->pool, parts, wanted,
				max);
}

static int pool_put(void *of, const void *parts, size_t count)
{
	return work_pool_put(((struct sharing *)of)->pool, parts, count);
}

static unsigned pool_waiting(void *of)
{
	return work_pool_waiting(((struct sharing *)of)->pool);
}

static bool pool_idle(void *of)
{
	return work_pool_idle(((struct sharing *)of)->pool);
}

static const struct protocol_host host = {
	.send = send,
	.sum = sum,
	.ask = pool_ask,
	.answer = pool_answer,
	.put = pool_put,
	.waiting = pool_waiting,
	.idle = pool_idle,
};

/* ---- the loop ------------------------------------------------------------------- */

static int on_message(struct sharing *sharing)
{
	const MPI_Status *status = &sharing->receive.status;
	int bytes;

	mpi_enter(sharing->progress);
	MPI_Get_count(status, MPI_BYTE, &bytes);
	mpi_leave(sharing->progress);
	return protocol_receive(&sharing->protocol, status->MPI_SOURCE,
				status->MPI_TAG, sharing->received,
				(size_t)bytes, skua_now_ns());
}

static int step(struct sharing *sharing)
{
	int err = 0;

	while (err == 0 && skua_event_is_set(&sharing->receive.done)) {
		err = on_message(sharing);
		if (err == 0)
			err = post_receive(sharing);
	}
	reap_sendings(sharing);
	if (sharing->protocol.summing && skua_event_is_set(&sharing->sum.done))
		protocol_summed(&sharing->protocol, &sharing->total);
	return err != 0 ? err
			: protocol_step(&sharing->protocol, skua_now_ns());
}

/* Wait for a change, and then make a step. */
static int next_step(struct sharing *sharing)
{
	/* Not by a look at the clock: the pause may be over by now. */
	(void)skua_event_wait(sharing->pool->changed,
			      sharing->protocol.pauses
				      ? sharing->protocol.next_ask_ns
				      : SKUA_FOREVER_NS);
	/* Before the step: what changes during it ends the next wait. */
	(void)skua_event_reset(sharing->pool->changed);
	return step(sharing);
}

/* Answer the others until no rank waits for an answer. */
static int leave(struct sharing *sharing)
{
	struct mpi_op barrier;
	int err = 0;

	work_pool_end(sharing->pool);
	while (err == 0 && sharing->protocol.asking > 0)
		err = next_step(sharing);
	if (err != 0)
		return err;
	mpi_enter(sharing->progress);
	MPI_Ibarrier(sharing->comm, &barrier.request);
	mpi_leave(sharing->progress);
	err = mpi_op_start(sharing->progress, &barrier, sharing->pool->changed);
	while (err == 0 && !skua_event_is_set(&barrier.done))
		err = next_step(sharing);
	if (err != 0)
		return err;
	mpi_op_cancel(sharing->progress, &sharing->receive);
	(void)skua_event_wait(&sharing->receive.done, SKUA_FOREVER_NS);
	return 0;
}

static void free_sendings(struct sharing *sharing)
{
	struct sending *sending;

	while ((sending = sharing->sendings)) {
		(void)skua_event_wait(&sending->op.done, SKUA_FOREVER_NS);
		sharing->sendings = sending->next;
		free(sending);
	}
	while ((sending = sharing->spare)) {
		sharing->spare = sending->next;
		free(sending);
	}
}

int sharing_run(struct mpi_progress *progress, MPI_Comm comm,
		struct work_pool *pool, struct protocol_counts *counts)
{
	struct sharing sharing = {
		.protocol = { .host = &host,
			      .of = &sharing,
			      .policy = &protocol_default,
			      .counts = counts,
			      .part_bytes = pool->list.part_bytes },
		.progress = progress,
		.comm = comm,
		.pool = pool,
	};
	int err;

	*counts = (struct protocol_counts){ 0 };
	mpi_enter(progress);
	MPI_Comm_rank(comm, &sharing.protocol.rank);
	MPI_Comm_size(comm, &sharing.protocol.ranks);
	mpi_leave(progress);
	err = protocol_init(&sharing.protocol, 0);
	if (err != 0)
		return err;
	err = post_receive(&sharing);
	if (err == 0)
		err = step(&sharing);
	while (err == 0 && !sharing.protocol.over)
		err = next_step(&sharing);
	if (err == 0)
		err = leave(&sharing);
	if (err == 0)
		free_sendings(&sharing);
	protocol_free(&sharing.protocol);
	return err;
}
