/* SPDX-License-Identifier: MIT */
/* parts.h - the parts that both forms of a connection share: the fiber of connection.c, and the
 * poll task of poll.c */
#ifndef SKUA_BENCH_KV_PARTS_H
#define SKUA_BENCH_KV_PARTS_H

#include <skua/skua.h>

#include "bench/kv/resp/parse.h"
#include "bench/kv/server/session.h"

#define FIRST_ROOM 4096u  /* bytes of an input buffer */
#define BATCH_ROOM 16384u /* for commands that come together */
/* Replies that are sent before further commands of the batch run. */
#define SEND_AT 65536u
/* Reads, at most, after an error that ends a connection. */
#define DRAINED 64

/**
 * struct connection - a client, and its socket
 * @in, @begin, @end, @room: the input: the bytes from @begin to @end are not yet parsed
 * @counted: bytes that count for the limit of all clients
 * @batches: batches that were collected since the last bytes came
 * @rushed: do not let others run in connection_prefetch(), as they take long
 * @unchecked: batches for which @rushed holds; @check_ns: when it let others run, of a batch
 * that checks; 0: it does not check
 */
struct connection {
	struct session session;
	struct skua_io io;
	struct resp_parser parser;
	char *in;
	size_t begin, end, room, counted;
	unsigned batches;
	bool rushed;
	unsigned unchecked;
	uint64_t check_ns;
};

/* A command that was parsed, with the place of its arguments and the hash of the first
 * one, which is mostly a key. */
struct request {
	size_t args, argc;
	uint64_t hash;
};

/* Commands that are parsed before the first one of them runs, so that their keys are
 * prefetched together. A guess. */
#define BATCH 16u

/* connection_begin - prepare a zeroed connection. Return: false: no memory */
bool connection_begin(struct connection *c, struct server *server,
		      struct skua_io io);

/* connection_end - free the memory of a connection; its socket is closed before */
void connection_end(struct connection *c);

/* connection_room - make room for a read. Return: false: no memory */
bool connection_room(struct connection *c);

/* connection_received - note that bytes were read into the room */
void connection_received(struct connection *c, size_t bytes);

/* connection_collect - parse the commands that are complete, up to a batch. @taken: receives their
 * number. Return: the last result of the parser; RESP_NO_MEMORY: the next command has too many
 * arguments for the limit of all clients */
enum resp_result connection_collect(struct connection *c, struct request *batch,
				    unsigned *taken);

/**
 * connection_prefetch - ask the CPU for memory of the keys of a batch, and let others run
 * @step: how often the caller has let others run
 *
 * If the client has sent more than one batch, others run before each later one, because the
 * commands may take long. Then come the steps of all batches.
 *
 * First it hashes the first arguments and asks for their stripes, then for the buckets, and
 * then for the entries. Each step reads what the step before has asked for. The caller lets
 * other connections run after each step: they use the time in which the memory comes, and all
 * requests that have arrived are received before the first reply is sent. The queue of a worker
 * keeps the order of such requests, because each of them takes the same steps, while there are
 * no more of them than the local queue has places. A batch of more than PREFETCH_FEW
 * commands takes all steps at once: each command uses the time in which the memory of the
 * others comes.
 *
 * Others may also take long, as KEYS does, and then each step is another wait behind them. So
 * now and then a connection measures what the steps took. If that was long, it takes all steps
 * at once for many batches.
 *
 * Return: true: let others run, and call it again; false: go on.
 */
#define PREFETCH_FEW 4u /* a guess; bench/load/compare.py retunes it */
bool connection_prefetch(struct connection *c, struct request *batch,
			 unsigned count, unsigned step);

#endif
