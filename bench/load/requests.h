/* SPDX-License-Identifier: MIT */
/**
 * requests.h - requests that are encoded before the measurement
 *
 * The requests lie one after another in memory, so that a batch of them is sent without a
 * copy. When all have been sent, they are sent again from the first.
 */
#ifndef SKUA_BENCH_LOAD_REQUESTS_H
#define SKUA_BENCH_LOAD_REQUESTS_H

#include <stddef.h>
#include <stdint.h>

enum request_kind {
	REQUEST_GET,
	REQUEST_SET,
	REQUEST_INCR,
	REQUEST_PING,
	REQUEST_KINDS
};

/* The name of each kind of request. */
extern const char *const request_names[REQUEST_KINDS];

/**
 * struct request_mix - which requests to make
 * @parts: how many of each kind, of the sum of all kinds, which is not 0
 * @keys: number of keys of GET and SET, and of INCR, which has keys of its own
 * @value_size: bytes of a value
 * @batch: requests of a batch
 */
struct request_mix {
	uint64_t parts[REQUEST_KINDS];
	uint64_t keys;
	uint64_t value_size;
	uint64_t seed;
	unsigned batch;
};

/**
 * struct requests - the encoded requests
 * @bytes: all requests
 * @at: where each of them begins; one more entry is the end of the last one
 * @kind: an enum request_kind for each
 * @batches: number of batches
 * @batch: requests of a batch
 * @keys: different keys, if the requests for all were too large; else 0
 */
struct requests {
	char *bytes;
	size_t *at;
	uint8_t *kind;
	uint32_t batches;
	unsigned batch;
	uint64_t keys;
};

/**
 * requests_make - encode random requests
 *
 * Requests that would not fit into 128 MiB are left out, except those of one batch. If fewer
 * than two for each key are left, @keys says how many keys they have.
 * Return: 0; -ENOMEM.
 */
int requests_make(struct requests *requests, const struct request_mix *mix);

/* requests_make_all - encode SET for each key in order; the last batch may contain a key
 * again. Return: 0; -ENOMEM. */
int requests_make_all(struct requests *requests, const struct request_mix *mix);

void requests_free(struct requests *requests);

#endif
