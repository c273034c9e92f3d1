/* SPDX-License-Identifier: MIT */
/* test_kv_mail.c - the mailboxes of subscribers of skua-kv, and the names of channels */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/kv/server/mail.h"
#include "bench/kv/server/names.h"
#include "tests/unit/unit.h"

#define NAMES 300

static int64_t counted;
static bool full;

static bool count(void *owner, int64_t change)
{
	assert_ptr_equal(owner, &counted);
	counted += change;
	return !full;
}

static struct reply reply;
static struct mailbox mailbox;
static struct blob *channel;

static int begin(void **state)
{
	(void)state;
	reply = (struct reply){ .version = 2,
				.count = count,
				.owner = &counted };
	channel = blob_create(4);
	if (!channel)
		return -1;
	memcpy(channel->data, "news", 4);
	channel->size = 4;
	full = false;
	return 0;
}

/* After each test, all memory is given back. */
static int end(void **state)
{
	(void)state;
	mail_free(&mailbox);
	reply_free(&reply);
	assert_int_equal(counted, 0);
	assert_int_equal(mailbox.bytes, 0);
	assert_int_equal(channel->references, 1);
	blob_drop(channel);
	return 0;
}

EACH_TEST(begin, end);

static uint64_t post(const char *text, struct blob *pattern)
{
	struct message *message = message_create(
		&reply, channel, (struct bytes){ text, strlen(text) });
	uint64_t bytes = mail_post(&mailbox, message, pattern);

	message_drop(message);
	return bytes;
}

static void expect(const char *text)
{
	assert_int_equal(reply.used, strlen(text));
	assert_memory_equal(reply.data, text, strlen(text));
	reply_sent(&reply);
}

#define MESSAGE "$7\r\nmessage\r\n$4\r\nnews\r\n$1\r\n"

TEST(mail__some_letters__in_order)
{
	uint64_t one = post("1", NULL);

	assert_int_equal(post("2", NULL), 2 * one);
	assert_true(mail_waits(&mailbox));
	mail_write(&mailbox, &reply, 1); /* takes both, writes one */
	expect("*3\r\n" MESSAGE "1\r\n");
	assert_int_equal(mailbox.bytes, one);
	post("3", NULL);
	mail_write(&mailbox, &reply, SIZE_MAX);
	expect("*3\r\n" MESSAGE "2\r\n*3\r\n" MESSAGE "3\r\n");
	assert_false(mail_waits(&mailbox));
	reply.version = 3;
	post("4", channel);
	mail_write(&mailbox, &reply, SIZE_MAX);
	expect(">4\r\n$8\r\npmessage\r\n$4\r\nnews\r\n$4\r\nnews\r\n$1\r\n4\r\n");
}

/* The first letter of an empty mailbox notifies, and no other does. */
TEST(mail_post__empty_mailbox__notified)
{
	post("1", NULL);
	assert_int_equal(skua_notify_wait(&mailbox.notify, 0), 0);
	post("2", NULL);
	assert_int_equal(skua_notify_wait(&mailbox.notify, 0), -ETIMEDOUT);
	mail_write(&mailbox, &reply, SIZE_MAX);
	post("3", NULL);
	assert_int_equal(skua_notify_wait(&mailbox.notify, 0), 0);
}

/* A large message is there once, for all letters and replies. */
TEST(mail_write__large_message__shared)
{
	static char text[20001];
	struct message *message;

	memset(text, 'x', sizeof(text) - 1);
	message = message_create(&reply, channel,
				 (struct bytes){ text, sizeof(text) - 1 });
	for (int i = 0; i < 10; i++)
		mail_post(&mailbox, message, NULL);
	assert_true(counted < 22000);
	mail_write(&mailbox, &reply, SIZE_MAX);
	assert_int_equal(reply.marked, 10);
	assert_ptr_equal(reply.marks[0].blob, message->payload);
	assert_true(reply.room < 8192);
	message_drop(message);
}

/* CLIENT LIST of no client. A sanitizer tells of a copy from NULL. */
TEST(reply_verbatim__no_bytes__empty_text)
{
	reply.version = 3;
	reply_verbatim(&reply, NULL, 0);
	expect("=4\r\ntxt:\r\n");
}

TEST(message_create__too_much_memory__refused)
{
	full = true;
	assert_null(message_create(&reply, channel, (struct bytes){ "x", 1 }));
}

/* Each name is found while others come and go. */
TEST(names__many__found)
{
	static struct name all[NAMES];
	static char texts[NAMES][8];
	struct names names = { NULL, 0, 0 };
	size_t visited = 0;

	for (unsigned i = 0; i < NAMES; i++) {
		snprintf(texts[i], sizeof(texts[i]), "%u", i);
		all[i].bytes = (struct bytes){ texts[i], strlen(texts[i]) };
		all[i].hash = i / 2; /* some are the same */
		assert_null(names_find(&names, i / 2, all[i].bytes));
		assert_true(names_add(&names, &all[i]));
	}
	for (struct name *name = names_next(&names, NULL); name;
	     name = names_next(&names, name))
		visited++;
	assert_int_equal(visited, NAMES);
	for (unsigned i = 0; i < NAMES; i++) {
		assert_ptr_equal(names_find(&names, i / 2, all[i].bytes),
				 &all[i]);
		names_remove(&names, &all[i]);
		assert_null(names_find(&names, i / 2, all[i].bytes));
		/* A table that was once large does not stay so. */
		assert_true(names.size <= 8 || names.size <= 8 * names.count);
	}
	assert_null(names.buckets);
}

/* Add names, four of each hash. */
static void add_many(struct names *names, struct name *all, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		all[i] = (struct name){ .hash = i / 4 };
		assert_true(names_add(names, &all[i]));
	}
}

/* The loop of pubsub_end(): a table becomes smaller while its names are removed. Return: how
 * often the loop has begun at the first bucket. */
static unsigned remove_all(struct names *names, unsigned count)
{
	struct name *name = names_next(names, NULL), *next;
	unsigned rounds = 1, removed = 0;

	for (; name; name = next) {
		next = names_next(names, name);
		names_remove(names, name);
		removed++;
		if (!next && names->count) {
			next = names_next(names, NULL);
			rounds++;
		}
	}
	assert_int_equal(removed, count);
	assert_null(names->buckets);
	return rounds;
}

TEST(names_remove__while_visited__each_once_in_few_rounds)
{
	static struct name all[NAMES];
	struct names names = { NULL, 0, 0 };
	unsigned most = 0;

	for (unsigned count = 1; count <= NAMES; count++) {
		unsigned rounds;

		add_many(&names, all, count);
		rounds = remove_all(&names, count);
		if (rounds > most)
			most = rounds;
	}
	/* 1: no table was made smaller within a bucket, and the test shows nothing. */
	assert_in_range(most, 2, 8);
}
