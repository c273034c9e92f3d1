/* SPDX-License-Identifier: MIT */
/* test_kv_log_writer.c - the fiber that writes the log of skua-kv, on disks that fail */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench/kv/commands/command.h"
#include "bench/kv/commands/logged.h"
#include "bench/kv/log/log.h"
#include "tests/unit/unit.h"

/* ---- a disk ---------------------------------------------------------------------- */

/* The results of the next calls; 0: those of the kernel. */
static int sync_error, write_error;
/* The numbers of calls; whether writes are short. The runtime's threads use all of these. */
static unsigned syncs, writes, shortened;
/* Writes wait until this is 0. */
static unsigned stuck;

int __real_skua_file_sync(struct skua_runtime *rt, int fd, unsigned flags,
			  uint64_t deadline_ns);
int __wrap_skua_file_sync(struct skua_runtime *rt, int fd, unsigned flags,
			  uint64_t deadline_ns);
ssize_t __real_skua_file_write(struct skua_runtime *rt, int fd,
			       const void *data, size_t size, int64_t offset,
			       uint64_t deadline_ns);
ssize_t __wrap_skua_file_write(struct skua_runtime *rt, int fd,
			       const void *data, size_t size, int64_t offset,
			       uint64_t deadline_ns);

/* Relaxed, here and below: the numbers order no other access. */
#define READ(number)       __atomic_load_n(&(number), __ATOMIC_RELAXED)
#define WRITE(number, set) __atomic_store_n(&(number), set, __ATOMIC_RELAXED)

int __wrap_skua_file_sync(struct skua_runtime *rt, int fd, unsigned flags,
			  uint64_t deadline_ns)
{
	WRITE(syncs, READ(syncs) + 1);
	if (READ(sync_error))
		return READ(sync_error);
	return __real_skua_file_sync(rt, fd, flags, deadline_ns);
}

ssize_t __wrap_skua_file_write(struct skua_runtime *rt, int fd,
			       const void *data, size_t size, int64_t offset,
			       uint64_t deadline_ns)
{
	WRITE(writes, READ(writes) + 1);
	while (READ(stuck))
		skua_sleep_until(skua_now_ns() + 1000000);
	if (READ(write_error))
		return READ(write_error);
	if (READ(shortened) && size > 7)
		size = 7;
	return __real_skua_file_write(rt, fd, data, size, offset, deadline_ns);
}

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

/* ---- a log ------------------------------------------------------------------------ */

static char path[] = "/tmp/test_kv_log_writer.XXXXXX";
static struct skua_runtime *runtime;
static struct log server_log;
static uint64_t replayed;

static bool count(void *ctx, uint64_t offset, struct bytes records)
{
	struct record_reader reader = { .next = records.data,
					.end = records.data + records.size };

	(void)ctx;
	(void)offset;
	while (record_next(&reader) == RECORD_COMMAND)
		replayed++;
	record_reader_free(&reader);
	return true;
}

/* Open the log. The commands that are in it are counted. */
static void open_log(enum log_mode mode)
{
	struct skua_error err = { 0, "" };
	uint64_t cut;

	memset(&server_log, 0, sizeof(server_log));
	server_log.runtime = runtime;
	server_log.mode = mode;
	replayed = 0;
	if (log_open(&server_log, path, count, NULL, &cut, &err))
		fail_msg("%s", err.text);
	assert_int_equal(cut, 0);
	assert_int_equal(log_start(&server_log), 0);
}

static int begin(void **state)
{
	struct skua_config config = SKUA_CONFIG_INIT;
	int fd;

	(void)state;
	strcpy(path + sizeof(path) - 7, "XXXXXX");
	fd = mkstemp(path);
	if (fd < 0)
		return -1;
	close(fd);
	sync_error = write_error = 0;
	syncs = writes = shortened = stuck = 0;
	config.workers = 2;
	return skua_runtime_create(&runtime, &config, NULL);
}

static int end(void **state)
{
	(void)state;
	unlink(path);
	return skua_runtime_destroy(runtime);
}

EACH_TEST(begin, end);

/* Add a record: SET key and @size bytes. Return: its position */
static uint64_t add(size_t size)
{
	static const char value[1 << 16];
	struct bytes argv[] = { { "SET", 3 }, { "key", 3 }, { value, size } };

	return log_add(&server_log, 1000, 1, NULL, 3, argv, 0);
}

/* ---- good disks -------------------------------------------------------------------- */

