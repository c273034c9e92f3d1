/* SPDX-License-Identifier: MIT */
/* kv_rewrite.c - a server with a log, and its rewrites; see kv_rewrite.h */
#include "tests/unit/kv_rewrite.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench/kv/commands/logged.h"
#include "bench/kv/commands/replay.h"

/* ---- a server --------------------------------------------------------------------- */

struct kv kv;
struct skua_runtime *runtime;
struct log server_log;

void client_begin(struct session *session, struct server *server)
{
	memset(session, 0, sizeof(*session));
	session->server = server;
	session->authenticated = true;
	session->reply.version = 2;
	session->clock.garbage = &session->garbage;
}

void client_end(struct session *session)
{
	while (garbage_free(&session->garbage))
		;
	reply_free(&session->reply);
}

int try_start(struct kv *to, struct log *log, enum log_mode mode)
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

void start(enum log_mode mode)
{
	assert_int_equal(try_start(&kv, &server_log, mode), 0);
}

void stop(struct kv *of, struct log *log)
{
	assert_int_equal(log_stop(log), 0);
	client_end(&of->session);
	store_destroy(of->server.store);
	free(of->server.logged);
}

int kv_begin(void **state)
{
	struct skua_config config = SKUA_CONFIG_INIT;

	(void)state;
	if (!disk_begin())
		return -1;
	config.workers = 2;
	return skua_runtime_create(&runtime, &config, NULL);
}

int kv_end(void **state)
{
	(void)state;
	disk_end();
	return skua_runtime_destroy(runtime);
}

int kv_begin_all(void **state)
{
	(void)state;
	commands_init();
	return 0;
}

/* ---- commands --------------------------------------------------------------------- */

bool hurried;

void run_as(struct session *session, const char *line, const char *name)
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

void run(const char *line)
{
	run_as(&kv.session, line, "");
	reply_sent(&kv.session.reply);
}

void run_on(const char *line, const char *name)
{
	run_as(&kv.session, line, name);
	reply_sent(&kv.session.reply);
}

void run_long(const char *name, const char *key, size_t size)
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

/* ---- rewrites --------------------------------------------------------------------- */

void sleep_a_little(void)
{
	skua_sleep_until(skua_now_ns() + 1000000);
}

void until_ended(void)
{
	while (rewrite_figures(&server_log).running)
		sleep_a_little();
}

void rewrite_now(void)
{
	assert_int_equal(rewrite_ask(&server_log), 0);
	until_ended();
}

void expect_rewritten(void)
{
	until_ended();
	assert_int_equal(rewrite_figures(&server_log).failures, 0);
	assert_true(rewrite_figures(&server_log).took_ns > 0);
}

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

void rewrite_to_the_middle(void)
{
	store_lock(&kv.server.store->stripes[MIDDLE]);
	assert_int_equal(rewrite_ask(&server_log), 0);
	while (!rewrite_number(&server_log.rewrite) || !is_visited(MIDDLE - 1))
		sleep_a_little();
}

void go_on(void)
{
	store_unlock(&kv.server.store->stripes[MIDDLE]);
}

const char *key_of(bool visited, unsigned number)
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
