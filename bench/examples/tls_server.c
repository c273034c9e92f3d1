/* SPDX-License-Identifier: MIT */
/**
 * tls_server.c - an echo server with TLS by OpenSSL
 *
 *	cc -O2 -o tls_server tls_server.c $(pkg-config --cflags --libs skua openssl)
 *	openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=localhost -keyout key.pem -out cert.pem
 *	./tls_server 7777 cert.pem key.pem
 *
 * OpenSSL's Debian packages are libssl-dev and openssl.
 *
 * OpenSSL makes its own calls on the socket. When one would block, OpenSSL says whether it
 * needs to read or to write, and the fiber waits for that (skua_io_wait()).
 *
 * OpenSSL keeps its last errors for each thread, and a fiber may be on another thread
 * after a wait. Therefore tls_ready() clears them before each call, and asks for the error
 * before it waits.
 */
#include <skua/skua.h>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#define MS      UINT64_C(1000000)
#define IDLE_MS 60000

static SSL_CTX *context;

/* Wait for what a call needs. @result: what the call returned. Return: true: call it
 * again; false: it has succeeded or failed, or the client was silent for too long. */
static bool tls_again(SSL *tls, struct skua_io io, int result)
{
	uint64_t deadline_ns = skua_now_ns() + IDLE_MS * MS;

	switch (SSL_get_error(tls, result)) {
	case SSL_ERROR_WANT_READ:
		return skua_io_wait(io, POLLIN, deadline_ns) > 0;
	case SSL_ERROR_WANT_WRITE:
		return skua_io_wait(io, POLLOUT, deadline_ns) > 0;
	default:
		return false;
	}
}

static int tls_accept(SSL *tls, struct skua_io io)
{
	int result;

	do {
		ERR_clear_error();
		result = SSL_accept(tls);
	} while (result <= 0 && tls_again(tls, io, result));
	return result;
}

static int tls_read(SSL *tls, struct skua_io io, void *buffer, int size)
{
	int result;

	do {
		ERR_clear_error();
		result = SSL_read(tls, buffer, size);
	} while (result <= 0 && tls_again(tls, io, result));
	return result;
}

/* Write all: OpenSSL returns when it has taken everything. */
static int tls_write(SSL *tls, struct skua_io io, const void *data, int size)
{
	int result;

	do {
		ERR_clear_error();
		result = SSL_write(tls, data, size);
	} while (result <= 0 && tls_again(tls, io, result));
	return result;
}

static void echo(SSL *tls, struct skua_io io)
{
	char buffer[4096];
	int n;

	if (tls_accept(tls, io) <= 0)
		return;
	while ((n = tls_read(tls, io, buffer, sizeof(buffer))) > 0)
		if (tls_write(tls, io, buffer, n) <= 0)
			return;
	SSL_shutdown(tls);
}

static void serve(void *arg)
{
	struct skua_io *io = (struct skua_io *)arg;
	SSL *tls = SSL_new(context);

	if (tls && SSL_set_fd(tls, io->fd))
		echo(tls, *io);
	SSL_free(tls);
	ERR_clear_error();
	skua_io_close(*io);
	free(io);
}

/* Load the certificate and the key. Return: whether that succeeded. */
static bool tls_open(const char *certificate, const char *key)
{
	context = SSL_CTX_new(TLS_server_method());
	if (context &&
	    SSL_CTX_use_certificate_chain_file(context, certificate) == 1 &&
	    SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) == 1)
		return true;
	ERR_print_errors_fp(stderr);
	return false;
}

int main(int argc, char **argv)
{
	struct skua_io listener, *io;
	struct skua_runtime *rt;
	struct skua_error err;
	char address[64];

	if (argc != 4) {
		fputs("Usage: tls_server PORT CERTIFICATE.pem KEY.pem\n",
		      stderr);
		return 2;
	}
	signal(SIGPIPE, SIG_IGN); /* OpenSSL writes with write() */
	if (!tls_open(argv[2], argv[3]))
		return 1;
	snprintf(address, sizeof(address), "127.0.0.1:%s", argv[1]);
	if (skua_runtime_create(&rt, NULL, &err) ||
	    skua_listen(rt, address, 0, 0, &listener, &err)) {
		fprintf(stderr, "tls_server: %s\n", err.text);
		return 1;
	}
	while ((io = malloc(sizeof(*io))) &&
	       !skua_io_accept(listener, io, NULL, NULL, SKUA_FOREVER_NS))
		if (skua_fiber_spawn(rt, NULL, serve, io)) {
			skua_io_close(*io);
			free(io);
		}
	return 1;
}
