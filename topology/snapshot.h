/* SPDX-License-Identifier: MIT */
/* snapshot.h - what describes a machine, in one text file (sysfs.h) */
#ifndef SKUA_TOPOLOGY_SNAPSHOT_H
#define SKUA_TOPOLOGY_SNAPSHOT_H

#include <stdio.h>

#include "skua/base.h"

/**
 * snapshot_save - write a snapshot
 * @file: open for writing; the caller's
 * @root: "/", or a folder with a tree as there
 * @err: receives what was wrong; may be NULL
 *
 * Return: 0; -ENOENT (nothing is described there); -ENOMEM; another error of
 * reading or writing.
 */
int snapshot_save(FILE *file, const char *root, struct skua_error *err);

#endif
