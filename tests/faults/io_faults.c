/* SPDX-License-Identifier: MIT */
/* io_faults.c - see io_faults.h */
#include "tests/faults/io_faults.h"

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "core/base/atomic.h"
#include "core/base/rng.h"

#define NUMBERS 65536
#define VECTORS 16

#define EXPORT __attribute__((visibility("default")))

/* ---- the schedule ----------------------------------------------------------- */

static const char *const kind_names[IO_FAULT_KINDS] = {
	"eintr", "eagain", "short", "accept", "memory", "nothing",
};

/* Set by the test, or before main(). Readers: any thread. */
static atomic_u32 chosen, chosen_seed;
/* Only calls by syscall() fail, which are the library's. Constant after the start. */
static bool only_direct;
static _Thread_local bool direct; /* the thread is in a call by syscall() */
/* Draws so far, and faults. Writers: any thread. */
static atomic_u64 draws, made[IO_FAULT_KINDS];

EXPORT void io_faults_set(unsigned kinds, uint32_t seed)
{
	/* Relaxed, both: a call that fails too late is a call that succeeds. */
	atomic_store_relaxed(&chosen_seed, seed);
	atomic_store_relaxed(&chosen, kinds);
}

EXPORT uint64_t io_faults_made(enum io_fault kind)
{
	/* Relaxed: a count. */
	return atomic_load_relaxed(&made[kind]);
}

/* Return a random number below @below, from the seed and the number of draws so far. */
static uint32_t draw(uint32_t below)
{
	/* Relaxed, both: which thread gets which number decides nothing. */
	uint64_t n = atomic_fetch_add_relaxed(&draws, 1);
	struct rng rng;

	rng_init(&rng, (uint64_t)atomic_load_relaxed(&chosen_seed) << 40 ^ n);
	rng_next(&rng);
	return rng_below(&rng, below);
}

/* Decide whether a call fails, which one in @one_in does. */
static bool fails(enum io_fault kind, uint32_t one_in)
{
	/* Relaxed: as in io_faults_set(). */
	if (!(atomic_load_relaxed(&chosen) >> kind & 1) || draw(one_in))
		return false;
	atomic_fetch_add_relaxed(&made[kind], 1);
	return true;
}

__attribute__((constructor)) static void read_environment(void)
{
	const char *text = getenv("SKUA_IO_FAULTS");
	unsigned kinds = 0;

	if (!text)
		return;
	for (unsigned i = 0; i < IO_FAULT_KINDS; i++)
		if (strstr(text, kind_names[i]))
			kinds |= 1u << i;
	only_direct = strstr(text, "direct") != NULL;
	text = strchr(text, ':');
	if (kinds == 0 || !text) {
		fputs("SKUA_IO_FAULTS: allowed is "
		      "[direct,]KIND[,KIND]...:SEED\n",
		      stderr);
		_exit(2);
	}
	io_faults_set(kinds, (uint32_t)strtoul(text + 1, NULL, 10));
}

static int fail(int error)
{
	errno = error;
	return -1;
}

/* ---- the C library's functions ------------------------------------------------ */

/* NEXT(name) - the function of this name in the next library */
#define NEXT(name)                                                        \
	({                                                                \
		static atomic_u64 known_;                                 \
		/* Relaxed, both: each thread finds the same function. */ \
		uint64_t found_ = atomic_load_relaxed(&known_);           \
                                                                          \
		if (!found_) {                                            \
			found_ = (uintptr_t)dlsym(RTLD_NEXT, #name);      \
			atomic_store_relaxed(&known_, found_);            \
		}                                                         \
		(typeof(&name))(uintptr_t)found_;                         \
	})

/* ---- attached descriptors ----------------------------------------------------- */

#define STREAM (UINT32_C(1) << 31)

/* Writer: the thread that attaches or detaches. Readers: any thread. */
struct watch {
	atomic_u32 epoll; /* its descriptor + 1, with STREAM; 0: not attached */
	atomic_u32 events;
	atomic_u64 data;
};

static struct watch watches[NUMBERS];

static uint32_t watched(int fd)
{
	/* Acquire: the other fields. Pairs with note(). */
	return fd >= 0 && fd < NUMBERS ? atomic_load_acquire(&watches[fd].epoll)
				       : 0;
}

/* May a call on the descriptor fail? Return: as watched(). */
static uint32_t may_fail(int fd)
{
	return direct || !only_direct ? watched(fd) : 0;
}

/* May a call move fewer bytes than it could? The rest of a datagram would be lost. */
static bool is_stream(int fd)
{
	struct stat status;
	socklen_t length = sizeof(int);
	int type = 0;

	if (fstat(fd, &status))
		return false;
	if (S_ISSOCK(status.st_mode))
		return !getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) &&
		       type == SOCK_STREAM;
	return S_ISFIFO(status.st_mode);
}

