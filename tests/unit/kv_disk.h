/* SPDX-License-Identifier: MIT */
/* kv_disk.h - calls on files that tests of skua-kv replace, and the numbers that direct them */
#ifndef SKUA_TESTS_UNIT_KV_DISK_H
#define SKUA_TESTS_UNIT_KV_DISK_H

#include <skua/file.h>

/* Relaxed: the numbers order no other access. */
#define READ(number)       __atomic_load_n(&(number), __ATOMIC_RELAXED)
#define WRITE(number, set) __atomic_store_n(&(number), set, __ATOMIC_RELAXED)

int __real_skua_file_sync(struct skua_runtime *rt, int fd, unsigned flags,
			  uint64_t deadline_ns);
int __wrap_skua_file_sync(struct skua_runtime *rt, int fd, unsigned flags,
			  uint64_t deadline_ns);
ssize_t __real_skua_file_write(struct skua_runtime *rt, int fd,
			       const void *data, size_t size, int64_t offset,
			       uint64_t deadline_ns);
ssize_t __wrap_skua_file_write(struct skua_runtime *rt, int fd,
			       const void *data, size_t size, int64_t offset,
			       uint64_t deadline_ns);

#endif
