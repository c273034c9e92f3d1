/* SPDX-License-Identifier: MIT */
/**
 * outfile.h - opens the file that the user names for results
 *
 * In a shared folder, where everybody may create files (sticky, such as /tmp), another
 * user may have created a link or a file with this name. Root would then overwrite a
 * file of their choice, or write results that they can read. Therefore, in such a
 * folder the last part of the name must be one of: a new name; a file of the caller's
 * that has no other name; a link of the caller's or root's. The kernel enforces the
 * same where fs.protected_symlinks and fs.protected_regular are on. In other folders
 * there is no restriction.
 */
#ifndef SKUA_BPF_CLI_OUTFILE_H
#define SKUA_BPF_CLI_OUTFILE_H

#include <stdio.h>
#include <sys/types.h>

/**
 * outfile_open - open a file to write
 * @flags: O_WRONLY or O_RDWR, optionally with O_TRUNC. A missing file is created, and
 *         the descriptor is closed on exec
 * @mode: of a new file
 * @why: on failure, receives the reason as text
 *
 * Return: a descriptor; a negative errno.
 */
int outfile_open(const char *path, int flags, mode_t mode, const char **why);

/* outfile_fopen - open a file by outfile_open(), empty it, and return a stream.
 * Return: NULL on failure, with the reason in @why */
FILE *outfile_fopen(const char *path, const char **why);

#endif