static void note(int epoll_fd, int fd, const struct epoll_event *event)
{
	uint32_t stream = is_stream(fd) ? STREAM : 0;

	if (fd < 0 || fd >= NUMBERS)
		return;
	/* Relaxed, both: released below. */
	atomic_store_relaxed(&watches[fd].events, event->events);
	atomic_store_relaxed(&watches[fd].data, event->data.u64);
	/* Release: the fields. Pairs with watched(). */
	atomic_store_release(&watches[fd].epoll,
			     ((uint32_t)epoll_fd + 1) | stream);
}

static void forget(int fd)
{
	/* Relaxed: no call uses the descriptor any more. */
	if (fd >= 0 && fd < NUMBERS)
		atomic_store_relaxed(&watches[fd].epoll, 0);
}

/* Let an event follow if the descriptor is ready. */
static void rearm(int fd)
{
	uint32_t epoll = watched(fd) & ~STREAM;
	struct epoll_event event;
	int saved = errno;

	if (epoll) {
		/* Relaxed, both: acquired by watched(). */
		event.events = atomic_load_relaxed(&watches[fd].events);
		event.data.u64 = atomic_load_relaxed(&watches[fd].data);
		NEXT(epoll_ctl)((int)epoll - 1, EPOLL_CTL_MOD, fd, &event);
	}
	errno = saved;
}

EXPORT int epoll_ctl(int epoll_fd, int operation, int fd,
		     struct epoll_event *event)
{
	bool edge = event && (event->events & EPOLLET);
	int code;

	if (operation == EPOLL_CTL_ADD && edge && fails(IO_FAULT_MEMORY, 8))
		return fail(draw(2) ? ENOMEM : ENOSPC);
	if (operation == EPOLL_CTL_DEL)
		forget(fd);
	code = NEXT(epoll_ctl)(epoll_fd, operation, fd, event);
	if (operation == EPOLL_CTL_ADD && edge && code == 0)
		note(epoll_fd, fd, event);
	return code;
}

EXPORT int epoll_create1(int flags)
{
	return fails(IO_FAULT_MEMORY, 4) ? fail(draw(2) ? EMFILE : ENOMEM)
					 : NEXT(epoll_create1)(flags);
}

/* A call that does not sleep is not interrupted. */
EXPORT int epoll_wait(int epoll_fd, struct epoll_event *events, int most,
		      int timeout)
{
	return timeout != 0 && fails(IO_FAULT_EINTR, 8)
		       ? fail(EINTR)
		       : NEXT(epoll_wait)(epoll_fd, events, most, timeout);
}

static bool sleeps(const struct timespec *length)
{
	return !length || length->tv_sec || length->tv_nsec;
}

EXPORT int ppoll(struct pollfd *entries, nfds_t count,
		 const struct timespec *length, const sigset_t *signals)
{
	return sleeps(length) && fails(IO_FAULT_EINTR, 4)
		       ? fail(EINTR)
		       : NEXT(ppoll)(entries, count, length, signals);
}

/* ---- bytes --------------------------------------------------------------------- */

/* The outcome of a call: @error, or at most @size bytes are moved. */
struct fate {
	int error;
	size_t size;
};

static struct fate fate_of(int fd, size_t size, int no_memory)
{
	struct fate fate = { 0, size };
	uint32_t watch = may_fail(fd);

	if (!watch)
		return fate;
	if (fails(IO_FAULT_EINTR, 4))
		fate.error = EINTR;
	else if (fails(IO_FAULT_EAGAIN, 4))
		fate.error = EAGAIN;
	else if (fails(IO_FAULT_MEMORY, 16))
		fate.error = no_memory;
	else if ((watch & STREAM) && size > 1 && fails(IO_FAULT_SHORT, 3))
		fate.size =
			1 +
			draw((uint32_t)(size < NUMBERS ? size : NUMBERS) - 1);
	if (fate.error == EAGAIN)
		rearm(fd);
	return fate;
}

/* Does a write to a stream succeed, and move nothing? */
static bool moves_nothing(int fd)
{
	return (may_fail(fd) & STREAM) && fails(IO_FAULT_NOTHING, 1);
}

