/* SPDX-License-Identifier: MIT */
/**
 * protocol.h - what a rank asks and answers, and how the ranks find the end of a search
 *
 * Neither MPI nor a clock is here: sharing.c runs a protocol on messages of MPI, and the
 * simulation of ranks on messages and times of its own.
 *
 * - ASK: the sender is idle, and wants as many parts as its searchers wait for. It asks
 *   several random ranks at once. After as many ASKs in vain as there are other ranks, it
 *   pauses, and begins again.
 * - GIVE: the answer, with parts, or without if the rank is idle as well. A busy rank
 *   answers when one of its searchers has given a part to its pool.
 *
 * To find the end of the search, all ranks add up numbers again and again. A rank joins a
 * sum when it is idle. It adds the number of GIVEs with parts that it has sent, less those
 * that it has received, and 1 if it has received any since it joined the last sum. If no
 * rank has received any, each rank has been idle, and has sent nothing, since it joined the
 * last sum or ended its own first work. Then the total is the number of GIVEs that were under
 * way when the last rank joined, and the search is over if it is 0. Source:
 * F. Mattern, "Algorithms for distributed termination detection" (Distributed Computing
 * 2, 1987).
 */
#ifndef SKUA_BENCH_MPI_PROTOCOL_H
#define SKUA_BENCH_MPI_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The most bytes of a message. */
#define PROTOCOL_MAX_BYTES 2048

enum protocol_tag { PROTOCOL_ASK, PROTOCOL_GIVE };

/* struct protocol_sum - what the ranks add up */
struct protocol_sum {
	int64_t sent;     /* GIVEs with parts, less those received */
	int64_t received; /* ranks that have received parts since the last sum */
};

/* struct protocol_host - the messages and the pool of a rank; @of is passed to all */
struct protocol_host {
	/* Send a message; @data is copied. Return: 0; -ENOMEM */
	int (*send)(void *of, int to, int tag, const void *data, size_t bytes);
	/* Begin to add up; protocol_summed() is called with the total of all
	 * ranks. Return: 0; -ENOMEM */
	int (*sum)(void *of, const struct protocol_sum *own);
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
 *          since the last parts or the last pause
 * @requests: most ASKs under way
 * @parts: most parts that an ASK wants
 * @lifelines_after: after so many ASKs, ask the ranks whose number differs in one bit, and
 *                   no others; they keep the ASK until they have parts. 0: no lifelines
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
	uint64_t sums; /* joined */
};

struct protocol_ask {
	uint32_t parts;
	uint32_t keep; /* not 0: answer only with parts, or at the end */
};

struct protocol_asker {
	int rank;
	struct protocol_ask ask;
};

/* struct protocol - the state of a rank; a host reads @asking, @pauses, @next_ask_ns,
 * @summing and @over */
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
	unsigned asking; /* under way */
	bool pauses;     /* asks again at @next_ask_ns */
	/* Of this turn: the first rank, and the ASKs that were sent or left out. */
	int first, issued;
	uint64_t pause_ns, next_ask_ns;
	uint32_t kept; /* lifelines asked: bit i for rank ^ 1 << i */

	/* The end. */
	int64_t sent; /* as struct protocol_sum */
	bool received_parts, summing, over;
};

/**
 * protocol_init - make the state of a rank before its first step
 * @protocol: @host, @of, @policy, @counts, @rank, @ranks and @part_bytes are set, the rest
 *            is 0
 * @seed: of the choice of ranks to ask, which also depends on the rank
 *
 * Return: 0; -ENOMEM.
 */
int protocol_init(struct protocol *protocol, uint64_t seed);

void protocol_free(struct protocol *protocol);

/* protocol_receive - take a message in; a protocol_step() must follow. Return: 0; -ENOMEM;
 * -EPROTO (more ASKs than the ranks may have under way) */
int protocol_receive(struct protocol *protocol, int from, int tag,
		     const void *data, size_t bytes, uint64_t now_ns);

/* protocol_summed - take the total of a sum in; a protocol_step() must follow */
void protocol_summed(struct protocol *protocol,
		     const struct protocol_sum *total);

/* protocol_step - answer, ask and join a sum, as far as the pool allows it.
 * Return: 0; -ENOMEM */
int protocol_step(struct protocol *protocol, uint64_t now_ns);

/* protocol_random - return a random number */
uint64_t protocol_random(struct protocol *protocol);

/* protocol_random_victim - return a random other rank: the victim of the default policy */
int protocol_random_victim(struct protocol *protocol);

#endif
