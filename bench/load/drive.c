/* SPDX-License-Identifier: MIT */
/* drive.c - see drive.h */
#include "bench/load/drive.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "bench/harness/clock.h"

#define BUFFER_BYTES 65536

/* Events of one call of epoll. */
#define EVENTS 64

/* Batches that are sent before replies are received again. */
#define SENDS 32

/* While this many batches wait for replies, no more are sent. */
#define WAITING_MAX 1000000

/* The time from the reading of the server's usage to the measurement, so that the reading delays
 * no request of the measurement. */
#define SETTLE_NS 2000000

/* ---- connections ---------------------------------------------------------------- */

static int watch(struct drive *drive, unsigned i, int operation, bool sends)
{
	struct epoll_event event = { .events =
					     EPOLLIN | (sends ? EPOLLOUT : 0u),
				     .data.u32 = i };

	return epoll_ctl(drive->epoll, operation, drive->connection[i].fd,
			 &event)
		       ? -errno
		       : 0;
}

static int open_one(struct drive *drive, unsigned i, const char **step,
		    const struct sockaddr *address, socklen_t size, bool ask)
{
	int err;

	*step = "cannot connect to";
	err = connection_open(&drive->connection[i], address, size);
	if (err)
		return err;
	drive->open++;
	if (ask && !i && !drive->server->pid) {
		*step = "no answer to INFO from";
		err = server_find(drive->server, drive->connection[i].fd);
		if (err)
			return err;
	}
	*step = "cannot watch a connection to";
	return watch(drive, i, EPOLL_CTL_ADD, false);
}

int drive_open(struct drive *drive, const struct sockaddr *address,
	       socklen_t size, bool ask, const char **step)
{
	int err = 0;

	*step = "no memory for connections to";
	drive->connection =
		calloc(drive->connections, sizeof(*drive->connection));
	drive->buffer = malloc(BUFFER_BYTES);
	if (!drive->connection || !drive->buffer)
		return -ENOMEM;
	for (unsigned i = 0; i < drive->connections; i++)
		drive->connection[i].fd = -1;
	*step = "cannot watch connections to";
	drive->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (drive->epoll < 0)
		return -errno;
	for (unsigned i = 0; !err && i < drive->connections; i++)
		err = open_one(drive, i, step, address, size, ask);
	return err;
}

void drive_close(struct drive *drive)
{
	for (unsigned i = 0; drive->connection && i < drive->connections; i++)
		connection_free(&drive->connection[i]);
	if (drive->epoll > 0)
		close(drive->epoll);
	free(drive->connection);
	free(drive->buffer);
}

/* Return the unanswered requests of a batch that belongs to the measurement; of others, 0. */
static unsigned measured(const struct drive *drive, const struct batch *batch)
{
	return drive->measuring && batch->intended_ns >= drive->from_ns
		       ? drive->requests->batch - batch->answered
		       : 0;
}

/* End a connection for an error. Its requests are lost. */
static void lose(struct drive *drive, struct connection *connection,
		 const char *name)
{
	tally_error(&drive->tally, name, 1);
	connection_close(connection);
	drive->open--;
	drive->waiting -= connection->tail - connection->head;
	for (; connection->head != connection->tail; connection->head++)
		drive->lost += measured(
			drive,
			&connection->ring[connection->head & connection->mask]);
}

/* The name of an error of a socket. */
static const char *error_name(int err)
{
	switch (err) {
	case -ECONNRESET:
	case -EPIPE:
		return "connection reset";
	case -ENOMEM:
		return "no memory";
	default:
		return "socket error";
	}
}

/* ---- sending -------------------------------------------------------------------- */

/* Send the bytes that the socket takes, and let epoll report when it takes more. */
static void send_some(struct drive *drive, unsigned i)
{
	struct connection *connection = &drive->connection[i];
	int err = connection_send(connection, drive->requests);
	bool blocked = err == -EAGAIN;

	if (err && !blocked) {
		lose(drive, connection, error_name(err));
		return;
	}
	if (blocked != connection->blocked) {
		connection->blocked = blocked;
		watch(drive, i, EPOLL_CTL_MOD, blocked);
	}
}

/* Send the next batch on a connection. */
static void send_batch(struct drive *drive, unsigned i, uint64_t intended_ns)
{
	struct connection *connection = &drive->connection[i];
	uint32_t first = drive->next * drive->requests->batch;

	if (connection_push(connection, intended_ns, first)) {
		lose(drive, connection, error_name(-ENOMEM));
		return;
	}
	drive->next = drive->next + 1 < drive->requests->batches
			      ? drive->next + 1
			      : 0;
	drive->waiting++;
	drive->batches++;
	if (drive->measuring && intended_ns >= drive->from_ns)
		drive->sent += drive->requests->batch;
	if (!connection->blocked)
		send_some(drive, i);
}

/* A random connection that is not closed. */
static unsigned choose(struct drive *drive)
{
	unsigned i = (unsigned)random_below(&drive->random, drive->connections);

	while (drive->connection[i].fd < 0)
		i = i + 1 < drive->connections ? i + 1 : 0;
	return i;
}

