/* SPDX-License-Identifier: MIT */
/* rewriter.c - the fiber that copies all keys to the new file of a rewrite */
#include "bench/kv/log/rewrite_parts.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "bench/kv/log/dump.h"
#include "bench/kv/log/file.h"

/* The copy is written when it has so many bytes. A guess. */
#define WRITE_BYTES (1u << 20)

/* ---- visits ----------------------------------------------------------------------- */

/* Dump a stripe that was not visited, and write the copy if it is large. */
static int visit(struct log *log, unsigned i)
{
	struct rewrite *r = &log->rewrite;
	struct stripe *stripe = &r->store->stripes[i];
	struct pieces pieces = { NULL, NULL, 0 };
	bool fits = true, large;
	int code;

	store_lock(stripe);
	if (r->visited[i] != r->last)
		fits = dump_stripe(stripe, &pieces);
	rewrite_lock(log);
	pieces_join(&r->copy, &pieces);
	large = r->copy.bytes >= WRITE_BYTES ||
		(r->copy.last && r->copy.last->blob);
	code = fits ? r->error : -ENOMEM;
	rewrite_unlock(log);
	r->visited[i] = r->last;
	store_unlock(stripe);
	return code || !large ? code : rewrite_file_write_copy(log);
}

/* Visit the stripes for which commands wait. */
static int serve(struct log *log)
{
	static const struct store_set none;
	struct rewrite_waiter *waiters;
	int code = 0;

	rewrite_lock(log);
	waiters = log->rewrite.waiters;
	log->rewrite.waiters = NULL;
	rewrite_unlock(log);
	if (!waiters)
		return 0;
	for (struct rewrite_waiter *w = waiters; w; w = w->next)
		for (STORE_SET_EACH(i, w->set ? w->set : &none))
			code = code ? code : visit(log, i);
	code = code ? code : rewrite_file_write_copy(log);
	rewrite_wake_all(waiters);
	return code;
}

static int visit_all(struct log *log)
{
	int code = 0;

	for (unsigned i = 0; !code && i < STORE_STRIPES; i++) {
		code = serve(log);
		if (!code)
			code = visit(log, i);
		skua_yield();
	}
	return code;
}

/* ---- the rewriter ----------------------------------------------------------------- */

/* Return: 0; a negative errno value: the server ends */
static int begin(struct log *log)
{
	struct rewrite *r = &log->rewrite;
	int code;

	r->fd = -1;
	skua_event_reset(&r->switched);
	rewrite_set_figure(&r->rewrites, r->rewrites + 1);
	rewrite_set_figure(&r->begun_ns, skua_now_ns());
	code = rewrite_file_create(log);
	rewrite_lock(log);
	r->error = r->stopping ? -ECANCELED : code;
	code = r->error;
	rewrite_set_number(r, ++r->last);
	rewrite_set_state(r, REWRITE_VISITING);
	rewrite_unlock(log);
	return code;
}

/* All were visited: write and sync almost all, and let the fiber of the log do the rest. */
static int finish(struct log *log)
{
	struct rewrite *r = &log->rewrite;
	struct rewrite_waiter *waiters;
	int code = rewrite_file_write_copy(log);

	if (!code)
		code = rewrite_file_sync(log);
	if (!code)
		code = rewrite_file_write_copy(log);
	if (code)
		return code;
	rewrite_lock(log);
	code = log->lost ? -EIO : r->error;
	if (!code)
		rewrite_set_state(r, REWRITE_READY);
	waiters = r->waiters;
	r->waiters = NULL;
	rewrite_unlock(log);
	rewrite_wake_all(waiters);
	if (code)
		return code;
	skua_notify_one(&log->work);
	skua_event_wait(&r->switched, SKUA_FOREVER_NS);
	rewrite_lock(log);
	code = r->error;
	rewrite_unlock(log);
	return code;
}

/* Free all that the rewrite has had. If it has failed, remove its file: the log may wait for the
 * room on the disk. */
static void end(struct log *log, int code)
{
	struct rewrite *r = &log->rewrite;
	struct rewrite_waiter *waiters;
	struct pieces copy;

	if (code) {
		rewrite_give_up(log, code);
		file_remove(log->runtime, r->path);
	}
	if (r->fd >= 0)
		skua_file_close(log->runtime, r->fd, SKUA_FOREVER_NS);
	if (code && code != -ECANCELED)
		fprintf(stderr, "skua-kv: the log was not rewritten: %s\n",
			strerror(-code));
	rewrite_set_figure(&r->ended_ns, skua_now_ns());
	rewrite_set_figure(&r->took_ns, r->ended_ns - r->begun_ns);
	rewrite_set_figure(&r->failures, code ? r->failures + 1 : 0);
	rewrite_lock(log);
	copy = r->copy;
	r->copy = (struct pieces){ NULL, NULL, 0 };
	waiters = r->waiters;
	r->waiters = NULL;
	rewrite_set_state(r, REWRITE_IDLE);
	rewrite_unlock(log);
	rewrite_wake_all(waiters);
	pieces_free(&copy);
}

static void rewrite(struct log *log)
{
	int code;

	skua_task_set_label("rewrite");
	code = begin(log);
	if (!code)
		code = visit_all(log);
	if (!code)
		code = finish(log);
	end(log, code);
	skua_task_set_label(NULL);
}

static bool is_stopping(struct log *log)
{
	bool stopping;

	rewrite_lock(log);
	stopping = log->rewrite.stopping;
	rewrite_unlock(log);
	return stopping;
}

static void rewrite_log(struct skua_fiber *self)
{
	struct log *log = (struct log *)((char *)self -
					 offsetof(struct log, rewrite.fiber));

	skua_cancel_mask();
	while (!is_stopping(log)) {
		skua_notify_wait(&log->rewrite.work, SKUA_FOREVER_NS);
		if (rewrite_state_of(&log->rewrite) == REWRITE_ASKED)
			rewrite(log);
	}
}

int rewrite_start(struct log *log)
{
	int code = skua_fiber_init(&log->rewrite.fiber, rewrite_log, 0);

	return code ? code
		    : skua_task_spawn(log->runtime, &log->rewrite.fiber.task);
}

void rewrite_stop(struct log *log)
{
	rewrite_lock(log);
	log->rewrite.stopping = true;
	/* A switch that has begun goes on. */
	if (rewrite_state_of(&log->rewrite) != REWRITE_SWITCHING)
		rewrite_give_up_locked(&log->rewrite, -ECANCELED);
	rewrite_unlock(log);
	skua_notify_one(&log->rewrite.work);
	skua_task_join(&log->rewrite.fiber.task);
}
