/* SPDX-License-Identifier: MIT */
/* ready.c - see ready.h */
#include "core/io/ready.h"

#include "core/io/call.h"
#include "core/io/kernel.h"
#include "core/io/table.h"

static ssize_t wait_now(struct io_call *call)
{
	int events = call->way == IO_READ ? POLLIN | POLLRDHUP : POLLOUT;
	int ready = kernel_ready(call->io.fd, events);

	return ready ? ready : -EAGAIN;
}

static enum io_direction way_of(uint64_t events)
{
	return events == POLLIN ? IO_READ : IO_WRITE;
}

static struct io_call wait_call(struct skua_io io, short events)
{
	return (struct io_call){
		.operation = events > 0 && ready_events_fit((uint64_t)events)
				     ? wait_now
				     : NULL,
		.io = io,
		.way = way_of((uint64_t)events),
		.cost = 1,
	};
}

int skua_io_wait(struct skua_io io, short events, uint64_t deadline_ns)
{
	struct io_call call = wait_call(io, events);

	return call.operation ? (int)call_await(&call, deadline_ns) : -EINVAL;
}

int skua_io_wait_poll(struct skua_task *self, struct skua_io io, short events,
		      struct skua_wait *wait, uint64_t deadline_ns)
{
	struct io_call call = wait_call(io, events);

	return call.operation ? (int)call_poll(&call, self, wait, deadline_ns)
			      : -EINVAL;
}

int skua_io_wait_try(struct skua_io io, short events)
{
	struct io_call call = wait_call(io, events);

	return call.operation ? (int)call_try(&call) : -EINVAL;
}

/* ---- cases of a select ------------------------------------------------------ */

/* A case keeps no call between its steps. Its wait has the slot and the serial number. */
static int case_step(struct skua_wait *wait, struct io_slot *slot,
		     enum io_direction way, bool granted, int give_up)
{
	struct io_call call = {
		.operation = wait_now,
		.io = { slot->fd, (uint32_t)wait->code },
		.way = way,
		.slot = slot,
	};

	return call_advance(wait, &call, granted, give_up);
}

static int case_read_step(struct skua_wait *wait, void *slot, bool granted,
			  int give_up)
{
	return case_step(wait, slot, IO_READ, granted, give_up);
}

static int case_write_step(struct skua_wait *wait, void *slot, bool granted,
			   int give_up)
{
	return case_step(wait, slot, IO_WRITE, granted, give_up);
}

static void pass_read_on(struct skua_wait *wait, void *slot)
{
	(void)slot;
	call_pass_on(wait, IO_READ);
}

static void pass_write_on(struct skua_wait *wait, void *slot)
{
	(void)slot;
	call_pass_on(wait, IO_WRITE);
}

#define CASE_VERB(step, kind, pass_on)                                      \
	{                                                                   \
		(step), AREA_WAITS_##kind, 0, WAIT_NO_HOLDER, 0, (pass_on), \
			NULL                                                \
	}

/* By direction. */
static const struct wait_verb verbs[] = {
	CASE_VERB(case_read_step, IO_READ, pass_read_on),
	CASE_VERB(case_write_step, IO_WRITE, pass_write_on),
};

const struct wait_verb *ready_begin(struct skua_wait *wait, struct skua_io io,
				    uint64_t events, void **slot)
{
	*slot = table_find(io.fd);
	wait->code = (int32_t)io.serial;
	return &verbs[way_of(events)];
}