static bool is_over(const struct drive *drive, uint64_t now_ns)
{
	return drive->passes ? drive->batches >=
				       drive->passes * drive->requests->batches
			     : now_ns >= drive->until_ns;
}

/* Count an arrival that is sent at @now_ns. */
static void arrive(struct drive *drive, uint64_t now_ns)
{
	if (!drive->measuring || drive->arrival_ns < drive->from_ns)
		return;
	drive->arrived += drive->requests->batch;
	if (drive->holds)
		drive->held++;
	else
		tally_time(&drive->tally.late, now_ns - drive->arrival_ns);
}

/* Send the batches that have arrived. Return: whether there were any. */
static bool send_arrived(struct drive *drive, uint64_t now_ns)
{
	unsigned i;

	for (i = 0; i < SENDS && drive->arrival_ns <= now_ns &&
		    drive->arrival_ns < drive->until_ns && drive->open;
	     i++) {
		if (drive->waiting >= WAITING_MAX) {
			drive->holds = true;
			break;
		}
		arrive(drive, now_ns);
		send_batch(drive, choose(drive), drive->arrival_ns);
		drive->arrival_ns = schedule_next(&drive->schedule);
		now_ns = clock_ns();
	}
	if (drive->arrival_ns > now_ns)
		drive->holds = false;
	return i > 0;
}

/* ---- receiving ------------------------------------------------------------------ */

/* The oldest batch of a connection has all its replies. */
static void finish_batch(struct drive *drive, unsigned i, uint64_t now_ns)
{
	struct connection *connection = &drive->connection[i];

	connection->head++;
	drive->waiting--;
	if (drive->rate > 0 || is_over(drive, now_ns))
		return;
	if (drive->measuring && now_ns >= drive->from_ns)
		drive->arrived += drive->requests->batch;
	send_batch(drive, i, now_ns);
}

/* Count a reply to the oldest request of a connection. Return: 0; -EPROTO: there is no
 * such request. */
static int count_reply(struct drive *drive, unsigned i,
		       const struct reply *reply, uint64_t now_ns)
{
	struct connection *connection = &drive->connection[i];
	struct batch *batch = connection_oldest(connection);

	if (!batch)
		return -EPROTO;
	if (measured(drive, batch)) {
		uint8_t kind =
			drive->requests->kind[batch->first + batch->answered];

		tally_time(&drive->tally.latency, now_ns - batch->intended_ns);
		tally_reply(&drive->tally, kind, reply);
	} else if (reply->kind == REPLY_ERROR) {
		/* Errors count, whenever they come. */
		tally_reply(&drive->tally, REQUEST_PING, reply);
	}
	drive->replies++;
	if (++batch->answered < drive->requests->batch)
		return 0;
	if (connection->head == connection->unsent)
		return -EPROTO;
	finish_batch(drive, i, now_ns);
	return 0;
}

static void take(struct drive *drive, unsigned i, size_t size)
{
	struct connection *connection = &drive->connection[i];
	const char *data = drive->buffer;
	uint64_t now_ns = clock_ns();
	struct reply reply;
	int got;

	while ((got = reply_read(&connection->reader, &data, &size, &reply)) >
	       0) {
		if (count_reply(drive, i, &reply, now_ns)) {
			lose(drive, connection, "reply without a request");
			return;
		}
		if (connection->fd < 0)
			return;
	}
	if (got < 0)
		lose(drive, connection, "malformed reply");
}

static void receive(struct drive *drive, unsigned i)
{
	struct connection *connection = &drive->connection[i];
	ssize_t n =
		recv(connection->fd, drive->buffer, BUFFER_BYTES, MSG_DONTWAIT);

	if (n > 0)
		take(drive, i, (size_t)n);
	else if (!n)
		lose(drive, connection, "connection closed");
	else if (errno != EAGAIN && errno != EINTR)
		lose(drive, connection, error_name(-errno));
}

/* Handle the events that there are, after waiting for at most @wait_ns. Return: whether
 * there were any. */
static bool handle_events(struct drive *drive, uint64_t wait_ns)
{
	const struct timespec wait = {
		.tv_sec = (time_t)(wait_ns / 1000000000),
		.tv_nsec = (long)(wait_ns % 1000000000),
	};
	struct epoll_event events[EVENTS];
	int count = wait_ns ? epoll_pwait2(drive->epoll, events, EVENTS, &wait,
					   NULL)
			    : epoll_wait(drive->epoll, events, EVENTS, 0);

	for (int k = 0; k < count; k++) {
		unsigned i = events[k].data.u32;

		if (events[k].events & EPOLLOUT && drive->connection[i].fd >= 0)
			send_some(drive, i);
		if (events[k].events & ~(uint32_t)EPOLLOUT &&
		    drive->connection[i].fd >= 0)
			receive(drive, i);
	}
	return count > 0;
}

/* ---- the run -------------------------------------------------------------------- */

