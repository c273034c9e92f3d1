/* SPDX-License-Identifier: MIT */
/* test_address.c - sockets that listen at addresses, and connect to them, on loopback */
#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/runtime/runtime.h"
#include "skua/io.h"
#include "tests/unit/process.h"
#include "tests/unit/users.h"

/* ---- names -------------------------------------------------------------------- */

/* The answer to the next lookups. */
static struct {
	int failure;
	unsigned count;
	struct sockaddr_storage addresses[20];
	unsigned lookups;
	struct gate *hold;
} resolver;

int __wrap_getaddrinfo(const char *host, const char *port,
		       const struct addrinfo *hints, struct addrinfo **out);
void __wrap_freeaddrinfo(struct addrinfo *list);

int __wrap_getaddrinfo(const char *host, const char *port,
		       const struct addrinfo *hints, struct addrinfo **out)
{
	struct addrinfo *list = calloc(20, sizeof(*list));

	(void)host;
	assert_non_null(list);
	assert_int_equal(hints->ai_socktype, SOCK_STREAM);
	__atomic_fetch_add(&resolver.lookups, 1, __ATOMIC_RELAXED);
	if (resolver.hold)
		gate_wait(resolver.hold);
	for (unsigned i = 0; i < resolver.count; i++) {
		struct sockaddr_in *ipv4 = (void *)&resolver.addresses[i];
		uint16_t number = htons((uint16_t)atoi(port));

		/* Those without a port of their own get that of the call. Of both
		 * families, it is at the same place. */
		if (ipv4->sin_port == 0)
			ipv4->sin_port = number;
		list[i].ai_family = ipv4->sin_family;
		list[i].ai_addr = (struct sockaddr *)ipv4;
		list[i].ai_addrlen = ipv4->sin_family == AF_INET
					     ? sizeof(struct sockaddr_in)
					     : sizeof(struct sockaddr_in6);
		list[i].ai_next = i + 1 < resolver.count ? &list[i + 1] : NULL;
	}
	if (resolver.failure)
		free(list);
	else
		*out = list;
	return resolver.failure;
}

void __wrap_freeaddrinfo(struct addrinfo *list)
{
	free(list);
}

static void answer(const char *host, uint16_t port)
{
	struct sockaddr_in *ipv4 = (void *)&resolver.addresses[resolver.count];
	struct sockaddr_in6 *ipv6 = (void *)ipv4;

	memset(ipv6, 0, sizeof(*ipv6));
	ipv4->sin_port = htons(port);
	ipv4->sin_family = strchr(host, ':') ? AF_INET6 : AF_INET;
	assert_int_equal(inet_pton(ipv4->sin_family, host,
				   ipv4->sin_family == AF_INET
					   ? (void *)&ipv4->sin_addr
					   : (void *)&ipv6->sin6_addr),
			 1);
	resolver.count++;
}

static int reset(void **state)
{
	(void)state;
	memset(&resolver, 0, sizeof(resolver));
	return 0;
}

ALL_TESTS(process_settle, NULL);
EACH_TEST(reset, NULL);

/* ---- helpers ------------------------------------------------------------------ */

static uint16_t port_of(struct skua_io io)
{
	struct sockaddr_in6 address;
	socklen_t length = sizeof(address);

	assert_int_equal(
		getsockname(io.fd, (struct sockaddr *)&address, &length), 0);
	return ntohs(address.sin6_port); /* IPv4 has it at the same place */
}

static struct skua_io listen_at(struct skua_runtime *rt, const char *address)
{
	struct skua_error err = { 0, "" };
	struct skua_io io = SKUA_IO_INIT;

	if (skua_listen(rt, address, 0, 0, &io, &err))
		fail_msg("%s", err.text);
	return io;
}

struct dial {
	struct skua_runtime *rt;
	char address[80];
	uint64_t deadline_ns;
	struct skua_io io;
	struct skua_error err;
};

static int dial_it(struct user *it)
{
	struct dial *dial = it->object;

	return skua_dial(dial->rt, dial->address, 0, &dial->io,
			 dial->deadline_ns, &dial->err);
}

