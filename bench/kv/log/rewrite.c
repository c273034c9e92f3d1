/* SPDX-License-Identifier: MIT */
/* rewrite.c - replaces the log by a shorter one that has the same effect */
#include "bench/kv/log/rewrite.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/kv/log/dump.h"
#include "bench/kv/log/file.h"
#include "bench/kv/log/log.h"

/* The copy is written when it has so many bytes, and synced after so many: a large sync would
 * hold up those of the log. Guesses. */
#define WRITE_BYTES (1u << 20)
#define SYNC_BYTES  (4u << 20)

static void lock(struct log *log)
{
	skua_mutex_lock(&log->lock, SKUA_FOREVER_NS);
}

static void unlock(struct log *log)
{
	skua_mutex_unlock(&log->lock);
}

/* ---- states ----------------------------------------------------------------------- */

static enum rewrite_state state_of(const struct rewrite *rewrite)
{
	/* Relaxed: decisions are made under the lock, or by the CAS of rewrite_ask(). */
	return __atomic_load_n(&rewrite->state, __ATOMIC_RELAXED);
}

static void set_state(struct rewrite *rewrite, enum rewrite_state state)
{
	/* Relaxed: see state_of(). */
	__atomic_store_n(&rewrite->state, state, __ATOMIC_RELAXED);
}

static void set_number(struct rewrite *rewrite, uint64_t number)
{
	/* Relaxed: see rewrite_number(). */
	__atomic_store_n(&rewrite->number, number, __ATOMIC_RELAXED);
}

static void set_figure(uint64_t *figure, uint64_t value)
{
	/* Relaxed: a figure for INFO, which the rewriter alone changes. */
	__atomic_store_n(figure, value, __ATOMIC_RELAXED);
}

static uint64_t figure(const uint64_t *field)
{
	/* Relaxed: see set_figure(). */
	return __atomic_load_n(field, __ATOMIC_RELAXED);
}

int rewrite_ask(struct log *log)
{
	enum rewrite_state idle = REWRITE_IDLE;

	if (log_error(log))
		return log_error(log);
	/* Relaxed: the notification orders what was done before. */
	if (!__atomic_compare_exchange_n(&log->rewrite.state, &idle,
					 REWRITE_ASKED, false, __ATOMIC_RELAXED,
					 __ATOMIC_RELAXED))
		return -EALREADY;
	skua_notify_one(&log->rewrite.work);
	return 0;
}

struct rewrite_figures rewrite_figures(const struct log *log)
{
	const struct rewrite *r = &log->rewrite;

	return (struct rewrite_figures){
		.running = state_of(r) != REWRITE_IDLE,
		.rewrites = figure(&r->rewrites),
		.failures = figure(&r->failures),
		.begun_ns = figure(&r->begun_ns),
		.ended_ns = figure(&r->ended_ns),
		.took_ns = figure(&r->took_ns),
	};
}

/* Give up a rewrite that has begun, unless it has succeeded. With the lock of the log. Return:
 * whether there was one */
static bool give_up(struct rewrite *r, int error)
{
	if (state_of(r) < REWRITE_VISITING)
		return false;
	if (state_of(r) == REWRITE_SWITCHED)
		return true;
	if (!r->error)
		r->error = error;
	set_number(r, 0);
	if (state_of(r) != REWRITE_VISITING) {
		set_state(r, REWRITE_VISITING);
		skua_event_set(&r->switched);
	}
	return true;
}

void rewrite_give_up(struct log *log, int error)
{
	lock(log);
	give_up(&log->rewrite, error);
	unlock(log);
}

void rewrite_add(struct rewrite *rewrite, const char *record, size_t size)
{
	char *at = pieces_add(&rewrite->copy, size);

	if (at)
		memcpy(at, record, size);
	else
		give_up(rewrite, -ENOMEM);
}

/* ---- waits ------------------------------------------------------------------------ */

static void wait_for(struct log *log, struct rewrite_waiter *waiter)
{
	unlock(log);
	skua_event_wait(&waiter->event, SKUA_FOREVER_NS);
	lock(log);
}

/* Begin to wait. With the lock of the log. */
static void add_waiter(struct rewrite *r, struct rewrite_waiter *waiter)
{
	waiter->next = r->waiters;
	r->waiters = waiter;
}

static void wake_all(struct rewrite_waiter *waiter)
{
	struct rewrite_waiter *next;

	for (; waiter; waiter = next) {
		next = waiter->next;
		skua_event_set(&waiter->event);
	}
}

/* Begin to wait for stripes that a rewrite has not visited. With the lock of the log. Return:
 * false: it has visited all, or has ended */
static bool begin_wait(struct rewrite *r, struct rewrite_waiter *waiter,
		       uint64_t number, const struct store_set *set)
{
	if (r->number != number || state_of(r) != REWRITE_VISITING)
		return false;
	*waiter = (struct rewrite_waiter){ .event = SKUA_EVENT_INIT,
					   .set = set,
					   .listed = true };
	add_waiter(r, waiter);
	return true;
}

