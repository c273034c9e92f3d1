/* SPDX-License-Identifier: MIT */
/* mail.c - the messages that wait for a subscriber */
#include "bench/kv/server/mail.h"

#include <stdlib.h>

/* A payload of more bytes is not copied into replies. A guess. */
#define COPIED 4096u
/* The memory of a letter. */
#define LETTER ((int64_t)sizeof(struct letter) + 8)

/* ---- messages ----------------------------------------------------------------- */

struct message *message_create(const struct reply *r, struct blob *channel,
			       struct bytes payload)
{
	size_t size = sizeof(struct message) + sizeof(struct blob) +
		      channel->size + payload.size;
	struct message *message = NULL;

	if (r->count(r->owner, (int64_t)size))
		message = malloc(sizeof(*message));
	if (message)
		message->payload = blob_create(payload.size);
	if (!message || !message->payload) {
		r->count(r->owner, -(int64_t)size);
		free(message);
		return NULL;
	}
	memcpy(message->payload->data, payload.data, payload.size);
	message->payload->size = payload.size;
	message->channel = channel;
	blob_take(channel);
	message->references = 1;
	message->count = r->count;
	message->owner = r->owner;
	message->counted = size;
	return message;
}

void message_drop(struct message *message)
{
	/* Release: the uses of this owner come before the free() of another one. Acquire:
	 * the uses of the others come before this free(). Pairs with itself. */
	if (__atomic_fetch_sub(&message->references, 1, __ATOMIC_ACQ_REL) != 1)
		return;
	message->count(message->owner, -(int64_t)message->counted);
	blob_drop(message->payload);
	blob_drop(message->channel);
	free(message);
}

/* ---- mailboxes ---------------------------------------------------------------- */

/* The bytes of a letter, about as many as of its reply. */
static uint64_t letter_bytes(const struct letter *letter)
{
	return sizeof(*letter) + 32 + letter->message->channel->size +
	       letter->message->payload->size +
	       (letter->pattern ? letter->pattern->size : 0);
}

uint64_t mail_post(struct mailbox *mailbox, struct message *message,
		   struct blob *pattern)
{
	struct letter *letter = malloc(sizeof(*letter)), *before;
	uint64_t bytes;

	if (!letter)
		return 0;
	/* Relaxed: the caller has a reference. */
	__atomic_fetch_add(&message->references, 1, __ATOMIC_RELAXED);
	if (pattern)
		blob_take(pattern);
	/* The result does not matter: over the limit, message_create() refuses messages. */
	message->count(message->owner, LETTER);
	*letter = (struct letter){ NULL, message, pattern };
	/* Relaxed: the sum orders no other access. */
	bytes = __atomic_add_fetch(&mailbox->bytes, letter_bytes(letter),
				   __ATOMIC_RELAXED);
	/* Relaxed: the older letters are not read. */
	before = __atomic_load_n(&mailbox->newest, __ATOMIC_RELAXED);
	/* Release: publishes the letter. Pairs with take(). Only the subscriber can interfere:
	 * it has then taken all letters, and the second round succeeds. */
	do {
		letter->next = before;
	} while (!__atomic_compare_exchange_n(&mailbox->newest, &before, letter,
					      false, __ATOMIC_RELEASE,
					      __ATOMIC_RELAXED));
	if (!before)
		skua_notify_one(&mailbox->notify);
	return bytes;
}

bool mail_waits(const struct mailbox *mailbox)
{
	/* Relaxed: the publisher notifies the subscriber of a letter that is missed here. */
	return mailbox->oldest ||
	       __atomic_load_n(&mailbox->newest, __ATOMIC_RELAXED);
}

/* If no letter is left of those that were taken, take all that have come, and reverse their
 * order. Return: the oldest letter; NULL: there is none. */
static struct letter *take(struct mailbox *mailbox)
{
	struct letter *letter, *next;

	if (mailbox->oldest)
		return mailbox->oldest;
	/* Acquire: the contents of the letters. Pairs with mail_post(). */
	letter = __atomic_exchange_n(&mailbox->newest, NULL, __ATOMIC_ACQUIRE);
	for (; letter; letter = next) {
		next = letter->next;
		letter->next = mailbox->oldest;
		mailbox->oldest = letter;
	}
	return mailbox->oldest;
}

static void write_letter(struct reply *r, const struct letter *letter)
{
	const struct message *message = letter->message;

	reply_push(r, letter->pattern ? 4 : 3);
	if (letter->pattern) {
		reply_text(r, "pmessage");
		reply_bulk(r, letter->pattern->data, letter->pattern->size);
	} else {
		reply_text(r, "message");
	}
	reply_bulk(r, message->channel->data, message->channel->size);
	if (message->payload->size > COPIED)
		reply_blob(r, message->payload);
	else
		reply_bulk(r, message->payload->data, message->payload->size);
}

/* Free the letter that was taken first. */
static void drop_letter(struct mailbox *mailbox)
{
	struct letter *letter = mailbox->oldest;

	mailbox->oldest = letter->next;
	/* Relaxed: the sum orders no other access. */
	__atomic_fetch_sub(&mailbox->bytes, letter_bytes(letter),
			   __ATOMIC_RELAXED);
	letter->message->count(letter->message->owner, -LETTER);
	message_drop(letter->message);
	if (letter->pattern)
		blob_drop(letter->pattern);
	free(letter);
}

void mail_write(struct mailbox *mailbox, struct reply *r, size_t most)
{
	while (r->waiting < most && !r->failed && take(mailbox)) {
		write_letter(r, mailbox->oldest);
		drop_letter(mailbox);
	}
}

void mail_free(struct mailbox *mailbox)
{
	while (take(mailbox))
		drop_letter(mailbox);
}
