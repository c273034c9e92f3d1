/* SPDX-License-Identifier: MIT */
/* sharing.c - see sharing.h */
#include "bench/mpi/sharing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { ASK, GIVE, TOKEN, OVER }; /* tags */

/* The pause of an idle rank that has asked all others in vain: doubled each time, within
 * these limits. Guesses. */
#define MIN_PAUSE_NS UINT64_C(50000)
#define MAX_PAUSE_NS UINT64_C(1000000)

struct token {
	int64_t sent; /* GIVEs with parts that were sent, less those received */
	int64_t vain; /* not 0: a rank has received parts since the last wave */
};

/* A message that is being sent. */
struct sending {
	struct mpi_op op;
	struct sending *next;
	char bytes[SHARING_MAX_BYTES];
};

struct sharing {
	struct mpi_progress *progress;
	MPI_Comm comm;
	struct work_pool *pool;
	struct sharing_counts *counts;
	int rank, ranks;
	unsigned max_parts; /* of one GIVE */
	uint64_t random;

	struct mpi_op receive;
	char received[SHARING_MAX_BYTES];
	struct sending *sendings, *spare;

	/* Ranks that this one has to answer, in the order of their ASKs. */
	int *askers;
	int asker_count;

	/* This rank's own ASKs. */
	bool asking;
	bool pauses; /* asks again at @next_ask_ns */
	int first,
		tried; /* of this turn: the first rank, and how many said no */
	uint64_t pause_ns, next_ask_ns;

	/* The wave. Rank 0 begins it; until then it has no token. */
	struct token token;
	bool has_token, wave_begun;
	int64_t sent; /* as struct token */
	bool received_parts;
	bool over;
};

/* ---- messages ------------------------------------------------------------------- */

