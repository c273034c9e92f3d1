/* SPDX-License-Identifier: MIT */
/* test_kv_log_waits.c - commands of skua-kv that wait for the log */
#include <pthread.h>

#include "core/wait/wait.h"
#include "tests/unit/kv_log_commands.h"

EACH_TEST(log_begin, log_end);
ALL_TESTS(begin_all, NULL);

/* ---- reads of changes that are not durable --------------------------------------------- */

/* A client, beside that of @session. */
static struct session reader;

static void begin_reads(void)
{
	begin_commands(LOG_ALWAYS);
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

static unsigned ended;

static void *run_reader(void *line)
{
	command_of(&reader, line);
	WRITE(ended, 1);
	return line;
}

/* A command that runs has removed the last key of a stripe, and holds its lock. */
static void expect_wait_for_removal(char *line)
{
	pthread_t thread;
	struct skua_mutex *lock;
	struct key key;
	bool waited;

	begin_reads();
	key = store_key(server.store, (struct bytes){ "key", 3 });
	lock = &store_stripe(server.store, key.hash)->lock;
	WRITE(ended, 0);
	skua_mutex_lock(lock, SKUA_FOREVER_NS);
	store_remove(server.store, &key, NULL);
	assert_int_equal(pthread_create(&thread, NULL, run_reader, line), 0);
	do {
		waiters_lock(&lock->waiters);
		waited = lock->waiters.count > 0;
		waiters_unlock(&lock->waiters);
	} while (!waited && !READ(ended));
	skua_mutex_unlock(lock);
	pthread_join(thread, NULL);
	end_reads();
	assert_true(waited);
}

TEST(reads_of_all_keys__while_the_last_one_is_removed__wait_for_its_lock)
{
	static char lines[][8] = { "DBSIZE", "KEYS *", "SCAN 0" };

	for (unsigned i = 0; i < 3; i++)
		expect_wait_for_removal(lines[i]);
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
	begin_commands(LOG_EVERYSEC);
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
