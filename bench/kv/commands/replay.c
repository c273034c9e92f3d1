/* SPDX-License-Identifier: MIT */
/* replay.c - runs the commands of a log at the start of a server */
#include "bench/kv/commands/replay.h"

#include <errno.h>
#include <stdio.h>

#include "bench/kv/commands/command.h"
#include "bench/kv/log/record.h"

/* @command: its name; or why none was read. @why: the error of the command */
static bool fail(struct replay *replay, uint64_t offset, struct bytes command,
		 struct bytes why)
{
	replay->err.code = -EBADMSG;
	snprintf(replay->err.text, sizeof(replay->err.text),
		 "%s: a record in the frame at byte %llu cannot be replayed: "
		 "%.*s%s%.*s",
		 replay->path, (unsigned long long)offset,
		 command.size > 32 ? 32 : (int)command.size, command.data,
		 why.size ? ": " : "", why.size > 80 ? 80 : (int)why.size,
		 why.data);
	return false;
}

/* Run one command. The log has only commands that have changed something: an error means that
 * the keys differ from those at that time. */
static bool run(struct replay *replay, uint64_t offset,
		const struct record_reader *reader)
{
	struct session *session = &replay->session;
	struct reply *reply = &session->reply;
	bool ok = true;

	session->clock.now_ms = reader->now_ms;
	if (!command_replay(session, reader->argc, reader->argv))
		return fail(replay, offset, reader->argv[0],
			    (struct bytes){ "unknown command", 15 });
	if (reply->failed || (reply->used && reply->data[0] == '-'))
		ok = fail(replay, offset, reader->argv[0],
			  reply->failed ? (struct bytes){ "no memory", 9 }
					: (struct bytes){ reply->data,
							  reply->used - 2 });
	reply_sent(reply);
	while (garbage_free(&session->garbage))
		;
	replay->commands += ok;
	return ok;
}

bool replay_frame(void *ctx, uint64_t offset, struct bytes records)
{
	struct replay *replay = ctx;
	struct record_reader reader = { .next = records.data,
					.end = records.data + records.size };
	enum record_result result;
	bool ok = true;

	replay->session.server = replay->server;
	replay->session.reply.version = 2;
	while (ok && (result = record_next(&reader)) != RECORD_END) {
		if (result == RECORD_COMMAND)
			ok = run(replay, offset, &reader);
		else
			ok = fail(replay, offset,
				  result == RECORD_BAD
					  ? (struct bytes){ "its form is wrong",
							    17 }
					  : (struct bytes){ "no memory", 9 },
				  (struct bytes){ "", 0 });
	}
	record_reader_free(&reader);
	return ok;
}
