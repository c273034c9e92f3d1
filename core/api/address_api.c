/* SPDX-License-Identifier: MIT */
/**
 * address_api.c - skua_listen(), skua_dial(), and the addresses of sockets
 *
 * A dial tries the addresses of a name after RFC 8305: the families in turn, a new
 * attempt after 250 ms or when one has failed, until one answers. The attempts are in an
 * epoll descriptor, which the caller waits for as for any other: so one wait covers all
 * of them.
 */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/poll.h>

#include "core/base/clock.h"
#include "core/io/attach.h"
#include "core/io/io_address.h"
#include "core/io/kernel.h"
#include "core/io/socket.h"
#include "core/runtime/runtime.h"
#include "core/wait/await.h"
#include "skua/io.h"
#include "skua/sync.h"
#include "topology/error.h"

#define DEFAULT_BACKLOG 1024
/* RFC 8305, section 5. */
#define STAGGER_NS UINT64_C(250000000)
/* Of a name; the others are left out. */
#define MAX_ADDRESSES 16

static int hand_over(struct skua_runtime *rt, int fd, unsigned flags,
		     const char *text, struct skua_io *out,
		     struct skua_error *err)
{
	int code = skua_io_attach(rt, fd, flags & SKUA_IO_KEEP_DELAY, out);

	if (!code)
		return 0;
	kernel_close(fd);
	return error_set(err, code,
			 "address \"%.50s\": the socket cannot be attached to "
			 "the runtime: %s",
			 text, strerror(-code));
}

/* ---- listen ----------------------------------------------------------------- */

static const char *listen_advice(const struct io_address *address, int code)
{
	bool is_unix = address->at.socket.ss_family == AF_UNIX;

	switch (code) {
	case -EADDRINUSE:
		return is_unix ? ": the path or name exists; remove the file if "
				 "no process listens there"
			       : ": another socket has this port; use another "
				 "port, or 0 for a free one";
	case -EACCES:
		return is_unix ? ": the folder is not writable"
			       : ": a port below 1024 needs "
				 "CAP_NET_BIND_SERVICE";
	case -EADDRNOTAVAIL:
		return ": this machine has no such address; 0.0.0.0 means all";
	case -ENOENT:
		return ": there is no such folder";
	default:
		return "";
	}
}

static int check_arguments(struct skua_runtime *rt, int backlog, unsigned flags,
			   const struct skua_io *out, struct skua_error *err)
{
	if (!rt || !out)
		return error_set(err, -EINVAL,
				 "%s: NULL, needed is the address of %s",
				 rt ? "out" : "rt",
				 rt ? "a struct skua_io" : "a runtime");
	if (!runtime_alive(rt))
		return error_set(err, -EOWNERDEAD,
				 "the runtime belongs to the process that "
				 "forked this one; create another here");
	if (flags & ~(SKUA_IO_KEEP_DELAY | SKUA_LISTEN_REUSEPORT))
		return error_set(err, -EINVAL,
				 "flags: 0x%x, allowed are SKUA_IO_KEEP_DELAY "
				 "(0x%x) and, to listen, SKUA_LISTEN_REUSEPORT "
				 "(0x%x)",
				 flags, SKUA_IO_KEEP_DELAY,
				 SKUA_LISTEN_REUSEPORT);
	if (backlog < 0)
		return error_set(err, -EINVAL,
				 "backlog: %d, allowed are 1 or more, or 0 for "
				 "%d",
				 backlog, DEFAULT_BACKLOG);
	return 0;
}

/* Refuse an IPv6 address that the kernel would refuse without saying why. */
static int check_ipv6(const struct io_address *address, bool remote,
		      const char *text, struct skua_error *err)
{
	const struct sockaddr_in6 *at = (const void *)&address->at.socket;
	const char *what = NULL;

	if (at->sin6_family != AF_INET6)
		return 0;
	/* An IPv6 socket that listens takes no connections of IPv4. */
	if (!remote && IN6_IS_ADDR_V4MAPPED(&at->sin6_addr))
		what = "an IPv4 address in brackets";
	else if (IN6_IS_ADDR_LINKLOCAL(&at->sin6_addr))
		what = "a link-local address, which needs an interface";
	if (!what)
		return 0;
	return error_set(err, -EINVAL,
			 "address \"%.50s\": %s; " IO_ADDRESS_ALLOWED, text,
			 what, io_address_host(remote));
}

