/* SPDX-License-Identifier: MIT */
/* attached_wakers.h - descriptors in a driver, whose events wake a task each */
#ifndef SKUA_TESTS_UNIT_ATTACHED_WAKERS_H
#define SKUA_TESTS_UNIT_ATTACHED_WAKERS_H

#include "core/driver/driver.h"
#include "tests/unit/tasks.h"

/* The kernel orders an attachment before its events, which ThreadSanitizer does not see of
 * epoll_pwait2(). */
static atomic_u32 attachments;

/* wake_attached - wake the task whose descriptor is readable. Implements driver_deliver_fn. */
static inline void wake_attached(struct driver *driver, uint64_t data,
				 uint32_t events)
{
	const struct skua_waker *waker =
		(const struct skua_waker *)(uintptr_t)data;

	(void)driver;
	/* Acquire: the waker. Pairs with attach_waker(). */
	(void)atomic_load_acquire(&attachments);
	if (events & EPOLLIN)
		skua_waker_wake_by_ref(*waker);
}

/* attach_waker - attach a descriptor to a driver that calls wake_attached(). @waker stays in
 * place until the descriptor is detached. */
static inline void attach_waker(struct driver *driver, int fd,
				const struct skua_waker *waker)
{
	/* Release: the waker. Pairs with wake_attached(). */
	atomic_fetch_add_release(&attachments, 1);
	assert_int_equal(driver_attach(driver, fd, (uintptr_t)waker), 0);
}

#endif