/* MOVE(fd, size, no_memory, call) - make the call with fate.size bytes */
#define MOVE(fd, size, no_memory, call)                                  \
	({                                                               \
		struct fate fate = fate_of(fd, size, no_memory);         \
		ssize_t moved_ = fate.error ? fail(fate.error) : (call); \
                                                                         \
		if (fate.size < (size) && moved_ > 0 &&                  \
		    (size_t)moved_ == fate.size)                         \
			rearm(fd);                                       \
		moved_;                                                  \
	})

EXPORT ssize_t recv(int fd, void *buffer, size_t size, int flags)
{
	return MOVE(fd, size, ENOMEM, NEXT(recv)(fd, buffer, fate.size, flags));
}

EXPORT ssize_t read(int fd, void *buffer, size_t size)
{
	return MOVE(fd, size, ENOMEM, NEXT(read)(fd, buffer, fate.size));
}

EXPORT ssize_t send(int fd, const void *data, size_t size, int flags)
{
	if (moves_nothing(fd))
		return 0;
	return MOVE(fd, size, ENOBUFS, NEXT(send)(fd, data, fate.size, flags));
}

EXPORT ssize_t write(int fd, const void *data, size_t size)
{
	if (moves_nothing(fd))
		return 0;
	return MOVE(fd, size, ENOMEM, NEXT(write)(fd, data, fate.size));
}

/* The first bytes of a vector. */
struct cut {
	struct iovec vector[VECTORS];
	int count;
};

/* Return the bytes of a vector; 0: the call must get it as it is. */
static size_t bytes_of(const struct iovec *vector, size_t count)
{
	size_t bytes = 0;

	for (size_t i = 0; i < count && count <= VECTORS; i++)
		bytes += vector[i].iov_len;
	return bytes;
}

static void cut(struct cut *to, const struct iovec *from, int count,
		size_t size)
{
	to->count = 0;
	for (int i = 0; i < count && size > 0; i++) {
		to->vector[i] = from[i];
		if (to->vector[i].iov_len > size)
			to->vector[i].iov_len = size;
		size -= to->vector[i].iov_len;
		to->count++;
	}
}

EXPORT ssize_t readv(int fd, const struct iovec *vector, int count)
{
	size_t size = bytes_of(vector, (size_t)count);
	struct cut part;

	return MOVE(fd, size, ENOMEM,
		    fate.size == size
			    ? NEXT(readv)(fd, vector, count)
			    : (cut(&part, vector, count, fate.size),
			       NEXT(readv)(fd, part.vector, part.count)));
}

EXPORT ssize_t writev(int fd, const struct iovec *vector, int count)
{
	size_t size = bytes_of(vector, (size_t)count);
	struct cut part;

	if (moves_nothing(fd))
		return 0;
	return MOVE(fd, size, ENOMEM,
		    fate.size == size
			    ? NEXT(writev)(fd, vector, count)
			    : (cut(&part, vector, count, fate.size),
			       NEXT(writev)(fd, part.vector, part.count)));
}

/* A message, with its first bytes only. */
static struct msghdr shorter(const struct msghdr *message, struct cut *part,
			     size_t size)
{
	struct msghdr it = *message;

	cut(part, message->msg_iov, (int)message->msg_iovlen, size);
	it.msg_iov = part->vector;
	it.msg_iovlen = (size_t)part->count;
	return it;
}

static ssize_t recvmsg_part(int fd, struct msghdr *message, int flags,
			    size_t size)
{
	struct cut part;
	struct msghdr it = shorter(message, &part, size);
	ssize_t moved = NEXT(recvmsg)(fd, &it, flags);

	it.msg_iov = message->msg_iov;
	it.msg_iovlen = message->msg_iovlen;
	*message = it;
	return moved;
}

static ssize_t sendmsg_part(int fd, const struct msghdr *message, int flags,
			    size_t size)
{
	struct cut part;
	struct msghdr it = shorter(message, &part, size);

	return NEXT(sendmsg)(fd, &it, flags);
}

EXPORT ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
	size_t size = bytes_of(message->msg_iov, message->msg_iovlen);

	return MOVE(fd, size, ENOMEM,
		    fate.size == size
			    ? NEXT(recvmsg)(fd, message, flags)
			    : recvmsg_part(fd, message, flags, fate.size));
}

EXPORT ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
	size_t size = bytes_of(message->msg_iov, message->msg_iovlen);

	if (moves_nothing(fd))
		return 0;
	return MOVE(fd, size, ENOBUFS,
		    fate.size == size
			    ? NEXT(sendmsg)(fd, message, flags)
			    : sendmsg_part(fd, message, flags, fate.size));
}

