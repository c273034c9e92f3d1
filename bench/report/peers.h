/* SPDX-License-Identifier: MIT */
/* peers.h - which programs of other schedulers there are (bench/peers) */
#ifndef SKUA_BENCH_REPORT_PEERS_H
#define SKUA_BENCH_REPORT_PEERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { PEERS_MAX = 16, PEERS_NAME_BYTES = 32 };

/**
 * struct peer
 * @name: "tokio"
 * @path: of the program, owned
 * @workloads: what its `list` prints, owned; NULL if that failed
 */
struct peer {
	char name[PEERS_NAME_BYTES];
	char *path;
	char *workloads;
};

/* @folder: where they were looked for, owned */
struct peers {
	char *folder;
	struct peer peer[PEERS_MAX];
	unsigned count;
};

/**
 * peers_find - find the programs and ask each for its workloads
 * @folder: NULL: "peers" beside this program
 *
 * One that cannot be asked is named on stderr, and has no workloads. None is
 * no failure. Return: 0; -ENOMEM.
 */
int peers_find(struct peers *peers, const char *folder);

void peers_free(struct peers *peers);

bool peers_has(const struct peer *peer, const char *workload);

/* peers_print_missing - a line that says which are not built; or none */
void peers_print_missing(FILE *file, const struct peers *peers);

/* peers_self - the path of this program, owned by the caller; NULL: unknown */
char *peers_self(void);

#endif
