/* SPDX-License-Identifier: MIT */
/**
 * io_faults.h - system calls that fail in the ways in which the kernel may let them fail
 *
 * A library that takes the place of the C library's recv(), write(), epoll_ctl() and others.
 * A program loads it by LD_PRELOAD, or is linked with it. A seed decides which calls fail.
 * Reads, writes and accepts fail only on descriptors that are attached to a runtime: those in
 * an epoll, edge-triggered. So the test's own reads and writes of other descriptors do not
 * fail. Some calls fail for any descriptor: sleeps in epoll and in ppoll(), epoll_create1(),
 * edge-triggered additions to an epoll, attempts to connect that are in progress, and closes
 * by syscall().
 *
 * A call that fails with EAGAIN, or that moves fewer bytes than it could, is followed by an
 * event if the descriptor is still ready, as in the kernel.
 *
 * SKUA_IO_FAULTS has the kinds and the seed: "eintr,short:7". Without it, no call fails.
 * With "direct" among the kinds, reads, writes and the like fail only if they are made by
 * syscall(): those of the library, unless it is built with a sanitizer.
 */
#ifndef SKUA_TESTS_FAULTS_IO_FAULTS_H
#define SKUA_TESTS_FAULTS_IO_FAULTS_H

#include <stdint.h>

enum io_fault {
	IO_FAULT_EINTR,  /* the library hides it */
	IO_FAULT_EAGAIN, /* the library waits for the event */
	IO_FAULT_SHORT,  /* fewer bytes */
	/* An accept fails: a connection was aborted, or descriptors or memory are
	 * exhausted. The library tries again. */
	IO_FAULT_ACCEPT,
	/* Another call fails for a lack of memory, descriptors or addresses. The caller
	 * learns of it. */
	IO_FAULT_MEMORY,
	/* Each write to a stream returns 0, as the kernel's own streams do not. */
	IO_FAULT_NOTHING,
	IO_FAULT_KINDS
};

/* io_faults_set - let calls fail from now on. @kinds: a bit for each kind */
void io_faults_set(unsigned kinds, uint32_t seed);

/* io_faults_made - how many calls have failed like this so far */
uint64_t io_faults_made(enum io_fault kind);

#endif
