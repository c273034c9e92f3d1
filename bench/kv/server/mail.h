/* SPDX-License-Identifier: MIT */
/**
 * mail.h - the messages that wait for a subscriber
 *
 * A publisher adds a letter to the mailbox of each subscriber, and wakes it. The subscriber
 * takes all letters at once, and writes the messages to its client as fast as the client
 * takes them. The text of a message exists once, however many subscribers it has.
 */
#ifndef SKUA_BENCH_KV_MAIL_H
#define SKUA_BENCH_KV_MAIL_H

#include <skua/sync.h>

#include "bench/kv/resp/reply.h"

/**
 * struct message - what was published
 * @references: number of letters that have it, and one of the publisher; changed atomically
 * @count, @owner: as of struct reply; @counted: bytes that were counted
 */
struct message {
	uint64_t references;
	reply_count_fn count;
	void *owner;
	size_t counted;
	struct blob *channel, *payload;
};

/* A message on its way to one subscriber. @pattern: that of the subscription; NULL: it is of
 * the channel itself. */
struct letter {
	struct letter *next;
	struct message *message;
	struct blob *pattern;
};

/**
 * struct mailbox - zeroed at first
 * @newest: letters that were not taken, the newest first. Publishers add letters, one
 *          publisher at a time; the subscriber takes all
 * @bytes: of all letters that were not written; changed atomically
 * @notify: notified when there is a first letter
 * @oldest: letters that the subscriber has taken. Only the subscriber uses it
 * @soft_since_ns: since when @bytes are more than the soft limit; 0: they are not. Only
 *                 publishers use it
 * @closed: the subscriber is too slow, and gets no more letters. Only publishers use it
 */
struct mailbox {
	struct letter *newest;
	uint64_t bytes;
	struct skua_notify notify;
	struct letter *oldest;
	uint64_t soft_since_ns;
	bool closed;
};

/* message_create - make a message, with one reference. @r: has the @count and @owner of the
 * message. Return: NULL: no memory, or all clients together have too much of it */
struct message *message_create(const struct reply *r, struct blob *channel,
			       struct bytes payload);

/* message_drop - drop a reference; the last one frees the message */
void message_drop(struct message *message);

/* mail_post - add a message to a mailbox. One thread at a time. Return: the bytes that wait
 * in it; 0: no memory */
uint64_t mail_post(struct mailbox *mailbox, struct message *message,
		   struct blob *pattern);

/* mail_waits - tell whether there is a letter. The subscriber only */
bool mail_waits(const struct mailbox *mailbox);

/* mail_write - write letters as replies, until about @most bytes wait to be sent. The
 * subscriber only */
void mail_write(struct mailbox *mailbox, struct reply *r, size_t most);

/* mail_free - drop all letters */
void mail_free(struct mailbox *mailbox);

#endif