int skua_listen(struct skua_runtime *rt, const char *text, int backlog,
		unsigned flags, struct skua_io *out, struct skua_error *err)
{
	struct io_address address;
	int code = check_arguments(rt, backlog, flags, out, err);
	int fd;

	if (!code)
		code = io_address_parse(text, false, &address, err);
	if (!code)
		code = check_ipv6(&address, false, text, err);
	if (code)
		return code;
	if (address.at.socket.ss_family == AF_UNIX &&
	    (flags & SKUA_LISTEN_REUSEPORT))
		return error_set(err, -EINVAL,
				 "flags: SKUA_LISTEN_REUSEPORT, allowed is 0 "
				 "for the Unix socket \"%.50s\"",
				 text);
	fd = socket_listen(&address.at, backlog ? backlog : DEFAULT_BACKLOG,
			   flags & SKUA_LISTEN_REUSEPORT);
	if (fd < 0)
		return error_set(err, fd, "address \"%.50s\": %s%s", text,
				 strerror(-fd), listen_advice(&address, fd));
	return hand_over(rt, fd, flags, text, out, err);
}

/* ---- lookup ----------------------------------------------------------------- */

struct lookup {
	struct skua_blocking call; /* first: its function casts back */
	const struct io_address *address;
	struct addrinfo *found; /* NULL: nothing */
	int failure;            /* of getaddrinfo() */
	int error;              /* errno of that */
};

static void run_lookup(struct skua_blocking *self)
{
	struct lookup *it = (struct lookup *)self;
	const struct addrinfo hints = { .ai_family = AF_UNSPEC,
					.ai_socktype = SOCK_STREAM,
					.ai_flags = AI_NUMERICSERV };
	int saved = errno;
	char port[8];

	snprintf(port, sizeof(port), "%u", it->address->port);
	it->failure = getaddrinfo(it->address->name, port, &hints, &it->found);
	it->error = errno;
	errno = saved;
	if (it->failure)
		it->found = NULL;
}

/* Return the errno value for a failure of getaddrinfo(). -EAGAIN would mean that a poll
 * is woken. */
static int lookup_code(const struct lookup *it)
{
	switch (it->failure) {
	case 0:
		return 0;
	case EAI_NONAME:
#ifdef EAI_NODATA
	case EAI_NODATA:
#endif
		return -ENOENT;
	case EAI_AGAIN:
		return -EHOSTUNREACH;
	case EAI_MEMORY:
		return -ENOMEM;
	case EAI_SYSTEM:
		return it->error && it->error != EAGAIN ? -it->error : -EIO;
	default:
		return -EIO;
	}
}

static int lookup_failed(const struct lookup *it, int code,
			 struct skua_error *err)
{
	return error_set(err, code, "name \"%.100s\": %s", it->address->name,
			 it->failure && it->failure != EAI_SYSTEM
				 ? gai_strerror(it->failure)
				 : strerror(-code));
}

/* Look up a name on the blocking pool, of which lookups have at most half of the
 * threads. */
static int look_up(struct skua_runtime *rt, struct lookup *it,
		   uint64_t deadline_ns, struct skua_error *err)
{
	struct skua_semaphore *turns = &rt->blocking.lookups;
	int code = skua_semaphore_acquire(turns, 1, deadline_ns);

	if (!code) {
		code = skua_blocking_call(rt, &it->call, deadline_ns);
		skua_semaphore_release(turns, 1);
		if (!code)
			code = lookup_code(it);
	}
	return code ? lookup_failed(it, code, err) : 0;
}

/* ---- attempts --------------------------------------------------------------- */

struct attempts {
	struct socket_address addresses[MAX_ADDRESSES];
	int fds[MAX_ADDRESSES]; /* of attempts that are under way; negative: none */
	unsigned count, next;
	unsigned pending;
	uint64_t stagger_ns; /* when the next one begins */
	struct skua_io
		events; /* an epoll descriptor, with those that are pending */
	int error;      /* of the last one that has failed */
};

