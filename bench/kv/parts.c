/* SPDX-License-Identifier: MIT */
/**
 * parts.c - the parts that both forms of a connection share
 *
 * Memory: the input buffer has room for a batch of commands, and grows only for a single
 * command that is larger: it doubles when it is full of bytes that have arrived.
 */
#include "bench/kv/parts.h"

#include <stdlib.h>
#include <time.h>

/* A buffer of more bytes is given back after the large command that needed it. */
#define KEPT_ROOM 65536u
/* The most bytes of one command, as in Redis. */
#define MOST_ROOM (1ull << 30)

#define PREFETCH_STEPS 3u

/* When others take longer than LONG_NS after one step, a connection lets them run no longer. It
 * checks this again after so many batches. Guesses: 50 connections, with a request each, take
 * about 300 us, of which most is in the kernel. */
#define LONG_NS          UINT64_C(1000000)
#define STEPPING_BATCHES 16u
#define RUSHED_BATCHES   256u

/* ---- input -------------------------------------------------------------------- */

/* The bytes of a buffer that count for the limit of all clients: those of single large
 * commands. */
static size_t accounted(size_t room)
{
	return room > BATCH_ROOM ? room : 0;
}

/* Count the input of @room bytes and the places of the arguments. Return: false: they grow, and all
 * clients together have too many */
static bool count(struct connection *c, size_t room)
{
	size_t places = c->parser.room * sizeof(*c->parser.argv);
	size_t counted = accounted(room) + accounted(places);
	int64_t change = (int64_t)counted - (int64_t)c->counted;

	c->counted = counted;
	return !change || session_buffers(c->session.server, change) ||
	       change < 0;
}

static bool resize(struct connection *c, size_t room)
{
	char *in = NULL;

	if (room > MOST_ROOM)
		return false;
	if (count(c, room))
		in = realloc(c->in, room);
	if (!in) {
		count(c, c->room);
		return false;
	}
	c->in = in;
	c->room = room;
	return true;
}

bool connection_room(struct connection *c)
{
	size_t used = c->end - c->begin;

	/* The wait for the next request is no part of any request. */
	session_label(&c->session, used ? "half a request" : NULL);
	if (used == 0) {
		c->begin = c->end = 0;
		resp_parser_shrink(&c->parser);
		count(c, c->room);
		if (c->room > KEPT_ROOM)
			return resize(c, FIRST_ROOM);
	} else if (c->begin > 0 && c->room - c->end < c->room / 2) {
		memmove(c->in, c->in + c->begin, used);
		c->begin = 0;
		c->end = used;
	}
	if (c->end == c->room || (used && c->room < BATCH_ROOM))
		return resize(c,
			      c->room < BATCH_ROOM ? BATCH_ROOM : c->room * 2);
	return true;
}

static uint64_t coarse_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (uint64_t)now.tv_sec;
}

void connection_received(struct connection *c, size_t bytes)
{
	c->end += bytes;
	c->batches = 0;
	c->session.clock.now_ms = 0;
	shared_write(&c->session.active_s, coarse_seconds());
}

/* ---- commands ----------------------------------------------------------------- */

enum resp_result connection_collect(struct connection *c, struct request *batch,
				    unsigned *taken)
{
	const struct session *session = &c->session;
	struct resp_parser *p = &c->parser;
	struct resp_limits limits = {
		setting(&session->server->settings.max_bulk), SETTING_MAX_ARGS,
		!session->authenticated
	};
	enum resp_result result;

	*taken = 0;
	c->batches++;
	do {
		result = resp_parse(p, c->in + c->begin, c->end - c->begin,
				    &limits);
		if (result != RESP_COMMAND)
			break;
		c->begin += p->used;
		if (!p->argc)
			continue;
		batch[*taken].argc = p->argc;
		batch[(*taken)++].args = resp_keep(p);
		/* A password may change the limits. */
	} while (*taken < BATCH && session->authenticated);
	return count(c, c->room) || result != RESP_MORE ? result
							: RESP_NO_MEMORY;
}

/* Hash the first arguments, and ask for their stripes. Return: whether there is one */
static bool prefetch_stripes(struct connection *c, struct request *batch,
			     unsigned count)
{
	struct store *store = c->session.server->store;
	bool any = false;

	for (unsigned i = 0; i < count; i++) {
		const struct bytes *argv = resp_kept(&c->parser, batch[i].args);

		if (batch[i].argc < 2)
			continue;
		batch[i].hash = store_key(store, argv[1]).hash;
		store_prefetch_stripe(store, batch[i].hash);
		any = true;
	}
	return any;
}

static void prefetch_buckets(struct store *store, const struct request *batch,
			     unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (batch[i].argc >= 2)
			store_prefetch(store, batch[i].hash);
}

static void prefetch_entries(struct store *store, const struct request *batch,
			     unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (batch[i].argc >= 2)
			store_prefetch_entry(store, batch[i].hash);
}

/* Return whether a batch takes all steps at once. */
static bool must_rush(struct connection *c)
{
	if (c->unchecked > 0) {
		c->unchecked--;
		return c->rushed;
	}
	c->check_ns = skua_now_ns();
	return false;
}

/* Others have run. Return whether there is a step to take. */
static bool go_on(struct connection *c, unsigned step)
{
	bool more = step < PREFETCH_STEPS, is_long;
	uint64_t now_ns;

	if (c->check_ns == 0)
		return more;
	now_ns = skua_now_ns();
	is_long = now_ns - c->check_ns > LONG_NS;
	c->check_ns = more && !is_long ? now_ns : 0;
	if (c->check_ns > 0)
		return true;
	c->rushed = is_long;
	c->unchecked = is_long ? RUSHED_BATCHES : STEPPING_BATCHES;
	return false;
}

/* Take a step of a batch. Return whether there is another one, before which others run. */
static bool prefetch(struct connection *c, struct request *batch,
		     unsigned count, unsigned step)
{
	struct store *store = c->session.server->store;
	bool at_once = false;

	if (step == 0) {
		if (!prefetch_stripes(c, batch, count))
			return false;
		at_once = count > PREFETCH_FEW || must_rush(c);
	} else if (!go_on(c, step)) {
		return false;
	}
	if (step == 1 || at_once)
		prefetch_buckets(store, batch, count);
	if (step == 2 || at_once)
		prefetch_entries(store, batch, count);
	return !at_once;
}

bool connection_prefetch(struct connection *c, struct request *batch,
			 unsigned count, unsigned step)
{
	bool later = c->batches > 1;

	/* Commands of an earlier batch may have read the clock. */
	c->session.clock.now_ms = 0;
	if (later && step == 0)
		return count > 0;
	return prefetch(c, batch, count, step - later);
}

/* ---- life --------------------------------------------------------------------- */

bool connection_begin(struct connection *c, struct server *server,
		      struct skua_io io)
{
	c->in = malloc(FIRST_ROOM);
	if (!c->in)
		return false;
	c->room = FIRST_ROOM;
	c->io = io;
	c->session.server = server;
	c->session.fd = io.fd;
	/* The client may be gone already. */
	if (skua_io_peer_address(io, c->session.peer, sizeof(c->session.peer)))
		strcpy(c->session.peer, "?:0");
	if (skua_io_local_address(io, c->session.local,
				  sizeof(c->session.local)))
		strcpy(c->session.local, "?:0");
	return true;
}

void connection_end(struct connection *c)
{
	session_buffers(c->session.server, -(int64_t)c->counted);
	resp_parser_free(&c->parser);
	free(c->in);
}
