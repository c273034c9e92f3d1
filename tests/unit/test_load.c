/* SPDX-License-Identifier: MIT */
/* test_load.c - requests, replies, times and connections of skua-load */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench/load/connection.h"
#include "bench/load/reply.h"
#include "bench/load/requests.h"
#include "bench/load/schedule.h"
#include "bench/load/tally.h"
#include "tests/unit/unit.h"

/* ---- schedule --------------------------------------------------------------------- */

TEST(schedule_next__many__mean_and_variance_of_exponential_gaps)
{
	enum { COUNT = 200000 };
	struct schedule schedule;
	uint64_t before = 1000;
	double sum = 0, squares = 0;

	schedule_start(&schedule, 7, 1e5, before);
	for (unsigned i = 0; i < COUNT; i++) {
		uint64_t now = schedule_next(&schedule);
		double gap = (double)(now - before) / 1e4;

		assert_true(now >= before);
		sum += gap;
		squares += gap * gap;
		before = now;
	}
	/* 1 and 2, with standard errors of 0.0022 and 0.01. */
	assert_true(sum / COUNT > 0.99 && sum / COUNT < 1.01);
	assert_true(squares / COUNT > 1.94 && squares / COUNT < 2.06);
}

TEST(schedule_next__same_seed__same_times)
{
	struct schedule a, b, other;
	unsigned same = 0;

	schedule_start(&a, 7, 1000, 0);
	schedule_start(&b, 7, 1000, 0);
	schedule_start(&other, 8, 1000, 0);
	for (unsigned i = 0; i < 1000; i++) {
		uint64_t now = schedule_next(&a);

		assert_int_equal(schedule_next(&b), now);
		same += schedule_next(&other) == now;
	}
	assert_in_range(same, 0, 10);
}

TEST(random_below__any__below_and_even)
{
	struct random random = { 3 };
	unsigned count[7] = { 0 };

	for (unsigned i = 0; i < 70000; i++) {
		uint64_t value = random_below(&random, 7);

		assert_in_range(value, 0, 6);
		count[value]++;
	}
	for (unsigned i = 0; i < 7; i++)
		assert_in_range(count[i], 9500, 10500);
}

/* ---- replies ---------------------------------------------------------------------- */

#define PARTS_MAX 8

/* Read all replies of a text that comes in two pieces. Return: their number; -EPROTO. */
static int read_all(const char *text, size_t size, size_t cut,
		    struct reply *replies)
{
	static struct reply_reader reader;
	size_t ends[] = { cut, size }, at = 0;
	int count = 0, got = 0;

	memset(&reader, 0, sizeof(reader));
	for (unsigned i = 0; i < 2; i++) {
		const char *data = text + at;
		size_t left = ends[i] - at;

		while ((got = reply_read(&reader, &data, &left,
					 &replies[count])) > 0)
			if (++count == PARTS_MAX)
				return count;
		if (got < 0)
			return got;
		assert_int_equal(left, 0);
		at = ends[i];
	}
	return count;
}

TEST(reply_read__cut_anywhere__same_replies)
{
	static const char text[] = "+OK\r\n$5\r\na\r\nbc\r\n:-12\r\n$-1\r\n"
				   "$0\r\n\r\n-ERR no\r\n";
	static const enum reply_kind kinds[] = { REPLY_STATUS,  REPLY_BULK,
						 REPLY_INTEGER, REPLY_NIL,
						 REPLY_BULK,    REPLY_ERROR };
	struct reply replies[PARTS_MAX];

	for (size_t cut = 0; cut < sizeof(text); cut++) {
		assert_int_equal(read_all(text, sizeof(text) - 1, cut, replies),
				 6);
		for (unsigned i = 0; i < 6; i++)
			assert_int_equal(replies[i].kind, kinds[i]);
		assert_int_equal(replies[5].size, 6);
		assert_memory_equal(replies[5].text, "ERR no", 6);
	}
}

TEST(reply_read__outermost_integers__accepted)
{
	static const char text[] = ":-9223372036854775808\r\n"
				   ":9223372036854775807\r\n";
	struct reply replies[PARTS_MAX];

	assert_int_equal(read_all(text, sizeof(text) - 1, 0, replies), 2);
	assert_int_equal(replies[0].kind, REPLY_INTEGER);
	assert_int_equal(replies[1].kind, REPLY_INTEGER);
}