static void add_address(struct attempts *it, const struct addrinfo *found)
{
	struct socket_address *address = &it->addresses[it->count];

	if (it->count == MAX_ADDRESSES ||
	    found->ai_addrlen > sizeof(address->socket))
		return;
	memset(address, 0, sizeof(*address));
	memcpy(&address->socket, found->ai_addr, found->ai_addrlen);
	address->length = found->ai_addrlen;
	it->count++;
}

static const struct addrinfo *of_family(const struct addrinfo *from, int family,
					bool same)
{
	while (from && (from->ai_family == family) != same)
		from = from->ai_next;
	return from;
}

/* The addresses in their order, but the family of the first and others in turn. */
static void add_found(struct attempts *it, const struct addrinfo *found)
{
	int family = found->ai_family;
	const struct addrinfo *first = found;
	const struct addrinfo *other = of_family(found, family, false);

	while (first || other) {
		if (first) {
			add_address(it, first);
			first = of_family(first->ai_next, family, true);
		}
		if (other) {
			add_address(it, other);
			other = of_family(other->ai_next, family, false);
		}
	}
}

static void give_up(struct attempts *it, unsigned i, int error)
{
	socket_events_remove(it->events.fd, it->fds[i]);
	kernel_close(it->fds[i]);
	it->fds[i] = -1;
	it->pending--;
	it->error = error;
	it->stagger_ns = 0; /* the next one begins at once */
}

/* Begin the next attempt. Return: its descriptor if it has succeeded; -1. */
static int begin_attempt(struct attempts *it)
{
	unsigned i = it->next++;
	const struct socket_address *address = &it->addresses[i];
	int fd = socket_open(address->socket.ss_family);
	int code;

	it->stagger_ns = 0;
	if (fd < 0) {
		it->error = fd;
		return -1;
	}
	it->fds[i] = fd;
	it->pending++;
	code = kernel_connect(fd, (const struct sockaddr *)&address->socket,
			      address->length);
	/* The kernel lacks something for the route. -EAGAIN would mean something else. */
	if (code == -EAGAIN)
		code = -ECONNREFUSED;
	if (code == 0)
		return fd;
	if (code == -EINPROGRESS)
		code = socket_events_add(it->events.fd, fd, i);
	if (code)
		give_up(it, i, code);
	else
		it->stagger_ns = clock_now_ns() + STAGGER_NS;
	return -1;
}

/* Return: the descriptor of an attempt that has succeeded; -1. */
static int reap(struct attempts *it)
{
	int i;

	while ((i = socket_events_take(it->events.fd)) >= 0) {
		int code = kernel_error(it->fds[i]);

		if (code == 0)
			return it->fds[i];
		give_up(it, (unsigned)i, code);
	}
	return -1;
}

static bool next_is_due(const struct attempts *it)
{
	return it->next < it->count &&
	       (it->pending == 0 || clock_now_ns() >= it->stagger_ns);
}

/* Try the addresses until one answers. Return: its descriptor, or a negative errno
 * value. */
static int race(struct attempts *it, uint64_t deadline_ns)
{
	int fd = -1;

	while (fd < 0) {
		uint64_t until_ns = deadline_ns;
		int code;

		if (next_is_due(it)) {
			fd = begin_attempt(it);
			continue;
		}
		if (it->pending == 0)
			return it->error;
		if (it->next < it->count && it->stagger_ns < until_ns)
			until_ns = it->stagger_ns;
		code = skua_io_wait(it->events, POLLIN, until_ns);
		if (code < 0 && (code != -ETIMEDOUT || until_ns == deadline_ns))
			return code;
		if (code >= 0)
			fd = reap(it);
	}
	return fd;
}

static int open_events(struct skua_runtime *rt, struct skua_io *out)
{
	int fd = socket_events();
	int code = fd < 0 ? fd : skua_io_attach(rt, fd, 0, out);

	if (code && fd >= 0)
		kernel_close(fd);
	return code;
}

