/* SPDX-License-Identifier: MIT */
/* kv_hiredis.c PORT - a client of skua-kv that uses hiredis; test_kv.sh compiles it */
#include <hiredis/hiredis.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COMMANDS 1000

static int fail(const char *what)
{
	fprintf(stderr, "hiredis: %s\n", what);
	return 1;
}

/* Run a command, and compare its reply. */
static int is_reply(redisContext *client, const char *command, int type,
		    const char *text)
{
	redisReply *reply = redisCommand(client, command);
	int same = reply && reply->type == type &&
		   (!text || strcmp(reply->str, text) == 0);

	if (reply)
		freeReplyObject(reply);
	return same;
}

/* Commands that are sent together. */
static int pipeline(redisContext *client)
{
	redisReply *reply;

	for (int i = 0; i < COMMANDS; i++)
		redisAppendCommand(client, "INCRBY n %d", i);
	for (int i = 0; i < COMMANDS; i++) {
		if (redisGetReply(client, (void **)&reply) != REDIS_OK)
			return fail("no reply");
		if (reply->type != REDIS_REPLY_INTEGER ||
		    reply->integer != (long long)i * (i + 1) / 2)
			return fail("a wrong sum");
		freeReplyObject(reply);
	}
	return 0;
}

int main(int argc, char **argv)
{
	redisContext *client =
		redisConnect("127.0.0.1", argc > 1 ? atoi(argv[1]) : 0);
	redisReply *reply;

	if (!client || client->err)
		return fail(client ? client->errstr : "no memory");
	if (!is_reply(client, "PING", REDIS_REPLY_STATUS, "PONG") ||
	    !is_reply(client, "GET none", REDIS_REPLY_NIL, NULL) ||
	    !is_reply(client, "SET k value", REDIS_REPLY_STATUS, "OK") ||
	    !is_reply(client, "GET k", REDIS_REPLY_STRING, "value") ||
	    !is_reply(client, "INCR k", REDIS_REPLY_ERROR, NULL))
		return fail("a wrong reply");
	reply = redisCommand(client, "SET %b %b", "a\0b", (size_t)3, "\r\n",
			     (size_t)2);
	freeReplyObject(reply);
	reply = redisCommand(client, "GET %b", "a\0b", (size_t)3);
	if (!reply || reply->len != 2 || memcmp(reply->str, "\r\n", 2) != 0)
		return fail("binary bytes were changed");
	freeReplyObject(reply);
	if (pipeline(client))
		return 1;
	redisFree(client);
	return 0;
}
