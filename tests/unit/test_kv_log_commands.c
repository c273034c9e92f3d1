/* SPDX-License-Identifier: MIT */
/* test_kv_log_commands.c - commands of skua-kv, and their log on disks and memory that fail */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/kv/commands/command.h"
#include "bench/kv/commands/logged.h"
#include "tests/unit/kv_log_writer.h"

EACH_TEST(log_begin, log_end);

static int begin_all(void **state)
{
	(void)state;
	commands_init();
	return 0;
}

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

static struct server server;
static struct session session;

static void begin_session(struct session *it)
{
	memset(it, 0, sizeof(*it));
	it->server = &server;
	it->authenticated = true;
	it->reply.version = 2;
}

static void begin_commands_in(enum log_mode mode)
{
	open_log(mode);
	memset(&server, 0, sizeof(server));
	settings_init(&server.settings);
	server.store = store_create();
	assert_non_null(server.store);
	assert_true(logged_start(&server, &server_log));
	begin_session(&session);
}

static void begin_commands(void)
{
	begin_commands_in(LOG_EVERYSEC);
}

static void end_commands(void)
{
	reply_free(&session.reply);
	store_destroy(server.store);
	free(server.logged);
}

/* Run a command of words. */
static void command_of(struct session *it, const char *line)
{
	struct bytes argv[8];
	size_t argc = 0;

	while (*line) {
		size_t size = strcspn(line, " ");

		argv[argc++] = (struct bytes){ line, size };
		line += size + (line[size] == ' ');
	}
	command_run(it, argc, argv, NULL);
}

static void command(const char *line)
{
	command_of(&session, line);
}

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
	begin_commands();
	command("SET zero 0");
	mallocs = 1;
	command("MSET one 1 two 2");
	expect_lost();
}

TEST(transaction__with_a_command_that_is_half_done__is_a_lost_record)
{
	begin_commands();
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
	begin_commands();
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
	begin_commands();
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

	begin_commands();
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

/* ---- reads of changes that are not durable --------------------------------------------- */

/* A client, beside that of @session. */
static struct session reader;

static void begin_reads(void)
{
	begin_commands_in(LOG_ALWAYS);
	begin_session(&reader);
	command("SET key 1");
	assert_true(logged_wait(&session));
}

/* The reader has the reply of a command that tells the last change, whose record is not durable:
 * the reply must wait for it. */
static void end_reads(void)
{
	uint64_t need = reader.need, added = log_added(&server_log);

	WRITE(stuck, 0);
	assert_true(logged_wait(&reader));
	assert_int_equal(log_stop(&server_log), 0);
	reply_free(&reader.reply);
	end_commands();
	assert_int_equal(need, added);
}

static void expect_wait_of(const char *line)
{
	begin_reads();
	WRITE(stuck, 1);
	command("SET key 2");
	command_of(&reader, line);
	end_reads();
}

TEST(read_of_a_key__that_has_changed__waits_for_the_record)
{
	expect_wait_of("GET key");
}

TEST(read_of_several_keys__of_which_one_has_changed__waits_for_the_record)
{
	expect_wait_of("MGET other key");
}

TEST(reads_of_all_keys__after_a_change__wait_for_the_record)
{
	static const char *const lines[] = { "DBSIZE", "KEYS *", "SCAN 0" };

	for (unsigned i = 0; i < 3; i++)
		expect_wait_of(lines[i]);
}

/* A transaction that only reads. */
static void expect_wait_of_exec(const char *line)
{
	begin_reads();
	command_of(&reader, "MULTI");
	command_of(&reader, line);
	WRITE(stuck, 1);
	command("SET key 2");
	command_of(&reader, "EXEC");
	end_reads();
}

TEST(exec__that_reads_a_change__waits_for_the_record)
{
	static const char *const lines[] = { "GET key", "KEYS *", "DBSIZE" };

	for (unsigned i = 0; i < 3; i++)
		expect_wait_of_exec(lines[i]);
}

/* Its reply says that the key has changed. */
TEST(exec__after_a_watched_key_has_changed__waits_for_the_record)
{
	begin_reads();
	command_of(&reader, "WATCH key");
	command_of(&reader, "MULTI");
	command_of(&reader, "PING");
	WRITE(stuck, 1);
	command("SET key 2");
	command_of(&reader, "EXEC");
	end_reads();
}

/* ---- transactions while the log has no room ---------------------------------------------- */

/* The disk writes nothing, until the log has no room. */
static void fill_log(void)
{
	unsigned before = READ(writes);

	WRITE(stuck, 1);
	add_record(10);
	while (READ(writes) == before)
		skua_sleep_until(skua_now_ns() + 1000000);
	while (!log_is_behind(&server_log))
		add_record(60000);
}

static bool somebody_waits_for_room(void)
{
	bool waits;

	skua_mutex_lock(&server_log.lock, SKUA_FOREVER_NS);
	waits = server_log.behind;
	skua_mutex_unlock(&server_log.lock);
	return waits;
}

static unsigned ended;

static void *run_reader(void *line)
{
	command_of(&reader, line);
	WRITE(ended, 1);
	return line;
}

/* The reader runs a command, waits, and goes on when the log has room. A key has a time to live, so
 * that the command may add a record. @meanwhile: called while it waits; NULL: nothing */
static void expect_wait_for_room(char *line, void (*meanwhile)(void),
				 const char *reply)
{
	pthread_t thread;
	bool waited;

	WRITE(ended, 0);
	reply_sent(&reader.reply);
	fill_log();
	assert_int_equal(pthread_create(&thread, NULL, run_reader, line), 0);
	do {
		waited = somebody_waits_for_room();
	} while (!waited && !READ(ended));
	waited = waited && !READ(ended);
	if (meanwhile)
		meanwhile();
	WRITE(stuck, 0);
	pthread_join(thread, NULL);
	assert_int_equal(log_stop(&server_log), 0);
	transaction_unwatch(&reader);
	end_commands();
	assert_true(waited);
	assert_int_equal(reader.reply.used, strlen(reply));
	assert_memory_equal(reader.reply.data, reply, strlen(reply));
	reply_free(&reader.reply);
}

static void begin_without_room(void)
{
	begin_commands();
	begin_session(&reader);
	command("SET key 1 PX 1000000000");
}

TEST(watch__while_the_log_has_no_room__waits)
{
	begin_without_room();
	expect_wait_for_room((char[]){ "WATCH key" }, NULL, "+OK\r\n");
}

static void begin_transaction(void)
{
	begin_without_room();
	command_of(&reader, "WATCH key");
	command_of(&reader, "MULTI");
	command_of(&reader, "GET key");
}

TEST(exec__while_the_log_has_no_room__waits)
{
	begin_transaction();
	expect_wait_for_room((char[]){ "EXEC" }, NULL, "*1\r\n$1\r\n1\r\n");
}

static void expire_key(void)
{
	struct key key = store_key(server.store, (struct bytes){ "key", 3 });
	struct stripe *stripe = store_stripe(server.store, key.hash);

	store_lock(stripe);
	(*table_find(&stripe->table, key.hash, key.bytes))->expires_ms = 1;
	store_unlock(stripe);
}

/* The command checks the clock after its wait. */
TEST(exec__whose_watched_key_expires_while_it_waits__fails)
{
	begin_transaction();
	expect_wait_for_room((char[]){ "EXEC" }, expire_key, "*-1\r\n");
}
