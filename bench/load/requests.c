/* SPDX-License-Identifier: MIT */
/* requests.c - see requests.h */
#include "bench/load/requests.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/load/schedule.h"

#define MEMORY_MAX (UINT64_C(128) << 20)

/* At least so many requests, so that processors cannot learn their order. */
#define REQUESTS_MIN 65536

/* More than the bytes of a request without its value. */
#define HEAD_BYTES 96

const char *const request_names[REQUEST_KINDS] = {
	[REQUEST_GET] = "GET",
	[REQUEST_SET] = "SET",
	[REQUEST_INCR] = "INCR",
	[REQUEST_PING] = "PING",
};

static enum request_kind choose(struct random *random,
				const struct request_mix *mix)
{
	uint64_t sum = 0, choice;
	unsigned kind;

	for (kind = 0; kind < REQUEST_KINDS; kind++)
		sum += mix->parts[kind];
	choice = random_below(random, sum);
	for (kind = 0; choice >= mix->parts[kind]; kind++)
		choice -= mix->parts[kind];
	return (enum request_kind)kind;
}

static size_t encode_set(char *to, uint64_t key, const struct request_mix *mix)
{
	int head = sprintf(to,
			   "*3\r\n$3\r\nSET\r\n$16\r\nkey:%012" PRIu64
			   "\r\n$%" PRIu64 "\r\n",
			   key, mix->value_size);
	char *value = to + head;

	for (uint64_t i = 0; i < mix->value_size; i++)
		value[i] = (char)('a' + (key + i) % 26);
	memcpy(value + mix->value_size, "\r\n", 2);
	return (size_t)head + mix->value_size + 2;
}

/* Encode a request. Return: its bytes */
static size_t encode(char *to, enum request_kind kind, uint64_t key,
		     const struct request_mix *mix)
{
	switch (kind) {
	case REQUEST_GET:
		return (size_t)sprintf(to,
				       "*2\r\n$3\r\nGET\r\n$16\r\n"
				       "key:%012" PRIu64 "\r\n",
				       key);
	case REQUEST_SET:
		return encode_set(to, key, mix);
	case REQUEST_INCR:
		return (size_t)sprintf(to,
				       "*2\r\n$4\r\nINCR\r\n$20\r\n"
				       "counter:%012" PRIu64 "\r\n",
				       key);
	default:
		return (size_t)sprintf(to, "*1\r\n$4\r\nPING\r\n");
	}
}

static int allocate(struct requests *requests, uint64_t count,
		    uint64_t request_bytes, unsigned batch)
{
	*requests = (struct requests){
		.batches = (uint32_t)(count / batch),
		.batch = batch,
		.bytes = malloc(count * request_bytes),
		.at = malloc((count + 1) * sizeof(*requests->at)),
		.kind = malloc(count),
	};
	if (requests->bytes && requests->at && requests->kind) {
		requests->at[0] = 0;
		return 0;
	}
	requests_free(requests);
	return -ENOMEM;
}

static void add(struct requests *requests, uint64_t i, enum request_kind kind,
		uint64_t key, const struct request_mix *mix)
{
	size_t at = requests->at[i];

	requests->kind[i] = (uint8_t)kind;
	requests->at[i + 1] = at + encode(requests->bytes + at, kind, key, mix);
}

/* Round up to whole batches. */
static uint64_t whole(uint64_t count, unsigned batch)
{
	return (count + batch - 1) / batch * batch;
}

/* A bit for each key that was chosen. */
struct chosen {
	uint8_t *bits;
	uint64_t count;
};

static void add_chosen(struct chosen *chosen, uint64_t key)
{
	uint8_t bit = (uint8_t)(1u << key % 8);

	if (!chosen->bits || (chosen->bits[key / 8] & bit))
		return;
	chosen->bits[key / 8] |= bit;
	chosen->count++;
}

int requests_make(struct requests *requests, const struct request_mix *mix)
{
	uint64_t request_bytes =
		HEAD_BYTES + (mix->parts[REQUEST_SET] ? mix->value_size : 0);
	uint64_t count = 2 * mix->keys;
	struct random random = { mix->seed };
	struct chosen chosen = { NULL, 0 };

	if (count < REQUESTS_MIN)
		count = REQUESTS_MIN;
	if (count > MEMORY_MAX / request_bytes)
		count = MEMORY_MAX / request_bytes;
	count = whole(count, mix->batch);
	if (allocate(requests, count, request_bytes, mix->batch))
		return -ENOMEM;
	if (count < 2 * mix->keys) {
		chosen.bits = calloc(mix->keys / 8 + 1, 1);
		if (!chosen.bits) {
			requests_free(requests);
			return -ENOMEM;
		}
	}
	for (uint64_t i = 0; i < count; i++) {
		enum request_kind kind = choose(&random, mix);
		uint64_t key = random_below(&random, mix->keys);

		add(requests, i, kind, key, mix);
		if (kind != REQUEST_PING)
			add_chosen(&chosen, key);
	}
	requests->keys = chosen.count;
	free(chosen.bits);
	return 0;
}

int requests_make_all(struct requests *requests, const struct request_mix *mix)
{
	uint64_t count = whole(mix->keys, mix->batch);

	if (allocate(requests, count, HEAD_BYTES + mix->value_size, mix->batch))
		return -ENOMEM;
	for (uint64_t i = 0; i < count; i++)
		add(requests, i, REQUEST_SET, i % mix->keys, mix);
	return 0;
}

void requests_free(struct requests *requests)
{
	free(requests->bytes);
	free(requests->at);
	free(requests->kind);
	*requests = (struct requests){ 0 };
}
