/* SPDX-License-Identifier: MIT */
/**
 * protocol.h - what a rank asks and answers, and how the ranks find the end of a search
 *
 * Neither MPI nor a clock is here: sharing.c runs a protocol on messages of MPI, and the
 * simulation of ranks on messages and times of its own.
 *
 * - ASK: the sender is idle, and wants as many parts as the message says.
 * - GIVE: the answer, with parts, or without if the rank is idle as well. A busy rank
 *   answers when one of its searchers has given a part to its pool. An idle rank asks
 *   the others in turn, from a random one on; if none had parts, it pauses, and begins
 *   again.
 * - TOKEN: the wave that finds the end of the search, from rank 0 round all ranks. It
 *   adds up the GIVEs with parts that are under way: a rank waits until it is idle, adds
 *   those that it has sent, subtracts those that it has received, and passes the wave on.
 *   The wave is in vain if a rank has received parts since it passed the last wave, or if
 *   the sum is not 0. Source: E. W. Dijkstra, "Shmuel Safra's version of termination
 *   detection" (EWD 998, 1987).
 * - OVER: rank 0 knows that all ranks are idle, and no parts are under way.
 */
#ifndef SKUA_BENCH_MPI_PROTOCOL_H
#define SKUA_BENCH_MPI_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The most bytes of a message. */
#define PROTOCOL_MAX_BYTES 2048

enum protocol_tag {
	PROTOCOL_ASK,
	PROTOCOL_GIVE,
	PROTOCOL_TOKEN,
	PROTOCOL_OVER
};

/* struct protocol_host - the messages and the pool of a rank; @of is passed to all */
struct protocol_host {
	/* Send a message; @data is copied. Return: 0; -ENOMEM */
	int (*send)(void *of, int to, int tag, const void *data, size_t bytes);
	/* The pool: see work_pool.h. */
	void (*ask)(void *of, unsigned parts);
	int (*answer)(void *of, void *parts, unsigned wanted, unsigned max);
	int (*put)(void *of, const void *parts, size_t count);
	unsigned (*waiting)(void *of);
	bool (*idle)(void *of);
};

struct protocol;

/**
 * struct protocol_policy - how a rank asks
 * @victim: returns the next rank to ask, never the own one; @issued ASKs have been sent
 *          since the last parts came
 * @requests: most ASKs under way
 * @parts: most parts that an ASK wants
 * @lifelines_after: after so many ASKs, ask the ranks whose number differs in one bit, and
 *                   no others; they keep the ASK until they have parts. 0: never
 */
struct protocol_policy {
	int (*victim)(struct protocol *protocol);
	unsigned requests, parts, lifelines_after;
};

extern const struct protocol_policy protocol_default;

/* struct protocol_counts - what a rank has done */
struct protocol_counts {
	uint64_t asks;  /* sent */
	uint64_t gives; /* sent, with parts */
	uint64_t parts_given;
	uint64_t parts_received;
	uint64_t waves; /* begun by this rank: 0 except for rank 0 */
};

struct protocol_token {
	int64_t sent; /* GIVEs with parts that were sent, less those received */
	int64_t vain; /* not 0: a rank has received parts since the last wave */
};

struct protocol_ask {
	uint32_t parts;
	uint32_t keep; /* not 0: until there are parts, or the end */
};

struct protocol_asker {
	int rank;
	struct protocol_ask ask;
};

/* struct protocol - the state of a rank; a host reads @asking, @pauses, @next_ask_ns and
 * @over */
struct protocol {
	const struct protocol_host *host;
	void *of;
	const struct protocol_policy *policy;
	struct protocol_counts *counts;
	int rank, ranks;
	size_t part_bytes;
	unsigned max_parts; /* of one GIVE */
	uint64_t random;

	/* Ranks that this one has to answer, in the order of their ASKs. */
	struct protocol_asker *askers;
	int asker_count;

	/* This rank's own ASKs. */
	unsigned asking;   /* under way */
	bool pauses;       /* asks again at @next_ask_ns */
	int first, issued; /* of this turn: the first rank, and the ASKs sent */
	uint64_t pause_ns, next_ask_ns;
	uint32_t kept; /* lifelines asked: bit i for rank ^ 1 << i */

	/* The wave. Rank 0 begins it; until then it has no token. */
	struct protocol_token token;
	bool has_token, wave_begun;
	int64_t sent; /* as struct protocol_token */
	bool received_parts;
	bool over;
};

/**
 * protocol_init - make the state of a rank before its first step
 * @protocol: @host, @of, @policy, @counts, @rank, @ranks and @part_bytes are set, the rest
 *            is 0
 * @seed: of the choice of ranks to ask
 *
 * Return: 0; -ENOMEM.
 */
int protocol_init(struct protocol *protocol, uint64_t seed);

void protocol_free(struct protocol *protocol);

/* protocol_receive - take a message in; a protocol_step() must follow. Return: 0;
 * -ENOMEM */
int protocol_receive(struct protocol *protocol, int from, int tag,
		     const void *data, size_t bytes, uint64_t now_ns);

/* protocol_step - answer, ask and pass the wave on, as far as the pool allows it.
 * Return: 0; -ENOMEM */
int protocol_step(struct protocol *protocol, uint64_t now_ns);

/* protocol_random - return a random number */
uint64_t protocol_random(struct protocol *protocol);

/* protocol_victim_in_turn - return the victim of the default policy: all others in turn,
 * from a random one on */
int protocol_victim_in_turn(struct protocol *protocol);

#endif
