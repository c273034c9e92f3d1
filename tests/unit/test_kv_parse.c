/* SPDX-License-Identifier: MIT */
/* test_kv_parse.c - the parser of skua-kv: commands, inline commands, errors, numbers */
#include <stdio.h>
#include <stdlib.h>

#include "bench/kv/resp/parse.h"
#include "tests/unit/unit.h"

static struct resp_parser p;
static struct resp_limits limits;
static char data[200000];
static size_t size;

static int fresh(void **state)
{
	(void)state;
	resp_parser_free(&p);
	memset(&p, 0, sizeof(p));
	limits = (struct resp_limits){ 1000, 100, false };
	size = 0;
	return 0;
}

EACH_TEST(fresh, fresh);

static void add(const char *text)
{
	memcpy(data + size, text, strlen(text));
	size += strlen(text);
}

static enum resp_result parse(const char *text)
{
	fresh(NULL);
	add(text);
	return resp_parse(&p, data, size, &limits);
}

static void expect_args(size_t count, const char *const *args)
{
	assert_int_equal(p.argc, count);
	for (size_t i = 0; i < count; i++)
		assert_true(bytes_equal(
			p.argv[i], (struct bytes){ args[i], strlen(args[i]) }));
}

#define EXPECT_ARGS(...)                                                      \
	expect_args(sizeof((const char *[]){ __VA_ARGS__ }) / sizeof(char *), \
		    (const char *[]){ __VA_ARGS__ })

TEST(resp_parse__array__arguments)
{
	assert_int_equal(parse("*2\r\n$3\r\nGET\r\n$1\r\nk\r\n"), RESP_COMMAND);
	EXPECT_ARGS("GET", "k");
	assert_int_equal(p.used, size);
}

TEST(resp_parse__several__one_by_one)
{
	size_t at;

	assert_int_equal(
		parse("*1\r\n$4\r\nPING\r\nGET k\r\n*0\r\n*1\r\n$1\r\n"),
		RESP_COMMAND);
	EXPECT_ARGS("PING");
	at = p.used;
	assert_int_equal(resp_parse(&p, data + at, size - at, &limits),
			 RESP_COMMAND);
	EXPECT_ARGS("GET", "k");
	at += p.used;
	assert_int_equal(resp_parse(&p, data + at, size - at, &limits),
			 RESP_COMMAND);
	assert_int_equal(p.argc, 0);
	at += p.used;
	assert_int_equal(resp_parse(&p, data + at, size - at, &limits),
			 RESP_MORE);
}

/* Each byte comes alone, in a buffer that moves each time. */
TEST(resp_parse__byte_by_byte__same_arguments)
{
	static const char text[] =
		"*3\r\n$3\r\nSET\r\n$12\r\nabcdefghijkl\r\n$0\r\n\r\n";

	for (size_t i = 1; i < sizeof(text) - 1; i++) {
		char *moved = malloc(i);

		memcpy(moved, text, i);
		assert_int_equal(resp_parse(&p, moved, i, &limits), RESP_MORE);
		assert_true(p.need > i);
		free(moved);
	}
	add(text);
	assert_int_equal(resp_parse(&p, data, size, &limits), RESP_COMMAND);
	EXPECT_ARGS("SET", "abcdefghijkl", "");
}

TEST(resp_parse__line_byte_by_byte__same_words)
{
	static const char text[] = " set  'a b' \"\\x41\\n\" x\r\n";

	for (size_t i = 1; i < sizeof(text) - 1; i++) {
		memcpy(data, text, i);
		assert_int_equal(resp_parse(&p, data, i, &limits), RESP_MORE);
	}
	add(text);
	assert_int_equal(resp_parse(&p, data, size, &limits), RESP_COMMAND);
	EXPECT_ARGS("set", "a b", "A\n", "x");
}

static void refused(const char *text, const char *error)
{
	assert_int_equal(parse(text), RESP_ERROR);
	assert_string_equal(p.error, error);
}

TEST(resp_parse__malformed__errors_of_redis)
{
	refused("*x\r\n", "invalid multibulk length");
	refused("*101\r\n", "invalid multibulk length");
	refused("*01\r\n", "invalid multibulk length");
	refused("*1\r\n:3\r\n", "expected '$', got ':'");
	refused("*1\r\n$-1\r\n", "invalid bulk length");
	refused("*1\r\n$1001\r\n", "invalid bulk length");
	refused("*1\r\n$x\r\n", "invalid bulk length");
	refused("set 'a\r\n", "unbalanced quotes in request");
	refused("set \"a\"b\r\n", "unbalanced quotes in request");
}