/* ---- connections ----------------------------------------------------------------- */

static int accept_error(void)
{
	static const int errors[] = { ECONNABORTED, ECONNABORTED, EPROTO,
				      EMFILE,       ENFILE,       ENOBUFS,
				      ENOMEM };

	return errors[draw(sizeof(errors) / sizeof(errors[0]))];
}

EXPORT int accept4(int fd, struct sockaddr *address, socklen_t *length,
		   int flags)
{
	if (!may_fail(fd))
		return NEXT(accept4)(fd, address, length, flags);
	if (fails(IO_FAULT_EINTR, 4))
		return fail(EINTR);
	if (fails(IO_FAULT_ACCEPT, 4))
		return fail(accept_error());
	if (!fails(IO_FAULT_EAGAIN, 4))
		return NEXT(accept4)(fd, address, length, flags);
	rearm(fd);
	return fail(EAGAIN);
}

/* Does a signal interrupt a call on a Unix socket, before it has any effect? For example while
 * the kernel looks up the path. */
static bool is_interrupted(const struct sockaddr *address)
{
	return address->sa_family == AF_UNIX && (direct || !only_direct) &&
	       fails(IO_FAULT_EINTR, 2);
}

/* On other sockets, a signal ends the call, but not the attempt to connect. */
EXPORT int connect(int fd, const struct sockaddr *address, socklen_t length)
{
	int code;

	if (may_fail(fd) && fails(IO_FAULT_MEMORY, 8))
		return fail(draw(2) ? ENOBUFS : EADDRNOTAVAIL);
	if (is_interrupted(address))
		return fail(EINTR);
	code = NEXT(connect)(fd, address, length);
	return code && errno == EINPROGRESS && fails(IO_FAULT_EINTR, 2)
		       ? fail(EINTR)
		       : code;
}

EXPORT int bind(int fd, const struct sockaddr *address, socklen_t length)
{
	return is_interrupted(address) ? fail(EINTR)
				       : NEXT(bind)(fd, address, length);
}

/* ---- calls without the C library --------------------------------------------------- */

/* The descriptor is closed also if the call fails. */
static long close_directly(int fd)
{
	long code = NEXT(close)(fd);

	return code == 0 && fails(IO_FAULT_EINTR, 4) ? fail(EINTR) : code;
}

#define AS_POINTER(i) ((void *)(uintptr_t)a[i])

static long call_directly(long number, const long a[6])
{
	switch (number) {
	case SYS_recvfrom:
		return recv((int)a[0], AS_POINTER(1), (size_t)a[2], (int)a[3]);
	case SYS_recvmsg:
		return recvmsg((int)a[0], AS_POINTER(1), (int)a[2]);
	case SYS_read:
		return read((int)a[0], AS_POINTER(1), (size_t)a[2]);
	case SYS_readv:
		return readv((int)a[0], AS_POINTER(1), (int)a[2]);
	case SYS_sendto:
		return send((int)a[0], AS_POINTER(1), (size_t)a[2], (int)a[3]);
	case SYS_sendmsg:
		return sendmsg((int)a[0], AS_POINTER(1), (int)a[2]);
	case SYS_write:
		return write((int)a[0], AS_POINTER(1), (size_t)a[2]);
	case SYS_writev:
		return writev((int)a[0], AS_POINTER(1), (int)a[2]);
	case SYS_accept4:
		return accept4((int)a[0], AS_POINTER(1), AS_POINTER(2),
			       (int)a[3]);
	case SYS_connect:
		return connect((int)a[0], AS_POINTER(1), (socklen_t)a[2]);
	case SYS_close:
		return close_directly((int)a[0]);
	case SYS_ppoll:
		return ppoll(AS_POINTER(0), (nfds_t)a[1], AS_POINTER(2),
			     AS_POINTER(3));
	case SYS_epoll_pwait2:
		if (sleeps(AS_POINTER(3)) && fails(IO_FAULT_EINTR, 8))
			return fail(EINTR);
		break;
	default:
		break;
	}
	return NEXT(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

EXPORT long syscall(long number, ...)
{
	va_list list;
	long a[6], result;

	va_start(list, number);
	for (unsigned i = 0; i < 6; i++)
		a[i] = va_arg(list, long);
	va_end(list);
	direct = true;
	result = call_directly(number, a);
	direct = false;
	return result;
}