TEST(reply_read__malformed__EPROTO_wherever_it_is_cut)
{
	static const char *const texts[] = {
		"hello\r\n",
		"\r\n",
		"\n",
		"*0\r\n",
		"+OK\n",
		":\r\n",
		":1a\r\n",
		":-\r\n",
		"$\r\n",
		"$-2\r\n",
		"$2\r\nabc",
		"$0\r\n+",
		"$0\r\n\rx",
		"_\r\n",
		"$536870913\r\n",
		":99999999999999999999\r\n",
		":9223372036854775808\r\n",
		":-9223372036854775809\r\n",
	};
	struct reply replies[PARTS_MAX];

	for (unsigned i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		size_t size = strlen(texts[i]);

		for (size_t cut = 0; cut <= size; cut++)
			assert_int_equal(read_all(texts[i], size, cut, replies),
					 -EPROTO);
	}
}

TEST(reply_read__endless_line__EPROTO)
{
	static char text[3 * REPLY_LINE_MAX];
	struct reply replies[PARTS_MAX];

	memset(text, '+', sizeof(text));
	for (size_t cut = 0; cut <= sizeof(text); cut++)
		assert_int_equal(read_all(text, sizeof(text), cut, replies),
				 -EPROTO);
}

/* ---- requests --------------------------------------------------------------------- */

static const struct request_mix mix_of_all = {
	.parts = { 5, 3, 1, 1 },
	.keys = 100,
	.value_size = 10,
	.seed = 1,
	.batch = 7,
};

/* The word @i of a request. */
static const char *word(const char *request, unsigned i, long *size)
{
	char *at;
	long count = strtol(request + 1, &at, 10);

	assert_int_equal(request[0], '*');
	assert_true(i < (unsigned)count);
	for (;;) {
		assert_int_equal(at[2], '$');
		*size = strtol(at + 3, &at, 10);
		assert_memory_equal(at, "\r\n", 2);
		if (!i--)
			return at + 2;
		at += 2 + *size;
	}
}

TEST(requests_make__mix__each_is_what_it_says)
{
	struct requests requests;
	unsigned count[REQUEST_KINDS] = { 0 };
	uint32_t all;
	long size;

	assert_int_equal(requests_make(&requests, &mix_of_all), 0);
	all = requests.batches * requests.batch;
	for (uint32_t i = 0; i < all; i++) {
		unsigned kind = requests.kind[i];
		const char *request = requests.bytes + requests.at[i];
		const char *name = word(request, 0, &size);

		count[kind]++;
		assert_int_equal(size, strlen(request_names[kind]));
		assert_memory_equal(name, request_names[kind], (size_t)size);
		if (kind == REQUEST_SET)
			assert_memory_equal(word(request, 2, &size) + 10,
					    "\r\n", 2);
		assert_memory_equal(requests.bytes + requests.at[i + 1] - 2,
				    "\r\n", 2);
	}
	for (unsigned kind = 0; kind < REQUEST_KINDS; kind++)
		assert_in_range(count[kind],
				all * mix_of_all.parts[kind] / 10 - all / 50,
				all * mix_of_all.parts[kind] / 10 + all / 50);
	requests_free(&requests);
}

TEST(requests_make__large_values__one_batch_at_least)
{
	struct request_mix mix = mix_of_all;
	struct requests requests;

	mix.value_size = UINT64_C(5) << 20;
	mix.batch = 12;
	assert_int_equal(requests_make(&requests, &mix), 0);
	assert_true(requests.batches >= 1);
	assert_true(requests.batches * requests.batch < 40);
	requests_free(&requests);
}

/* Count the different keys of SET. */
static unsigned different_keys(const struct requests *requests)
{
	unsigned all = requests->batches * requests->batch, count = 0;
	long size;

	for (unsigned i = 0, j; i < all; i++) {
		const char *key =
			word(requests->bytes + requests->at[i], 1, &size);

		for (j = 0; j < i; j++)
			if (!memcmp(key,
				    word(requests->bytes + requests->at[j], 1,
					 &size),
				    16))
				break;
		count += j == i;
	}
	return count;
}

TEST(requests_make__too_large_for_all_keys__says_how_many)
{
	struct request_mix mix = { .parts = { 0, 1, 0, 0 },
				   .keys = 200,
				   .value_size = UINT64_C(1) << 20,
				   .seed = 1,
				   .batch = 1 };
	struct requests requests;

	assert_int_equal(requests_make(&requests, &mix), 0);
	assert_in_range(requests.keys, 50, 127);
	assert_int_equal(requests.keys, different_keys(&requests));
	requests_free(&requests);
	mix.keys = 60;
	assert_int_equal(requests_make(&requests, &mix), 0);
	assert_int_equal(requests.keys, 0);
	requests_free(&requests);
}

