/* SPDX-License-Identifier: MIT */
/* test_io_messages.c - messages that other calls do not see, and receivers that are full */
#include <arpa/inet.h>
#include <sys/un.h>

#include "tests/unit/pairs.h"

#define SOON_NS UINT64_C(3000000)

static uint64_t events_of(struct skua_runtime *rt)
{
	struct skua_stats stats;

	assert_int_equal(skua_runtime_stats(rt, &stats), 0);
	return stats.total.io_events;
}

/* ---- calls that look for something else --------------------------------------- */

struct receive {
	struct skua_io io;
	int flags;
	uint64_t after_ns; /* until it gives up; 0: never */
};

static int receive_aside(struct user *it)
{
	const struct receive *receive = it->object;
	char data[8], control[512];
	struct iovec in = { data, sizeof(data) };
	struct msghdr message = { .msg_iov = &in,
				  .msg_iovlen = 1,
				  .msg_control = control,
				  .msg_controllen = sizeof(control) };
	uint64_t deadline_ns = receive->after_ns
				       ? skua_now_ns() + receive->after_ns
				       : SKUA_FOREVER_NS;

	if (receive->flags & MSG_DONTWAIT)
		return (int)skua_io_recvmsg_try(receive->io, &message,
						receive->flags);
	return (int)skua_io_recvmsg(receive->io, &message, receive->flags,
				    deadline_ns);
}

/* A socket that gets the errors of its sends, and its address. */
static struct skua_io datagrams_open(struct skua_runtime *rt,
				     struct sockaddr_in *address)
{
	socklen_t length = sizeof(*address);
	const int one = 1;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	*address = (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)address, length), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)address, &length),
			 0);
	assert_int_equal(
		setsockopt(fd, IPPROTO_IP, IP_RECVERR, &one, sizeof(one)), 0);
	return attached(rt, fd);
}

static void send_to(int fd, const struct sockaddr_in *address)
{
	assert_int_equal(sendto(fd, "hi", 2, 0,
				(const struct sockaddr *)address,
				sizeof(*address)),
			 2);
}

static void wait_until_ready(struct skua_io io)
{
	while (!(io_word(io, IO_READ) & IO_READY))
		sched_yield();
}

/* The event of the datagram has come before the call that finds no error. The next read gets
 * the datagram without another event. */
TEST(error_queue__empty_beside_a_datagram__next_read_tries)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct sockaddr_in address;
	struct receive receive = { .io = datagrams_open(rt, &address) };
	char data[8];

	for (unsigned how = 0; how < 3; how++) {
		struct user it = { 0 };

		assert_int_equal(skua_io_read_try(receive.io, data, 8),
				 -EAGAIN);
		send_to(receive.io.fd, &address);
		wait_until_ready(receive.io);
		receive.flags =
			how == 0 ? MSG_ERRQUEUE | MSG_DONTWAIT : MSG_ERRQUEUE;
		receive.after_ns = how == 1 ? SOON_NS : 0;
		user_start(&it, rt, how == 2, receive_aside, &receive);
		if (how == 2) {
			wait_for_wait(receive.io, IO_READ);
			assert_int_equal(skua_task_cancel(&it.fiber.task), 0);
		}
		assert_int_equal(user_end(&it), how == 0   ? -EAGAIN
						: how == 1 ? -ETIMEDOUT
							   : -ECANCELED);
		assert_true(io_word(receive.io, IO_READ) & IO_READY);
		assert_int_equal(
			skua_io_read(receive.io, data, 8, SKUA_FOREVER_NS), 2);
	}
	io_close(receive.io);
	destroy(rt);
}

TEST(error_queue__datagram_comes_first__waits_for_the_error)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct sockaddr_in address, closed;
	struct receive receive = { .io = datagrams_open(rt, &address),
				   .flags = MSG_ERRQUEUE };
	struct user it = { 0 };
	char data[8];
	ssize_t got;

	io_close(datagrams_open(rt, &closed));
	user_start(&it, rt, true, receive_aside, &receive);
	wait_for_wait(receive.io, IO_READ);
	send_to(receive.io.fd, &address);
	send_to(receive.io.fd, &closed);
	/* The error comes with the datagram that caused it. */
	assert_int_equal(user_end(&it), 2);
	got = skua_io_read(receive.io, data, 8, SKUA_FOREVER_NS);
	/* The kernel notes the error for the next call after it has queued it, which may be
	 * after the fiber has taken it. */
	if (got == -ECONNREFUSED)
		got = skua_io_read(receive.io, data, 8, SKUA_FOREVER_NS);
	assert_int_equal(got, 2);
	io_close(receive.io);
	destroy(rt);
}

