/* SPDX-License-Identifier: MIT */
/* pubsub.c - channels, patterns, and their subscriptions */
#include "bench/kv/server/pubsub.h"

#include <skua/skua.h>

#include <stdlib.h>

#include "bench/kv/server/session.h"
#include "bench/kv/store/glob.h"

#define SECOND UINT64_C(1000000000)

/* Subscriptions that pubsub_end() ends before it lets others have the lock. A guess. */
#define END_BATCH 512

void pubsub_enter(struct session *session)
{
	/* The lock fails in a poll, which must have it already. */
	if (!(session->held & HELD_PUBSUB) &&
	    skua_mutex_lock(&session->server->pubsub.lock, SKUA_FOREVER_NS))
		abort();
}

void pubsub_leave(struct session *session)
{
	if (!(session->held & HELD_PUBSUB))
		skua_mutex_unlock(&session->server->pubsub.lock);
}

static uint64_t hash_of(struct session *session, struct bytes name)
{
	return hash_bytes(&session->server->store->secret, name.data,
			  name.size);
}

/* ---- memory ------------------------------------------------------------------- */

/* A name has about two pointers in a table. */
#define PLACE (2 * sizeof(struct name *))

/* The memory of a topic whose name has so many bytes. */
static int64_t topic_memory(size_t name_bytes)
{
	return (int64_t)(sizeof(struct topic) + sizeof(struct blob) + PLACE +
			 name_bytes);
}

#define SUBSCRIPTION_MEMORY ((int64_t)(sizeof(struct subscription) + PLACE))

/* Count memory that is allocated next. Return: false: it is too much, and is not counted */
static bool count_memory(struct session *session, int64_t bytes)
{
	if (session_buffers(session->server, bytes))
		return true;
	session_buffers(session->server, -bytes);
	return false;
}

/* ---- topics ------------------------------------------------------------------- */

static struct topic *find(struct session *session, enum topic_kind kind,
			  uint64_t hash, struct bytes name)
{
	return (struct topic *)names_find(&session->server->pubsub.topics[kind],
					  hash, name);
}

struct topic *pubsub_find(struct session *session, enum topic_kind kind,
			  struct bytes name)
{
	return find(session, kind, hash_of(session, name), name);
}

static struct topic *allocate_topic(struct names *topics, uint64_t hash,
				    struct bytes name)
{
	struct topic *topic = calloc(1, sizeof(*topic));

	if (topic)
		topic->text = blob_create(name.size);
	if (!topic || !topic->text) {
		free(topic);
		return NULL;
	}
	memcpy(topic->text->data, name.data, name.size);
	topic->text->size = name.size;
	topic->name.hash = hash;
	topic->name.bytes = (struct bytes){ topic->text->data, name.size };
	if (names_add(topics, &topic->name))
		return topic;
	blob_drop(topic->text);
	free(topic);
	return NULL;
}

static struct topic *create(struct session *session, enum topic_kind kind,
			    uint64_t hash, struct bytes name)
{
	struct names *topics = &session->server->pubsub.topics[kind];
	int64_t memory = topic_memory(name.size);
	struct topic *topic = NULL;

	if (!count_memory(session, memory))
		return NULL;
	topic = allocate_topic(topics, hash, name);
	if (!topic)
		session_buffers(session->server, -memory);
	return topic;
}

/* Remove a topic without subscriptions. */
static void drop_unused(struct session *session, enum topic_kind kind,
			struct topic *topic)
{
	if (topic->first)
		return;
	names_remove(&session->server->pubsub.topics[kind], &topic->name);
	session_buffers(session->server, -topic_memory(topic->text->size));
	blob_drop(topic->text);
	free(topic);
}

/* ---- subscriptions -------------------------------------------------------------- */

static void count(struct session *session, enum topic_kind kind, int change)
{
	struct subscriptions *own = &session->subscriptions;
	struct pubsub *pubsub = &session->server->pubsub;
	uint64_t more = (uint64_t)(int64_t)change;

	shared_write(&pubsub->count, pubsub->count + more);
	shared_write(&own->counts[kind], own->counts[kind] + more);
	shared_write(&own->count, own->count + more);
}

static bool add(struct session *session, enum topic_kind kind,
		struct topic *topic)
{
	struct subscription *subscription;

	if (!count_memory(session, SUBSCRIPTION_MEMORY))
		return false;
	subscription = calloc(1, sizeof(*subscription));
	if (!subscription) {
		session_buffers(session->server, -SUBSCRIPTION_MEMORY);
		return false;
	}
	subscription->name.hash = topic->name.hash;
	subscription->name.bytes = topic->name.bytes;
	subscription->topic = topic;
	subscription->session = session;
	if (!names_add(&session->subscriptions.names[kind],
		       &subscription->name)) {
		session_buffers(session->server, -SUBSCRIPTION_MEMORY);
		free(subscription);
		return false;
	}
	subscription->next = topic->first;
	if (topic->first)
		topic->first->before = subscription;
	topic->first = subscription;
	topic->count++;
	count(session, kind, 1);
	return true;
}

bool pubsub_subscribe(struct session *session, enum topic_kind kind,
		      struct bytes name)
{
	uint64_t hash = hash_of(session, name);
	struct topic *topic;
	bool added = false;

