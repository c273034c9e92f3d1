/* SPDX-License-Identifier: MIT */
/**
 * spsc_side.h - a side of an spsc: where it is, and its fence between ticket and flags
 *
 * Light calls. The fence of each item would take most of its time. Two fibers that are polled
 * by the same worker need none: one thread executes the calls of both. So a side that finds
 * the other one on its worker *settles* there: it notes the worker in `at`, with LIGHT, and
 * *fences* once. From then on its calls on that worker have no fence of the processor. A
 * caller that is going to wait reads `at` of the other side after its own fence:
 *
 *	not LIGHT: the other side fences. If it settles just now, its fence comes after that
 *	           of the caller, and its next call sees WAITS.
 *	LIGHT, on the worker of the caller: all light calls of the other side are executed by
 *	           this thread, and are over. If the other side has moved, its calls fence
 *	           again: they are light only on the worker that `at` names.
 *	LIGHT, on another worker: the caller takes LIGHT from the other side, and
 *	           membarrier_fence() makes that side fence: a call that does not see it
 *	           comes before.
 *
 * A side leaves LIGHT also when it moves, and when it sees that the other side has moved: when
 * it grants a wait, or reads the other's ticket. It does not settle again soon. So few waits
 * need a membarrier_fence().
 *
 * Rejected. Tickets and WAITS in one word, changed by a fetch-and-add: no fence is needed, but
 * each item takes 12 ns more on one worker. membarrier_fence() for each wait: it interrupts
 * the CPUs of all workers, and takes microseconds.
 */
#ifndef SKUA_CORE_CHANNEL_SPSC_SIDE_H
#define SKUA_CORE_CHANNEL_SPSC_SIDE_H

#include "core/base/atomic.h"
#include "core/loop/current.h"
#include "core/os/membarrier.h"
#include "skua/channel.h"

/* In the flags of a side. */
#define WAITS       1u
#define SIDE_CLOSED 2u
#define DRAINED     4u

/* Bit of struct skua_spsc_side.at; the rest is the address of a worker. */
#define LIGHT UINT64_C(1)

/* Writer: the caller of this side. */
static inline atomic_u64 *ticket_of(const struct skua_spsc_side *side)
{
	return (atomic_u64 *)&side->ticket;
}

/* The worker of the last call of this side, 0 for other threads; and LIGHT. Writers: the
 * caller of this side; of LIGHT also the other side. */
static inline atomic_u64 *at_of(const struct skua_spsc_side *side)
{
	return (atomic_u64 *)&side->at;
}

/* Writers of WAITS: the other side; this one, when it grants that wait. Both hold the list
 * lock of the other side. Of SIDE_CLOSED: any thread. Of DRAINED: the receiver, under its list
 * lock. */
static inline atomic_u32 *flags_of(const struct skua_spsc_side *side)
{
	return (atomic_u32 *)&side->flags;
}

/* How often a side that has settled, and is not LIGHT any more, finds the other one on its worker
 * before it settles again: so two sides that move again and again cost few calls of
 * membarrier_fence(). A guess, which the workload spsc retunes. */
#define CALM 64u

/* Note where the caller is, and whether its calls are light. They may be if the other side is
 * on the same worker. */
static __attribute__((noinline)) void
side_settle(struct skua_spsc_side *own, const struct skua_spsc_side *other)
{
	/* Relaxed, both: what a side notes is a guess of where it is next. */
	uint64_t at = atomic_load_relaxed(at_of(other)) & ~LIGHT;
	uint64_t before = atomic_load_relaxed(at_of(own));
	uint64_t next = current_address();

	if (at == next && current_has_membarrier()) {
		if (before == (next | LIGHT))
			return;
		if (own->calm == 0) {
			own->calm = CALM;
			next |= LIGHT;
		} else {
			own->calm--;
		}
	}
	if (next == before)
		return;
	/* Release: tickets that were stored by light calls. Pairs with
	 * side_fence_other(). */
	atomic_store_release(at_of(own), next);
	/* Orders the store before the loads of WAITS in light calls. Pairs with the
	 * fence in side_fence_other(). */
	atomic_fence_seq_cst();
}

/* Make the calls of @other fence, which are light on another worker: it does so before this
 * returns, or does not see LIGHT. Return: false if the kernel refuses it. */
static __attribute__((noinline)) bool
take_light(const struct skua_spsc_side *other, uint64_t at)
{
	/* Relaxed: the fence below orders it. */
	if (!atomic_cas_relaxed(at_of(other), &at, at & ~LIGHT)) {
		/* It has moved, and maybe settled again. Acquire: the tickets of its
		 * light calls. Pairs with side_settle() and fence_own(). */
		at = atomic_load_acquire(at_of(other));
		return !(at & LIGHT) || membarrier_fence();
	}
	/* Pairs with the compiler's fence in side_advance(). */
	if (membarrier_fence())
		return true;
	/* The next caller that waits has to fence for it, unless it has moved. Relaxed:
	 * no data goes with it. */
	at &= ~LIGHT;
	(void)atomic_cas_relaxed(at_of(other), &at, at | LIGHT);
	return false;
}

/* The fence of a caller that is going to wait for @other, between its store and its load.
 * Return: false if the kernel refuses it. */
static inline bool side_fence_other(const struct skua_spsc_side *other)
{
	uint64_t at;

	/* Orders the flags of the caller before the load of the ticket, and of `at`.
	 * Pairs with the fences in fence_own() and side_settle(). */
	atomic_fence_updated_seq_cst();
	/* Acquire: as in take_light(). */
	at = atomic_load_acquire(at_of(other));
	return !(at & LIGHT) || at == (current_address() | LIGHT) ||
	       take_light(other, at);
}

/* The fence of a call that is not light, between the ticket and the load of the flags. */
static __attribute__((noinline)) void
fence_own(const struct skua_spsc_side *own)
{
	/* Relaxed: of the caller. */
	uint64_t before = atomic_load_relaxed(at_of(own));
	uint64_t at = current_address();

	/* Release: as in side_settle(). */
	if (before != at)
		atomic_store_release(at_of(own), at);
	/* Pairs with the fence in side_fence_other(). */
	atomic_fence_seq_cst();
}

/* Store the next ticket of the caller's side, and return the flags as they are after that. */
static inline uint32_t side_advance(struct skua_spsc_side *own, uint64_t ticket)
{
	/* Release: the item, or the end of its receive. Pairs with side_see(). */
	atomic_store_release(ticket_of(own), ticket);
	/* Orders the ticket before the load of the flags, in a light call: for a caller of
	 * the other side on this thread, or one that calls membarrier_fence(). */
	atomic_fence_compiler();
	/* Relaxed: of the caller. */
	if (__builtin_expect(atomic_load_relaxed(at_of(own)) !=
				     (current_address() | LIGHT),
			     false))
		fence_own(own);
	/* Relaxed: ordered by the fences. */
	return atomic_load_relaxed(flags_of(own));
}

/* Read the ticket of the other side again. */
static __attribute__((noinline)) void
side_see(struct skua_spsc_side *own, const struct skua_spsc_side *other)
{
	/* Acquire: the items that were sent, or the end of their receives. Pairs with
	 * side_advance(). */
	own->seen = atomic_load_acquire(ticket_of(other));
	side_settle(own, other);
}

#endif
