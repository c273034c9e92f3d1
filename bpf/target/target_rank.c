/* SPDX-License-Identifier: MIT */
/* target_rank.c - see target_rank.h */
#include "bpf/target/target_rank.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/target/target.h"

/* The variables that contain a rank, the most reliable first: mpirun inside an
 * allocation of Slurm passes on the SLURM_PROCID of its own step. */
static const char *const variables[] = {
	"OMPI_COMM_WORLD_RANK=", /* Open MPI */
	"PMIX_RANK=",            /* launchers that use PMIx */
	"PMI_RANK=",             /* MPICH and its relatives */
	"SLURM_PROCID=",         /* srun */
};

/* A process may claim an environment of any size. The kernel gives a new program
 * 6 MiB at most. */
#define MAX_ENVIRONMENT ((size_t)8 << 20)

enum { VARIABLES = sizeof(variables) / sizeof(variables[0]) };

/* The rank in @entry, if it is that of @variable. */
static uint32_t rank_in(const char *entry, const char *variable)
{
	size_t length = strlen(variable);
	unsigned long long number;
	char *end;

	if (strncmp(entry, variable, length) != 0 ||
	    !isdigit((unsigned char)entry[length]))
		return TARGET_NO_RANK;
	errno = 0;
	number = strtoull(entry + length, &end, 10);
	return errno || *end || number >= TARGET_NO_RANK ? TARGET_NO_RANK
							 : (uint32_t)number;
}

uint32_t target_rank_find(FILE *environment)
{
	uint32_t rank = TARGET_NO_RANK;
	unsigned best = VARIABLES; /* the variable that @rank is from */
	char *entry = NULL;
	size_t room = 0;

	while (getdelim(&entry, &room, '\0', environment) > 0) {
		for (unsigned i = 0; i < best; i++) {
			uint32_t found = rank_in(entry, variables[i]);

			if (found == TARGET_NO_RANK)
				continue;
			rank = found;
			best = i;
		}
	}
	free(entry);
	return rank;
}

uint32_t target_rank_read(int folder)
{
	int fd = openat(folder, "environ", O_RDONLY | O_CLOEXEC);
	char *text = fd < 0 ? NULL : malloc(MAX_ENVIRONMENT);
	uint32_t rank = TARGET_NO_RANK;
	size_t bytes = 0;
	ssize_t got = 1;
	FILE *file;

	while (text && got > 0 && bytes < MAX_ENVIRONMENT) {
		got = read(fd, text + bytes, MAX_ENVIRONMENT - bytes);
		bytes += got > 0 ? (size_t)got : 0;
	}
	file = bytes > 0 ? fmemopen(text, bytes, "r") : NULL;
	if (file) {
		rank = target_rank_find(file);
		fclose(file);
	}
	free(text);
	if (fd >= 0)
		close(fd);
	return rank;
}