static int dial_at(struct skua_runtime *rt, bool fiber, const char *host,
		   uint16_t port, struct dial *dial)
{
	*dial = (struct dial){ .rt = rt,
			       .deadline_ns = SKUA_FOREVER_NS,
			       .io = SKUA_IO_INIT };
	snprintf(dial->address, sizeof(dial->address), "%s:%u", host, port);
	return user_run(rt, fiber, dial_it, dial);
}

/* A byte gets from one end to the other. */
static void expect_connected(struct skua_io listener, struct skua_io dialled)
{
	struct skua_io accepted;
	char byte = 'x';

	assert_int_equal(skua_io_accept(listener, &accepted, NULL, NULL,
					SKUA_FOREVER_NS),
			 0);
	assert_int_equal(skua_io_write(dialled, &byte, 1, SKUA_FOREVER_NS), 1);
	byte = 0;
	assert_int_equal(skua_io_read(accepted, &byte, 1, SKUA_FOREVER_NS), 1);
	assert_int_equal(byte, 'x');
	assert_int_equal(skua_io_close(accepted), 0);
	assert_int_equal(skua_io_close(dialled), 0);
}

static bool has_ipv6(void)
{
	struct sockaddr_in6 address = { .sin6_family = AF_INET6,
					.sin6_addr = IN6ADDR_LOOPBACK_INIT };
	int fd = socket(AF_INET6, SOCK_STREAM, 0);
	bool has = fd >= 0 &&
		   bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0;

	if (fd >= 0)
		close(fd);
	return has;
}

#define NO_IPV6 "this machine has no ::1"

/* ---- addresses ---------------------------------------------------------------- */

TEST(listen__bad_address__einval_and_a_text)
{
	static const struct {
		const char *address, *text;
	} cases[] = {
		{ NULL, "address: NULL" },
		{ "", "\"\": no port" },
		{ "127.0.0.1", "no port" },
		{ "127.0.0.1:", "the port is no number" },
		{ "127.0.0.1:65536", "\"127.0.0.1:65536\": the port" },
		{ "127.0.0.1:-1", "the port" },
		{ "127.0.0.1:1x", "the port" },
		{ "1.2.3:80", "no IPv4 address of four parts" },
		{ "1.2.3.256:80", "no IPv4 address of four parts" },
		{ "localhost:80", "the host is no IPv4 address; allowed are" },
		{ "::1:80", "brackets" },
		{ "[::1]", "no port" },
		{ "[::1]80:1", "no \"]\" before the port" },
		{ "[]:80", "no IPv6 address in the brackets" },
		{ "[fe80::1%lo]:80", "no IPv6 address in the brackets" },
		{ "[fe80::1]:80", "needs an interface; allowed are IPV4:PORT" },
		{ "[::ffff:127.0.0.1]:80",
		  "an IPv4 address in brackets; allowed are IPV4:PORT" },
		{ "unix:", "no path" },
		{ "unix:@", "no path" },
	};
	struct skua_runtime *rt = runtime_new(1, 0);
	struct skua_io io = { 7, 7 };

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct skua_error err = { 0, "" };

		assert_int_equal(
			skua_listen(rt, cases[i].address, 0, 0, &io, &err),
			-EINVAL);
		if (!strstr(err.text, cases[i].text))
			fail_msg("%s", err.text);
		assert_int_equal(
			skua_listen(rt, cases[i].address, 0, 0, &io, NULL),
			-EINVAL);
	}
	assert_int_equal(io.fd, 7);
	assert_int_equal(skua_listen(NULL, ":0", 0, 0, &io, NULL), -EINVAL);
	assert_int_equal(skua_listen(rt, ":0", 0, 0, NULL, NULL), -EINVAL);
	assert_int_equal(skua_listen(rt, ":0", -1, 0, &io, NULL), -EINVAL);
	assert_int_equal(skua_listen(rt, ":0", 0, 1u << 5, &io, NULL), -EINVAL);
	assert_int_equal(
		skua_listen(rt, "unix:@x", 0, SKUA_LISTEN_REUSEPORT, &io, NULL),
		-EINVAL);
	destroy(rt);
}

