/* SPDX-License-Identifier: MIT */
/* test_metrics_peers.c - which connections make room, and when */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "bpf/metrics/metrics_peers.h"
#include "tests/unit/support.h"

struct client {
	int ends[2];
	struct peer *peer;
};

static struct peers peers;

static void come(struct client *client, const char *from, double now)
{
	struct sockaddr_in at = { .sin_family = AF_INET };

	assert_int_equal(inet_pton(AF_INET, from, &at.sin_addr), 1);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, client->ends), 0);
	client->peer = peers_open(&peers, client->ends[0],
				  (struct sockaddr *)&at, now);
	assert_non_null(client->peer);
}

/* Has it been shut? */
static bool is_shut(const struct client *client)
{
	char byte;

	return recv(client->ends[1], &byte, 1, MSG_DONTWAIT) == 0;
}

static void go(struct client *client)
{
	peers_close(&peers, client->peer);
	close(client->ends[0]);
	close(client->ends[1]);
}

TEST(deadline__not_asked_or_not_read__shut)
{
	struct client slow, served, late;

	peers_init(&peers);
	come(&slow, "127.0.0.1", 100);
	come(&served, "127.0.0.1", 100);
	come(&late, "127.0.0.1", 100);
	peers_ask(&peers, served.peer);
	peers_answer(&peers, served.peer, 101);
	peers_ask(&peers, late.peer);
	assert_int_equal(peers_look(&peers, 100 + PEERS_ANSWER_SECONDS - 0.1),
			 0);
	assert_int_equal(peers_look(&peers, 100 + PEERS_ANSWER_SECONDS), 2);
	assert_true(is_shut(&slow) && is_shut(&late));
	assert_false(is_shut(&served));
	/* A second request is not for ever, either. */
	peers_ask(&peers, served.peer);
	assert_int_equal(peers_look(&peers, 101 + PEERS_NEXT_SECONDS), 1);
	assert_true(is_shut(&served));
	assert_int_equal(peers_look(&peers, 1000), 0);
	go(&slow);
	go(&served);
	go(&late);
}

TEST(too_many_of_an_address__its_oldest_without_request_goes)
{
	struct client other, clients[PEERS_MAX_EACH + 1];

	peers_init(&peers);
	come(&other, "10.0.0.1", 1);
	for (unsigned i = 0; i < PEERS_MAX_EACH; i++)
		come(&clients[i], "10.0.0.2", 2 + i);
	peers_ask(&peers, clients[0].peer); /* is being answered */
	come(&clients[PEERS_MAX_EACH], "10.0.0.2", 100);
	for (unsigned i = 0; i <= PEERS_MAX_EACH; i++)
		assert_int_equal(is_shut(&clients[i]), i == 1);
	assert_false(is_shut(&other));
	for (unsigned i = 0; i <= PEERS_MAX_EACH; i++)
		go(&clients[i]);
	go(&other);
}

TEST(too_many_in_all__the_busiest_address_makes_room)
{
	struct client clients[PEERS_MAX + 1];
	unsigned busy = 20, shut = 0;

	peers_init(&peers);
	for (unsigned i = 0; i <= PEERS_MAX; i++) {
		char from[32];

		snprintf(from, sizeof(from), "10.0.%u.1", i < busy ? 0 : i);
		come(&clients[i], from, i);
	}
	assert_true(is_shut(&clients[0]));
	for (unsigned i = 0; i <= PEERS_MAX; i++)
		shut += is_shut(&clients[i]);
	assert_int_equal(shut, 1);
	for (unsigned i = 0; i <= PEERS_MAX; i++)
		go(&clients[i]);
}

/* Those that are told to end, and do not, hold places; then there is none. */
TEST(no_place__null)
{
	struct client clients[PEERS_PLACES];
	int ends[2];

	peers_init(&peers);
	for (unsigned i = 0; i < PEERS_PLACES; i++)
		come(&clients[i], "10.0.0.1", i);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	assert_null(peers_open(&peers, ends[0], NULL, 1000));
	go(&clients[0]);
	come(&clients[0], "10.0.0.3", 1001);
	for (unsigned i = 0; i < PEERS_PLACES; i++)
		go(&clients[i]);
	close(ends[0]);
	close(ends[1]);
}