static int post_receive(struct sharing *sharing)
{
	mpi_enter(sharing->progress);
	MPI_Irecv(sharing->received, SHARING_MAX_BYTES, MPI_BYTE,
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

static int send(struct sharing *sharing, int to, int tag, const void *data,
		size_t bytes)
{
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

/* ---- ASK and GIVE --------------------------------------------------------------- */

/* Answer the ranks that have asked, as long as there is an answer. */
static int answer_askers(struct sharing *sharing)
{
	const size_t part_bytes = sharing->pool->part_bytes;
	int answered = 0, err = 0;

	while (err == 0 && answered < sharing->asker_count) {
		struct sending *sending = new_sending(sharing);
		int to = sharing->askers[answered], parts;

		if (!sending)
			return -ENOMEM;
		parts = work_pool_answer(sharing->pool, sending->bytes,
					 sharing->max_parts);
		if (parts < 0) {
			sending->next = sharing->spare;
			sharing->spare = sending;
			break;
		}
		if (parts > 0) {
			sharing->sent++;
			sharing->counts->gives++;
			sharing->counts->parts_given += (unsigned)parts;
		}
		answered++;
		err = post_send(sharing, sending, to, GIVE,
				(size_t)parts * part_bytes);
	}
	sharing->asker_count -= answered;
	memmove(sharing->askers, sharing->askers + answered,
		(size_t)sharing->asker_count * sizeof(*sharing->askers));
	return err;
}

static uint64_t next_random(struct sharing *sharing)
{
	/* Marsaglia's xorshift. */
	sharing->random ^= sharing->random << 13;
	sharing->random ^= sharing->random >> 7;
	sharing->random ^= sharing->random << 17;
	return sharing->random;
}

/* The next rank to ask; never this one. */
static int next_victim(struct sharing *sharing)
{
	int others = sharing->ranks - 1;

	if (sharing->tried == 0)
		sharing->first = (int)(next_random(sharing) % (unsigned)others);
	return (sharing->rank + 1 +
		(sharing->first + sharing->tried) % others) %
	       sharing->ranks;
}

static int ask_if_idle(struct sharing *sharing)
{
	sharing->pauses = false;
	if (sharing->asking || sharing->over || sharing->ranks == 1 ||
	    !work_pool_idle(sharing->pool))
		return 0;
	if (skua_now_ns() < sharing->next_ask_ns) {
		sharing->pauses = true;
		return 0;
	}
	sharing->asking = true;
	sharing->counts->asks++;
	return send(sharing, next_victim(sharing), ASK, NULL, 0);
}

static void was_refused(struct sharing *sharing)
{
	if (++sharing->tried < sharing->ranks - 1)
		return;
	sharing->tried = 0;
	sharing->next_ask_ns = skua_now_ns() + sharing->pause_ns;
	if (sharing->pause_ns < MAX_PAUSE_NS)
		sharing->pause_ns *= 2;
}

static int on_give(struct sharing *sharing, size_t bytes)
{
	size_t parts = bytes / sharing->pool->part_bytes;

	sharing->asking = false;
	if (parts == 0) {
		was_refused(sharing);
		return 0;
	}
	sharing->tried = 0;
	sharing->pause_ns = MIN_PAUSE_NS;
	sharing->sent--;
	sharing->received_parts = true;
	sharing->counts->parts_received += parts;
	return work_pool_put(sharing->pool, sharing->received, parts);
}

/* ---- the wave ------------------------------------------------------------------- */

static int tell_over(struct sharing *sharing)
{
	int err = 0;

	sharing->over = true;
	for (int to = 1; err == 0 && to < sharing->ranks; to++)
		err = send(sharing, to, OVER, NULL, 0);
	return err;
}

/* Return whether the wave that has come back to rank 0 has found the end. */
static bool found_end(const struct sharing *sharing)
{
	return sharing->wave_begun && !sharing->token.vain &&
	       !sharing->received_parts &&
	       sharing->token.sent + sharing->sent == 0;
}

static int pass_token_if_idle(struct sharing *sharing)
{
	int next = (sharing->rank + 1) % sharing->ranks;

	if (!sharing->has_token || sharing->over ||
	    !work_pool_idle(sharing->pool))
		return 0;
	if (sharing->ranks == 1)
		return tell_over(sharing);
	if (sharing->rank > 0) {
		sharing->token.sent += sharing->sent;
		sharing->token.vain |= sharing->received_parts;
	} else if (found_end(sharing)) {
		return tell_over(sharing);
	} else {
		sharing->token = (struct token){ 0 };
		sharing->wave_begun = true;
		sharing->counts->waves++;
	}
	sharing->received_parts = false;
	sharing->has_token = false;
	return send(sharing, next, TOKEN, &sharing->token,
		    sizeof(sharing->token));
}

/* ---- the loop ------------------------------------------------------------------- */

static int on_message(struct sharing *sharing)
{
	const MPI_Status *status = &sharing->receive.status;
	int bytes;

	mpi_enter(sharing->progress);
	MPI_Get_count(status, MPI_BYTE, &bytes);
	mpi_leave(sharing->progress);
	switch (status->MPI_TAG) {
	case ASK:
		sharing->askers[sharing->asker_count++] = status->MPI_SOURCE;
		work_pool_ask(sharing->pool);
		return 0;
	case GIVE:
		return on_give(sharing, (size_t)bytes);
	case TOKEN:
		memcpy(&sharing->token, sharing->received,
		       sizeof(sharing->token));
		sharing->has_token = true;
		return 0;
	default: /* OVER */
		sharing->over = true;
		return 0;
	}
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
	if (err == 0)
		err = answer_askers(sharing);
	if (err == 0)
		err = ask_if_idle(sharing);
	if (err == 0)
		err = pass_token_if_idle(sharing);
	return err;
}

/* Wait for a change, and then make a step. */
static int next_step(struct sharing *sharing)
{
	/* Not by a look at the clock: the pause may be over by now. */
	(void)skua_event_wait(sharing->pool->changed,
			      sharing->pauses ? sharing->next_ask_ns
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
	while (err == 0 && sharing->asking)
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
		struct work_pool *pool, struct sharing_counts *counts)
{
	struct sharing sharing = {
		.progress = progress,
		.comm = comm,
		.pool = pool,
		.counts = counts,
		.max_parts = (unsigned)(SHARING_MAX_BYTES / pool->part_bytes),
		.pause_ns = MIN_PAUSE_NS,
	};
	int err;

	*counts = (struct sharing_counts){ 0 };
	mpi_enter(progress);
	MPI_Comm_rank(comm, &sharing.rank);
	MPI_Comm_size(comm, &sharing.ranks);
	mpi_leave(progress);
	sharing.random = (uint64_t)sharing.rank + 1;
	sharing.has_token = sharing.rank == 0;
	sharing.askers = calloc((size_t)sharing.ranks, sizeof(int));
	if (!sharing.askers)
		return -ENOMEM;
	err = post_receive(&sharing);
	if (err == 0)
		err = step(&sharing);
	while (err == 0 && !sharing.over)
		err = next_step(&sharing);
	if (err == 0)
		err = leave(&sharing);
	if (err == 0)
		free_sendings(&sharing);
	free(sharing.askers);
	return err;
}
