/* SPDX-License-Identifier: MIT */
/* out_folder.c - see out_folder.h */
#include "bench/harness/out_folder.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "bpf/cli/args.h"
#include "bpf/cli/outfile.h"

error_t out_folder_parse(const char *arg, const char **out)
{
	if (mkdir(arg, 0777) != 0 && errno != EEXIST)
		return args_refuse("--out: no folder '%s': %s", arg,
				   strerror(errno));
	*out = arg;
	return 0;
}

int out_folder_write(const char *folder, const char *name,
		     void (*write)(FILE *file, const void *report),
		     const void *report)
{
	char path[4096];
	const char *why;
	FILE *file;
	bool failed;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = outfile_fopen(path, &why);
	if (file == NULL) {
		fprintf(stderr, ARGS_PROGRAM " report: cannot write %s: %s\n",
			path, why);
		return -EIO;
	}
	write(file, report);
	failed = ferror(file) != 0;
	failed |= fclose(file) != 0;
	fprintf(stderr,
		failed ? ARGS_PROGRAM " report: cannot write %s\n"
		       : "written: %s\n",
		path);
	return failed ? -EIO : 0;
}
