/* SPDX-License-Identifier: MIT */
/* snapshot.h - write the description of a machine to one text file (sysfs.h) */
#ifndef SKUA_TOPOLOGY_SNAPSHOT_H
#define SKUA_TOPOLOGY_SNAPSHOT_H

#include <stdio.h>

#include "skua/base.h"

/**
 * snapshot_save - write a snapshot
 * @file: open for writing; the caller closes it
 * @root: "/", or a folder that has a copy of its sysfs
 * @err: receives a description of the error; may be NULL
 *
 * Return: 0; -ENOENT (nothing is described there); -ENOMEM; another error of
 * reading or writing.
 */
int snapshot_save(FILE *file, const char *root, struct skua_error *err);

#endif
