/* SPDX-License-Identifier: MIT */
/* tally.h - counts of replies, errors and times while a server is loaded */
#ifndef SKUA_BENCH_LOAD_TALLY_H
#define SKUA_BENCH_LOAD_TALLY_H

#include <stddef.h>
#include <stdint.h>

#include "bench/harness/histogram.h"
#include "bench/load/reply.h"
#include "bench/load/requests.h"

#define TALLY_ERRORS     16
#define TALLY_NAME_BYTES 48

/**
 * struct tally_error - a kind of error
 * @name: the first word of the server's error, such as OOM; or a phrase in small letters,
 *        if the generator has found the error
 * @line: the first such error of the server, cut to fit; or ""
 */
struct tally_error {
	uint64_t count;
	char name[TALLY_NAME_BYTES];
	char line[160];
};

/* A histogram of times, and the exact longest time. */
struct tally_times {
	struct histogram histogram;
	uint64_t max_ns;
};

/**
 * struct tally - the counts
 * @latency: from the intended time of a request to its reply
 * @late: from the intended time of a batch to the send
 * @replies: right replies, by kind of request
 * @nils: the replies to GET that are nil
 * @error, @errors: errors, and their number; the last place counts all further kinds
 */
struct tally {
	struct tally_times latency, late;
	uint64_t replies[REQUEST_KINDS];
	uint64_t nils;
	struct tally_error error[TALLY_ERRORS];
	unsigned errors;
};

/* tally_time - count a time */
static inline void tally_time(struct tally_times *times, uint64_t ns)
{
	histogram_record(&times->histogram, ns);
	if (ns > times->max_ns)
		times->max_ns = ns;
}

/* tally_error - count @count errors of a name */
void tally_error(struct tally *tally, const char *name, uint64_t count);

/* tally_reply - count the reply to a request: as right, as an error of the server, or as
 * one of the wrong type */
void tally_reply(struct tally *tally, enum request_kind kind,
		 const struct reply *reply);

/* tally_failed - return the number of errors */
uint64_t tally_failed(const struct tally *tally);

#endif
