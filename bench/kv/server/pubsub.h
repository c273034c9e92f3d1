/* SPDX-License-Identifier: MIT */
/**
 * pubsub.h - channels, patterns, and their subscriptions
 *
 * One lock protects all of it. A publisher holds it until its message is in the mailbox of
 * each subscriber, so that all subscribers see the messages of all publishers in the same
 * order. A subscriber needs no lock to read its mail.
 *
 * A subscriber is too slow if the letters that wait for it exceed the limits of
 * client-output-buffer-limit. Its connection is then closed.
 *
 * Why no broadcast of the library, with a ring for each channel:
 * - An item is copied by receivers without a lock, and overwritten by the sender. If the
 *   item is a reference to a message, nobody knows when the last receiver has taken its
 *   own reference. A message itself has no fixed size.
 * - A subscriber would wait for all of its rings in one select, which has at most 1,024
 *   cases, and arms and withdraws each of them for each message.
 * - A publisher sends to one ring, and then to another one. A subscriber of both that looks
 *   at them in turn may see the second message first.
 * - A ring bounds the number of messages, the same for all subscribers, and keeps them when
 *   all have read them. A bound of bytes is needed, for each subscriber.
 */
#ifndef SKUA_BENCH_KV_PUBSUB_H
#define SKUA_BENCH_KV_PUBSUB_H

#include <skua/sync.h>

#include "bench/kv/resp/blob.h"
#include "bench/kv/server/names.h"

struct session;
struct message;

/* Kinds of topics. */
enum topic_kind { TOPIC_CHANNEL, TOPIC_PATTERN, TOPIC_KINDS };

/**
 * struct topic - a channel or a pattern that has subscriptions
 * @name: its bytes are those of @text
 * @first: the subscriptions, in a list; @count of them
 */
struct topic {
	struct name name; /* first: pubsub.c casts back */
	struct blob *text;
	struct subscription *first;
	size_t count;
};

/**
 * struct subscription - one of a session
 * @name: that of the topic, in the names of the session
 * @next, @before: of the same topic
 */
struct subscription {
	struct name name; /* first: pubsub.c casts back */
	struct topic *topic;
	struct session *session;
	struct subscription *next, *before;
};

/**
 * struct pubsub - all topics; zeroed at first
 * @lock: protects @topics, and the mailboxes against other publishers
 * @count: subscriptions; changed under the lock, and read also without it
 */
struct pubsub {
	struct skua_mutex lock;
	struct names topics[TOPIC_KINDS];
	uint64_t count;
};

/**
 * struct subscriptions - those of a session, which alone changes them; zeroed at first
 * @counts: of each kind, and @count: of both; others may read them
 */
struct subscriptions {
	struct names names[TOPIC_KINDS];
	uint64_t counts[TOPIC_KINDS], count;
};

/* pubsub_enter, pubsub_leave - take and release the lock, unless the session holds it for the
 * command */
void pubsub_enter(struct session *session);
void pubsub_leave(struct session *session);

/* pubsub_subscribe - subscribe to a topic, if the session has not. Return: false: no memory, or
 * all clients together have too much of it */
bool pubsub_subscribe(struct session *session, enum topic_kind kind,
		      struct bytes name);

/* pubsub_unsubscribe - end a subscription, if there is one */
void pubsub_unsubscribe(struct session *session, enum topic_kind kind,
			struct bytes name);

/* pubsub_end - end all subscriptions, and drop the letters that wait. Publishers get the lock
 * in between, if the session does not hold it for the command */
void pubsub_end(struct session *session);

/* pubsub_publish - send a message. Return: the number of subscriptions that receive it; -1: no
 * memory */
int64_t pubsub_publish(struct session *session, struct bytes channel,
		       struct bytes payload);

/* pubsub_find - return a topic; NULL: there is none. The lock is held */
struct topic *pubsub_find(struct session *session, enum topic_kind kind,
			  struct bytes name);

#endif
