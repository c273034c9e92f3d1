/* SPDX-License-Identifier: MIT */
/* count_descriptors.c - a program that has more descriptors at its end than at its
 * start fails. For one that is linked with --wrap=main. */
#include <dirent.h>
#include <stdio.h>

int __real_main(int argc, char **argv);
int __wrap_main(int argc, char **argv);

static int count_descriptors(void)
{
	DIR *folder = opendir("/proc/self/fd");
	int count = 0;

	while (folder && readdir(folder))
		count++;
	if (folder)
		closedir(folder);
	return count;
}

int __wrap_main(int argc, char **argv)
{
	int before = count_descriptors();
	int code = __real_main(argc, argv);
	int leaked = count_descriptors() - before;

	if (code == 0 && leaked) {
		fprintf(stderr, "%d descriptors leaked\n", leaked);
		return 1;
	}
	return code;
}
