/* SPDX-License-Identifier: MIT */
/* test_kv_rewrite.c - skua-kv rewrites its log, also on disks that fail */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/kv/commands/logged.h"
#include "tests/unit/kv_rewrite.h"

EACH_TEST(kv_begin, kv_end);
ALL_TESTS(kv_begin_all, NULL);

/* ---- keys of all kinds ------------------------------------------------------------- */

static void add_all_kinds(void)
{
	char name[32];

	hurried = true;
	run("SET number 17");
	run("INCR counter");
	run("INCR counter");
	run("SET timed value PX 100000000");
	run("SET expired value PX 1");
	run_long("SET", "none", 0);
	run_long("SET", "inline", 4096);
	run_long("SET", "blob", 4097);
	run_long("SET", "large", 1 << 20);
	run_long("SET", "large_timed", 100000);
	run("PEXPIRE large_timed 5000000");
	run("RPUSH one 1");
	for (unsigned i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "%u", i);
		run_on("RPUSH list %N", name);
		run_on("HSET large_hash %N 1", name);
	}
	for (unsigned i = 0; i < 9; i++)
		run_long("RPUSH", "list", 20000);
	run("EXPIRE list 5000");
	run("HSET hash a 1 b 2");
	run("HINCRBY hash n 9");
	run("EXPIRE hash 1000");
	run("PERSIST hash");
	for (unsigned i = 0; i < 3000; i++) {
		snprintf(name, sizeof(name), "key%u", i);
		run_on("SET %N value", name);
	}
	run("SET gone 1");
	hurried = false;
	run("DEL gone");
}

static void rewrite_all_kinds(enum log_mode mode)
{
	struct stat before, after;

	start(mode);
	add_all_kinds();
	for (unsigned i = 0; i < 100; i++)
		run_long("SET", "large", 100000 + i);
	assert_int_equal(chmod(path, 0640), 0);
	rewrite_now();
	expect_rewritten();
	assert_int_equal(stat(path, &before), 0);
	assert_true(before.st_size < 3000000);
	assert_int_equal(before.st_mode & 0777, 0640);
	assert_int_equal(log_base(&server_log), log_size(&server_log));
	run("INCR counter");
	run("RPUSH list more");
	rewrite_now();
	expect_rewritten();
	assert_int_equal(rewrite_figures(&server_log).rewrites, 2);
	run("INCR counter");
	expect_same_after_start();
	assert_int_equal(stat(path, &after), 0);
	assert_true(after.st_size < 3000000);
}

TEST(rewrite__of_all_kinds__keeps_them)
{
	rewrite_all_kinds(LOG_EVERYSEC);
}

TEST(rewrite__in_mode_always__keeps_all)
{
	rewrite_all_kinds(LOG_ALWAYS);
}

TEST(rewrite__of_no_keys__is_short)
{
	start(LOG_NO);
	run("SET key value");
	run("DEL key");
	rewrite_now();
	expect_rewritten();
	assert_true(log_size(&server_log) < 200);
	expect_same_after_start();
}

/* ---- bad disks --------------------------------------------------------------------- */

/* The rewrite fails, the log goes on, and the next rewrite succeeds. */
static void expect_failure_of(int *call)
{
	start(LOG_ALWAYS);
	add_all_kinds();
	WRITE(*call, -EIO);
	rewrite_now();
	assert_int_equal(rewrite_figures(&server_log).failures, 1);
	assert_int_equal(access(new_path, F_OK), -1);
	assert_int_equal(log_error(&server_log), 0);
	run("SET after 1");
	WRITE(*call, 0);
	WRITE(new_fd, -1);
	rewrite_now();
	expect_rewritten();
	run("SET after 2");
	expect_same_after_start();
}

TEST(open__that_fails__leaves_the_log)
{
	expect_failure_of(&open_error);
}

TEST(write__that_fails__leaves_the_log)
{
	expect_failure_of(&new_write_error);
}

TEST(sync__that_fails__leaves_the_log)
{
	expect_failure_of(&new_sync_error);
}

TEST(rename__that_fails__leaves_the_log)
{
	expect_failure_of(&rename_error);
}

/* A removal may free a large file: no worker may wait for it. */
TEST(file__of_a_rewrite_that_fails__is_removed_by_no_worker)
{
	start(LOG_EVERYSEC);
	run("SET key value");
	WRITE(removals, 0);
	WRITE(new_write_error, -EIO);
	rewrite_now();
	WRITE(new_write_error, 0);
	stop(&kv, &server_log);
	assert_int_equal(rewrite_figures(&server_log).failures, 1);
	/* A rewrite removes the name when it begins, and when it has failed. */
	assert_int_equal(READ(removals), 2);
	assert_int_equal(READ(removals_by_workers), 0);
}