TEST(requests_make_all__keys__each_once_in_order)
{
	struct requests requests;
	long size;

	assert_int_equal(requests_make_all(&requests, &mix_of_all), 0);
	assert_int_equal(requests.batches, 15); /* 100 keys in batches of 7 */
	for (uint32_t i = 0; i < 105; i++) {
		const char *key =
			word(requests.bytes + requests.at[i], 1, &size);

		assert_int_equal(strtoul(key + 4, NULL, 10), i % 100);
	}
	requests_free(&requests);
}

/* ---- connections ------------------------------------------------------------------ */

TEST(connection_send__socket_is_full__rest_later_in_order)
{
	struct request_mix mix = mix_of_all;
	struct connection connection = { .mask = 15 };
	struct requests requests;
	static char got[1 << 16];
	size_t at = 0, total = 0;
	int fds[2], code = 0;
	uint32_t pushed = 0;

	mix.value_size = 3000;
	assert_int_equal(requests_make(&requests, &mix), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	fcntl(fds[1], F_SETFL, O_NONBLOCK);
	connection.fd = fds[0];
	connection.ring = malloc(16 * sizeof(*connection.ring));
	while (!code) {
		assert_int_equal(connection_push(&connection, pushed,
						 pushed * mix.batch),
				 0);
		pushed++;
		code = connection_send(&connection, &requests);
	}
	assert_int_equal(code, -EAGAIN);
	for (unsigned i = 0; i < 100; i++, pushed++)
		assert_int_equal(connection_push(&connection, pushed,
						 pushed * mix.batch),
				 0);
	total = requests.at[pushed * mix.batch];
	while (at < total) {
		ssize_t n = read(fds[1], got, sizeof(got));

		if (n < 0) {
			code = connection_send(&connection, &requests);
			assert_true(code == 0 || code == -EAGAIN);
			continue;
		}
		assert_memory_equal(got, requests.bytes + at, (size_t)n);
		at += (size_t)n;
	}
	assert_int_equal(connection_send(&connection, &requests), 0);
	for (uint32_t i = 0; i < pushed; i++, connection.head++)
		assert_int_equal(connection_oldest(&connection)->intended_ns,
				 i);
	assert_null(connection_oldest(&connection));
	connection_free(&connection);
	close(fds[1]);
	requests_free(&requests);
}

/* ---- tally ------------------------------------------------------------------------ */

static struct tally tally;

static void count(enum request_kind kind, enum reply_kind reply,
		  const char *text)
{
	struct reply got = { reply, text, strlen(text) };

	tally_reply(&tally, kind, &got);
}

TEST(tally_reply__right_and_wrong__counted_by_name)
{
	memset(&tally, 0, sizeof(tally));
	count(REQUEST_GET, REPLY_BULK, "");
	count(REQUEST_GET, REPLY_NIL, "");
	count(REQUEST_SET, REPLY_STATUS, "OK");
	count(REQUEST_INCR, REPLY_INTEGER, "1");
	count(REQUEST_PING, REPLY_STATUS, "PONG");
	assert_int_equal(tally_failed(&tally), 0);
	assert_int_equal(tally.nils, 1);
	count(REQUEST_GET, REPLY_STATUS, "OK");
	count(REQUEST_SET, REPLY_STATUS, "QUEUED");
	count(REQUEST_SET, REPLY_ERROR, "OOM no\x1bmemory");
	count(REQUEST_SET, REPLY_ERROR, "OOM again");
	assert_int_equal(tally_failed(&tally), 4);
	assert_int_equal(tally.errors, 3);
	assert_string_equal(tally.error[0].name, "wrong reply to GET");
	assert_string_equal(tally.error[2].name, "OOM");
	assert_string_equal(tally.error[2].line, "OOM no?memory");
	assert_int_equal(tally.error[2].count, 2);
}

TEST(tally_error__many_names__last_place_counts_the_others)
{
	char name[16];

	memset(&tally, 0, sizeof(tally));
	for (unsigned i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "E%u", i);
		count(REQUEST_GET, REPLY_ERROR, name);
	}
	assert_int_equal(tally.errors, TALLY_ERRORS);
	assert_int_equal(tally_failed(&tally), 100);
	assert_string_equal(tally.error[TALLY_ERRORS - 1].name, "other errors");
}
