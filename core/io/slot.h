/* SPDX-License-Identifier: MIT */
/**
 * slot.h - the words of an attached descriptor, and their transitions
 *
 * A slot belongs to a number of a descriptor (table.h), and has a word for each direction:
 * one for reading, one for writing.
 *
 *	word: [ serial:32 | 0:26 | DELAYED | CLOSING | ENDING | READY | owner:2 ]
 *
 *	FREE --claim--> CALLING --leave--> FREE
 *	                CALLING --arm--> ARMED --withdraw--> FREE
 *	                                 ARMED --close--> FREE, and the wait is granted
 *	                                 ARMED --event--> CHOSEN, and the wait is granted
 *	                CALLING <----------resume---------- CHOSEN
 *
 * Each transition is one compare-exchange of the word, which also compares the serial
 * number: the transitions of a stale handle and of a stale event fail. The owner of the
 * direction is the one task or thread that may read or write. CALLING: it is in a system
 * call, or about to be. ARMED: it waits, and the wait is in the slot. CHOSEN: its wait was
 * granted, and it has not gone on yet.
 *
 * READY means: the descriptor may be ready, so that a call tries. It is cleared *before* the
 * system call, by the claim, and set again after it, by the leave, unless the call has found
 * the descriptor empty. So an event that comes during the call stays. (A call that cleared
 * READY after its read would erase an event that came in between, and the next call would
 * wait for ever.) Both sides use read-modify-writes, so that one of two things happens. The
 * event is the earlier one: the claim sees it, and its acquire makes the system call see
 * what the event announced. Or the claim is the earlier one: then READY is set when the
 * caller tries to arm, which fails.
 *
 * A call that looks for something that other calls do not see, such as the errors of a socket,
 * may find nothing although the descriptor is not empty. It always sets READY when it ends.
 *
 * ENDING: an event has announced the end of what can be read, an error, or urgent data. From
 * then on a short read does not mean that the descriptor is empty: the end of file may have
 * come with the same event as the last bytes, and no other one follows.
 *
 * CLOSING: no claim, arm or resume succeeds any more. The thread that sets it in the word
 * for reading closes the descriptor; for that it needs the calls that are in progress to
 * leave the kernel, which the holders count:
 *
 *	holders: [ ATTACHING | LIVE | AWAITED | count:29 ]
 *
 * An attached slot has one holder for each direction and one for the handle itself. A close
 * drops the one of the handle, and those of the directions that are not CALLING. A leave
 * that finds CLOSING drops the one of its direction. The thread that drops the last holder
 * closes the descriptor. So a close never waits, and no number is closed, and used again by
 * the kernel, while another thread is in a system call with it.
 */
#ifndef SKUA_CORE_IO_SLOT_H
#define SKUA_CORE_IO_SLOT_H

#include <errno.h>
#include <stdalign.h>

#include "core/base/atomic.h"
#include "probes/area.h"
#include "skua/wait.h"

struct pool;

enum io_direction { IO_READ, IO_WRITE };

#define IO_OWNER   UINT64_C(3)
#define IO_FREE    UINT64_C(0)
#define IO_CALLING UINT64_C(1)
#define IO_ARMED   UINT64_C(2)
#define IO_CHOSEN  UINT64_C(3)
#define IO_READY   UINT64_C(4)
#define IO_ENDING  UINT64_C(8)
#define IO_CLOSING UINT64_C(16)
#define IO_DELAYED UINT64_C(32) /* ARMED, but an event does not choose it */

#define IO_ATTACHING (UINT32_C(1) << 31) /* by one thread */
#define IO_LIVE \
	(UINT32_C(1) << 30) /* attached, until the last holder is gone */
#define IO_AWAITED \
	(UINT32_C(1) << 29) /* a thread sleeps until only it is left */
#define IO_HOLDERS (IO_AWAITED - 1)

/* Bits of io_slot.kind. */
#define IO_SOCKET (1u << 0)
#define IO_TCP    (1u << 1)