/* Read the generator's own time on a CPU, and its time without one. */
static void read_own(uint64_t *cpu_ns, uint64_t *delayed_ns)
{
	FILE *file = fopen("/proc/thread-self/schedstat", "re");

	*cpu_ns = *delayed_ns = 0;
	if (!file)
		return;
	if (fscanf(file, "%" SCNu64 " %" SCNu64, cpu_ns, delayed_ns) != 2)
		*cpu_ns = *delayed_ns = 0;
	fclose(file);
}

/* The warm-up is over. */
static void begin_measuring(struct drive *drive)
{
	server_begin(drive->server);
	read_own(&drive->cpu_ns, &drive->delayed_ns);
	drive->measuring = true;
	drive->answered_all = drive->replies;
	drive->from_ns = clock_ns() + SETTLE_NS;
	drive->until_ns = drive->from_ns + drive->measured_ns;
	drive->end_ns = drive->until_ns + drive->grace_ns;
}

/* How long to sleep for the next event. */
static uint64_t wait_for(const struct drive *drive, uint64_t now_ns)
{
	uint64_t until_ns = now_ns + 10000000;

	if (!drive->sleeps)
		return 0;
	if (drive->rate > 0 && drive->arrival_ns < until_ns)
		until_ns = drive->arrival_ns;
	return until_ns > now_ns ? until_ns - now_ns : 0;
}

static bool is_done(const struct drive *drive, uint64_t now_ns)
{
	bool all_sent = drive->rate > 0 ? drive->arrival_ns >= drive->until_ns
					: is_over(drive, now_ns);

	return !drive->open || now_ns >= drive->end_ns ||
	       (drive->measuring && all_sent && !drive->waiting);
}

static void loop(struct drive *drive)
{
	uint64_t now_ns = clock_ns(), before_ns = now_ns;
	uint64_t begin_ns = now_ns + drive->warm_up_ns;
	uint64_t replies_from = 0;
	bool worked = true, counted = false, ended = false;

	for (; !is_done(drive, now_ns);
	     before_ns = now_ns, now_ns = clock_ns()) {
		if (!drive->measuring && now_ns >= begin_ns) {
			begin_measuring(drive);
			continue;
		}
		if (drive->measuring && !counted && now_ns >= drive->from_ns) {
			counted = true;
			replies_from = drive->replies;
		} else if (counted && !ended && now_ns >= drive->until_ns) {
			ended = true;
			drive->answered = drive->replies - replies_from;
		} else if (counted && !ended && !worked) {
			drive->idle_ns += now_ns - before_ns;
		}
		worked = drive->rate > 0 && send_arrived(drive, now_ns);
		worked |= handle_events(drive,
					worked ? 0 : wait_for(drive, now_ns));
	}
	if (!ended)
		drive->answered = drive->replies - replies_from;
	if (counted) {
		drive->elapsed_ns =
			(ended ? drive->until_ns : now_ns) - drive->from_ns;
		drive->total_ns = now_ns - drive->from_ns;
	}
}

/* Count the requests that the server did not answer, with their age. */
static void count_rest(struct drive *drive)
{
	uint64_t now_ns = clock_ns();

	for (unsigned i = 0; i < drive->connections; i++) {
		struct connection *c = &drive->connection[i];

		for (; c->head != c->tail; c->head++) {
			struct batch *batch = &c->ring[c->head & c->mask];
			unsigned left = measured(drive, batch);

			drive->unanswered += left;
			while (left--)
				tally_time(&drive->tally.latency,
					   now_ns - batch->intended_ns);
		}
	}
	/* Arrivals that were held until the end. */
	while (drive->open && drive->rate > 0 &&
	       drive->arrival_ns < drive->until_ns) {
		drive->arrived += drive->requests->batch;
		drive->unanswered += drive->requests->batch;
		for (unsigned k = 0; k < drive->requests->batch; k++)
			tally_time(&drive->tally.latency,
				   now_ns - drive->arrival_ns);
		drive->arrival_ns = schedule_next(&drive->schedule);
	}
}

int drive_run(struct drive *drive)
{
	uint64_t cpu_ns, delayed_ns, now_ns = clock_ns();

	server_prepare(drive->server);
	drive->random.state = drive->seed + 1;
	drive->until_ns = drive->end_ns = UINT64_MAX;
	if (drive->rate > 0) {
		schedule_start(&drive->schedule, drive->seed,
			       drive->rate / drive->requests->batch, now_ns);
		drive->arrival_ns = schedule_next(&drive->schedule);
	} else {
		for (unsigned i = 0; i < drive->connections; i++)
			if (drive->connection[i].fd >= 0)
				send_batch(drive, i, clock_ns());
	}
	loop(drive);
	drive->usage = server_end(drive->server);
	read_own(&cpu_ns, &delayed_ns);
	drive->cpu_ns = cpu_ns - drive->cpu_ns;
	drive->delayed_ns = delayed_ns - drive->delayed_ns;
	drive->answered_all = drive->replies - drive->answered_all;
	if (!drive->measuring)
		return -ECONNRESET;
	count_rest(drive);
	return 0;
}
