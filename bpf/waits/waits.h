/* SPDX-License-Identifier: MIT */
/**
 * waits.h - the locks, channels and descriptors of a process, their holders and their waiters
 *
 * Begins with the fibers (target_fibers.h) and the objects with names, and finds more:
 * the objects that fibers wait for, and from their lists the tasks and threads that wait
 * for these. A task that is no fiber, and a thread, is found only in such a list, or in the
 * table of descriptors.
 */
#ifndef SKUA_BPF_WAITS_WAITS_H
#define SKUA_BPF_WAITS_WAITS_H

#include "bpf/target/target_fibers.h"
#include "bpf/waits/channels.h"
#include "bpf/waits/descriptors.h"
#include "bpf/waits/pools.h"
#include "bpf/waits/selects.h"

/* Limits of what a process may claim. */
#define WAITS_MAX_OBJECTS 4096u
#define WAITS_MAX_LIST    TARGET_MAX_FIBERS /* waits of an object that are read */
#define WAITS_MAX_CASES   65536u            /* of all selects */

#define WAITS_MAX_CYCLE 1024u /* waiters of a cycle that is found */

#define WAITS_NOBODY UINT32_MAX

/* Bytes of the text that says what is waited for. */
#define WAITS_WHAT (4 * TARGET_NAME)

/* A list of waiters. A queue has two, other objects have the first alone. */
enum { WAITS_RECEIVERS, WAITS_SENDERS, WAITS_SIDES };

struct waits_side {
	uint32_t waiters;
	uint64_t since_ns;          /* of the longest wait; 0: unknown */
	struct target_party oldest; /* the waiter of that wait */
};

/* An object that somebody waits for, or that has a name. */
struct waits_object {
	uint64_t address;
	struct area_verb verb;  /* of a wait for it; zeros if nobody waits */
	char name[TARGET_NAME]; /* "": none */
	struct target_party holder;
	struct waits_side sides[WAITS_SIDES];
	struct channel_state channel; /* of an object of skua/channel.h */
};

/* A task or thread that waits. */
struct waits_waiter {
	struct target_party party;
	uint32_t fiber; /* number in the fibers; WAITS_NOBODY: it is none */
	struct target_wait wait;
	uint32_t
		object; /* number; WAITS_NOBODY: it waits for no object with a list */
	uint32_t descriptor; /* index; WAITS_NOBODY: it waits for none */
	struct target_party
		on; /* the party without which it cannot go on, if known */
	uint32_t
		next; /* the waiter that is that party; WAITS_NOBODY: it does not wait */
	bool done; /* a task whose last poll left the wait armed: a mistake */
	/* The cases of a select: the index of the first, and how many there are. */
	uint32_t first_case, case_count;
};

/* A case of a select. */
struct waits_case {
	struct target_wait wait;
	uint32_t object, descriptor; /* as in a waiter */
};

struct waits {
	struct target *target;
	struct target_fibers fibers;
	struct descriptors descriptors;
	struct waits_object *objects;
	struct waits_waiter *waiters;
	struct waits_case *cases;
	struct pools pools;
	uint32_t object_count, waiter_count, case_count;
	size_t object_room, waiter_room, case_room;
	bool more;     /* some objects or waits were left out */
	uint32_t done; /* number of waiters that are done */
};

/**
 * waits_read - read the waits of a process
 * @out: release it with waits_free(), also after a failure
 *
 * Return: as target_fibers_read().
 */
int waits_read(struct target *target, struct waits *out);
void waits_free(struct waits *waits);

/**
 * waits_cycle - find waiters that wait for each other
 * @first: number of the first waiter to look at; receives the number after the one that
 *         was found
 * @before: an earlier reading: only a cycle that was there already counts, because the
 *          process runs while it is read. NULL: any
 *
 * Follow `next` from the result. Return: the number of one of them, each cycle once;
 * WAITS_NOBODY: there are no more.
 */
uint32_t waits_cycle(const struct waits *waits, uint32_t *first,
		     const struct waits *before);

/* waits_find - the number of the waiter that is a party; WAITS_NOBODY: it does not wait */
uint32_t waits_find(const struct waits *waits, struct target_party party);

/* waits_find_fiber - the number of the fiber that is a party; WAITS_NOBODY: it is none */
uint32_t waits_find_fiber(const struct waits *waits, struct target_party party);

/* waits_note_since - note a wait that began at @since_ns, if it is the longest so far */
void waits_note_since(struct waits_side *side, uint64_t since_ns,
		      struct target_party party);

/* waits_all - the waiters of an object on all sides, with the longest wait */
struct waits_side waits_all(const struct waits_object *object);

/* waits_sides - the number of lists that an object has */
unsigned waits_sides(const struct waits_object *object);

/* waits_since - nanoseconds from a time to the reading; 0: the time is not known */
uint64_t waits_since(const struct waits *waits, uint64_t since_ns);

/* waits_since_text - the same as text, "-" if it is not known. @text: 32 bytes. Return:
 * @text */
const char *waits_since_text(const struct waits *waits, uint64_t since_ns,
			     char *text);

#define WAITS_FOR 48
/* waits_for_text - ", for 1.2 ms"; "" if it is not known, as of the cases of a select by a poll.
 * @text: WAITS_FOR bytes. Return: @text */
const char *waits_for_text(const struct waits *waits, uint64_t since_ns,
			   char *text);

/* waits_object_name - the name of an object, or its address. @text: TARGET_NAME bytes.
 * Return: @text */
const char *waits_object_name(const struct waits *waits, uint32_t object,
			      char *text);

/* waits_party_name - "fiber transfer 0x7f..", "task reply 0x..", "thread 1234 (comm)" or "nobody".
 * @text: 2 * TARGET_NAME bytes. Return: @text */
const char *waits_party_name(const struct waits *waits,
			     struct target_party party, char *text);

/* waits_party_type - a party without its address or number: "fiber transfer", "task",
 * "thread". @text: 2 * TARGET_NAME bytes. Return: @text */
const char *waits_party_type(const struct waits *waits,
			     struct target_party party, char *text);

#endif