TEST(dial__bad_address__einval_and_a_text)
{
	static const char *const addresses[] = { "host", "host:0", "a b:80",
						 "1.2.3.4.5:80", "h:99999" };
	struct skua_runtime *rt = runtime_new(1, 0);
	struct skua_io io;
	struct skua_error err;

	for (size_t i = 0; i < COUNT_OF(addresses); i++) {
		err.text[0] = '\0';
		assert_int_equal(skua_dial(rt, addresses[i], 0, &io,
					   SKUA_FOREVER_NS, &err),
				 -EINVAL);
		if (!strstr(err.text, addresses[i]))
			fail_msg("%s", err.text);
	}
	assert_int_equal(
		skua_dial(rt, ":80", SKUA_LISTEN_REUSEPORT, &io, 0, &err),
		-EINVAL);
	assert_int_equal(resolver.lookups, 0);
	destroy(rt);
}

TEST(listen__port_alone__loopback)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct skua_io io = listen_at(rt, ":0");
	struct sockaddr_in address;
	socklen_t length = sizeof(address);

	assert_int_equal(
		getsockname(io.fd, (struct sockaddr *)&address, &length), 0);
	assert_int_equal(address.sin_family, AF_INET);
	assert_int_equal(ntohl(address.sin_addr.s_addr), INADDR_LOOPBACK);
	skua_io_close(io);
	destroy(rt);
}

TEST(listen__port_in_use__eaddrinuse_and_a_text)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct skua_io io = listen_at(rt, "127.0.0.1:0"), other;
	struct skua_error err;
	char address[40];

	snprintf(address, sizeof(address), "127.0.0.1:%u", port_of(io));
	assert_int_equal(skua_listen(rt, address, 0, 0, &other, &err),
			 -EADDRINUSE);
	assert_int_equal(err.code, -EADDRINUSE);
	assert_non_null(strstr(err.text, address));
	assert_non_null(strstr(err.text, "another socket has this port"));
	skua_io_close(io);
	destroy(rt);
}

TEST(listen__reuse_port__two_listen)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct skua_io first, second;
	char address[40];

	assert_int_equal(
		skua_listen(rt, ":0", 0, SKUA_LISTEN_REUSEPORT, &first, NULL),
		0);
	snprintf(address, sizeof(address), ":%u", port_of(first));
	assert_int_equal(skua_listen(rt, address, 0, SKUA_LISTEN_REUSEPORT,
				     &second, NULL),
			 0);
	skua_io_close(first);
	skua_io_close(second);
	destroy(rt);
}

/* ---- dial --------------------------------------------------------------------- */

TEST(dial__ipv4__connected)
{
	struct belongings before = belongings();
	struct skua_runtime *rt = runtime_new(1, 0);
	struct skua_io listener = listen_at(rt, "127.0.0.1:0");
	struct dial dial;

	for (unsigned fiber = 0; fiber < 2; fiber++) {
		assert_int_equal(dial_at(rt, fiber, "127.0.0.1",
					 port_of(listener), &dial),
				 0);
		expect_connected(listener, dial.io);
		assert_int_equal(
			dial_at(rt, fiber, "", port_of(listener), &dial), 0);
		expect_connected(listener, dial.io);
	}
	assert_int_equal(resolver.lookups, 0);
	skua_io_close(listener);
	end(rt, before);
}

TEST(dial__ipv6__connected)
{
	struct skua_runtime *rt;
	struct skua_io listener;
	struct dial dial;

	if (!has_ipv6())
		skip_aloud(NO_IPV6);
	rt = runtime_new(1, 0);
	listener = listen_at(rt, "[::1]:0");
	assert_int_equal(dial_at(rt, true, "[::1]", port_of(listener), &dial),
			 0);
	expect_connected(listener, dial.io);
	skua_io_close(listener);
	destroy(rt);
}