/* Connect to one of the addresses. Return: a descriptor, or a negative errno value. */
static int connect_any(struct skua_runtime *rt, struct attempts *it,
		       uint64_t deadline_ns)
{
	int fd = open_events(rt, &it->events);

	if (fd)
		return fd;
	for (unsigned i = 0; i < MAX_ADDRESSES; i++)
		it->fds[i] = -1;
	fd = race(it, deadline_ns);
	skua_io_close(it->events);
	for (unsigned i = 0; i < it->next; i++) {
		if (it->fds[i] >= 0 && it->fds[i] != fd)
			kernel_close(it->fds[i]);
	}
	return fd;
}

/* ---- dial ------------------------------------------------------------------- */

static int find_addresses(struct skua_runtime *rt, struct attempts *it,
			  const struct io_address *address,
			  uint64_t deadline_ns, struct skua_error *err)
{
	struct lookup lookup = { .call = SKUA_BLOCKING_INIT(run_lookup),
				 .address = address };
	int code;

	if (!address->name[0]) {
		it->addresses[it->count++] = address->at;
		return 0;
	}
	code = look_up(rt, &lookup, deadline_ns, err);
	if (code)
		return code;
	add_found(it, lookup.found);
	freeaddrinfo(lookup.found);
	return 0;
}

static int refuse_dial(struct skua_error *err, int code, const char *text)
{
	return error_set(err, code, "address \"%.50s\": %s", text,
			 strerror(-code));
}

/* skua_io_connect() waits for room in the queue of the listener. */
static int dial_unix(struct skua_runtime *rt,
		     const struct socket_address *address, const char *text,
		     struct skua_io *out, uint64_t deadline_ns,
		     struct skua_error *err)
{
	int fd = socket_open(AF_UNIX);
	struct skua_io io;
	int code;

	if (fd < 0)
		return refuse_dial(err, fd, text);
	code = hand_over(rt, fd, 0, text, &io, err);
	if (code)
		return code;
	code = skua_io_connect(io, (const struct sockaddr *)&address->socket,
			       address->length, deadline_ns);
	if (!code) {
		*out = io;
		return 0;
	}
	skua_io_close(io);
	return refuse_dial(err, code, text);
}

int skua_dial(struct skua_runtime *rt, const char *text, unsigned flags,
	      struct skua_io *out, uint64_t deadline_ns, struct skua_error *err)
{
	struct attempts attempts = { .error = -ENOENT };
	struct io_address address;
	int code = check_arguments(rt, 0, flags, out, err);
	int fd;

	if (!code && (flags & SKUA_LISTEN_REUSEPORT))
		code = error_set(err, -EINVAL,
				 "flags: 0x%x, allowed is SKUA_IO_KEEP_DELAY",
				 flags);
	if (!code)
		code = io_address_parse(text, true, &address, err);
	if (!code)
		code = check_ipv6(&address, true, text, err);
	if (!code && await_allowed())
		code = error_set(err, -EDEADLK,
				 "called in a poll or a job; call it in a "
				 "fiber or an outside thread");
	if (code)
		return code;
	if (address.at.socket.ss_family == AF_UNIX)
		return dial_unix(rt, &address.at, text, out, deadline_ns, err);
	code = find_addresses(rt, &attempts, &address, deadline_ns, err);
	if (code)
		return code;
	fd = connect_any(rt, &attempts, deadline_ns);
	if (fd < 0)
		return refuse_dial(err, fd, text);
	return hand_over(rt, fd, flags, text, out, err);
}

/* ---- addresses of sockets ----------------------------------------------------- */

static int address_of(struct skua_io io, bool peer, char *text, size_t room)
{
	struct socket_address address = { .length = sizeof(address.socket) };
	struct sockaddr *at = (struct sockaddr *)&address.socket;
	struct io_slot *slot;
	int code;

	if (!text || room == 0)
		return -EINVAL;
	text[0] = '\0';
	slot = attach_find(io, &code);
	if (!slot)
		return code;
	code = attach_hold(slot, io.serial);
	if (code)
		return code;
	code = peer ? kernel_peer(io.fd, at, &address.length)
		    : kernel_local(io.fd, at, &address.length);
	attach_drop(slot);
	return code ? code : io_address_format(&address, text, room);
}

int skua_io_local_address(struct skua_io io, char *text, size_t room)
{
	return address_of(io, false, text, room);
}

int skua_io_peer_address(struct skua_io io, char *text, size_t room)
{
	return address_of(io, true, text, room);
}