TEST(always__a_granted_wait__has_been_synced)
{
	open_log(LOG_ALWAYS);
	for (unsigned i = 0; i < 20; i++) {
		unsigned before = READ(syncs);
		uint64_t position = add(10);

		assert_false(log_is_durable(&server_log, position));
		assert_true(log_wait(&server_log, position));
		assert_true(READ(syncs) > before);
		assert_true(log_is_durable(&server_log, position));
	}
	assert_int_equal(log_stop(&server_log), 0);
	open_log(LOG_ALWAYS);
	assert_int_equal(replayed, 20);
	assert_int_equal(log_stop(&server_log), 0);
}

TEST(no__all_records__are_there_after_the_end)
{
	open_log(LOG_NO);
	for (unsigned i = 0; i < 20; i++)
		add(10);
	assert_int_equal(log_stop(&server_log), 0);
	open_log(LOG_NO);
	assert_int_equal(replayed, 20);
	assert_int_equal(log_stop(&server_log), 0);
}

#define CLIENTS 16
#define ROUNDS  25

static void *client(void *arg)
{
	(void)arg;
	for (unsigned i = 0; i < ROUNDS; i++)
		if (!log_wait(&server_log, add(i)))
			return &server_log;
	return NULL;
}

/* Clients that wait together share syncs: there are fewer than records. */
TEST(always__many_clients__share_syncs)
{
	pthread_t threads[CLIENTS];
	void *failed;
	unsigned before;

	open_log(LOG_ALWAYS);
	before = READ(syncs);
	for (unsigned i = 0; i < CLIENTS; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, client, NULL), 0);
	for (unsigned i = 0; i < CLIENTS; i++) {
		pthread_join(threads[i], &failed);
		assert_null(failed);
	}
	assert_true(READ(syncs) - before < CLIENTS * ROUNDS);
	assert_int_equal(log_stop(&server_log), 0);
	open_log(LOG_ALWAYS);
	assert_int_equal(replayed, CLIENTS * ROUNDS);
	assert_int_equal(log_stop(&server_log), 0);
}

TEST(writes__that_are_short__go_on)
{
	open_log(LOG_EVERYSEC);
	WRITE(shortened, 1);
	add(1000);
	add(0);
	assert_int_equal(log_stop(&server_log), 0);
	open_log(LOG_EVERYSEC);
	assert_int_equal(replayed, 2);
	assert_int_equal(log_stop(&server_log), 0);
}

/* The records of keys that have expired do not collect for ever. */
TEST(always__many_records_without_a_client__are_written)
{
	unsigned added = 0;

	open_log(LOG_ALWAYS);
	while (!log_is_durable(&server_log, 1)) {
		if (!log_is_behind(&server_log)) {
			add(60000);
			added++;
		}
		skua_sleep_until(skua_now_ns() + 1000);
	}
	assert_int_equal(log_stop(&server_log), 0);
	open_log(LOG_ALWAYS);
	assert_int_equal(replayed, added);
	assert_int_equal(log_stop(&server_log), 0);
}

/* ---- records that are refused ------------------------------------------------------ */

static bool refuse(void *ctx, uint64_t offset, struct bytes records)
{
	(void)ctx;
	(void)offset;
	(void)records;
	return false;
}

/* Read the file of the log. Return: its size */
static size_t read_file(char *data, size_t room)
{
	FILE *file = fopen(path, "rb");
	size_t size;

	assert_non_null(file);
	size = fread(data, 1, room, file);
	fclose(file);
	return size;
}

/* A log with a record that its reader refuses is not opened, and stays as it is. */
TEST(open__with_a_record_that_is_refused__fails)
{
	struct skua_error err = { 0, "" };
	char before[1000], after[1000];
	size_t size;
	uint64_t cut;

	open_log(LOG_ALWAYS);
	add(10);
	assert_int_equal(log_stop(&server_log), 0);
	size = read_file(before, sizeof(before));
	memset(&server_log, 0, sizeof(server_log));
	server_log.runtime = runtime;
	assert_int_equal(log_open(&server_log, path, refuse, NULL, &cut, &err),
			 -EBADMSG);
	assert_int_equal(err.code, -EBADMSG);
	assert_non_null(strstr(err.text, path));
	assert_int_equal(read_file(after, sizeof(after)), size);
	assert_memory_equal(after, before, size);
	open_log(LOG_ALWAYS);
	assert_int_equal(replayed, 1);
	assert_int_equal(log_stop(&server_log), 0);
}

/* ---- bad disks --------------------------------------------------------------------- */

/* After a failed sync, nothing is acknowledged or written, even if a later one would
 * succeed. */
