/* SPDX-License-Identifier: MIT */
/* test_kv_rewrite.c - skua-kv rewrites its log while commands run, and on disks that fail */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/kv/commands/command.h"
#include "bench/kv/commands/logged.h"
#include "bench/kv/commands/replay.h"
#include "bench/kv/log/file.h"
#include "bench/kv/log/log.h"
#include "bench/kv/poll.h"
#include "bench/kv/store/map.h"
#include "tests/unit/unit.h"

/* Relaxed, here and below: the numbers order no other access. */
#define READ(number)       __atomic_load_n(&(number), __ATOMIC_RELAXED)
#define WRITE(number, set) __atomic_store_n(&(number), set, __ATOMIC_RELAXED)

static char folder[] = "/tmp/test_kv_rewrite.XXXXXX";
static char path[64], new_path[64];
static struct skua_runtime *runtime;
static struct log server_log;

/* ---- a disk ----------------------------------------------------------------------- */

/* The results of the next calls; 0: those of the kernel. */
static int open_error, rename_error, folder_error;
/* The same for the new file; and for the log while there is a new file. */
static int new_write_error, new_sync_error, old_write_error;
/* Writes of the new file wait until this is 0. */
static unsigned new_stuck;
/* Number of times that the name of the new file was removed; and that a worker did it. */
static unsigned removals, removals_by_workers;

int __real_skua_file_open(struct skua_runtime *rt, const char *name, int flags,
			  mode_t mode, uint64_t deadline_ns);
int __wrap_skua_file_open(struct skua_runtime *rt, const char *name, int flags,
			  mode_t mode, uint64_t deadline_ns);
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
int __real_file_rename(struct skua_runtime *rt, const char *from,
		       const char *to);
int __wrap_file_rename(struct skua_runtime *rt, const char *from,
		       const char *to);
int __real_unlink(const char *name);
int __wrap_unlink(const char *name);
int __real_file_sync_folder(struct skua_runtime *rt, const char *of);
int __wrap_file_sync_folder(struct skua_runtime *rt, const char *of);

/* The descriptor of the new file; -1: there is none. */
static int new_fd = -1;

int __wrap_skua_file_open(struct skua_runtime *rt, const char *name, int flags,
			  mode_t mode, uint64_t deadline_ns)
{
	bool new = strcmp(name, new_path) == 0;
	int fd;

	if (new &&READ(open_error))
		return READ(open_error);
	fd = __real_skua_file_open(rt, name, flags, mode, deadline_ns);
	if (new)
		WRITE(new_fd, fd);
	return fd;
}

int __wrap_skua_file_sync(struct skua_runtime *rt, int fd, unsigned flags,
			  uint64_t deadline_ns)
{
	if (fd == READ(new_fd) && READ(new_sync_error))
		return READ(new_sync_error);
	return __real_skua_file_sync(rt, fd, flags, deadline_ns);
}

ssize_t __wrap_skua_file_write(struct skua_runtime *rt, int fd,
			       const void *data, size_t size, int64_t offset,
			       uint64_t deadline_ns)
{
	if (fd == READ(new_fd)) {
		while (READ(new_stuck))
			skua_sleep_until(skua_now_ns() + 1000000);
		if (READ(new_write_error))
			return READ(new_write_error);
	} else if (READ(old_write_error) && !access(new_path, F_OK)) {
		return READ(old_write_error);
	}
	return __real_skua_file_write(rt, fd, data, size, offset, deadline_ns);
}

int __wrap_file_rename(struct skua_runtime *rt, const char *from,
		       const char *to)
{
	int code = READ(rename_error) ? READ(rename_error)
				      : __real_file_rename(rt, from, to);

	if (!code)
		WRITE(new_fd, -1);
	return code;
}

int __wrap_unlink(const char *name)
{
	if (strcmp(name, new_path) == 0) {
		if (skua_task_self())
			WRITE(removals_by_workers,
			      READ(removals_by_workers) + 1);
		WRITE(removals, READ(removals) + 1);
	}
	return __real_unlink(name);
}

int __wrap_file_sync_folder(struct skua_runtime *rt, const char *of)
{
	return READ(folder_error) ? READ(folder_error)
				  : __real_file_sync_folder(rt, of);
}

/* ---- a server --------------------------------------------------------------------- */

/* A server, and a client. */
struct kv {
	struct server server;
	struct session session;
};

static struct kv kv;

static void client_begin(struct session *session, struct server *server)
{
	memset(session, 0, sizeof(*session));
	session->server = server;
	session->authenticated = true;
	session->reply.version = 2;
	session->clock.garbage = &session->garbage;
}

