/* SPDX-License-Identifier: MIT */
/* replay.h - runs the commands of a log at the start of a server */
#ifndef SKUA_BENCH_KV_REPLAY_H
#define SKUA_BENCH_KV_REPLAY_H

#include "bench/kv/server/session.h"

/**
 * struct replay - zeroed, except for @server and @path
 * @path: of the log, for @err
 * @session: stands for the clients
 * @commands: number of commands that have run without an error
 * @err: the error after replay_frame() has returned false
 */
struct replay {
	struct server *server;
	const char *path;
	struct session session;
	uint64_t commands;
	struct skua_error err;
};

/* replay_frame - run the commands of a frame; for log_read(). @ctx: a struct replay */
bool replay_frame(void *ctx, uint64_t offset, struct bytes records);

#endif