void rewrite_wait(struct log *log, uint64_t number, const struct store_set *set)
{
	struct rewrite_waiter waiter;

	lock(log);
	if (begin_wait(&log->rewrite, &waiter, number, set))
		wait_for(log, &waiter);
	unlock(log);
}

int rewrite_wait_poll(struct log *log, uint64_t number,
		      const struct store_set *set, struct skua_task *self,
		      struct rewrite_waiter *waiter, struct skua_wait *wait)
{
	bool waits;
	int code;

	if (!waiter->listed) {
		code = skua_mutex_lock_poll(self, &log->lock, wait,
					    SKUA_FOREVER_NS);
		if (code)
			return code;
		waits = begin_wait(&log->rewrite, waiter, number, set);
		unlock(log);
		if (!waits)
			return 0;
	}
	code = skua_event_wait_poll(self, &waiter->event, wait,
				    SKUA_FOREVER_NS);
	if (!code)
		waiter->listed = false;
	return code;
}

void rewrite_keep_up(struct log *log)
{
	struct rewrite_waiter waiter = { .event = SKUA_EVENT_INIT };

	lock(log);
	if (log->rewrite.copy.bytes >= LOG_BEHIND && log->rewrite.number &&
	    state_of(&log->rewrite) == REWRITE_VISITING) {
		add_waiter(&log->rewrite, &waiter);
		wait_for(log, &waiter);
	}
	unlock(log);
}

bool rewrite_make_room(struct log *log, int error)
{
	struct rewrite_waiter waiter = { .event = SKUA_EVENT_INIT };
	bool begun;

	lock(log);
	begun = give_up(&log->rewrite, error);
	if (begun) {
		add_waiter(&log->rewrite, &waiter);
		wait_for(log, &waiter);
	}
	unlock(log);
	return begun;
}

/* ---- the new file ----------------------------------------------------------------- */

static int sync_file(struct log *log)
{
	struct rewrite *r = &log->rewrite;
	int code = skua_file_sync(log->runtime, r->fd, 0, SKUA_FOREVER_NS);

	if (!code)
		r->synced = r->offset;
	return code;
}

/* Return the piece with its blob as one, in its place; NULL: no memory, and the piece is
 * freed. */
static struct piece *make_whole(struct piece *piece)
{
	struct blob *blob = piece->blob;
	struct piece *whole;

	if (!blob)
		return piece;
	whole = malloc(sizeof(*whole) + piece->used + blob->size);
	if (whole) {
		*whole = (struct piece){ .used = piece->used + blob->size };
		memcpy(whole->data, piece->data, piece->used);
		memcpy(whole->data + piece->used, blob->data, blob->size);
	}
	piece_free(piece);
	return whole;
}

/* Write a piece as a frame, and free it. */
static int write_piece(struct log *log, struct piece *piece)
{
	struct rewrite *r = &log->rewrite;
	int code;

	piece = make_whole(piece);
	if (!piece)
		return -ENOMEM;
	frame_seal(&r->file, piece->data, piece->used - FRAME_HEADER, r->offset,
		   r->synced);
	code = file_write(log->runtime, r->fd, piece->data, piece->used,
			  r->offset);
	if (!code)
		r->offset += piece->used;
	piece_free(piece);
	if (!code && r->offset - r->synced >= SYNC_BYTES)
		code = sync_file(log);
	return code;
}

/* Write what the copy has. Return: 0; a negative errno value, also if the rewrite is given up */
static int write_copy(struct log *log)
{
	struct rewrite *r = &log->rewrite;
	struct pieces pieces;
	struct piece *piece;
	int code;

	lock(log);
	pieces = r->copy;
	r->copy = (struct pieces){ NULL, NULL, 0 };
	code = r->error;
	unlock(log);
	while (!code && (piece = pieces_take(&pieces)))
		code = write_piece(log, piece);
	pieces_free(&pieces);
	return code;
}

/* Create the new file, with the mode of the old one, and lock it for the time when it is the
 * log. */
static int create_file(struct log *log)
{
	struct rewrite *r = &log->rewrite;
	struct stat old;
	int fd;

	file_remove(log->runtime, r->path);
	fd = skua_file_open(log->runtime, r->path, O_RDWR | O_CREAT | O_EXCL,
			    0600, SKUA_FOREVER_NS);
	if (fd < 0)
		return fd;
	r->fd = fd;
	r->offset = FRAME_FILE_HEADER;
	r->synced = 0;
	if (flock(fd, LOCK_EX | LOCK_NB) || fstat(log->fd, &old) ||
	    fchmod(fd, old.st_mode & 0777))
		return -errno;
	return file_begin(log->runtime, fd, &r->file);
}

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
	lock(log);
	pieces_join(&r->copy, &pieces);
	large = r->copy.bytes >= WRITE_BYTES ||
		(r->copy.last && r->copy.last->blob);
	code = fits ? r->error : -ENOMEM;
	unlock(log);
	r->visited[i] = r->last;
	store_unlock(stripe);
	return code || !large ? code : write_copy(log);
}

