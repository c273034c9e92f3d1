/* SPDX-License-Identifier: MIT */
/* pi_lock.c - see pi_lock.h */
#include "core/os/pi_lock.h"

#ifndef SKUA_EXPLORE

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* How long a thread waits for the lock at a time if the kernel cannot let it
 * sleep on it. */
#define NAP_NS 50000

_Thread_local struct pi_lock_thread pi_lock_thread;

void pi_lock_read_thread(void)
{
	pi_lock_thread = (struct pi_lock_thread){ process_generation(),
						  (uint32_t)gettid() };
}

static bool take_in_kernel(struct pi_lock *lock)
{
	return syscall(SYS_futex, &lock->word, FUTEX_LOCK_PI_PRIVATE, 0, NULL,
		       NULL, 0) == 0;
}

void pi_lock_await(struct pi_lock *lock)
{
	const struct timespec nap = { 0, NAP_NS };
	int saved = errno; /* the library never sets it */

	/* The kernel may be built without priority inheritance, or have no
	 * memory for it now. Then this thread tries again after a nap: if it
	 * is a real-time thread, the holder still gets the CPU meanwhile. */
	while (!take_in_kernel(lock)) {
		if (errno != EINTR && errno != EAGAIN)
			nanosleep(&nap, NULL);
		if (pi_lock_try(lock))
			break;
	}
	/* Acquire: what earlier holders wrote. Pairs with the release in
	 * pi_lock_hand_over(). The kernel orders both as well; only
	 * ThreadSanitizer does not see that. */
	(void)atomic_load_acquire(&lock->word);
	errno = saved;
}

void pi_lock_hand_over(struct pi_lock *lock)
{
	int saved = errno;

	/* Release: what the holder wrote; changes nothing. Pairs with
	 * pi_lock_await(). */
	atomic_fetch_add_release(&lock->word, 0);
	/* The loop repeats when the kernel could not follow the word, which a
	 * thread that began to wait has changed meanwhile. */
	while (syscall(SYS_futex, &lock->word, FUTEX_UNLOCK_PI_PRIVATE, 0, NULL,
		       NULL, 0) != 0 &&
	       (errno == EINTR || errno == EAGAIN))
		;
	errno = saved;
}

#endif
