/* SPDX-License-Identifier: MIT */
/* kv_log_writer.c - a log on a disk that fails on request; see kv_log_writer.h */
#include "tests/unit/kv_log_writer.h"

#include <stdlib.h>
#include <unistd.h>

/* ---- a disk ---------------------------------------------------------------------- */

int sync_error, write_error;
unsigned syncs, writes, shortened, stuck;

int __wrap_skua_file_sync(struct skua_runtime *rt, int fd, unsigned flags,
			  uint64_t deadline_ns)
{
	WRITE(syncs, READ(syncs) + 1);
	if (READ(sync_error))
		return READ(sync_error);
	return __real_skua_file_sync(rt, fd, flags, deadline_ns);
}

ssize_t __wrap_skua_file_write(struct skua_runtime *rt, int fd,
			       const void *data, size_t size, int64_t offset,
			       uint64_t deadline_ns)
{
	WRITE(writes, READ(writes) + 1);
	while (READ(stuck))
		skua_sleep_until(skua_now_ns() + 1000000);
	if (READ(write_error))
		return READ(write_error);
	if (READ(shortened) && size > 7)
		size = 7;
	return __real_skua_file_write(rt, fd, data, size, offset, deadline_ns);
}

/* ---- a log ------------------------------------------------------------------------ */

char path[] = "/tmp/test_kv_log_writer.XXXXXX";
struct skua_runtime *runtime;
struct log server_log;
uint64_t replayed;

static bool count(void *ctx, uint64_t offset, struct bytes records)
{
	struct record_reader reader = { .next = records.data,
					.end = records.data + records.size };

	(void)ctx;
	(void)offset;
	while (record_next(&reader) == RECORD_COMMAND)
		replayed++;
	record_reader_free(&reader);
	return true;
}

void open_log(enum log_mode mode)
{
	struct skua_error err = { 0, "" };
	uint64_t cut;

	memset(&server_log, 0, sizeof(server_log));
	server_log.runtime = runtime;
	server_log.mode = mode;
	replayed = 0;
	if (log_open(&server_log, path, count, NULL, &cut, &err))
		fail_msg("%s", err.text);
	assert_int_equal(cut, 0);
	assert_int_equal(log_start(&server_log), 0);
}

int log_begin(void **state)
{
	struct skua_config config = SKUA_CONFIG_INIT;
	int fd;

	(void)state;
	strcpy(path + sizeof(path) - 7, "XXXXXX");
	fd = mkstemp(path);
	if (fd < 0)
		return -1;
	close(fd);
	sync_error = write_error = 0;
	syncs = writes = shortened = stuck = 0;
	config.workers = 2;
	return skua_runtime_create(&runtime, &config, NULL);
}

int log_end(void **state)
{
	(void)state;
	unlink(path);
	return skua_runtime_destroy(runtime);
}

uint64_t add_record(size_t size)
{
	static const char value[1 << 16];
	struct bytes argv[] = { { "SET", 3 }, { "key", 3 }, { value, size } };

	return log_add(&server_log, 1000, 1, NULL, 3, argv, 0);
}
