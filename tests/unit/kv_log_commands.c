/* SPDX-License-Identifier: MIT */
/* kv_log_commands.c - commands of skua-kv, and their log; see kv_log_commands.h */
#include "tests/unit/kv_log_commands.h"

#include <stdlib.h>

struct server server;
struct session session;

int begin_all(void **state)
{
	(void)state;
	commands_init();
	return 0;
}

void begin_session(struct session *it)
{
	memset(it, 0, sizeof(*it));
	it->server = &server;
	it->authenticated = true;
	it->reply.version = 2;
}

void begin_commands(enum log_mode mode)
{
	open_log(mode);
	memset(&server, 0, sizeof(server));
	settings_init(&server.settings);
	server.store = store_create();
	assert_non_null(server.store);
	assert_true(logged_start(&server, &server_log));
	begin_session(&session);
}

void end_commands(void)
{
	reply_free(&session.reply);
	store_destroy(server.store);
	free(server.logged);
}

/* Run a command of words. */
void command_of(struct session *it, const char *line)
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

void command(const char *line)
{
	command_of(&session, line);
}