/* Visit the stripes for which commands wait. */
static int serve(struct log *log)
{
	static const struct store_set none;
	struct rewrite_waiter *waiters;
	int code = 0;

	lock(log);
	waiters = log->rewrite.waiters;
	log->rewrite.waiters = NULL;
	unlock(log);
	if (!waiters)
		return 0;
	for (struct rewrite_waiter *w = waiters; w; w = w->next)
		for (STORE_SET_EACH(i, w->set ? w->set : &none))
			code = code ? code : visit(log, i);
	code = code ? code : write_copy(log);
	wake_all(waiters);
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
	set_figure(&r->rewrites, r->rewrites + 1);
	set_figure(&r->begun_ns, skua_now_ns());
	code = create_file(log);
	lock(log);
	r->error = r->stopping ? -ECANCELED : code;
	code = r->error;
	set_number(r, ++r->last);
	set_state(r, REWRITE_VISITING);
	unlock(log);
	return code;
}

/* All were visited: write and sync almost all, and let the fiber of the log do the rest. */
static int finish(struct log *log)
{
	struct rewrite *r = &log->rewrite;
	struct rewrite_waiter *waiters;
	int code = write_copy(log);

	if (!code)
		code = sync_file(log);
	if (!code)
		code = write_copy(log);
	if (code)
		return code;
	lock(log);
	code = log->lost ? -EIO : r->error;
	if (!code)
		set_state(r, REWRITE_READY);
	waiters = r->waiters;
	r->waiters = NULL;
	unlock(log);
	wake_all(waiters);
	if (code)
		return code;
	skua_notify_one(&log->work);
	skua_event_wait(&r->switched, SKUA_FOREVER_NS);
	lock(log);
	code = r->error;
	unlock(log);
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
	set_figure(&r->ended_ns, skua_now_ns());
	set_figure(&r->took_ns, r->ended_ns - r->begun_ns);
	set_figure(&r->failures, code ? r->failures + 1 : 0);
	lock(log);
	copy = r->copy;
	r->copy = (struct pieces){ NULL, NULL, 0 };
	waiters = r->waiters;
	r->waiters = NULL;
	set_state(r, REWRITE_IDLE);
	unlock(log);
	wake_all(waiters);
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

	lock(log);
	stopping = log->rewrite.stopping;
	unlock(log);
	return stopping;
}

static void rewrite_log(struct skua_fiber *self)
{
	struct log *log = (struct log *)((char *)self -
					 offsetof(struct log, rewrite.fiber));

	skua_cancel_mask();
	while (!is_stopping(log)) {
		skua_notify_wait(&log->rewrite.work, SKUA_FOREVER_NS);
		if (state_of(&log->rewrite) == REWRITE_ASKED)
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
	lock(log);
	log->rewrite.stopping = true;
	/* A switch that has begun goes on. */
	if (state_of(&log->rewrite) != REWRITE_SWITCHING)
		give_up(&log->rewrite, -ECANCELED);
	unlock(log);
	skua_notify_one(&log->rewrite.work);
	skua_task_join(&log->rewrite.fiber.task);
}

/* ---- the fiber of the log --------------------------------------------------------- */

bool rewrite_is_ready(const struct rewrite *rewrite)
{
	return state_of(rewrite) == REWRITE_READY;
}

void rewrite_take(struct log *log)
{
	if (!rewrite_is_ready(&log->rewrite) || log->lost)
		return;
	set_state(&log->rewrite, REWRITE_SWITCHING);
	set_number(&log->rewrite, 0);
}

/* Write a last record, which changes nothing: its frame says how much of the file is on the
 * disk, so that a damage before is found. It removes a key that no client has: its name is a
 * secret of the file. */
static int write_end(struct log *log)
{
	struct rewrite *r = &log->rewrite;
	struct bytes argv[] = { { "DEL", 3 },
				{ (const char *)&r->file.key,
				  sizeof(r->file.key) } };
	struct pieces pieces = { NULL, NULL, 0 };
	char *at = pieces_add(&pieces,
			      RECORD_HEADER + record_command_size(2, argv));

	if (!at)
		return -ENOMEM;
	record_put_command(record_put_header(at, 1, 1), 2, argv);
	return write_piece(log, pieces_take(&pieces));
}

/* Write the rest, and give the new file the name of the old one. */
static int replace(struct log *log)
{
	int code = write_copy(log);

	if (!code)
		code = write_end(log);
	if (!code)
		code = sync_file(log);
	return code ? code
		    : file_rename(log->runtime, log->rewrite.path, log->path);
}

int rewrite_switch(struct log *log)
{
	struct rewrite *r = &log->rewrite;
	int code, old;

	if (state_of(r) != REWRITE_SWITCHING)
		return 0;
	skua_task_set_label("switch");
	code = replace(log);
	if (code) {
		rewrite_give_up(log, code);
		return 0;
	}
	/* From here on, the new file is the log, whatever happens. */
	code = file_sync_folder(log->runtime, log->path);
	old = log->fd;
	log->fd = r->fd;
	r->fd = old;
	log->file = r->file;
	log_set_offset(log, r->offset);
	log->synced = log->zeros = r->offset;
	log_set_base(log, r->offset);
	lock(log);
	set_state(r, REWRITE_SWITCHED);
	unlock(log);
	skua_event_set(&r->switched);
	return code;
}
