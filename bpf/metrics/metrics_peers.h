/* SPDX-License-Identifier: MIT */
/**
 * metrics_peers.h - the connections of skua metrics, none of which may keep it busy
 *
 * A client that sends its request byte by byte, or does not read its answer, is not
 * idle, and still takes a place. So a connection has a deadline for its whole request
 * and answer, and when too many are open, of one address or in all, the oldest one
 * without a complete request makes room: of the address that has most.
 */
#ifndef SKUA_BPF_METRICS_PEERS_H
#define SKUA_BPF_METRICS_PEERS_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/socket.h>

#define PEERS_MAX      64u  /* connections */
#define PEERS_MAX_EACH 32u  /* of an address */
#define PEERS_PLACES   128u /* those included that are being closed */

#define PEERS_ANSWER_SECONDS \
	10.0 /* from the start to the end of the first answer */
#define PEERS_NEXT_SECONDS 30.0 /* from there to the end of the next one */

/**
 * struct peer - a connection
 * @fd: -1: a free place
 * @asked: its request is complete
 * @shut: it was told to end, and is not closed yet
 */
struct peer {
	int fd;
	struct sockaddr_storage address;
	double until;
	double since;
	bool asked, shut;
};

struct peers {
	pthread_mutex_t lock;
	struct peer places[PEERS_PLACES];
};

void peers_init(struct peers *peers);

/* peers_open - a connection came at that second. It may shut another one. Return: NULL:
 * there is no place, and the caller closes it */
struct peer *peers_open(struct peers *peers, int fd,
			const struct sockaddr *address, double now);

/* peers_ask - its request is complete */
void peers_ask(struct peers *peers, struct peer *peer);

/* peers_answer - its answer has been read */
void peers_answer(struct peers *peers, struct peer *peer, double now);

/* peers_close - before its descriptor is closed */
void peers_close(struct peers *peers, struct peer *peer);

/* peers_look - shut those whose time is over. Return: how many */
unsigned peers_look(struct peers *peers, double now);

#endif
