/* SPDX-License-Identifier: MIT */
/* test_kv_rewrite_changes.c - commands change keys while skua-kv rewrites its log */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench/kv/poll.h"
#include "tests/unit/kv_rewrite.h"

EACH_TEST(kv_begin, kv_end);
ALL_TESTS(kv_begin_all, NULL);

/* ---- clients ---------------------------------------------------------------------- */

/* Run commands in a thread; their words %1 and %2 are keys that were visited, and were not. */
struct runner {
	pthread_t thread;
	const char *lines[8];
	unsigned done;
};

/* Write a line with its keys to @text, which is zeroed. */
static void write_line(char text[200], const char *line)
{
	for (; *line; line++) {
		size_t used = strlen(text);

		if (*line == '%')
			strcpy(text + used, key_of(*++line == '1', 0));
		else
			text[used] = *line;
	}
}

static void *run_lines(void *arg)
{
	struct runner *runner = arg;
	struct session session;

	client_begin(&session, &kv.server);
	for (const char **line = runner->lines; *line; line++) {
		char text[200] = "";

		write_line(text, *line);
		run_as(&session, text, "");
		WRITE(runner->done, READ(runner->done) + 1);
	}
	assert_non_null(session.reply.data);
	assert_int_not_equal(session.reply.data[0], '-');
	client_end(&session);
	return NULL;
}

/* The same through a socket, which a poll task serves. */
static void *send_lines(void *arg)
{
	struct runner *runner = arg;
	struct skua_group group;
	struct skua_io io;
	char reply[1000];
	int sockets[2];

	skua_group_init(&group, runtime);
	skua_group_set_release(&group, poll_release);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
	assert_int_equal(skua_io_attach(runtime, sockets[0], 0, &io), 0);
	assert_int_equal(poll_start(&kv.server, &group, io), 0);
	for (const char **line = runner->lines; *line; line++) {
		char text[200] = "";

		write_line(text, *line);
		assert_true(dprintf(sockets[1], "%s\r\n", text) > 0);
		assert_true(read(sockets[1], reply, sizeof(reply)) > 0);
		assert_int_not_equal(reply[0], '-');
		WRITE(runner->done, READ(runner->done) + 1);
	}
	close(sockets[1]);
	assert_int_equal(skua_group_wait(&group), 0);
	return NULL;
}

static void begin_lines(struct runner *runner, bool in_task)
{
	assert_int_equal(pthread_create(&runner->thread, NULL,
					in_task ? send_lines : run_lines,
					runner),
			 0);
}

static void end_lines(struct runner *runner)
{
	pthread_join(runner->thread, NULL);
}

/* ---- changes meanwhile -------------------------------------------------------------- */

TEST(changes__of_stripes_before_and_after__are_kept_once)
{
	start(LOG_ALWAYS);
	for (unsigned i = 0; i < 4; i++) {
		run_on("RPUSH %N first", key_of(i % 2, i));
		run_on("SET %N 1 PX 50000000", key_of(i % 2, i + 10));
	}
	rewrite_to_the_middle();
	assert_int_equal(rewrite_ask(&server_log), -EALREADY);
	for (unsigned i = 0; i < 6; i++) {
		run_on("RPUSH %N more", key_of(i % 2, i));
		run_on("APPEND %N 2", key_of(i % 2, i + 10));
	}
	run_on("DEL %N", key_of(true, 0));
	run_on("DEL %N", key_of(false, 1));
	go_on();
	expect_rewritten();
	expect_same_after_start();
}

static void run_across_in(bool in_task, const char *const lines[8],
			  unsigned before)
{
	struct runner runner = { .done = 0 };
	unsigned done;

	memcpy(runner.lines, lines, sizeof(runner.lines));
	start(LOG_EVERYSEC);
	run_on("RPUSH %N first", key_of(true, 0));
	run_on("RPUSH %N first", key_of(false, 0));
	run("SET other 1");
	rewrite_to_the_middle();
	begin_lines(&runner, in_task);
	while (READ(runner.done) < before)
		sleep_a_little();
	for (unsigned i = 0; i < 30; i++) /* one more would be one too many */
		sleep_a_little();
	done = READ(runner.done);
	go_on();
	end_lines(&runner);
	expect_rewritten();
	run("SET after 1");
	expect_same_after_start();
	unlink(path);
	assert_int_equal(done, before);
}

/* A command on stripes before and after waits until the rest of them were visited. */
static void run_across(const char *const lines[8], unsigned before)
{
	run_across_in(false, lines, before);
	run_across_in(true, lines, before);
}

TEST(transaction__across_the_middle__is_kept_once)
{
	static const char *const lines[8] = { "MULTI", "RPUSH %1 more",
					      "RPUSH %2 more", "KEYS x",
					      "EXEC" };

	run_across(lines, 4);
}

TEST(command__across_the_middle__is_kept)
{
	static const char *const lines[8] = { "MSET %2 x %1 x" };

	run_across(lines, 0);
}

TEST(flush__in_the_middle__is_kept)
{
	static const char *const lines[8] = { "FLUSHALL", "RPUSH %1 after",
					      "RPUSH %2 after" };

	run_across(lines, 0);
}