TEST(sync__that_fails__is_the_end)
{
	uint64_t good, bad;
	unsigned before;

	open_log(LOG_ALWAYS);
	good = add(10);
	assert_true(log_wait(&server_log, good));
	WRITE(sync_error, -EIO);
	bad = add(10);
	assert_false(log_wait(&server_log, bad));
	assert_int_equal(log_error(&server_log), -EIO);
	WRITE(sync_error, 0);
	before = READ(writes);
	assert_false(log_wait(&server_log, add(10)));
	assert_false(log_wait(&server_log, bad));
	assert_false(log_is_durable(&server_log, bad));
	assert_true(log_is_durable(&server_log, good));
	assert_int_equal(log_error(&server_log), -EIO);
	assert_int_equal(log_stop(&server_log), -EIO);
	assert_int_equal(READ(writes), before);
}

/* A write that fails is tried again; nothing is acknowledged before it succeeds. */
TEST(write__that_fails__is_tried_again)
{
	uint64_t first, second;

	open_log(LOG_ALWAYS);
	WRITE(write_error, -ENOSPC);
	first = add(10);
	assert_false(log_wait(&server_log, first));
	assert_int_equal(log_error(&server_log), -ENOSPC);
	assert_false(log_wait(&server_log, first));
	second = add(20);
	WRITE(write_error, 0);
	while (log_error(&server_log))
		skua_sleep_until(skua_now_ns() + 1000000);
	assert_true(log_wait(&server_log, first));
	assert_true(log_wait(&server_log, second));
	assert_int_equal(log_stop(&server_log), 0);
	open_log(LOG_ALWAYS);
	assert_int_equal(replayed, 2);
	assert_int_equal(log_stop(&server_log), 0);
}

TEST(write__that_fails_until_the_end__is_an_error)
{
	open_log(LOG_EVERYSEC);
	WRITE(write_error, -EIO);
	add(10);
	assert_int_equal(log_stop(&server_log), -EIO);
}

/* While nothing can be written, the memory is bounded, and no writer waits for ever. */
TEST(records__that_nobody_writes__make_writers_wait_or_fail)
{
	unsigned added = 0;

	open_log(LOG_ALWAYS);
	WRITE(write_error, -ENOSPC);
	assert_false(log_wait(&server_log, add(10)));
	while (!log_is_behind(&server_log)) {
		add(60000);
		assert_true(++added < 2 * LOG_BEHIND / 60000);
	}
	/* With an error, the caller is let go, and is refused by log_error(). */
	log_wait_for_room(&server_log);
	assert_int_equal(log_error(&server_log), -ENOSPC);
	WRITE(write_error, 0);
	while (log_error(&server_log))
		skua_sleep_until(skua_now_ns() + 1000000);
	log_wait_for_room(&server_log);
	assert_true(log_wait(&server_log, add(10)));
	assert_int_equal(log_stop(&server_log), 0);
	open_log(LOG_ALWAYS);
	assert_int_equal(replayed, added + 2);
	assert_int_equal(log_stop(&server_log), 0);
}

/* ---- polls -------------------------------------------------------------------------- */

#define POLLS 4

/* Adds records in a poll, and waits for each: for room, if @position is UINT64_MAX.
 * @waits: the polls that have ended with an armed wait */
struct polled {
	struct skua_task task;
	struct log_waiter waiter;
	struct skua_wait wait;
	struct record_batch batch;
	uint64_t position, left, waits;
	int code;
};

static int polled_step(struct polled *p)
{
	struct bytes argv[] = { { "DEL", 3 }, { "key", 3 } };
	int code;

	if (p->position == UINT64_MAX)
		return log_wait_for_room_poll(&server_log, &p->task, &p->waiter,
					      &p->wait);
	if (!p->position) {
		if (!p->batch.commands)
			record_batch_add(&p->batch, 2, argv);
		code = log_add_poll(&server_log, 1000, &p->batch, &p->task,
				    &p->wait, &p->position);
		if (code)
			return code;
		record_batch_clear(&p->batch);
	}
	code = log_wait_poll(&server_log, p->position, &p->task, &p->waiter,
			     &p->wait);
	if (code != -EAGAIN)
		p->position = 0;
	return code;
}

static enum skua_poll poll_log(struct skua_task *task)
{
	struct polled *p = SKUA_CONTAINER_OF(task, struct polled, task);

	while (p->left) {
		p->code = polled_step(p);
		if (p->code == -EAGAIN) {
			WRITE(p->waits, p->waits + 1);
			return SKUA_PENDING;
		}
		p->left = p->code ? 0 : p->left - 1;
	}
	return SKUA_DONE;
}