static void client_end(struct session *session)
{
	while (garbage_free(&session->garbage))
		;
	reply_free(&session->reply);
}

/* Open the log of a server, and run the commands that are in it. */
static int try_start(struct kv *to, struct log *log, enum log_mode mode)
{
	struct skua_error err = { 0, "" };
	struct replay replay = { .server = &to->server, .path = path };
	uint64_t cut;
	int code;

	memset(to, 0, sizeof(*to));
	memset(log, 0, sizeof(*log));
	settings_init(&to->server.settings);
	to->server.store = store_create();
	assert_non_null(to->server.store);
	log->runtime = runtime;
	log->mode = mode;
	code = log_open(log, path, replay_frame, &replay, &cut, &err);
	reply_free(&replay.session.reply);
	if (code) {
		store_destroy(to->server.store);
		return code;
	}
	assert_int_equal(cut, 0);
	assert_true(logged_start(&to->server, log));
	assert_int_equal(log_start(log), 0);
	client_begin(&to->session, &to->server);
	return 0;
}

static void start(enum log_mode mode)
{
	assert_int_equal(try_start(&kv, &server_log, mode), 0);
}

static void stop(struct kv *of, struct log *log)
{
	assert_int_equal(log_stop(log), 0);
	client_end(&of->session);
	store_destroy(of->server.store);
	free(of->server.logged);
}

static int begin(void **state)
{
	struct skua_config config = SKUA_CONFIG_INIT;

	(void)state;
	strcpy(folder + sizeof(folder) - 7, "XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/log", folder);
	snprintf(new_path, sizeof(new_path), "%s/log.rewrite", folder);
	open_error = rename_error = folder_error = 0;
	new_write_error = new_sync_error = old_write_error = 0;
	new_stuck = 0;
	removals = removals_by_workers = 0;
	new_fd = -1;
	config.workers = 2;
	return skua_runtime_create(&runtime, &config, NULL);
}

static int end(void **state)
{
	(void)state;
	unlink(path);
	rmdir(folder);
	return skua_runtime_destroy(runtime);
}

EACH_TEST(begin, end);

static int begin_all(void **state)
{
	(void)state;
	commands_init();
	return 0;
}

ALL_TESTS(begin_all, NULL);

/* ---- commands --------------------------------------------------------------------- */

/* Commands do not wait for their records: many are added fast, also in mode always. */
static bool hurried;

/* Run a command of words, and wait until its record is durable. @line: a word %N is @name. */
static void run_as(struct session *session, const char *line, const char *name)
{
	struct bytes argv[8];
	size_t argc = 0;

	while (*line) {
		size_t size = strcspn(line, " ");

		argv[argc++] = line[0] == '%'
				       ? (struct bytes){ name, strlen(name) }
				       : (struct bytes){ line, size };
		line += size + (line[size] == ' ');
	}
	session->clock.now_ms = 0;
	command_run(session, argc, argv, NULL);
	assert_false(session->reply.failed);
	if (!hurried)
		assert_true(logged_wait(session));
}

static void run(const char *line)
{
	run_as(&kv.session, line, "");
	reply_sent(&kv.session.reply);
}

static void run_on(const char *line, const char *name)
{
	run_as(&kv.session, line, name);
	reply_sent(&kv.session.reply);
}

/* Run a command with a long last argument. */
static void run_long(const char *name, const char *key, size_t size)
{
	static char value[1 << 20];
	struct bytes argv[] = { { name, strlen(name) },
				{ key, strlen(key) },
				{ value, size } };

	memset(value, 'v', sizeof(value));
	command_run(&kv.session, 3, argv, NULL);
	assert_true(logged_wait(&kv.session));
	reply_sent(&kv.session.reply);
}

/* ---- the same keys ---------------------------------------------------------------- */

static struct store *other;
/* The first difference; a test fails only after it has stopped the servers. */
static char difference[200];

static void differs(struct bytes key, const char *how)
{
	if (!difference[0])
		snprintf(difference, sizeof(difference), "%.*s %s",
			 (int)key.size, key.data, how);
}

static bool same_string(const struct entry *a, const struct entry *b)
{
	char one[NUMBER_ROOM], two[NUMBER_ROOM];

	return entry_is_string(b) &&
	       bytes_equal(entry_string(a, one), entry_string(b, two));
}

static bool same_list(const struct list *a, const struct list *b)
{
	struct list_place one = list_seek(a, 0), two = list_seek(b, 0);

	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++) {
		const struct list_item *x = list_next(&one);
		const struct list_item *y = list_next(&two);

		if (x->size != y->size || memcmp(x->data, y->data, x->size))
			return false;
	}
	return true;
}

