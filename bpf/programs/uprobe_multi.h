/* SPDX-License-Identifier: MIT */
/* uprobe_multi.h - declarations to attach to many places of a file by one call
 * (Linux 6.6); the headers of older kernels, and libbpf 1.1, lack them */
#ifndef SKUA_BPF_UPROBE_MULTI_H
#define SKUA_BPF_UPROBE_MULTI_H

#include <stdint.h>

#define ATTACH_UPROBE_MULTI 48 /* a program's expected_attach_type */

/* The arguments of bpf(BPF_LINK_CREATE). */
struct uprobe_multi {
	uint32_t prog_fd, target_fd, attach_type, flags;
	uint64_t path, offsets, ref_ctr_offsets, cookies;
	uint32_t count, multi_flags, pid, padding;
};

#endif