static void start_polled(struct polled *p, uint64_t position, uint64_t rounds)
{
	memset(p, 0, sizeof(*p));
	p->position = position;
	p->left = rounds;
	assert_int_equal(skua_task_init(&p->task, poll_log), 0);
	assert_int_equal(skua_task_spawn(runtime, &p->task), 0);
}

/* Return: the code of its last wait */
static int join_polled(struct polled *p)
{
	skua_task_join(&p->task);
	free(p->batch.data);
	return p->code;
}

TEST(always__polls_beside_threads__wait_for_their_records)
{
	struct polled polled[POLLS];
	pthread_t thread;
	void *failed;

	open_log(LOG_ALWAYS);
	for (unsigned i = 0; i < POLLS; i++)
		start_polled(&polled[i], 0, ROUNDS);
	assert_int_equal(pthread_create(&thread, NULL, client, NULL), 0);
	for (unsigned i = 0; i < POLLS; i++) {
		assert_int_equal(join_polled(&polled[i]), 0);
		assert_true(polled[i].waits > 0);
	}
	pthread_join(thread, &failed);
	assert_null(failed);
	assert_true(log_is_durable(&server_log, log_added(&server_log)));
	assert_int_equal(log_stop(&server_log), 0);
	open_log(LOG_ALWAYS);
	assert_int_equal(replayed, (POLLS + 1) * ROUNDS);
	assert_int_equal(log_stop(&server_log), 0);
}

/* A poll that waits while a sync fails does not go on as if it had succeeded. */
TEST(sync__that_fails__ends_the_waits_of_polls)
{
	struct polled polled[POLLS];

	open_log(LOG_ALWAYS);
	WRITE(sync_error, -EIO);
	for (unsigned i = 0; i < POLLS; i++)
		start_polled(&polled[i], 0, ROUNDS);
	for (unsigned i = 0; i < POLLS; i++)
		assert_int_equal(join_polled(&polled[i]), -EIO);
	assert_int_equal(log_stop(&server_log), -EIO);
}

TEST(poll__on_a_stuck_disk__waits_for_room)
{
	struct polled polled;
	unsigned before;

	open_log(LOG_EVERYSEC);
	before = READ(writes);
	WRITE(stuck, 1);
	add(10);
	while (READ(writes) == before)
		skua_sleep_until(skua_now_ns() + 1000000);
	while (!log_is_behind(&server_log))
		add(60000);
	start_polled(&polled, UINT64_MAX, 1);
	while (!READ(polled.waits))
		skua_sleep_until(skua_now_ns() + 1000000);
	WRITE(stuck, 0);
	assert_int_equal(join_polled(&polled), 0);
	assert_false(log_is_behind(&server_log));
	assert_int_equal(log_stop(&server_log), 0);
}

/* A record for which there is no memory is lost, as with log_add(). */
TEST(poll__with_a_batch_that_has_failed__loses_the_log)
{
	struct polled polled;

	open_log(LOG_ALWAYS);
	memset(&polled, 0, sizeof(polled));
	polled.batch.failed = true;
	polled.batch.commands = 1;
	polled.left = 1;
	assert_int_equal(skua_task_init(&polled.task, poll_log), 0);
	assert_int_equal(skua_task_spawn(runtime, &polled.task), 0);
	assert_int_equal(join_polled(&polled), -EIO);
	assert_int_equal(log_error(&server_log), -ENOMEM);
	assert_int_equal(log_stop(&server_log), -ENOMEM);
}

/* ---- commands that find no memory ---------------------------------------------------- */

static struct server server;
static struct session session;

static void begin_commands(void)
{
	open_log(LOG_EVERYSEC);
	memset(&server, 0, sizeof(server));
	memset(&session, 0, sizeof(session));
	settings_init(&server.settings);
	commands_init();
	server.store = store_create();
	assert_non_null(server.store);
	assert_true(logged_start(&server, &server_log));
	session.server = &server;
	session.authenticated = true;
	session.reply.version = 2;
}

static void end_commands(void)
{
	reply_free(&session.reply);
	store_destroy(server.store);
	free(server.logged);
}

/* Run a command of words. */
static void command(const char *line)
{
	struct bytes argv[8];
	size_t argc = 0;

	while (*line) {
		size_t size = strcspn(line, " ");

		argv[argc++] = (struct bytes){ line, size };
		line += size + (line[size] == ' ');
	}
	command_run(&session, argc, argv, NULL);
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
