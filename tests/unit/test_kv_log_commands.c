/* SPDX-License-Identifier: MIT */
/* test_kv_log_commands.c - commands of skua-kv that find no memory, or expired keys, and their
 * log */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/unit/kv_log_commands.h"

EACH_TEST(log_begin, log_end);
ALL_TESTS(begin_all, NULL);

/* ---- memory ----------------------------------------------------------------------- */

/* So many calls of this thread succeed, and the next one fails; negative: all succeed. */
static _Thread_local int mallocs = -1;

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);

void *__wrap_malloc(size_t size)
{
	if (mallocs >= 0 && !mallocs--)
		return NULL;
	return __real_malloc(size);
}

/* ---- commands that find no memory ---------------------------------------------------- */

/* The reply is an error, the log is lost, and has only the record before. */
static void expect_lost(void)
{
	mallocs = -1;
	assert_memory_equal(session.reply.data + session.reply.used - 2, "\r\n",
			    2);
	session.reply.data[session.reply.used - 2] = '\0';
	assert_non_null(strstr(session.reply.data, "-OOM"));
	assert_int_equal(log_error(&server_log), -ENOMEM);
	command("GET one");
	assert_int_equal(store_count(server.store), 2);
	assert_int_equal(log_stop(&server_log), -ENOMEM);
	end_commands();
	open_log(LOG_EVERYSEC);
	assert_true(replayed <= 1);
	assert_int_equal(log_stop(&server_log), 0);
}

/* A replay would do the whole command. */
TEST(command__that_is_half_done__is_a_lost_record)
{
	begin_commands(LOG_EVERYSEC);
	command("SET zero 0");
	mallocs = 1;
	command("MSET one 1 two 2");
	expect_lost();
}

TEST(transaction__with_a_command_that_is_half_done__is_a_lost_record)
{
	begin_commands(LOG_EVERYSEC);
	command("SET zero 0");
	command("MULTI");
	command("MSET one 1 two 2");
	mallocs = 1;
	command("EXEC");
	expect_lost();
}

/* A command that has found no memory, and has changed nothing, loses nothing. */
TEST(command__that_does_nothing_without_memory__is_no_record)
{
	begin_commands(LOG_EVERYSEC);
	command("SET zero 0");
	mallocs = 0;
	command("SET one 1");
	mallocs = -1;
	assert_int_equal(log_error(&server_log), 0);
	assert_int_equal(log_stop(&server_log), 0);
	end_commands();
	open_log(LOG_EVERYSEC);
	assert_int_equal(replayed, 1);
	assert_int_equal(log_stop(&server_log), 0);
}

/* The old value is in the replies: an error after it would be the reply to the next command. */
TEST(set_get__without_memory__fails_the_replies)
{
	begin_commands(LOG_EVERYSEC);
	mallocs = 0;
	command("SET one 1 GET");
	mallocs = -1;
	assert_true(session.reply.failed);
	assert_int_equal(log_error(&server_log), 0);
	assert_int_equal(log_stop(&server_log), 0);
	end_commands();
}

/* ---- expiry ------------------------------------------------------------------------ */

/* Their records take more than two times LOG_BEHIND. */
#define KEYS     300
#define KEY_SIZE 60000u

/* Run GET or SET for a long key. */
static void command_on(const char *name, unsigned i, size_t argc)
{
	static char key[KEY_SIZE];
	struct bytes argv[] = { { name, 3 },
				{ key, KEY_SIZE },
				{ "value", 5 },
				{ "PX", 2 },
				{ "1", 1 } };

	snprintf(key, sizeof(key), "%05u", i);
	session.clock.now_ms = 0;
	command_run(&session, argc, argv, NULL);
	assert_false(session.reply.failed);
}

static void *get_all(void *arg)
{
	for (unsigned i = 0; i < KEYS; i++)
		command_on("GET", i, 2);
	return arg;
}

static void *sweep_all(void *arg)
{
	struct garbage garbage = { NULL, NULL };

	for (unsigned i = 0; i < STORE_STRIPES; i++)
		while (logged_sweep(&server, &server.store->stripes[i],
				    &garbage) ||
		       garbage_free(&garbage))
			;
	return arg;
}

static uint64_t waiting_bytes(void)
{
	/* Relaxed: both stand still, or are read again. In this order, the difference may
	 * be too small, but not less than 0. */
	uint64_t taken = READ(server_log.taken);

	return log_added(&server_log) - taken;
}

static void until_all_are_taken(void)
{
	while (waiting_bytes())
		skua_sleep_until(skua_now_ns() + 1000000);
}

/* Keys expire while the disk writes nothing. @expire: finds all of them */
static void expire_on_a_stuck_disk(void *(*expire)(void *arg))
{
	pthread_t thread;
	uint64_t most = 0;

	begin_commands(LOG_EVERYSEC);
	for (unsigned i = 0; i < KEYS; i++)
		command_on("SET", i, 5);
	until_all_are_taken();
	WRITE(stuck, 1);
	command("SET one 1");
	skua_sleep_until(skua_now_ns() + 2000000); /* the last key expires */
	assert_int_equal(pthread_create(&thread, NULL, expire, NULL), 0);
	while (!log_is_behind(&server_log))
		skua_sleep_until(skua_now_ns() + 1000000);
	for (unsigned i = 0; i < 50; i++) {
		most = waiting_bytes();
		skua_sleep_until(skua_now_ns() + 1000000);
	}
	WRITE(stuck, 0);
	pthread_join(thread, NULL);
	assert_int_equal(log_stop(&server_log), 0);
	assert_int_equal(store_count(server.store), 1);
	end_commands();
	open_log(LOG_EVERYSEC);
	assert_int_equal(log_stop(&server_log), 0);
	assert_int_equal(replayed, 2 * KEYS + 1);
	assert_true(most < LOG_BEHIND + 3 * KEY_SIZE);
}

TEST(reads__that_find_expired_keys__wait_for_room)
{
	expire_on_a_stuck_disk(get_all);
}

TEST(sweeps__of_expired_keys__wait_for_room)
{
	expire_on_a_stuck_disk(sweep_all);
}