/* Tools read it, as a struct area_descriptor. */
struct io_slot {
	/* The words above. Writers and readers: any thread. The serial number
	 * wraps at 2^32, and leaves 0 out. */
	alignas(64) atomic_u64 word[2];
	/* The armed wait. Writer: the owner of the direction, while CALLING.
	 * Reader: the thread whose transition took the direction from ARMED. */
	struct skua_wait *wait[2];
	/* Constant while attached, except that the thread that destroys a runtime reads
	 * it in slots of other ones. Writer: the thread that attaches. */
	_Atomic(struct pool *) pool;
	/* Generation of the process that attached it. Writer and readers as above. */
	atomic_u32 generation;
	/* Writers: any thread that uses the slot. */
	atomic_u32 holders;
	int32_t fd;   /* constant from the first attachment on */
	uint8_t kind; /* constant while attached */
	/* Number of delays in a row, by direction. Accessed by the owner of the
	 * direction. */
	uint8_t delays[2];
	bool connecting; /* the kernel connects it. As delays, of writing */
	uint16_t group;  /* whose driver it is attached to; as kind */
	/* A connection that was accepted but could not be attached yet, + 1; 0: none.
	 * Accessed by the owner of the reading direction, and the last holder. */
	int32_t accepted;
};

_Static_assert(sizeof(struct io_slot) == 64, "one cache line");