TEST(transaction_with_flush__in_the_middle__is_kept)
{
	static const char *const lines[8] = { "MULTI", "RPUSH %2 more",
					      "FLUSHALL", "RPUSH %2 after",
					      "EXEC" };

	run_across(lines, 4);
}

/* The stripes that a command changes decide, not those that it only locks. */
static void run_on_one_side(bool in_task)
{
	struct runner runner = { .lines = { "MULTI", "RPUSH %2 more", "EXEC",
					    "MULTI", "RPUSH %1 more", "EXEC",
					    "MGET %1 %2" } };

	start(LOG_EVERYSEC);
	run_on("SET %N expired PX 1", key_of(true, 0));
	run_on("SET %N expired PX 1", key_of(false, 0));
	sleep_a_little();
	sleep_a_little();
	rewrite_to_the_middle();
	begin_lines(&runner, in_task);
	end_lines(&runner);
	go_on();
	expect_rewritten();
	expect_same_after_start();
	unlink(path);
}

TEST(transaction__on_one_side__does_not_wait)
{
	run_on_one_side(false);
	run_on_one_side(true);
}

/* A key that has expired may still be there for a command that has read the clock earlier. */
TEST(expired_key__that_a_later_command_has_seen__is_kept)
{
	const char *name;

	start(LOG_EVERYSEC);
	name = key_of(true, 0);
	run_on("SET %N 5 PX 1", name);
	for (unsigned i = 0; i < 3; i++)
		sleep_a_little();
	rewrite_now();
	expect_rewritten();
	kv.session.clock.now_ms = 1000;
	command_run(&kv.session, 2,
		    (struct bytes[]){ { "INCR", 4 }, { name, strlen(name) } },
		    NULL);
	reply_sent(&kv.session.reply);
	expect_same_after_start();
}

/* Clients write as fast as they can while the log is rewritten again and again. */
static unsigned rewriting;

static void *write_all(void *arg)
{
	struct session session;
	unsigned number = *(unsigned *)arg;
	char line[100];

	client_begin(&session, &kv.server);
	for (unsigned i = 0; READ(rewriting); i++) {
		unsigned a = (i * 7 + number) % 500, b = (i * 13) % 500;

		snprintf(line, sizeof(line), "MSET s%u %u s%u %u", a, i, b, i);
		run_as(&session, line, "");
		snprintf(line, sizeof(line), "RPUSH l%u %u", a, i);
		run_as(&session, line, "");
		snprintf(line, sizeof(line), "HINCRBY h%u %u 1", b, a);
		run_as(&session, line, "");
		run_as(&session, "MULTI", "");
		snprintf(line, sizeof(line), "INCR c%u", a);
		run_as(&session, line, "");
		snprintf(line, sizeof(line), "LPOP l%u", b);
		run_as(&session, line, "");
		if (i % 1000 == 999)
			run_as(&session, "FLUSHALL", "");
		run_as(&session, "EXEC", "");
		reply_sent(&session.reply);
	}
	client_end(&session);
	return NULL;
}

#define ROUNDS 8u

static void rewrite_under_load(enum log_mode mode)
{
	unsigned numbers[3] = { 0, 1, 2 };
	pthread_t threads[3];

	start(mode);
	WRITE(rewriting, 1);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, write_all,
						&numbers[i]),
				 0);
	for (unsigned i = 0; i < ROUNDS; i++) {
		rewrite_now();
		sleep_a_little();
	}
	WRITE(rewriting, 0);
	for (unsigned i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	expect_rewritten();
	assert_int_equal(rewrite_figures(&server_log).rewrites, ROUNDS);
	expect_same_after_start();
}

TEST(rewrites__under_load__keep_all)
{
	rewrite_under_load(LOG_EVERYSEC);
}

TEST(rewrites__under_load_in_mode_always__keep_all)
{
	rewrite_under_load(LOG_ALWAYS);
}

#define LARGE_VALUES 500u /* of 100,000 bytes */

static void *write_large(void *arg)
{
	for (unsigned i = 0; i < LARGE_VALUES; i++)
		run_long("SET", key_of(true, 1), 100000);
	WRITE(*(unsigned *)arg, 1);
	return NULL;
}

/* While the rewriter waits, nothing takes what is added to the copy: writers wait, too, before
 * it is large. */
TEST(copy__that_nobody_writes__makes_writers_wait)
{
	unsigned done = 0, checks = 0;
	pthread_t thread;

	start(LOG_EVERYSEC);
	run_on("SET %N 1", key_of(true, 0));
	rewrite_to_the_middle();
	pthread_create(&thread, NULL, write_large, &done);
	while (!READ(done) && checks < 50) {
		sleep_a_little();
		checks = log_is_behind(&server_log) ? checks + 1 : 0;
	}
	assert_false(READ(done));
	skua_mutex_lock(&server_log.lock, SKUA_FOREVER_NS);
	assert_true(server_log.rewrite.copy.bytes < 4 * LOG_BEHIND);
	skua_mutex_unlock(&server_log.lock);
	go_on();
	pthread_join(thread, NULL);
	expect_rewritten();
	expect_same_after_start();
}