TEST(dial__unix__connected)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct dial dial = { .rt = rt, .deadline_ns = SKUA_FOREVER_NS };
	char path[60];

	for (unsigned i = 0; i < 2; i++) {
		struct skua_io listener, other;
		struct skua_error err;

		snprintf(path, sizeof(path), "/tmp/skua-test-address-%d",
			 getpid());
		snprintf(dial.address, sizeof(dial.address), "unix:%s%s",
			 i ? "@" : "", path);
		assert_int_equal(user_run(rt, true, dial_it, &dial),
				 i ? -ECONNREFUSED : -ENOENT);
		listener = listen_at(rt, dial.address);
		assert_int_equal(user_run(rt, true, dial_it, &dial), 0);
		expect_connected(listener, dial.io);
		assert_int_equal(
			skua_listen(rt, dial.address, 0, 0, &other, &err),
			-EADDRINUSE);
		assert_non_null(strstr(err.text, "the path or name exists"));
		skua_io_close(listener);
		unlink(path);
	}
	destroy(rt);
}

/* The queue of the listener is full, and no event says when it has room. */
TEST(dial__queue_of_a_unix_socket_full__waits)
{
	struct belongings before = belongings();
	struct skua_runtime *rt = runtime_new(1, 0);
	struct dial dial = { .rt = rt };
	struct user user = { .number = 0 };
	struct skua_io listener, queued[2], io;

	snprintf(dial.address, sizeof(dial.address),
		 "unix:@skua-test-address-%d", getpid());
	assert_int_equal(skua_listen(rt, dial.address, 1, 0, &listener, NULL),
			 0);
	for (unsigned i = 0; i < COUNT_OF(queued); i++)
		assert_int_equal(skua_dial(rt, dial.address, 0, &queued[i],
					   SKUA_FOREVER_NS, NULL),
				 0);
	dial.deadline_ns = skua_now_ns() + 2000000;
	assert_int_equal(user_run(rt, false, dial_it, &dial), -ETIMEDOUT);
	assert_int_equal(dial.err.code, -ETIMEDOUT);
	dial.deadline_ns = SKUA_FOREVER_NS;
	user_start(&user, rt, true, dial_it, &dial);
	wait_until_waiting(&user.fiber.task);
	assert_int_equal(skua_task_cancel(&user.fiber.task), 0);
	assert_int_equal(user_end(&user), -ECANCELED);
	user_start(&user, rt, true, dial_it, &dial);
	wait_until_waiting(&user.fiber.task);
	for (unsigned i = 0; i < COUNT_OF(queued); i++) {
		assert_int_equal(skua_io_accept(listener, &io, NULL, NULL,
						SKUA_FOREVER_NS),
				 0);
		skua_io_close(io);
		skua_io_close(queued[i]);
	}
	assert_int_equal(user_end(&user), 0);
	expect_connected(listener, dial.io);
	skua_io_close(listener);
	end(rt, before);
}

/* A port of loopback at which nothing listens: it is bound, and not used. */
static int refusing_port(uint16_t *port)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t length = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&address, length), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &length),
			 0);
	*port = ntohs(address.sin_port);
	return fd;
}

TEST(dial__nobody_listens__econnrefused_and_a_text)
{
	struct belongings before = belongings();
	struct skua_runtime *rt = runtime_new(1, 0);
	struct dial dial;
	uint16_t port;
	int fd = refusing_port(&port);

	for (unsigned fiber = 0; fiber < 2; fiber++) {
		assert_int_equal(dial_at(rt, fiber, "127.0.0.1", port, &dial),
				 -ECONNREFUSED);
		assert_non_null(strstr(dial.err.text, dial.address));
		assert_int_equal(dial.io.serial, 0);
	}
	close(fd);
	end(rt, before);
}

TEST(dial__name__looked_up)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct skua_io listener = listen_at(rt, "127.0.0.1:0");
	struct dial dial;

	answer("127.0.0.1", 0);
	for (unsigned fiber = 0; fiber < 2; fiber++) {
		assert_int_equal(dial_at(rt, fiber, "some.name",
					 port_of(listener), &dial),
				 0);
		expect_connected(listener, dial.io);
	}
	assert_int_equal(resolver.lookups, 2);
	skua_io_close(listener);
	destroy(rt);
}

