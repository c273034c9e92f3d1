/* SPDX-License-Identifier: MIT */
/**
 * echo_load.h - connections that ask an echo server, and check its answers
 *
 * A closed loop: some requests are under way at any time, each on a connection of its
 * own. An answer is checked, and the next request goes out on the connection that has
 * been idle for longest, so that all connections take turns.
 */
#ifndef SKUA_BENCH_CLIENTS_ECHO_LOAD_H
#define SKUA_BENCH_CLIENTS_ECHO_LOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "bench/clients/echo_cases.h"
#include "bench/harness/histogram.h"

/* A request. Its answer is the same. */
struct echo_message {
	uint64_t number;
	uint64_t filler[ECHO_BYTES / 8 - 1];
};

/**
 * struct echo_connection - a connection to the server
 * @sent_ns: when its request went out
 * @number: the number of its request
 * @received: bytes of the answer in @answer
 */
struct echo_connection {
	int fd;
	unsigned received;
	uint64_t number;
	uint64_t sent_ns;
	struct echo_message answer;
};

/**
 * struct echo_load - all connections
 * @active: requests under way at any time
 * @spin: do not sleep: ask the kernel for events again and again
 * @idle: a ring of the indexes of the idle connections, in the order in which they became
 *        idle; @idle_first and @idle_count: its first one, and their number
 * @request: the next request
 */
struct echo_load {
	int epoll;
	unsigned connections;
	unsigned active;
	bool spin;
	struct echo_connection *connection;
	unsigned *idle;
	unsigned idle_first;
	unsigned idle_count;
	struct echo_message request;
};

/**
 * echo_load_open - connect to a server on the loopback interface
 * @load: @connections, @active and @spin are set
 * @port: the server's TCP port
 *
 * Each connection makes one request before the next one connects, so that the server has
 * accepted it. Return: 0; -errno, after printing the reason on stderr. echo_load_close()
 * frees what was opened.
 */
int echo_load_open(struct echo_load *load, unsigned port);

/**
 * echo_load_round - make requests, and wait for all answers
 * @requests: their number
 * @latencies: receives the time from each request to its answer, in nanoseconds
 * @wrong: receives the number of answers that were not the request
 *
 * Return: 0; -errno, after printing the reason on stderr.
 */
int echo_load_round(struct echo_load *load, uint64_t requests,
		    struct histogram *latencies, uint64_t *wrong);

/* echo_load_close - reset all connections */
void echo_load_close(struct echo_load *load);

#endif