TEST(peek__behind_all_bytes__next_read_tries)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct receive receive = { .flags = MSG_PEEK | MSG_DONTWAIT };
	struct pair pair;
	const int offset = 0;
	char data[8];

	pair_open(rt, &pair, PAIR_UNIX);
	receive.io = pair.ends[0];
	assert_int_equal(skua_io_read_try(receive.io, data, 8), -EAGAIN);
	assert_int_equal(setsockopt(receive.io.fd, SOL_SOCKET, SO_PEEK_OFF,
				    &offset, sizeof(offset)),
			 0);
	assert_int_equal(skua_io_write_try(pair.ends[1], "abc", 3), 3);
	wait_until_ready(receive.io);
	assert_int_equal(user_run(rt, false, receive_aside, &receive), 3);
	assert_int_equal(user_run(rt, false, receive_aside, &receive), -EAGAIN);
	assert_true(io_word(receive.io, IO_READ) & IO_READY);
	assert_int_equal(skua_io_read(receive.io, data, 8, SKUA_FOREVER_NS), 3);
	pair_close(&pair);
	destroy(rt);
}

/* ---- receivers that are full ---------------------------------------------------- */

struct send {
	struct skua_io io;
	struct sockaddr_un address;
	socklen_t length;
	uint64_t after_ns; /* as above */
};

static struct iovec hello = { "hello", 5 };

static struct msghdr message_of(struct send *send)
{
	return (struct msghdr){ .msg_iov = &hello,
				.msg_iovlen = 1,
				.msg_name = &send->address,
				.msg_namelen = send->length };
}

static int send_hello(struct user *it)
{
	struct send *send = it->object;
	struct msghdr message = message_of(send);

	return (int)skua_io_sendmsg(send->io, &message, 0,
				    send->after_ns
					    ? skua_now_ns() + send->after_ns
					    : SKUA_FOREVER_NS);
}

/* Let another socket fill a receiver. Return: the receiver */
static int full_receiver(struct send *send)
{
	int type = SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
	int receiver = socket(AF_UNIX, type, 0);
	int other = socket(AF_UNIX, type, 0);
	struct sockaddr *address = (struct sockaddr *)&send->address;

	send->address.sun_family = AF_UNIX;
	send->length = sizeof(send->address);
	assert_true(receiver >= 0 && other >= 0);
	/* The kernel chooses a name. */
	assert_int_equal(bind(receiver, address, sizeof(sa_family_t)), 0);
	assert_int_equal(getsockname(receiver, address, &send->length), 0);
	while (sendto(other, "x", 1, 0, address, send->length) == 1)
		;
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(close(other), 0);
	return receiver;
}

/* The socket of the sender is ready all the time, and the sender must not run in circles. */
TEST(sendmsg__receiver_is_full__tries_after_delays)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct send send = { .after_ns = SOON_NS };
	int receiver = full_receiver(&send);
	uint64_t before = events_of(rt);
	struct user it = { 0 };
	char data[8];
	ssize_t n;

	send.io = attached(rt, socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
	for (int fiber = 0; fiber < 2; fiber++)
		assert_int_equal(user_run(rt, fiber, send_hello, &send),
				 -ETIMEDOUT);
	send.after_ns = 0;
	user_start(&it, rt, true, send_hello, &send);
	while (!(io_word(send.io, IO_WRITE) & IO_DELAYED)) {
		assert_true(events_of(rt) - before < 1000);
		sched_yield();
	}
	do
		n = recv(receiver, data, sizeof(data), 0);
	while (n == 1);
	assert_int_equal(user_end(&it), 5);
	/* It has come meanwhile, or comes now. */
	if (n < 0)
		n = recv(receiver, data, sizeof(data), 0);
	assert_int_equal(n, 5);
	io_close(send.io);
	assert_int_equal(close(receiver), 0);
	destroy(rt);
}

struct first_delay {
	struct skua_task task; /* first: a task is its first_delay */
	struct skua_wait wait;
	struct send *send;
	unsigned
		delays; /* of the call, when it waits for the first one to end */
};

static enum skua_poll delays_once(struct skua_task *self)
{
	struct first_delay *it = (struct first_delay *)self;
	struct msghdr message = message_of(it->send);
	ssize_t n = skua_io_sendmsg_poll(self, it->send->io, &message, 0,
					 &it->wait, SKUA_FOREVER_NS);

	assert_int_equal(n, -EAGAIN);
	it->delays = it->wait.delay;
	if (it->delays == 0 || skua_wait_cancel(self, &it->wait) != 0)
		return SKUA_PENDING;
	return SKUA_DONE;
}

/* The receivers of earlier messages were full; that of a later one has a short delay. */
TEST(sendmsg__receivers_were_full__begins_with_shortest_delay)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct send send = { .after_ns = 0 };
	int receiver = full_receiver(&send);
	struct msghdr message = message_of(&send);
	struct first_delay it = { .task = SKUA_TASK_INIT(delays_once),
				  .wait = SKUA_WAIT_INIT,
				  .send = &send };

	send.io = attached(rt, socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
	for (unsigned i = 0; i < 8; i++)
		assert_int_equal(skua_io_sendmsg_try(send.io, &message, 0),
				 -EAGAIN);
	spawn(rt, &it.task);
	join(&it.task);
	assert_int_equal(it.delays, 1);
	io_close(send.io);
	assert_int_equal(close(receiver), 0);
	destroy(rt);
}
