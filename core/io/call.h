/* SPDX-License-Identifier: MIT */
/**
 * call.h - run an operation on a descriptor, in each of its forms
 *
 * An operation is one system call that does not wait. This file claims the direction, calls
 * the operation, and lets the caller wait for an event if it returns -EAGAIN. The budget,
 * deadlines and cancels are here and in core/wait/await.h.
 */
#ifndef SKUA_CORE_IO_CALL_H
#define SKUA_CORE_IO_CALL_H

#include <sys/types.h>

#include "core/io/slot.h"
#include "core/wait/await.h"
#include "skua/io.h"

/* Calls in one poll that do not wait, before others run. */
#define CALL_BUDGET 128u

struct io_call;

/* One try. Return: the result, or -EAGAIN. */
typedef ssize_t io_operation(struct io_call *call);

struct io_call {
	io_operation *operation;
	struct skua_io io;
	enum io_direction way;
	uint16_t cost; /* of the budget */
	/* The operation has found the descriptor empty, or full, although it has
	 * succeeded. Writer: the operation. */
	bool empty;
	/* The operation looks for something that other calls do not see. If it finds nothing,
	 * the descriptor may still be ready for them. */
	bool aside;
	/* The operation has failed, and another try follows after a delay: the number of
	 * delays in a row. Writer: call_delay(). 0: no. */
	uint8_t delay;
	/* A delay of this call has ended. */
	bool again;
	struct io_slot *slot; /* set by the functions below */
	/* Arguments of the operation. */
	void *buffer;
	size_t size;
	const void *data;
	int flags;
	uint32_t length;
	uint32_t *length_out;
	struct skua_io *out;
};

/* call_delay - called by an operation that has failed for a lack of something that no event
 * announces. @code: the error. Return: @code, for the operation to return. */
ssize_t call_delay(struct io_call *call, int code);

/* call_no_delay - called by an operation that has succeeded, and may have failed before */
static inline void call_no_delay(struct io_call *call)
{
	call->slot->delays[call->way] = 0;
}

/* call_spent - count a call of @cost; 0: count nothing. Return: true if the poll has used up
 * its budget: the call is not counted then. A thread has no budget: false */
bool call_spent(uint16_t cost);

/* call_let_others_run - yield, if the caller is a fiber */
void call_let_others_run(void);

/* call_advance - one step of a call; as wait_step (await.h)
 * @wait: its amount is the address of the slot
 * @call: its slot is set */
int call_advance(struct skua_wait *wait, struct io_call *call, bool granted,
		 int give_up);

/* call_pass_on - as pass_on of a wait_verb (await.h): lets the next call on the descriptor
 * try */
void call_pass_on(struct skua_wait *wait, enum io_direction way);

/* call_await - for fibers and threads. Return: the result; an error, but not -EAGAIN. */
ssize_t call_await(struct io_call *call, uint64_t deadline_ns);

/* call_poll - in the poll of @self. Return: the result; -EAGAIN; another error. */
ssize_t call_poll(struct io_call *call, struct skua_task *self,
		  struct skua_wait *wait, uint64_t deadline_ns);

/* call_try - one try. Return: the result; -EAGAIN; another error. */
ssize_t call_try(struct io_call *call);

#endif