TEST(dial__unknown_name__enoent_and_a_text)
{
	static const struct {
		int failure, code;
	} cases[] = {
		{ EAI_NONAME, -ENOENT },
		{ EAI_AGAIN, -EHOSTUNREACH },
		{ EAI_MEMORY, -ENOMEM },
		{ EAI_FAIL, -EIO },
	};
	struct skua_runtime *rt = runtime_new(1, 0);
	struct dial dial;

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		resolver.failure = cases[i].failure;
		assert_int_equal(dial_at(rt, i % 2, "no.such.name", 80, &dial),
				 cases[i].code);
		assert_non_null(strstr(dial.err.text, "no.such.name"));
		assert_int_equal(dial.err.code, cases[i].code);
	}
	destroy(rt);
}

/* Those that fail are left at once, whatever the 250 ms are. */
TEST(dial__first_addresses_refuse__next_are_tried)
{
	struct belongings before = belongings();
	struct skua_runtime *rt = runtime_new(1, 0);
	struct skua_io listener = listen_at(rt, "127.0.0.1:0");
	struct dial dial;
	uint16_t port;
	int fd = refusing_port(&port);

	for (unsigned i = 0; i < 5; i++)
		answer(i % 2 ? "::1" : "127.0.0.1", port);
	answer("127.0.0.1", 0);
	for (unsigned fiber = 0; fiber < 2; fiber++) {
		assert_int_equal(dial_at(rt, fiber, "some.name",
					 port_of(listener), &dial),
				 0);
		expect_connected(listener, dial.io);
	}
	resolver.count = 5;
	assert_int_equal(dial_at(rt, true, "some.name", 80, &dial),
			 -ECONNREFUSED);
	close(fd);
	skua_io_close(listener);
	end(rt, before);
}

/* A socket whose queue of connections is full does not answer: the kernel drops the
 * packet. */
struct silent {
	int fd;
	int fillers[8];
	uint16_t port;
};

static void silent_begin(struct silent *it)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t length = sizeof(address);

	it->fd = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(bind(it->fd, (struct sockaddr *)&address, length), 0);
	assert_int_equal(listen(it->fd, 0), 0);
	assert_int_equal(
		getsockname(it->fd, (struct sockaddr *)&address, &length), 0);
	it->port = ntohs(address.sin_port);
	for (unsigned i = 0; i < COUNT_OF(it->fillers); i++) {
		it->fillers[i] =
			socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		connect(it->fillers[i], (struct sockaddr *)&address, length);
	}
}

static void silent_end(struct silent *it)
{
	for (unsigned i = 0; i < COUNT_OF(it->fillers); i++)
		close(it->fillers[i]);
	close(it->fd);
}

TEST(dial__first_address_is_silent__second_answers)
{
	struct belongings before = belongings();
	struct skua_runtime *rt = runtime_new(1, 0);
	struct skua_io listener = listen_at(rt, "127.0.0.1:0");
	struct silent silent;
	struct dial dial;

	silent_begin(&silent);
	answer("127.0.0.1", silent.port);
	answer("127.0.0.1", 0);
	for (unsigned fiber = 0; fiber < 2; fiber++) {
		assert_int_equal(dial_at(rt, fiber, "some.name",
					 port_of(listener), &dial),
				 0);
		expect_connected(listener, dial.io);
	}
	silent_end(&silent);
	skua_io_close(listener);
	end(rt, before);
}

TEST(dial__silent_until_deadline__etimedout_and_nothing_left)
{
	struct belongings before = belongings();
	struct skua_runtime *rt = runtime_new(1, 0);
	struct silent silent;
	struct dial dial = { .rt = rt };

	silent_begin(&silent);
	snprintf(dial.address, sizeof(dial.address), ":%u", silent.port);
	for (unsigned fiber = 0; fiber < 2; fiber++) {
		dial.deadline_ns = skua_now_ns() + 2000000;
		assert_int_equal(user_run(rt, fiber, dial_it, &dial),
				 -ETIMEDOUT);
		assert_int_equal(dial.err.code, -ETIMEDOUT);
	}
	silent_end(&silent);
	end(rt, before);
}

