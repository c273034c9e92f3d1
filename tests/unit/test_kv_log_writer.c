/* SPDX-License-Identifier: MIT */
/* test_kv_log_writer.c - the fiber that writes the log of skua-kv, on disks that fail */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/unit/kv_log_writer.h"

EACH_TEST(log_begin, log_end);

/* ---- good disks -------------------------------------------------------------------- */

TEST(always__a_granted_wait__has_been_synced)
{
	open_log(LOG_ALWAYS);
	for (unsigned i = 0; i < 20; i++) {
		unsigned before = READ(syncs);
		uint64_t position = add_record(10);

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
		add_record(10);
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
		if (!log_wait(&server_log, add_record(i)))
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
	add_record(1000);
	add_record(0);
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
			add_record(60000);
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
	add_record(10);
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
	good = add_record(10);
	assert_true(log_wait(&server_log, good));
	WRITE(sync_error, -EIO);
	bad = add_record(10);
	assert_false(log_wait(&server_log, bad));
	assert_int_equal(log_error(&server_log), -EIO);
	WRITE(sync_error, 0);
	before = READ(writes);
	assert_false(log_wait(&server_log, add_record(10)));
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
	first = add_record(10);
	assert_false(log_wait(&server_log, first));
	assert_int_equal(log_error(&server_log), -ENOSPC);
	assert_false(log_wait(&server_log, first));
	second = add_record(20);
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
	add_record(10);
	assert_int_equal(log_stop(&server_log), -EIO);
}

/* While nothing can be written, the memory is bounded, and no writer waits for ever. */
TEST(records__that_nobody_writes__make_writers_wait_or_fail)
{
	unsigned added = 0;

	open_log(LOG_ALWAYS);
	WRITE(write_error, -ENOSPC);
	assert_false(log_wait(&server_log, add_record(10)));
	while (!log_is_behind(&server_log)) {
		add_record(60000);
		assert_true(++added < 2 * LOG_BEHIND / 60000);
	}
	/* With an error, the caller is let go, and is refused by log_error(). */
	log_wait_for_room(&server_log);
	assert_int_equal(log_error(&server_log), -ENOSPC);
	WRITE(write_error, 0);
	while (log_error(&server_log))
		skua_sleep_until(skua_now_ns() + 1000000);
	log_wait_for_room(&server_log);
	assert_true(log_wait(&server_log, add_record(10)));
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
	add_record(10);
	while (READ(writes) == before)
		skua_sleep_until(skua_now_ns() + 1000000);
	while (!log_is_behind(&server_log))
		add_record(60000);
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
