/* SPDX-License-Identifier: MIT */
/* peers.h - find the programs of other schedulers (bench/peers) that have been built */
#ifndef SKUA_BENCH_REPORT_PEERS_H
#define SKUA_BENCH_REPORT_PEERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { PEERS_MAX = 16, PEERS_NAME_BYTES = 32 };

/**
 * struct peer - the program of another scheduler
 * @name: name of the scheduler, such as "tokio"
 * @path: path of the program, owned
 * @workloads: output of its verb `list`, owned; NULL if that failed
 */
struct peer {
	char name[PEERS_NAME_BYTES];
	char *path;
	char *workloads;
};

/* @folder: the folder that was searched, owned */
struct peers {
	char *folder;
	struct peer peer[PEERS_MAX];
	unsigned count;
};

/**
 * peers_find - find the programs, and ask each for its workloads
 * @folder: folder of the programs; NULL: "peers" beside this program
 *
 * A program that does not list its workloads is named on stderr, and counts as having
 * none. A folder without programs is no error. Return: 0; -ENOMEM.
 */
int peers_find(struct peers *peers, const char *folder);

void peers_free(struct peers *peers);

bool peers_has(const struct peer *peer, const char *workload);

/* peers_print_missing - print a line with the peers that are not built, if any */
void peers_print_missing(FILE *file, const struct peers *peers);

/* peers_self - return the path of this program, owned by the caller; NULL: unknown */
char *peers_self(void);

#endif