TEST(dial__fiber_cancelled__ecanceled)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct silent silent;
	struct dial dial = { .rt = rt, .deadline_ns = SKUA_FOREVER_NS };
	struct user user = { .number = 0 };

	silent_begin(&silent);
	snprintf(dial.address, sizeof(dial.address), ":%u", silent.port);
	user_start(&user, rt, true, dial_it, &dial);
	wait_until_waiting(&user.fiber.task);
	assert_int_equal(skua_task_cancel(&user.fiber.task), 0);
	assert_int_equal(user_end(&user), -ECANCELED);
	silent_end(&silent);
	destroy(rt);
}

/* Lookups that hang leave half of the threads to other calls. */
static void do_nothing(struct skua_blocking *self)
{
	(void)self;
}

TEST(dial__lookups_hang__other_calls_run)
{
	struct skua_runtime *rt = RUNTIME(.workers = 1, .blocking_threads = 4);
	struct gate hold = { 0 };
	struct dial dials[8];
	struct user users[8] = { 0 };
	struct skua_blocking call = SKUA_BLOCKING_INIT(do_nothing);

	resolver.failure = EAI_NONAME;
	resolver.hold = &hold;
	for (unsigned i = 0; i < 8; i++) {
		dials[i] = (struct dial){ .rt = rt,
					  .address = "some.name:80",
					  .deadline_ns = SKUA_FOREVER_NS };
		user_start(&users[i], rt, i % 2, dial_it, &dials[i]);
	}
	while (__atomic_load_n(&resolver.lookups, __ATOMIC_RELAXED) < 2)
		sched_yield();
	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(skua_blocking_call(rt, &call, SKUA_FOREVER_NS),
				 0);
	assert_int_equal(__atomic_load_n(&resolver.lookups, __ATOMIC_RELAXED),
			 2);
	gate_open(&hold);
	for (unsigned i = 0; i < 8; i++)
		assert_int_equal(user_end(&users[i]), -ENOENT);
	destroy(rt);
}

static enum skua_poll dial_by_poll(struct skua_task *self)
{
	struct skua_error err;
	struct skua_io io;

	assert_int_equal(
		skua_dial(skua_task_runtime(self), ":1", 0, &io, 0, &err),
		-EDEADLK);
	return SKUA_DONE;
}

TEST(dial__in_poll__edeadlk)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct skua_task task = SKUA_TASK_INIT(dial_by_poll);

	spawn(rt, &task);
	join(&task);
	destroy(rt);
}

/* ---- addresses of sockets ----------------------------------------------------- */

/* The text of a listener is dialled, and both ends tell the same addresses. */
static void check_texts(struct skua_runtime *rt, const char *address,
			const char *start)
{
	char listener[SKUA_IO_ADDRESS_ROOM], texts[4][SKUA_IO_ADDRESS_ROOM];
	struct skua_io io = listen_at(rt, address), client, server;
	struct skua_error err = { 0, "" };

	assert_int_equal(skua_io_local_address(io, listener, sizeof(listener)),
			 0);
	assert_memory_equal(listener, start, strlen(start));
	assert_int_equal(skua_io_peer_address(io, texts[0], sizeof(texts[0])),
			 -ENOTCONN);
	assert_string_equal(texts[0], "");
	if (skua_dial(rt, listener, 0, &client, SKUA_FOREVER_NS, &err))
		fail_msg("%s", err.text);
	assert_true(skua_io_accept(io, &server, NULL, NULL, SKUA_FOREVER_NS) >=
		    0);
	skua_io_peer_address(client, texts[0], sizeof(texts[0]));
	skua_io_local_address(server, texts[1], sizeof(texts[1]));
	skua_io_local_address(client, texts[2], sizeof(texts[2]));
	skua_io_peer_address(server, texts[3], sizeof(texts[3]));
	assert_string_equal(texts[0], listener);
	assert_string_equal(texts[1], listener);
	assert_string_equal(texts[2], texts[3]);
	skua_io_close(server);
	skua_io_close(client);
	skua_io_close(io);
}

