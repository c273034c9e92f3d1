/* SPDX-License-Identifier: MIT */
/**
 * outfile.h - open the file that the user names for results
 *
 * In a folder in which everybody may make files (sticky, as /tmp), another user may
 * have put a link, or a file of theirs, in the place of the name: then root would
 * write where they want, or what they can read. There the last part of the name must
 * be new, or a file of the caller's with no other name, or a link of the caller's
 * or root's. The kernel's fs.protected_symlinks and fs.protected_regular say the same,
 * where they are on. Elsewhere the name means what it always does.
 */
#ifndef SKUA_BPF_CLI_OUTFILE_H
#define SKUA_BPF_CLI_OUTFILE_H

#include <stdio.h>
#include <sys/types.h>

/**
 * outfile_open - open a file to write
 * @flags: O_WRONLY or O_RDWR, and O_TRUNC or not; it is made if it is not there, and
 *         closed by exec
 * @mode: of a new file
 * @why: receives what is wrong, for people
 *
 * Return: a descriptor; a negative errno.
 */
int outfile_open(const char *path, int flags, mode_t mode, const char **why);

/* outfile_fopen - the same for a stream, that begins empty. Return: NULL: see @why */
FILE *outfile_fopen(const char *path, const char **why);

#endif
