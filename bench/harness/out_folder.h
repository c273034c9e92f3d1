/* SPDX-License-Identifier: MIT */
/* out_folder.h - write the files of a report into the folder that --out names */
#ifndef SKUA_BENCH_HARNESS_OUT_FOLDER_H
#define SKUA_BENCH_HARNESS_OUT_FOLDER_H

#include <argp.h>
#include <stdio.h>

/**
 * out_folder_parse - parse the argument of --out, and create the folder if it is missing
 * @out: receives @arg
 *
 * The folder is created at once, so that a bad name fails before minutes of
 * measuring, not after them. Return: 0; EINVAL after args_refuse().
 */
error_t out_folder_parse(const char *arg, const char **out);

/**
 * out_folder_write - write one file of a report
 * @name: name of the file in @folder
 * @write: function that writes @report to the file
 *
 * Prints on stderr that the file is written, or why it is not. Return: 0; -EIO.
 */
int out_folder_write(const char *folder, const char *name,
		     void (*write)(FILE *file, const void *report),
		     const void *report);

#endif
