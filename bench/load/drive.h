/* SPDX-License-Identifier: MIT */
/**
 * drive.h - send requests to a server, and receive its replies
 *
 * One thread with one epoll. It spins, so that the server's sends need not wake it; or it
 * sleeps while there is nothing to do.
 *
 * With a rate, batches of requests arrive as a Poisson process, and each arrival is sent
 * on a random connection, whether or not earlier requests have been answered. The latency
 * begins at the arrival's time in the schedule. If the generator or the socket is late,
 * this counts for all requests that are delayed.
 *
 * Without a rate, each connection sends a batch when the one before has been answered.
 */
#ifndef SKUA_BENCH_LOAD_DRIVE_H
#define SKUA_BENCH_LOAD_DRIVE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "bench/load/connection.h"
#include "bench/load/requests.h"
#include "bench/load/schedule.h"
#include "bench/load/server.h"
#include "bench/load/tally.h"

/**
 * struct drive - a load and its figures
 *
 * Set by the caller:
 * @requests: what to send
 * @rate: requests a second; 0: each connection waits for its replies
 * @connections: their number
 * @warm_up_ns, @measured_ns, @grace_ns: times before the measurement, of the measurement,
 *                                       and to wait for the last replies
 * @passes: send all requests so many times, and end then; 0: by time
 * @sleeps: sleep while there is nothing to do
 * @server: its process is measured
 *
 * Figures, of the measurement:
 * @elapsed_ns: time until the last request of the schedule
 * @total_ns: the same, and the time until the last reply came
 * @arrived, @sent: requests of the schedule, and those that were sent
 * @answered: replies within @elapsed_ns
 * @answered_all: replies within @total_ns, to which the server's usage belongs
 * @unanswered: requests without a reply; the latencies contain their age at the end
 * @lost: requests on connections that the server has closed; no latency contains them
 * @held: arrivals that waited because a million batches had no reply
 * @idle_ns: time within @elapsed_ns in which the generator found nothing to do
 * @cpu_ns, @delayed_ns: time in which the generator ran, and in which it was runnable and
 *                       had no CPU
 *
 * The others belong to drive.c.
 */
struct drive {
	const struct requests *requests;
	double rate;
	unsigned connections;
	uint64_t seed, warm_up_ns, measured_ns, grace_ns, passes;
	bool sleeps;
	struct server *server;

	struct tally tally;
	struct server_usage usage;
	uint64_t elapsed_ns, total_ns;
	uint64_t arrived, sent, answered, answered_all, unanswered, lost, held;
	uint64_t idle_ns, cpu_ns, delayed_ns;

	struct connection *connection;
	int epoll;
	unsigned open; /* connections that are not closed */
	struct schedule schedule;
	struct random random;
	uint64_t arrival_ns; /* the next one */
	uint64_t from_ns, until_ns, end_ns;
	uint64_t waiting; /* batches without all their replies */
	uint64_t replies; /* of the whole run */
	uint64_t batches; /* that were sent, of the whole run */
	uint32_t next;    /* the next batch to send */
	bool measuring;
	bool holds; /* arrivals wait because of WAITING_MAX */
	char *buffer;
};

/**
 * drive_open - connect
 * @ask: ask the server for its process, if it is not known
 * @step: receives the beginning of an error message, which the server's address completes
 *
 * Return: 0; -errno.
 */
int drive_open(struct drive *drive, const struct sockaddr *address,
	       socklen_t size, bool ask, const char **step);

/* drive_run - load the server. Return: 0, also if there were errors, which are in the
 * tally; -ECONNRESET: all connections ended in the warm-up */
int drive_run(struct drive *drive);

void drive_close(struct drive *drive);

#endif