#define IO_SHOWN(field, as)                                          \
	_Static_assert(offsetof(struct io_slot, field) ==            \
			       offsetof(struct area_descriptor, as), \
		       "tools read " #field)

IO_SHOWN(word, word);
IO_SHOWN(wait, wait);
IO_SHOWN(pool, owner);
IO_SHOWN(fd, fd);
IO_SHOWN(connecting, connecting);
_Static_assert(sizeof(struct area_descriptor) == sizeof(struct io_slot) &&
		       AREA_IO_WAITER == IO_OWNER &&
		       AREA_IO_ARMED == IO_ARMED &&
		       AREA_IO_DELAYED == IO_DELAYED,
	       "tools read a slot");

static inline uint64_t slot_serial_word(uint32_t serial)
{
	return (uint64_t)serial << 32;
}

static inline uint32_t slot_serial(uint64_t word)
{
	return (uint32_t)(word >> 32);
}

/* slot_open - does the word belong to an attachment that is not being closed? */
static inline bool slot_open(uint64_t word, uint32_t serial)
{
	return slot_serial(word) == serial && !(word & IO_CLOSING);
}

/* slot_ready - may a call try? A hint: it is made before the claim. */
static inline bool slot_ready(const struct io_slot *slot, enum io_direction way)
{
	/* Relaxed: the claim decides. */
	return atomic_load_relaxed(&slot->word[way]) & IO_READY;
}

/**
 * slot_claim - begin a call
 * @ready: receives whether the descriptor may be ready
 *
 * Return: 0; -EBADF; -EBUSY: the direction has another owner.
 */
static inline int slot_claim(struct io_slot *slot, enum io_direction way,
			     uint32_t serial, bool *ready)
{
	/* Relaxed: the compare-exchange decides. */
	uint64_t word = atomic_load_relaxed(&slot->word[way]);

	/* Acquire: what slot_init() and the owner before did, and what the
	 * event announced. Pairs with slot_init(), slot_leave(),
	 * slot_withdraw() and slot_event(). The loop repeats when another thread
	 * changed the word. */
	do {
		if (!slot_open(word, serial))
			return -EBADF;
		if ((word & IO_OWNER) != IO_FREE)
			return -EBUSY;
	} while (!atomic_cas_acquire(&slot->word[way], &word,
				     (word & ~IO_READY) | IO_CALLING));
	*ready = word & IO_READY;
	return 0;
}

/* slot_resume - go on with a call whose wait was chosen by an event. Return: 0; -EBADF. */
static inline int slot_resume(struct io_slot *slot, enum io_direction way,
			      uint32_t serial)
{
	/* Relaxed: the compare-exchange decides. */
	uint64_t word = atomic_load_relaxed(&slot->word[way]);

	/* Acquire: what the event announced. Pairs with slot_event(). The loop
	 * repeats when another thread changed the word. */
	do {
		if (!slot_open(word, serial))
			return -EBADF;
	} while (!atomic_cas_acquire(&slot->word[way], &word,
				     (word & ~(IO_READY | IO_OWNER)) |
					     IO_CALLING));
	return 0;
}

/* slot_retry - try once more, because of an event; by the owner, CALLING */
static inline void slot_retry(struct io_slot *slot, enum io_direction way)
{
	/* Acquire: what the event announced. Pairs with slot_event(). */
	atomic_fetch_and_acquire(&slot->word[way], ~IO_READY);
}

/**
 * slot_leave - end a call
 * @empty: the call found nothing left to read, or no room to write
 *
 * Return: whether the slot is being closed: the caller drops a holder.
 */
static inline bool slot_leave(struct io_slot *slot, enum io_direction way,
			      bool empty)
{
	/* Relaxed: the compare-exchange decides. */
	uint64_t word = atomic_load_relaxed(&slot->word[way]);
	uint64_t next;

	/* Release: what the owner did. Pairs with slot_claim(). The loop repeats
	 * when another thread changed the word. */
	do {
		next = word & ~IO_OWNER;
		if (!empty || (word & IO_ENDING))
			next |= IO_READY;
	} while (!atomic_cas_release(&slot->word[way], &word, next));
	return word & IO_CLOSING;
}

/* slot_expect_more - forget that an event has announced an end. The caller knows that what
 * can be read has not even begun. */
static inline void slot_expect_more(struct io_slot *slot)
{
	/* Relaxed: the reader finds out by itself. */
	atomic_fetch_and_relaxed(&slot->word[IO_READ], ~IO_ENDING);
}

/**
 * slot_arm - let a wait into the slot; by the owner, CALLING
 * @wait: phase and reference are those of an armed wait
 * @delayed: IO_DELAYED | IO_READY: the caller tries again later; or 0
 *
 * Return: 0: it is armed; -EAGAIN: an event has come; -EBADF. The caller is still CALLING
 * after an error.
 */
static inline int slot_arm(struct io_slot *slot, enum io_direction way,
			   struct skua_wait *wait, uint64_t delayed)
{
	/* Relaxed: the compare-exchange decides. */
	uint64_t word = atomic_load_relaxed(&slot->word[way]);

	slot->wait[way] = wait;
	/* Release: the wait. Pairs with slot_event() and slot_close(). The loop
	 * repeats when another thread changed the word. */
	do {
		if (word & IO_CLOSING)
			return -EBADF;
		if ((word & IO_READY) && !delayed)
			return -EAGAIN;
	} while (!atomic_cas_release(&slot->word[way], &word,
				     (word & ~IO_OWNER) | IO_ARMED | delayed));
	return 0;
}

/* slot_withdraw - take a wait back; by its waiter. @bits: set in the word: IO_READY, so that
 * the next call tries; or 0. Return: false if the wait was chosen. */
static inline bool slot_withdraw(struct io_slot *slot, enum io_direction way,
				 uint32_t serial, uint64_t bits)
{
	/* Relaxed: the compare-exchange decides. */
	uint64_t word = atomic_load_relaxed(&slot->word[way]);

	/* Only this waiter and those that choose its wait change the owner from
	 * ARMED. Release: what the owner did. Pairs with slot_claim(). The loop
	 * repeats when another thread changed the word. */
	do {
		if (!slot_open(word, serial) || (word & IO_OWNER) != IO_ARMED)
			return false;
	} while (!atomic_cas_release(&slot->word[way], &word,
				     (word & ~(IO_OWNER | IO_DELAYED)) | bits));
	return true;
}

/**
 * slot_event - note an event of the driver
 * @bits: IO_READY, or IO_READY | IO_ENDING
 * @held: the caller is a holder
 * @wait: receives the wait that it has chosen, for the caller to grant; or NULL
 *
 * Only a holder may choose a wait: between its compare-exchange and its load of the address,
 * a close might otherwise end the attachment, and a wait of the next one might be in the
 * slot.
 *
 * Return: 0; -EBUSY: a wait is armed, and the caller holds nothing.
 */
static inline int slot_event(struct io_slot *slot, enum io_direction way,
			     uint32_t serial, uint64_t bits, bool held,
			     struct skua_wait **wait)
{
	/* Relaxed: the compare-exchange decides. */
	uint64_t word = atomic_load_relaxed(&slot->word[way]);
	uint64_t next;

	*wait = NULL;
	/* Acquire: the wait. Pairs with slot_arm(). Release: what the event
	 * announced. Pairs with slot_claim(), slot_resume() and slot_retry(). It
	 * writes also if all bits are set: the load may be older than a claim
	 * that cleared them. The loop repeats when another thread changed the
	 * word. */
	do {
		if (!slot_open(word, serial))
			return 0;
		next = word | bits;
		if ((word & (IO_OWNER | IO_DELAYED)) == IO_ARMED) {
			if (!held)
				return -EBUSY;
			next |= IO_CHOSEN;
		}
	} while (!atomic_cas_acq_rel(&slot->word[way], &word, next));
	if ((word & (IO_OWNER | IO_DELAYED)) == IO_ARMED)
		*wait = slot->wait[way];
	return 0;
}

/**
 * slot_close - let no call begin from now on
 * @wait: receives the wait that was armed, for the caller to grant; or NULL
 *
 * Return: 1 if a call is in progress, which drops a holder; 0 if not; -EBADF.
 */
static inline int slot_close(struct io_slot *slot, enum io_direction way,
			     uint32_t serial, struct skua_wait **wait)
{
	/* Relaxed: the compare-exchange decides. */
	uint64_t word = atomic_load_relaxed(&slot->word[way]);
	uint64_t next;

	*wait = NULL;
	/* Acquire: the wait, and what the owner before did. Pairs with
	 * slot_arm() and slot_leave(). The loop repeats when another thread
	 * changed the word. */
	do {
		if (!slot_open(word, serial))
			return -EBADF;
		next = word | IO_CLOSING;
		if ((word & IO_OWNER) == IO_ARMED)
			next &= ~(IO_OWNER | IO_DELAYED);
	} while (!atomic_cas_acquire(&slot->word[way], &word, next));
	if ((word & IO_OWNER) == IO_ARMED)
		*wait = slot->wait[way];
	return (word & IO_OWNER) == IO_CALLING;
}

/* slot_init - begin an attachment; by the thread that has set ATTACHING. Return: its serial
 * number. */
static inline uint32_t slot_init(struct io_slot *slot)
{
	/* Relaxed: this thread alone changes the serial number. */
	uint32_t serial =
		slot_serial(atomic_load_relaxed(&slot->word[IO_READ])) + 1;
	uint64_t word;

	if (serial == 0)
		serial = 1;
	word = slot_serial_word(serial) | IO_READY;
	/* Release: the fields of the slot. Pairs with slot_claim() and
	 * slot_event(). */
	atomic_store_release(&slot->word[IO_READ], word);
	atomic_store_release(&slot->word[IO_WRITE], word);
	return serial;
}

/* slot_end - end an attachment; by the thread that dropped the last holder, or that has set
 * ATTACHING */
static inline void slot_end(struct io_slot *slot)
{
	/* Relaxed: the serial number is this thread's to change, and the words
	 * are never followed to fields of the slot. */
	uint64_t word = slot_serial_word(slot_serial(
				atomic_load_relaxed(&slot->word[IO_READ]))) |
			IO_CLOSING;

	atomic_store_relaxed(&slot->word[IO_READ], word);
	atomic_store_relaxed(&slot->word[IO_WRITE], word);
	/* Release: what the attachment did. Pairs with begin() in attach.c. */
	atomic_store_release(&slot->holders, 0);
}

#endif
