/* SPDX-License-Identifier: MIT */
/* out_folder.h - the files of a report, in the folder that --out names */
#ifndef SKUA_BENCH_HARNESS_OUT_FOLDER_H
#define SKUA_BENCH_HARNESS_OUT_FOLDER_H

#include <argp.h>
#include <stdio.h>

/**
 * out_folder_parse - the argument of --out: make the folder unless it exists
 * @out: receives @arg
 *
 * Return: 0, or EINVAL after args_refuse(): a bad name fails before minutes of
 * measuring, not after them.
 */
error_t out_folder_parse(const char *arg, const char **out);

/**
 * out_folder_write - write one file of a report
 * @name: the file in @folder
 * @write: writes @report to the file
 *
 * Prints on stderr that the file is written, or why it is not.
 * Return: 0; -EIO.
 */
int out_folder_write(const char *folder, const char *name,
		     void (*write)(FILE *file, const void *report),
		     const void *report);

#endif
