/* SPDX-License-Identifier: MIT */
/* open.c - opens the file of the log, locks it, and reads it */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/kv/log/file.h"
#include "bench/kv/log/log.h"

/* How long to wait for the lock of the file, and how long between two tries. */
#define LOCK_NS       UINT64_C(3000000000)
#define LOCK_PAUSE_NS UINT64_C(10000000)

static int fail(struct skua_error *err, int code, const char *path,
		const char *what)
{
	err->code = code;
	snprintf(err->text, sizeof(err->text), "%s: %s%s%s", path, what,
		 code ? ": " : "", code ? strerror(-code) : "");
	return code ? code : -EINVAL;
}

/* Write the header of a new file, in place of a header that a crash has cut short. */
static int begin_file(struct log *log, const char *path)
{
	int code;

	if (ftruncate(log->fd, 0))
		return -errno;
	code = file_begin(log->runtime, log->fd, &log->file);
	if (!code)
		code = skua_file_sync(log->runtime, log->fd, 0,
				      SKUA_FOREVER_NS);
	return code ? code : file_sync_folder(log->runtime, path);
}

/* Lock the file. The kernel may still carry out the last write of a server that was killed:
 * the file stays locked meanwhile, even if the process is gone. */
static int lock_file(struct log *log)
{
	uint64_t end_ns = skua_now_ns() + LOCK_NS;

	while (flock(log->fd, LOCK_EX | LOCK_NB)) {
		if (errno != EWOULDBLOCK || skua_now_ns() >= end_ns)
			return -errno;
		skua_sleep_until(skua_now_ns() + LOCK_PAUSE_NS);
	}
	return 0;
}

static ssize_t read_file(void *ctx, void *buffer, size_t size, uint64_t offset)
{
	struct log *log = ctx;

	return skua_file_read(log->runtime, log->fd, buffer, size,
			      (int64_t)offset, SKUA_FOREVER_NS);
}

/* Cut the file after its last good frame, and sync it: the frames to come state that these
 * bytes are on the disk. */
static int cut_off(struct log *log)
{
	if (ftruncate(log->fd, (off_t)log->offset))
		return -errno;
	return skua_file_sync(log->runtime, log->fd, 0, SKUA_FOREVER_NS);
}

static int damaged(const struct log_found *found, const char *path,
		   struct skua_error *err)
{
	err->code = -EBADMSG;
	snprintf(err->text, sizeof(err->text),
		 "%s is damaged at byte %llu, and has good records from byte "
		 "%llu on; to give up all from the damage on, cut the file "
		 "there",
		 path, (unsigned long long)found->end,
		 (unsigned long long)found->next);
	return err->code;
}

/* Go on where the file ends. Return: 0; a negative errno value */
static int accept(struct log *log, const struct log_found *found,
		  const struct log_source *source, const char *path,
		  uint64_t *cut, struct skua_error *err)
{
	int code = 0;

	switch (found->verdict) {
	case LOG_NEW:
		code = begin_file(log, path);
		log->offset = FRAME_FILE_HEADER;
		break;
	case LOG_TORN:
		*cut = source->size - found->end;
		/* fall through */
	case LOG_WHOLE:
		log->file = found->file;
		log->offset = found->end;
		code = cut_off(log);
		break;
	case LOG_DAMAGED:
		return damaged(found, path, err);
	case LOG_FOREIGN:
		return fail(err, 0, path, "is not a log of skua-kv");
	case LOG_STOPPED:
		return fail(err, -EBADMSG, path,
			    "has a record that is refused");
	case LOG_UNREAD:
		return fail(err, found->error, path, "cannot be read");
	}
	log->synced = log->zeros = log->offset;
	log_set_base(log, log->offset);
	return code ? fail(err, code, path, "cannot be written") : 0;
}

/* Is the open file still the one of this name? Another server may have rewritten its log while
 * this one waited for the lock. */
static bool is_current(const struct log *log, const char *path)
{
	struct stat opened, named;

	return !fstat(log->fd, &opened) && !stat(path, &named) &&
	       opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

/* Open and lock the file. */
static int open_locked(struct log *log, const char *path,
		       struct skua_error *err)
{
	int code;

	do {
		log->fd = skua_file_open(log->runtime, path, O_RDWR | O_CREAT,
					 0600, SKUA_FOREVER_NS);
		if (log->fd < 0)
			return fail(err, log->fd, path, "cannot be opened");
		code = lock_file(log);
		if (!code && is_current(log, path))
			return 0;
		close(log->fd);
	} while (!code);
	return code == -EWOULDBLOCK
		       ? fail(err, 0, path, "is used by another server")
		       : fail(err, code, path, "cannot be locked");
}

/* Note the names of the file and of that of a rewrite, which a server that was killed may have
 * left behind. The name of a symbolic link stays: a rewrite replaces the file itself. */
static int name_files(struct log *log, const char *path)
{
	log->path = realpath(path, NULL);
	if (!log->path)
		return -errno;
	if (asprintf(&log->rewrite.path, "%s.rewrite", log->path) < 0) {
		log->rewrite.path = NULL;
		return -ENOMEM;
	}
	unlink(log->rewrite.path);
	return 0;
}

int log_open(struct log *log, const char *path, log_visit_fn visit, void *ctx,
	     uint64_t *cut, struct skua_error *err)
{
	struct log_source source = { .read = read_file, .ctx = log };
	struct log_found found;
	struct stat stat;
	int code = open_locked(log, path, err);

	*cut = 0;
	if (code)
		return code;
	code = name_files(log, path);
	if (code) {
		code = fail(err, code, path, "cannot be named");
	} else if (fstat(log->fd, &stat)) {
		code = fail(err, -errno, path, "cannot be read");
	} else if (!S_ISREG(stat.st_mode)) {
		code = fail(err, 0, path, "is not a file");
	} else {
		source.size = (uint64_t)stat.st_size;
		log_read(&source, visit, ctx, &found);
		code = accept(log, &found, &source, path, cut, err);
	}
	if (code)
		log_close(log);
	return code;
}

void log_close(struct log *log)
{
	close(log->fd);
	free(log->path);
	free(log->rewrite.path);
	free(log->adding.data);
	free(log->writing.data);
}
