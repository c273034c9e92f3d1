/* SPDX-License-Identifier: MIT */
/**
 * echo_start.h - start skua-echo-client, and have it measure the calling process
 *
 * The servers of skua-bench and of the peers in C use it; the other peers do the same in
 * their languages. The program is $SKUA_ECHO_CLIENT. If that is not set, it is in the
 * folder of the calling program, or in the folder above.
 */
#ifndef SKUA_BENCH_CLIENTS_ECHO_START_H
#define SKUA_BENCH_CLIENTS_ECHO_START_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/**
 * struct echo_client - a client that runs
 * @ops: the number of requests in a round
 * @params: the client's parameters, a JSON object
 */
struct echo_client {
	pid_t pid;
	FILE *to;
	FILE *from;
	uint64_t ops;
	char params[200];
};

/**
 * echo_client_start - start a client, which opens its connections
 * @workload: its name, such as "echo_50"
 * @port: the calling process's TCP port, which listens; the server may begin to accept
 *        later
 * @workers: the number of the server's workers
 * @mode: one of ECHO_CLIENT_MODES; NULL: auto
 * @requests: requests of a round; 0: those of the workload
 *
 * The client gets the CPUs of the calling thread, and stays on the last of them. Return:
 * 0; -errno, after printing the reason on stderr.
 */
int echo_client_start(struct echo_client *client, const char *workload,
		      unsigned port, unsigned workers, const char *mode,
		      uint64_t requests);

/**
 * echo_client_ready - wait until all connections are open, and set @ops and @params
 *
 * Return: 0; -EPIPE: the client ended, after printing the reason on stderr.
 */
int echo_client_ready(struct echo_client *client);

/**
 * echo_client_round - have the client make a round of requests
 * @ns: receives the time of an operation, in nanoseconds
 * @right: receives whether all answers were right
 *
 * Return: 0; -EPIPE: the client ended, after printing the reason on stderr.
 */
int echo_client_round(struct echo_client *client, double *ns, bool *right);

/**
 * echo_client_figure - return the next figure of all rounds
 * @line: buffer, owned by the caller with @size as getline() has it
 *
 * Call it after the last round. Return: "NAME VALUE"; the value is JSON. NULL: there are
 * no more.
 */
char *echo_client_figure(struct echo_client *client, char **line, size_t *size);

/* echo_client_end - end the client. Return: its exit code; 128 plus the number of a signal */
int echo_client_end(struct echo_client *client);

/* echo_listen - listen on a free TCP port of 127.0.0.1. Return: a non-blocking socket, and
 * @port; -errno. Also allows as many descriptors as the process may have. */
int echo_listen(unsigned *port);

/* echo_pin_server - keep the calling thread, and threads that it starts, off the last of
 * its CPUs, if @workers leave that one free */
void echo_pin_server(unsigned workers);

#endif
