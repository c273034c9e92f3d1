/* SPDX-License-Identifier: MIT */
/* pairs.h - connected descriptors for unit tests */
#ifndef SKUA_TESTS_UNIT_PAIRS_H
#define SKUA_TESTS_UNIT_PAIRS_H

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "core/io/table.h"
#include "skua/io.h"
#include "tests/unit/users.h"

enum pair_kind { PAIR_UNIX, PAIR_TCP, PAIR_PIPE, PAIR_KINDS };

/* Two ends: what is written to [1] is read from [0]. */
struct pair {
	struct skua_io ends[2];
};

static inline int listener_open(struct sockaddr_in *address)
{
	socklen_t length = sizeof(*address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	*address = (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)address, length), 0);
	assert_int_equal(listen(fd, 128), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)address, &length),
			 0);
	return fd;
}

static inline void fds_open(int fds[2], enum pair_kind kind)
{
	struct sockaddr_in address;
	int listener;

	if (kind == PAIR_PIPE) {
		assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	} else if (kind == PAIR_UNIX) {
		assert_int_equal(
			socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds),
			0);
	} else {
		listener = listener_open(&address);
		fds[1] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		assert_true(fds[1] >= 0);
		assert_int_equal(connect(fds[1], (struct sockaddr *)&address,
					 sizeof(address)),
				 0);
		fds[0] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		assert_true(fds[0] >= 0);
		close(listener);
	}
}

static inline struct skua_io attached(struct skua_runtime *rt, int fd)
{
	struct skua_io io = SKUA_IO_INIT;
	int code = skua_io_attach(rt, fd, 0, &io);

	if (code)
		fail_msg("skua_io_attach: %d", code);
	assert_int_equal(io.fd, fd);
	assert_true(io.serial != 0);
	return io;
}

static inline void pair_open(struct skua_runtime *rt, struct pair *pair,
			     enum pair_kind kind)
{
	int fds[2];

	fds_open(fds, kind);
	for (unsigned i = 0; i < 2; i++)
		pair->ends[i] = attached(rt, fds[i]);
}

/* For an end that is still open. */
static inline void io_close(struct skua_io io)
{
	assert_int_equal(skua_io_close(io), 0);
}

static inline void pair_close(struct pair *pair)
{
	for (unsigned i = 0; i < 2; i++)
		io_close(pair->ends[i]);
}

static inline uint64_t io_word(struct skua_io io, enum io_direction way)
{
	/* Acquire: a test acts on what it sees. */
	return atomic_load_acquire(&table_find(io.fd)->word[way]);
}

/* wait_for_wait - until somebody waits for a descriptor */
static inline void wait_for_wait(struct skua_io io, enum io_direction way)
{
	while ((io_word(io, way) & IO_OWNER) != IO_ARMED)
		sched_yield();
}

/* fill - write until there is no room. Return: the bytes */
static inline size_t fill(struct skua_io io)
{
	static const char bytes[4096];
	size_t filled = 0;
	ssize_t n;

	while ((n = skua_io_write_try(io, bytes, sizeof(bytes))) > 0)
		filled += (size_t)n;
	assert_int_equal(n, -EAGAIN);
	return filled;
}

#endif
