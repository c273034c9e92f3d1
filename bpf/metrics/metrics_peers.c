/* SPDX-License-Identifier: MIT */
/* metrics_peers.c - see metrics_peers.h */
#include "bpf/metrics/metrics_peers.h"

#include <netinet/in.h>
#include <stddef.h>
#include <string.h>

void peers_init(struct peers *peers)
{
	pthread_mutex_init(&peers->lock, NULL);
	for (unsigned i = 0; i < PEERS_PLACES; i++)
		peers->places[i].fd = -1;
}

/* Compare the host's address. For IPv6 only the network (64 bits) counts, as
 * one host can use any address in it. */
static bool same_address(const struct sockaddr_storage *one,
			 const struct sockaddr_storage *other)
{
	const struct sockaddr_in6 *a = (const void *)one;
	const struct sockaddr_in6 *b = (const void *)other;

	if (one->ss_family != other->ss_family)
		return false;
	if (one->ss_family == AF_INET6)
		return memcmp(&a->sin6_addr, &b->sin6_addr, 8) == 0;
	return one->ss_family != AF_INET ||
	       ((const struct sockaddr_in *)one)->sin_addr.s_addr ==
		       ((const struct sockaddr_in *)other)->sin_addr.s_addr;
}

static bool is_open(const struct peer *peer)
{
	return peer->fd >= 0 && !peer->shut;
}

/* Count the open connections from @address, or from everywhere if it is
 * NULL. */
static unsigned count(const struct peers *peers,
		      const struct sockaddr_storage *address)
{
	unsigned found = 0;

	for (unsigned i = 0; i < PEERS_PLACES; i++) {
		const struct peer *peer = &peers->places[i];

		found += is_open(peer) &&
			 (!address || same_address(&peer->address, address));
	}
	return found;
}

static const struct sockaddr_storage *busiest(const struct peers *peers)
{
	const struct sockaddr_storage *found = NULL;
	unsigned most = 0;

	for (unsigned i = 0; i < PEERS_PLACES; i++) {
		const struct peer *peer = &peers->places[i];
		unsigned theirs =
			is_open(peer) ? count(peers, &peer->address) : 0;

		if (theirs > most) {
			most = theirs;
			found = &peer->address;
		}
	}
	return found;
}

/* Shut the connection down. The thread that reads and writes it sees its end,
 * and closes it. */
static void shut(struct peer *peer)
{
	peer->shut = true;
	shutdown(peer->fd, SHUT_RDWR);
}

/* Shut the oldest connection from @address, preferably one without a complete
 * request. */
static void make_room(struct peers *peers,
		      const struct sockaddr_storage *address)
{
	struct peer *oldest = NULL;

	for (unsigned i = 0; i < PEERS_PLACES; i++) {
		struct peer *peer = &peers->places[i];

		if (!is_open(peer) || !same_address(&peer->address, address))
			continue;
		if (!oldest || peer->asked < oldest->asked ||
		    (peer->asked == oldest->asked &&
		     peer->since < oldest->since))
			oldest = peer;
	}
	if (oldest)
		shut(oldest);
}

static struct peer *find_place(struct peers *peers)
{
	for (unsigned i = 0; i < PEERS_PLACES; i++) {
		if (peers->places[i].fd < 0)
			return &peers->places[i];
	}
	return NULL;
}

struct peer *peers_open(struct peers *peers, int fd,
			const struct sockaddr *address, double now)
{
	struct sockaddr_storage from = { .ss_family = AF_UNSPEC };
	struct peer *peer;

	if (address)
		memcpy(&from, address,
		       address->sa_family == AF_INET6
			       ? sizeof(struct sockaddr_in6)
			       : sizeof(struct sockaddr_in));
	pthread_mutex_lock(&peers->lock);
	if (count(peers, &from) >= PEERS_MAX_EACH)
		make_room(peers, &from);
	else if (count(peers, NULL) >= PEERS_MAX)
		make_room(peers, busiest(peers));
	peer = find_place(peers);
	if (peer)
		*peer = (struct peer){ .fd = fd,
				       .address = from,
				       .since = now,
				       .until = now + PEERS_ANSWER_SECONDS };
	pthread_mutex_unlock(&peers->lock);
	return peer;
}

void peers_ask(struct peers *peers, struct peer *peer)
{
	pthread_mutex_lock(&peers->lock);
	peer->asked = true;
	pthread_mutex_unlock(&peers->lock);
}

void peers_answer(struct peers *peers, struct peer *peer, double now)
{
	pthread_mutex_lock(&peers->lock);
	peer->asked = false;
	peer->since = now;
	peer->until = now + PEERS_NEXT_SECONDS;
	pthread_mutex_unlock(&peers->lock);
}

void peers_close(struct peers *peers, struct peer *peer)
{
	pthread_mutex_lock(&peers->lock);
	peer->fd = -1;
	pthread_mutex_unlock(&peers->lock);
}

unsigned peers_look(struct peers *peers, double now)
{
	unsigned late = 0;

	pthread_mutex_lock(&peers->lock);
	for (unsigned i = 0; i < PEERS_PLACES; i++) {
		struct peer *peer = &peers->places[i];

		if (is_open(peer) && now >= peer->until) {
			shut(peer);
			late++;
		}
	}
	pthread_mutex_unlock(&peers->lock);
	return late;
}