static const struct map *other_map;

static void compare_field(void *ctx, struct entry *field)
{
	struct entry *found =
		map_find(other_map, &other->secret, entry_key(field));

	if (!found || !same_string(field, found))
		*(bool *)ctx = false;
}

static bool same_map(const struct map *a, const struct map *b)
{
	bool same = map_count(a) == map_count(b);

	other_map = b;
	map_visit(a, compare_field, &same);
	return same;
}

static bool same_value(const struct entry *a, const struct entry *b)
{
	if (strcmp(entry_type(a), entry_type(b)))
		return false;
	if (a->kind == ENTRY_LIST)
		return same_list(a->list, b->list);
	return a->kind == ENTRY_MAP ? same_map(a->map, b->map)
				    : same_string(a, b);
}

static void compare(void *ctx, struct entry *entry)
{
	struct key key = store_key(other, entry_key(entry));
	struct stripe *stripe = store_stripe(other, key.hash);
	struct entry **found = table_find(&stripe->table, key.hash, key.bytes);

	(void)ctx;
	if (!found)
		differs(key.bytes, "is missing");
	else if ((*found)->expires_ms != entry->expires_ms)
		differs(key.bytes, "has another time");
	else if (!same_value(entry, *found))
		differs(key.bytes, "has another value");
}

/* Stop the server, and compare its keys with those of one that starts with its log. */
static void expect_same_after_start(void)
{
	static struct kv again;
	struct log log;
	uint64_t cursor;

	assert_int_equal(log_stop(&server_log), 0);
	assert_int_equal(access(new_path, F_OK), -1);
	assert_int_equal(try_start(&again, &log, LOG_EVERYSEC), 0);
	other = again.server.store;
	difference[0] = '\0';
	if (store_count(kv.server.store) != store_count(other))
		snprintf(difference, sizeof(difference),
			 "there is another number of keys");
	for (unsigned i = 0; i < STORE_STRIPES; i++) {
		cursor = 0;
		do {
			cursor = table_scan(&kv.server.store->stripes[i].table,
					    cursor, compare, NULL);
		} while (cursor);
	}
	stop(&again, &log);
	client_end(&kv.session);
	store_destroy(kv.server.store);
	free(kv.server.logged);
	assert_string_equal(difference, "");
}

/* ---- rewrites --------------------------------------------------------------------- */

static void sleep_a_little(void)
{
	skua_sleep_until(skua_now_ns() + 1000000);
}

static void until_ended(void)
{
	while (rewrite_figures(&server_log).running)
		sleep_a_little();
}

static void rewrite_now(void)
{
	assert_int_equal(rewrite_ask(&server_log), 0);
	until_ended();
}

static void expect_rewritten(void)
{
	until_ended();
	assert_int_equal(rewrite_figures(&server_log).failures, 0);
	assert_true(rewrite_figures(&server_log).took_ns > 0);
}

/* A rewrite that waits in the middle, for the lock of this stripe. */
#define MIDDLE 512u

static bool is_visited(unsigned i)
{
	struct stripe *stripe = &kv.server.store->stripes[i];
	bool visited;

	store_lock(stripe);
	visited = server_log.rewrite.visited[i] ==
		  rewrite_number(&server_log.rewrite);
	store_unlock(stripe);
	return visited;
}

static void rewrite_to_the_middle(void)
{
	store_lock(&kv.server.store->stripes[MIDDLE]);
	assert_int_equal(rewrite_ask(&server_log), 0);
	while (!rewrite_number(&server_log.rewrite) || !is_visited(MIDDLE - 1))
		sleep_a_little();
}

static void go_on(void)
{
	store_unlock(&kv.server.store->stripes[MIDDLE]);
}

/* Return a key of a stripe that was visited, or was not, by a rewrite that is in the middle.
 * @number: of the key */
static const char *key_of(bool visited, unsigned number)
{
	static char names[16][16];
	static unsigned used;
	char *name = names[used++ % 16];

	for (unsigned i = 0; true; i++) {
		struct key key;
		unsigned stripe;

		snprintf(name, 16, "k%u", i);
		key = store_key(kv.server.store,
				(struct bytes){ name, strlen(name) });
		stripe = (unsigned)(key.hash % STORE_STRIPES);
		if (stripe != MIDDLE && (stripe < MIDDLE) == visited &&
		    !number--)
			return name;
	}
}

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
	for (unsigned i = 0; i < 30; i++)
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
	/* At its begin and at its end. */
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