/* Sizes of one digit, of two, and of more are read in different ways. */
TEST(resp_parse__sizes__read_at_once_and_byte_by_byte)
{
	static const char value[1000];

	for (size_t bytes = 0; bytes < sizeof(value); bytes++) {
		fresh(NULL);
		size = (size_t)sprintf(data, "*1\r\n$%zu\r\n", bytes);
		for (size_t i = 1; i <= size; i++)
			assert_int_equal(resp_parse(&p, data, i, &limits),
					 RESP_MORE);
		assert_int_equal(p.need, size + bytes + 2);
		memcpy(data + size, value, bytes);
		memcpy(data + size + bytes, "\r\n", 2);
		size += bytes + 2;
		p.at = 0;
		assert_int_equal(resp_parse(&p, data, size, &limits),
				 RESP_COMMAND);
		assert_int_equal(p.used, size);
		assert_int_equal(p.argv[0].size, bytes);
	}
	refused("*1\r\n$05\r\n", "invalid bulk length");
	refused("*1\r\n$5x\r\n", "invalid bulk length");
	refused("*1\r\n$55x\r\n", "invalid bulk length");
}

TEST(resp_parse__at_the_limits__accepted)
{
	assert_int_equal(parse("*100\r\n"), RESP_MORE);
	assert_int_equal(parse("*1\r\n$1000\r\n"), RESP_MORE);
	assert_int_equal(p.need, 4 + 7 + 1000 + 2);
}

static void long_line(char first, const char *error)
{
	fresh(NULL);
	memset(data, '1', RESP_MAX_LINE + 1);
	data[0] = first;
	assert_int_equal(resp_parse(&p, data, RESP_MAX_LINE, &limits),
			 RESP_MORE);
	assert_int_equal(resp_parse(&p, data, RESP_MAX_LINE + 1, &limits),
			 RESP_ERROR);
	assert_string_equal(p.error, error);
}

TEST(resp_parse__line_without_end__refused)
{
	long_line('*', "too big mbulk count string");
	long_line('x', "too big inline request");
}

TEST(resp_parse__without_password__small_commands_only)
{
	limits.anonymous = true;
	add("*11\r\n");
	assert_int_equal(resp_parse(&p, data, size, &limits), RESP_ERROR);
	assert_string_equal(p.error, "unauthenticated multibulk length");
	fresh(NULL);
	limits = (struct resp_limits){ 100000, 100, true };
	add("*10\r\n$16385\r\n");
	assert_int_equal(resp_parse(&p, data, size, &limits), RESP_ERROR);
	assert_string_equal(p.error, "unauthenticated bulk length");
}

/* The memory grows with the arguments that have come. */
TEST(resp_parse__many_announced__little_memory)
{
	limits.args = 1000000;
	add("*1000000\r\n$1\r\na\r\n");
	assert_int_equal(resp_parse(&p, data, size, &limits), RESP_MORE);
	assert_true(p.room < 100);
}

/* ---- numbers -------------------------------------------------------------------- */

static bool number(const char *text, int64_t *out)
{
	return number_parse((struct bytes){ text, strlen(text) }, out);
}

TEST(number_parse__its_own_text__same_number)
{
	const int64_t numbers[] = { 0,         1,         -1,        9,
				    10,        -10,       INT64_MAX, INT64_MIN,
				    123456789, 1000000000 };

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		char text[NUMBER_ROOM];
		int64_t got = 7;
		size_t length = number_format(text, numbers[i]);

		assert_true(number_parse((struct bytes){ text, length }, &got));
		assert_true(got == numbers[i]);
	}
}

TEST(number_parse__other_texts__refused)
{
	static const char *const texts[] = { "",
					     "-",
					     "+1",
					     "01",
					     "-0",
					     "-01",
					     " 1",
					     "1 ",
					     "1.0",
					     "0x1",
					     "1e3",
					     "--1",
					     "/",
					     ":",
					     "9223372036854775808",
					     "-9223372036854775809",
					     "99999999999999999999" };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		int64_t got = 7;

		assert_false(number(texts[i], &got));
		assert_int_equal(got, 7);
	}
}
