/* SPDX-License-Identifier: MIT */
/* test_sharing.c - an idle rank asks again after its pause; MPI and the other rank are
 * played */
#include <string.h>

#include "bench/mpi/sharing.h"
#include "tests/unit/unit.h"

#define BEGIN_NS UINT64_C(1000000000)
#define LATER_NS UINT64_C(1000000)

static struct {
	struct mpi_op *receive, *sum;
	void *total;
	enum { RECEIVE, SUM, BARRIER } next; /* request */
	unsigned asks, waits;
	unsigned looks; /* at the clock, since the refusal */
	uint64_t deadline_ns;
} played;

/* The pause goes on when the refusal begins it and when the rank looks whether to ask,
 * and is over at the next look. */
uint64_t __wrap_skua_now_ns(void);
uint64_t __wrap_skua_now_ns(void)
{
	if (played.waits > 0)
		played.looks++;
	return played.looks > 2 ? BEGIN_NS + LATER_NS : BEGIN_NS;
}

static void receive(int tag)
{
	memset(&played.receive->status, 0, sizeof(played.receive->status));
	played.receive->status.MPI_TAG = tag;
	skua_event_set(&played.receive->done);
}

int __wrap_skua_event_wait(struct skua_event *event, uint64_t deadline_ns);
int __wrap_skua_event_wait(struct skua_event *event, uint64_t deadline_ns)
{
	(void)event;
	switch (++played.waits) {
	case 1: /* a refusal */
		receive(PROTOCOL_GIVE);
		break;
	case 2: /* the pause */
		played.deadline_ns = deadline_ns;
		break;
	case 3: /* the answer to the second ASK comes after the end */
		memset(played.total, 0, sizeof(struct protocol_sum));
		skua_event_set(&played.sum->done);
		break;
	case 4:
		receive(PROTOCOL_GIVE);
		break;
	default:
		break;
	}
	return 0;
}

int __wrap_mpi_op_start(struct mpi_progress *progress, struct mpi_op *op,
			struct skua_event *also);
int __wrap_mpi_op_start(struct mpi_progress *progress, struct mpi_op *op,
			struct skua_event *also)
{
	(void)progress;
	op->done = (struct skua_event)SKUA_EVENT_INIT;
	if (!also || played.next == BARRIER)
		skua_event_set(&op->done);
	else if (played.next == SUM)
		played.sum = op;
	else
		played.receive = op;
	played.next = RECEIVE;
	return 0;
}

void __wrap_mpi_op_cancel(struct mpi_progress *progress, struct mpi_op *op);
void __wrap_mpi_op_cancel(struct mpi_progress *progress, struct mpi_op *op)
{
	(void)progress;
	(void)op;
}

int __wrap_MPI_Isend(const void *bytes, int count, MPI_Datatype type, int to,
		     int tag, MPI_Comm comm, MPI_Request *request);
int __wrap_MPI_Isend(const void *bytes, int count, MPI_Datatype type, int to,
		     int tag, MPI_Comm comm, MPI_Request *request)
{
	(void)bytes;
	(void)count;
	(void)type;
	(void)comm;
	(void)request;
	assert_int_equal(to, 0);
	assert_int_equal(tag, PROTOCOL_ASK);
	played.asks++;
	return MPI_SUCCESS;
}

int __wrap_MPI_Irecv(void *bytes, int count, MPI_Datatype type, int from,
		     int tag, MPI_Comm comm, MPI_Request *request);
int __wrap_MPI_Irecv(void *bytes, int count, MPI_Datatype type, int from,
		     int tag, MPI_Comm comm, MPI_Request *request)
{
	(void)bytes;
	(void)count;
	(void)type;
	(void)from;
	(void)tag;
	(void)comm;
	(void)request;
	return MPI_SUCCESS;
}

int __wrap_MPI_Ibarrier(MPI_Comm comm, MPI_Request *request);
int __wrap_MPI_Ibarrier(MPI_Comm comm, MPI_Request *request)
{
	(void)comm;
	(void)request;
	played.next = BARRIER;
	return MPI_SUCCESS;
}

int __wrap_MPI_Iallreduce(const void *own, void *total, int count,
			  MPI_Datatype type, MPI_Op op, MPI_Comm comm,
			  MPI_Request *request);
int __wrap_MPI_Iallreduce(const void *own, void *total, int count,
			  MPI_Datatype type, MPI_Op op, MPI_Comm comm,
			  MPI_Request *request)
{
	(void)own;
	(void)count;
	(void)type;
	(void)op;
	(void)comm;
	(void)request;
	played.total = total;
	played.next = SUM;
	return MPI_SUCCESS;
}

int __wrap_MPI_Get_count(const MPI_Status *status, MPI_Datatype type,
			 int *count);
int __wrap_MPI_Get_count(const MPI_Status *status, MPI_Datatype type,
			 int *count)
{
	(void)status;
	(void)type;
	*count = 0;
	return MPI_SUCCESS;
}

int __wrap_MPI_Comm_rank(MPI_Comm comm, int *rank);
int __wrap_MPI_Comm_rank(MPI_Comm comm, int *rank)
{
	(void)comm;
	*rank = 1;
	return MPI_SUCCESS;
}

int __wrap_MPI_Comm_size(MPI_Comm comm, int *ranks);
int __wrap_MPI_Comm_size(MPI_Comm comm, int *ranks)
{
	(void)comm;
	*ranks = 2;
	return MPI_SUCCESS;
}

TEST(sharing_run__pause_over_before_wait__asks_again)
{
	struct mpi_progress progress = { .serialized = false };
	struct skua_event changed = SKUA_EVENT_INIT;
	struct protocol_counts counts;
	struct work_pool pool;

	work_pool_init(&pool, 1, 0, &changed);
	assert_int_equal(sharing_run(&progress, MPI_COMM_WORLD, &pool, &counts),
			 0);
	assert_in_range(played.deadline_ns, BEGIN_NS, BEGIN_NS + LATER_NS);
	assert_int_equal(played.asks, 2);
	work_pool_free(&pool);
}