/* The log needs the room that the new file has taken: no client notices it. */
TEST(write_of_the_log__without_room__ends_the_rewrite)
{
	start(LOG_ALWAYS);
	run_on("SET %N 1", key_of(true, 0));
	rewrite_to_the_middle();
	WRITE(old_write_error, -ENOSPC);
	go_on();
	while (rewrite_figures(&server_log).running)
		run("INCR counter");
	run("INCR counter");
	if (rewrite_figures(&server_log).failures)
		assert_int_equal(access(new_path, F_OK), -1);
	assert_int_equal(log_error(&server_log), 0);
	expect_same_after_start();
}

/* After the rename, the new file is the log. Without its folder, nothing is certain. */
TEST(sync_of_the_folder__that_fails__is_the_end)
{
	start(LOG_ALWAYS);
	run("SET key value");
	WRITE(folder_error, -EIO);
	rewrite_now();
	assert_int_equal(log_error(&server_log), -EIO);
	assert_int_equal(rewrite_ask(&server_log), -EIO);
	assert_int_equal(log_stop(&server_log), -EIO);
	client_end(&kv.session);
	store_destroy(kv.server.store);
	free(kv.server.logged);
	WRITE(folder_error, 0);
	start(LOG_ALWAYS);
	assert_int_equal(store_count(kv.server.store), 1);
	stop(&kv, &server_log);
}

/* ---- start and end ------------------------------------------------------------------ */

TEST(stop__in_the_middle__keeps_the_log)
{
	start(LOG_EVERYSEC);
	add_all_kinds();
	WRITE(new_stuck, 1);
	assert_int_equal(rewrite_ask(&server_log), 0);
	while (access(new_path, F_OK))
		sleep_a_little();
	WRITE(new_stuck, 0);
	expect_same_after_start();
}

/* The file of a rewrite that was killed is no log. */
TEST(file__of_a_rewrite_that_was_killed__is_removed)
{
	int fd;

	start(LOG_EVERYSEC);
	run("SET key value");
	stop(&kv, &server_log);
	fd = open(new_path, O_RDWR | O_CREAT, 0600);
	assert_int_equal(write(fd, "half", 4), 4);
	close(fd);
	start(LOG_EVERYSEC);
	assert_int_equal(access(new_path, F_OK), -1);
	assert_int_equal(store_count(kv.server.store), 1);
	rewrite_now();
	expect_rewritten();
	expect_same_after_start();
}

static void *start_second(void *arg)
{
	static struct kv second;
	static struct log log;
	struct stat opened, named;

	assert_int_equal(try_start(&second, &log, LOG_EVERYSEC), 0);
	fstat(log.fd, &opened);
	stat(path, &named);
	assert_int_equal(opened.st_ino, named.st_ino);
	assert_int_equal(store_count(second.server.store), 2);
	stop(&second, &log);
	return arg;
}

/* A server that waits for the lock of a log does not get the file that was the log before. */
TEST(second_server__during_a_rewrite__opens_the_new_file)
{
	pthread_t thread;

	start(LOG_EVERYSEC);
	run("SET key value");
	pthread_create(&thread, NULL, start_second, NULL);
	for (unsigned i = 0; i < 100; i++)
		sleep_a_little();
	rewrite_now();
	expect_rewritten();
	run("SET after 1");
	stop(&kv, &server_log);
	pthread_join(thread, NULL);
}

/* The last frame of a rewrite says that those before it were on the disk. */
TEST(damage__of_a_file_that_was_rewritten__is_found)
{
	static struct kv again;
	struct log log;
	char byte;
	int fd;

	start(LOG_EVERYSEC);
	add_all_kinds();
	rewrite_now();
	expect_rewritten();
	stop(&kv, &server_log);
	fd = open(path, O_RDWR);
	assert_int_equal(pread(fd, &byte, 1, 30000), 1);
	byte = (char)(byte ^ 1);
	assert_int_equal(pwrite(fd, &byte, 1, 30000), 1);
	close(fd);
	assert_int_equal(try_start(&again, &log, LOG_EVERYSEC), -EBADMSG);
}

TEST(setting__of_the_growth__begins_a_rewrite)
{
	start(LOG_ALWAYS);
	setting_store(&kv.server.settings.rewrite_min_size, 50000);
	setting_store(&kv.server.settings.rewrite_percent, 100);
	run_long("SET", "key", 40000);
	logged_rewrite_if_large(&kv.server);
	assert_int_equal(rewrite_figures(&server_log).rewrites, 0);
	run_long("SET", "key", 40000);
	logged_rewrite_if_large(&kv.server);
	until_ended();
	assert_int_equal(rewrite_figures(&server_log).rewrites, 1);
	run_long("SET", "key", 20000);
	logged_rewrite_if_large(&kv.server);
	assert_int_equal(rewrite_figures(&server_log).rewrites, 1);
	setting_store(&kv.server.settings.rewrite_percent, 0);
	run_long("SET", "key", 80000);
	logged_rewrite_if_large(&kv.server);
	assert_int_equal(rewrite_figures(&server_log).rewrites, 1);
	expect_same_after_start();
}
