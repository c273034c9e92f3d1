/* SPDX-License-Identifier: MIT */
/* root.c - see root.h */
#include "probes/root.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "skua/base.h"
#include "skua/fiber.h"
#include "skua/task.h"

#define TEXT(x)  #x
#define VALUE(x) TEXT(x)
#define VERSION                   \
	VALUE(SKUA_VERSION_MAJOR) \
	"." VALUE(SKUA_VERSION_MINOR) "." VALUE(SKUA_VERSION_PATCH)

/* Initialised at build time, so that a reader never sees a half-made root. */
struct area_root area_root = {
	.magic = AREA_ROOT_MAGIC,
	.abi = AREA_ABI,
	.bytes = sizeof(struct area_root),
	.version = VERSION,
	.task_poll = offsetof(struct skua_task, poll),
	.task_type = offsetof(struct skua_task, type),
	.task_state = offsetof(struct skua_task, state),
	.fiber_fn = offsetof(struct skua_fiber, shown),
	.fiber_context = offsetof(struct skua_fiber, context),
	.fiber_wait = offsetof(struct skua_fiber, wait),
	.task_flags = offsetof(struct skua_task, flags),
	.fiber_label = offsetof(struct skua_fiber, label),
};

/* The name under which the root is exported. */
extern struct area_root skua_debug_root
	__attribute__((alias("area_root"), visibility("default")));

/*
 * The ELF note. It stays when the symbols are stripped, and it is loaded, so that a reader
 * does not need the file. Its content is the distance from itself to the root.
 */
/* clang-format off */
__asm__(
	"	.pushsection .note.skua, \"a\", %note\n"
	"	.balign 4\n"
	"	.4byte 992f - 991f, 994f - 993f, 1\n"
	"991:	.asciz \"" AREA_NOTE_NAME "\"\n"
	"992:	.balign 4\n"
	"993:	.8byte area_root - 993b\n"
	"994:	.balign 4\n"
	"	.popsection\n");
/* clang-format on */

/* set_link - change a link of the list of runtimes
 *
 * Release: the earlier writes to @runtime, and the odd value of area_root.changes.
 * The readers are other processes, which order their reads by their system calls. */
static void set_link(uint64_t *link, uint64_t runtime)
{
	__atomic_store_n(link, runtime, __ATOMIC_RELEASE);
}

/* A lock: the number of the process that holds the root; 0: none. */
static uint32_t holder;

/* recount - repair the count, after a fork() during a change
 *
 * The thread of the parent that made the change does not exist in the child, so the change
 * is never finished. The list is whole, but its count may be out of date. */
static void recount(void)
{
	uint64_t count = 0;

	for (uint64_t at = area_root.runtimes; at;
	     at = ((struct area_runtime *)(uintptr_t)at)->next)
		count++;
	counter_set_owner(&area_root.count, count);
}

/* wait_for - sleep while another thread of this process holds the root
 *
 * It does not spin: the holder may have a lower priority, and no CPU meanwhile. */
static void wait_for(uint32_t found)
{
	int saved = errno; /* the library never sets it */

	syscall(SYS_futex, &holder, FUTEX_WAIT_PRIVATE, found, NULL);
	errno = saved;
}

static void hold(uint32_t process)
{
	uint32_t found = 0;
	bool taken_over = false;

	/* Acquire: the writes of the last holder. Pairs with the release in let_go(). A
	 * holder from a parent process has no thread here, so its hold is taken over. The
	 * loop sleeps and repeats while another thread of this process holds the root. */
	while (!__atomic_compare_exchange_n(&holder, &found, process, 0,
					    __ATOMIC_ACQUIRE,
					    __ATOMIC_RELAXED)) {
		if (found != process) {
			taken_over = true;
			continue;
		}
		wait_for(found);
		found = 0;
	}
	counter_set_owner(&area_root.changes, area_root.changes | 1);
	if (taken_over)
		recount();
}

static void let_go(void)
{
	/* Release, both: the change. Pairs with the acquire in hold(). The second store
	 * gives the root free. */
	__atomic_store_n(&area_root.changes, area_root.changes + 1,
			 __ATOMIC_RELEASE);
	__atomic_store_n(&holder, 0, __ATOMIC_RELEASE);
	/* Wake one waiter. If another thread takes the root first, the waiter sleeps
	 * again, and that thread wakes it here. */
	syscall(SYS_futex, &holder, FUTEX_WAKE_PRIVATE, 1);
}

void root_add(struct area_runtime *runtime, uint32_t process)
{
	hold(process);
	runtime->next = area_root.runtimes;
	set_link(&area_root.runtimes, (uintptr_t)runtime);
	counter_add_owner(&area_root.count, 1);
	let_go();
}

void root_remove(struct area_runtime *runtime, uint32_t process)
{
	uint64_t *link = &area_root.runtimes;

	hold(process);
	while (*link && *link != (uintptr_t)runtime)
		link = &((struct area_runtime *)(uintptr_t)*link)->next;
	if (*link) {
		set_link(link, runtime->next);
		counter_set_owner(&area_root.count, area_root.count - 1);
	}
	let_go();
}