TEST(address__of_a_listener__can_be_dialled)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	char path[100], unix_path[120], name[60];

	snprintf(path, sizeof(path), "/tmp/skua-address-%ld", (long)getpid());
	snprintf(unix_path, sizeof(unix_path), "unix:%s", path);
	snprintf(name, sizeof(name), "unix:@skua-address-%ld", (long)getpid());
	unlink(path);
	check_texts(rt, ":0", "127.0.0.1:");
	check_texts(rt, unix_path, unix_path);
	check_texts(rt, name, name);
	unlink(path);
	if (has_ipv6())
		check_texts(rt, "[::1]:0", "[::1]:");
	destroy(rt);
}

TEST(address__bad_arguments__documented_errors)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct skua_io io = listen_at(rt, "127.0.0.1:0"), event;
	char text[SKUA_IO_ADDRESS_ROOM] = "before";
	size_t needed;

	assert_int_equal(skua_io_local_address(io, NULL, 10), -EINVAL);
	assert_int_equal(skua_io_local_address(io, text, 0), -EINVAL);
	assert_string_equal(text, "before");
	assert_int_equal(skua_io_local_address(io, text, sizeof(text)), 0);
	needed = strlen(text) + 1;
	for (size_t room = 1; room < needed; room++) {
		memset(text, '!', sizeof(text));
		assert_int_equal(skua_io_local_address(io, text, room),
				 -ENOSPC);
		assert_int_equal(text[0], '\0');
		assert_int_equal(text[room], '!');
	}
	assert_int_equal(skua_io_local_address(io, text, needed), 0);
	skua_io_close(io);
	assert_int_equal(skua_io_local_address(io, text, sizeof(text)), -EBADF);
	assert_string_equal(text, "");
	assert_int_equal(skua_io_attach(rt, eventfd(0, 0), 0, &event), 0);
	assert_int_equal(skua_io_local_address(event, text, sizeof(text)),
			 -ENOTSOCK);
	skua_io_close(event);
	destroy(rt);
}

/* Names of other programs may have any bytes, and sockets without a name have none. */
TEST(address__unix_socket_of_another_program__text_of_printable_bytes)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	char text[SKUA_IO_ADDRESS_ROOM];
	struct skua_io ends[2];
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	memset(address.sun_path, '\n', sizeof(address.sun_path));
	address.sun_path[0] = '\0';
	assert_int_equal(
		bind(fds[0], (struct sockaddr *)&address, sizeof(address)), 0);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(skua_io_attach(rt, fds[i], 0, &ends[i]), 0);
	assert_int_equal(skua_io_local_address(ends[0], text, sizeof(text)), 0);
	assert_int_equal(strlen(text), 5 + sizeof(address.sun_path));
	assert_memory_equal(text, "unix:@??", 8);
	assert_int_equal(skua_io_peer_address(ends[0], text, sizeof(text)), 0);
	assert_string_equal(text, "unix:");
	skua_io_close(ends[0]);
	skua_io_close(ends[1]);
	destroy(rt);
}

/* "unix:@name" is an abstract name, which any program may have. */
TEST(address__path_that_begins_with_an_at__does_not_look_abstract)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	char text[SKUA_IO_ADDRESS_ROOM], wanted[SKUA_IO_ADDRESS_ROOM];
	char *before = getcwd(NULL, 0);
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	struct skua_io io;

	snprintf(address.sun_path, sizeof(address.sun_path), "@skua-%ld",
		 (long)getpid());
	snprintf(wanted, sizeof(wanted), "unix:./%s", address.sun_path);
	assert_int_equal(chdir("/tmp"), 0);
	unlink(address.sun_path);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)),
			 0);
	assert_int_equal(skua_io_attach(rt, fd, 0, &io), 0);
	assert_int_equal(skua_io_local_address(io, text, sizeof(text)), 0);
	assert_string_equal(text, wanted);
	skua_io_close(io);
	/* The text names the same file. */
	unlink(address.sun_path);
	io = listen_at(rt, text);
	assert_int_equal(unlink(address.sun_path), 0);
	skua_io_close(io);
	assert_int_equal(chdir(before), 0);
	free(before);
	destroy(rt);
}