	if (names_find(&session->subscriptions.names[kind], hash, name))
		return true;
	pubsub_enter(session);
	topic = find(session, kind, hash, name);
	if (!topic)
		topic = create(session, kind, hash, name);
	if (topic) {
		added = add(session, kind, topic);
		drop_unused(session, kind, topic);
	}
	pubsub_leave(session);
	return added;
}

/* The lock is held. */
static void remove_one(struct session *session, enum topic_kind kind,
		       struct subscription *subscription)
{
	struct topic *topic = subscription->topic;

	names_remove(&session->subscriptions.names[kind], &subscription->name);
	if (subscription->before)
		subscription->before->next = subscription->next;
	else
		topic->first = subscription->next;
	if (subscription->next)
		subscription->next->before = subscription->before;
	topic->count--;
	count(session, kind, -1);
	drop_unused(session, kind, topic);
	session_buffers(session->server, -SUBSCRIPTION_MEMORY);
	free(subscription);
}

void pubsub_unsubscribe(struct session *session, enum topic_kind kind,
			struct bytes name)
{
	struct name *found = names_find(&session->subscriptions.names[kind],
					hash_of(session, name), name);

	if (!found)
		return;
	pubsub_enter(session);
	remove_one(session, kind, (struct subscription *)found);
	pubsub_leave(session);
}

/* End the subscriptions of a kind. The lock is held, and is released now and then: a
 * publisher that gets it may still send to the subscriptions that are left. It is done with
 * this session when it releases the lock, and its letters wait in the mailbox, as those
 * that came before. Only the session itself changes its names. */
static void remove_all(struct session *session, enum topic_kind kind)
{
	struct names *names = &session->subscriptions.names[kind];
	struct name *name = names_next(names, NULL), *next;

	/* A table that becomes smaller may bring a name before the next one. That happens once
	 * for each halving, so that all rounds together take linear time. */
	for (unsigned removed = 0; name;
	     name = next ? next : names_next(names, NULL)) {
		next = names_next(names, name);
		remove_one(session, kind, (struct subscription *)name);
		if (++removed % END_BATCH == 0) {
			pubsub_leave(session);
			pubsub_enter(session);
		}
	}
}

void pubsub_end(struct session *session)
{
	if (session->subscriptions.count) {
		pubsub_enter(session);
		for (int kind = 0; kind < TOPIC_KINDS; kind++)
			remove_all(session, (enum topic_kind)kind);
		pubsub_leave(session);
	}
	/* No publisher finds the mailbox any more. */
	mail_free(&session->mailbox);
}

/* ---- messages ----------------------------------------------------------------- */

/* Do so many bytes exceed a limit? */
static bool is_too_slow(struct session *session, uint64_t bytes)
{
	const struct settings *settings = &session->server->settings;
	uint64_t hard = setting(&settings->pubsub_hard);
	uint64_t soft = setting(&settings->pubsub_soft);
	struct mailbox *mailbox = &session->mailbox;

	if (hard && bytes > hard)
		return true;
	if (!soft || bytes <= soft) {
		mailbox->soft_since_ns = 0;
		return false;
	}
	if (!mailbox->soft_since_ns) {
		mailbox->soft_since_ns = skua_now_ns();
		return false;
	}
	return (skua_now_ns() - mailbox->soft_since_ns) / SECOND >=
	       setting(&settings->pubsub_soft_s);
}

static void post(struct session *session, struct message *message,
		 struct blob *pattern)
{
	uint64_t bytes;

	if (session->mailbox.closed)
		return;
	bytes = mail_post(&session->mailbox, message, pattern);
	/* A letter that is lost for want of memory ends the subscriber, too. */
	if (bytes && !is_too_slow(session, bytes))
		return;
	session->mailbox.closed = true;
	session->server->kick(session);
}

/* Send a message to all subscriptions of a topic. @pattern: of the topic; NULL: it is the
 * channel. Return: their number. */
static int64_t post_all(const struct topic *topic, struct message *message,
			struct blob *pattern)
{
	const struct subscription *s = topic->first;

	for (; s; s = s->next)
		post(s->session, message, pattern);
	return (int64_t)topic->count;
}

/* The lock is held. */
static int64_t publish_locked(struct session *session,
			      const struct key *channel,
			      struct message *message)
{
	struct names *patterns = &session->server->pubsub.topics[TOPIC_PATTERN];
	struct topic *topic =
		find(session, TOPIC_CHANNEL, channel->hash, channel->bytes);
	int64_t receivers = topic ? post_all(topic, message, NULL) : 0;

	topic = (struct topic *)names_next(patterns, NULL);
	for (; topic;
	     topic = (struct topic *)names_next(patterns, &topic->name))
		if (glob_match(topic->name.bytes, channel->bytes, false))
			receivers += post_all(topic, message, topic->text);
	return receivers;
}

int64_t pubsub_publish(struct session *session, struct bytes channel,
		       struct bytes payload)
{
	struct key key = store_key(session->server->store, channel);
	struct blob *text;
	struct message *message = NULL;
	int64_t receivers;

	if (!shared_read(&session->server->pubsub.count))
		return 0;
	text = blob_create(channel.size);
	if (text) {
		memcpy(text->data, channel.data, channel.size);
		text->size = channel.size;
		message = message_create(&session->reply, text, payload);
		blob_drop(text);
	}
	if (!message)
		return -1;
	pubsub_enter(session);
	receivers = publish_locked(session, &key, message);
	pubsub_leave(session);
	message_drop(message);
	return receivers;
}
