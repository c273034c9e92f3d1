/* SPDX-License-Identifier: MIT */
/**
 * metrics_peers.h - limit how long and how often clients can keep skua metrics
 * busy
 *
 * A client that sends its request byte by byte, or does not read its answer, is
 * not idle but still uses a place. So each connection has a deadline for its
 * whole request and answer. When too many connections are open, one is shut to
 * make room: if one address has too many, one from this address; if there are
 * too many in all, one from the address with the most. The oldest connection
 * without a complete request goes first.
 */
#ifndef SKUA_BPF_METRICS_PEERS_H
#define SKUA_BPF_METRICS_PEERS_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/socket.h>

#define PEERS_MAX      64u  /* connections */
#define PEERS_MAX_EACH 32u  /* connections from one address */
#define PEERS_PLACES   128u /* including connections that are being closed */

#define PEERS_ANSWER_SECONDS \
	10.0                    /* from accept to the end of the first answer */
#define PEERS_NEXT_SECONDS 30.0 /* between the ends of two answers */

/**
 * struct peer - a connection
 * @fd: -1: the place is free
 * @until: deadline, in seconds of exits_now()
 * @since: when it was opened, or last answered
 * @asked: its request is complete
 * @shut: it was shut down, and is not closed yet
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

/* peers_open - add a connection that began at second @now. It may shut another
 * connection. Return: its entry; NULL: no place is free, and the caller must
 * close the connection */
struct peer *peers_open(struct peers *peers, int fd,
			const struct sockaddr *address, double now);

/* peers_ask - note that the connection's request is complete */
void peers_ask(struct peers *peers, struct peer *peer);

/* peers_answer - note that the answer to the request was sent */
void peers_answer(struct peers *peers, struct peer *peer, double now);

/* peers_close - free the entry; call it before the descriptor is closed */
void peers_close(struct peers *peers, struct peer *peer);

/* peers_look - shut connections after their deadline. Return: how many */
unsigned peers_look(struct peers *peers, double now);

#endif
