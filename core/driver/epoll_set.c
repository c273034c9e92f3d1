/* SPDX-License-Identifier: MIT */
/* epoll_set.c - see epoll_set.h */
#include "core/driver/epoll_set.h"

#include <errno.h>
#include <limits.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/hot.h"

/* The kernel may end a sleep in epoll late by a thousandth of its length, and by 50 us
 * at least. So a longer sleep than this ends early by a part of itself. */
#define PRECISE_NS UINT64_C(50000000)
#define EARLY_PART 500u

static int watch(int epoll_fd, int fd, uint32_t events, uint64_t data)
{
	struct epoll_event event = { .events = events, .data.u64 = data };

	return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : -errno;
}

int epoll_set_open(struct epoll_set *set)
{
	int saved = errno; /* the library never sets it */
	int code;

	set->event_fd = -1;
	set->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (set->epoll_fd >= 0)
		set->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	code = set->event_fd < 0 ? -errno
				 : watch(set->epoll_fd, set->event_fd, EPOLLIN,
					 EPOLL_SET_INTERRUPT);
	if (code)
		epoll_set_close(set);
	errno = saved;
	return code;
}

void epoll_set_close(const struct epoll_set *set)
{
	if (set->epoll_fd >= 0)
		close(set->epoll_fd);
	if (set->event_fd >= 0)
		close(set->event_fd);
}

int epoll_set_add(const struct epoll_set *set, int fd, uint64_t data)
{
	int saved = errno;
	int code = watch(set->epoll_fd, fd,
			 EPOLLIN | EPOLLOUT | EPOLLPRI | EPOLLRDHUP | EPOLLET,
			 data);

	errno = saved;
	return code;
}

int epoll_set_remove(const struct epoll_set *set, int fd)
{
	int saved = errno;
	int code = epoll_ctl(set->epoll_fd, EPOLL_CTL_DEL, fd, NULL) == 0
			   ? 0
			   : -errno;

	errno = saved;
	return code;
}

int epoll_set_nest(const struct epoll_set *set, int outer_fd)
{
	int saved = errno;
	int code = watch(outer_fd, set->epoll_fd, EPOLLIN, 0);

	errno = saved;
	return code;
}

HOT unsigned epoll_set_take(const struct epoll_set *set,
			    struct epoll_event *events, unsigned most)
{
	int saved = errno;
	int count = epoll_wait(set->epoll_fd, events, (int)most, 0);

	errno = saved;
	return count > 0 ? (unsigned)count : 0;
}

/* Return the time to sleep until the deadline, or somewhat less. */
static uint64_t length_ns(uint64_t deadline_ns)
{
	uint64_t now_ns = clock_now_ns();
	uint64_t left_ns = deadline_ns > now_ns ? deadline_ns - now_ns : 0;

	return left_ns <= PRECISE_NS ? left_ns : left_ns - left_ns / EARLY_PART;
}

static int sleep_rounded(int epoll_fd, struct epoll_event *events, int most,
			 uint64_t deadline_ns)
{
	uint64_t ms = -UINT64_C(1);

	if (deadline_ns == EPOLL_SET_NEVER)
		return epoll_wait(epoll_fd, events, most, -1);
	ms = (length_ns(deadline_ns) + 999999) / 1000000;
	return epoll_wait(epoll_fd, events, most,
			  ms < INT_MAX ? (int)ms : INT_MAX);
}

static int sleep_exact(int epoll_fd, struct epoll_event *events, int most,
		       uint64_t deadline_ns)
{
#ifdef SYS_epoll_pwait2
	struct timespec length = { 0 };

	if (deadline_ns != EPOLL_SET_NEVER) {
		uint64_t ns = length_ns(deadline_ns);

		length.tv_sec = (time_t)(ns / NS_PER_S);
		length.tv_nsec = (long)(ns % NS_PER_S);
	}
	return (int)syscall(SYS_epoll_pwait2, epoll_fd, events, most,
			    deadline_ns == EPOLL_SET_NEVER ? NULL : &length,
			    NULL, 0);
#else
	(void)epoll_fd, (void)events, (void)most, (void)deadline_ns;
	errno = ENOSYS;
	return -1;
#endif
}

unsigned epoll_set_sleep(const struct epoll_set *set,
			 struct epoll_event *events, unsigned most,
			 uint64_t deadline_ns)
{
	int saved = errno;
	int count = sleep_exact(set->epoll_fd, events, (int)most, deadline_ns);

	if (count < 0 && errno != EINTR)
		count = sleep_rounded(set->epoll_fd, events, (int)most,
				      deadline_ns);
	errno = saved;
	return count > 0 ? (unsigned)count : 0;
}

void epoll_set_interrupt(const struct epoll_set *set)
{
	uint64_t one = 1;
	int saved = errno;
	ssize_t written;

	/* Fails only if the counter is at its maximum: then it is readable already. */
	written = write(set->event_fd, &one, sizeof(one));
	(void)written;
	errno = saved;
}

void epoll_set_clear(const struct epoll_set *set)
{
	uint64_t count;
	int saved = errno;
	ssize_t got;

	/* Fails only if the eventfd is not readable. */
	got = read(set->event_fd, &count, sizeof(count));
	(void)got;
	errno = saved;
}
