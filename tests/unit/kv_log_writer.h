/* SPDX-License-Identifier: MIT */
/* kv_log_writer.h - a log of skua-kv on a disk that fails on request */
#ifndef SKUA_TESTS_UNIT_KV_LOG_WRITER_H
#define SKUA_TESTS_UNIT_KV_LOG_WRITER_H

#include "bench/kv/log/log.h"
#include "tests/unit/kv_disk.h"
#include "tests/unit/unit.h"

/* The results of the next calls; 0: those of the kernel. */
extern int sync_error, write_error;
/* The numbers of calls; whether writes are cut short. The runtime's threads use all of these. */
extern unsigned syncs, writes, shortened;
/* Writes wait until this is 0. */
extern unsigned stuck;

extern char path[];
extern struct skua_runtime *runtime;
extern struct log server_log;
/* The commands that open_log() has found in the log. */
extern uint64_t replayed;

/* log_begin, log_end - prepare each test, and clean up after it */
int log_begin(void **state);
int log_end(void **state);

/* open_log - open the log, and start its fiber */
void open_log(enum log_mode mode);

/* add_record - add a record: SET key and @size bytes. Return: its position */
uint64_t add_record(size_t size);

#endif
