/* SPDX-License-Identifier: MIT */
/*
 * metrics_http.c - answer GET /metrics, using libmicrohttpd
 *
 * One thread of the library answers all clients in turn, because a target
 * belongs to one thread at a time. The main thread closes connections whose
 * clients would keep it busy: metrics_peers.h.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <float.h>
#include <microhttpd.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/cli/args.h"
#include "bpf/metrics/metrics.h"
#include "bpf/metrics/metrics_peers.h"
#include "bpf/metrics/metrics_rights.h"

struct server {
	const struct metrics_source *source;
	struct peers peers;
};

/* ---- answers --------------------------------------------------------------- */

static enum MHD_Result answer(struct MHD_Connection *connection, unsigned code,
			      char *text, size_t size,
			      enum MHD_ResponseMemoryMode memory,
			      const char *type)
{
	struct MHD_Response *response =
		MHD_create_response_from_buffer(size, text, memory);
	enum MHD_Result result;

	if (response == NULL) {
		if (memory == MHD_RESPMEM_MUST_FREE)
			free(text);
		return MHD_NO;
	}
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	if (code == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW,
					"GET, HEAD");
	result = MHD_queue_response(connection, code, response);
	MHD_destroy_response(response);
	return result;
}

static enum MHD_Result refuse(struct MHD_Connection *connection, unsigned code,
			      const char *text)
{
	return answer(connection, code, (char *)text, strlen(text),
		      MHD_RESPMEM_PERSISTENT, "text/plain; charset=utf-8");
}

/* Return OpenMetrics, unless the client accepts text/plain and does not name
 * OpenMetrics. */
static enum metrics_format wanted_format(struct MHD_Connection *connection)
{
	const char *accept = MHD_lookup_connection_value(
		connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT);

	if (accept == NULL || strcasestr(accept, "openmetrics-text") != NULL ||
	    strcasestr(accept, "text/plain") == NULL)
		return METRICS_OPENMETRICS;
	return METRICS_PROMETHEUS;
}

static enum MHD_Result answer_metrics(const struct metrics_source *source,
				      struct MHD_Connection *connection)
{
	enum metrics_format format = wanted_format(connection);
	size_t size;
	char *text;

	if (metrics_collect(source, format, &text, &size) != 0) {
		free(text);
		return refuse(connection, MHD_HTTP_SERVICE_UNAVAILABLE,
			      "the process cannot be read\n");
	}
	return answer(connection, MHD_HTTP_OK, text, size,
		      MHD_RESPMEM_MUST_FREE,
		      format == METRICS_OPENMETRICS
			      ? "application/openmetrics-text; version=1.0.0; "
				"charset=utf-8"
			      : "text/plain; version=0.0.4; charset=utf-8");
}

/* Return the connection's entry that connected() made; NULL: there was no free
 * place. */
static struct peer *peer_of(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
		connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info != NULL ? info->socket_context : NULL;
}

/* libmicrohttpd calls this when a connection begins, and before it closes
 * one. */
static void connected(void *arg, struct MHD_Connection *connection,
		      void **context, enum MHD_ConnectionNotificationCode what)
{
	struct server *server = arg;
	const union MHD_ConnectionInfo *fd = MHD_get_connection_info(
		connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	const union MHD_ConnectionInfo *address = MHD_get_connection_info(
		connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);

	if (what == MHD_CONNECTION_NOTIFY_STARTED && fd != NULL) {
		*context = peers_open(&server->peers, fd->connect_fd,
				      address ? address->client_addr : NULL,
				      exits_now());
		if (*context == NULL)
			shutdown(fd->connect_fd, SHUT_RDWR);
	} else if (what == MHD_CONNECTION_NOTIFY_CLOSED && *context != NULL) {
		peers_close(&server->peers, *context);
	}
}

static void completed(void *arg, struct MHD_Connection *connection,
		      void **state, enum MHD_RequestTerminationCode code)
{
	struct server *server = arg;
	struct peer *peer = peer_of(connection);

	(void)state;
	(void)code;
	if (peer != NULL)
		peers_answer(&server->peers, peer, exits_now());
}

static enum MHD_Result handle(void *arg, struct MHD_Connection *connection,
			      const char *url, const char *method,
			      const char *version, const char *data,
			      size_t *size, void **state)
{
	static int seen;
	struct server *server = arg;
	struct peer *peer = peer_of(connection);

	(void)version;
	(void)data;
	if (*state == NULL) { /* only the header has arrived: read the rest */
		*state = &seen;
		return MHD_YES;
	}
	if (*size != 0) { /* ignore the body */
		*size = 0;
		return MHD_YES;
	}
	if (peer != NULL)
		peers_ask(&server->peers, peer);
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 &&
	    strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		return refuse(connection, MHD_HTTP_METHOD_NOT_ALLOWED,
			      "only GET and HEAD\n");
	if (strcmp(url, "/metrics") != 0)
		return refuse(connection, MHD_HTTP_NOT_FOUND,
			      "only /metrics is here\n");
	return answer_metrics(server->source, connection);
}

/* ---- the address ----------------------------------------------------------- */

static int complain(const char *address, const char *what)
{
	fprintf(stderr, ARGS_PROGRAM " metrics: --listen %s: %s\n", address,
		what);
	return -EINVAL;
}

static bool is_loopback(const struct sockaddr *at)
{
	if (at->sa_family == AF_INET)
		return ntohl(((const struct sockaddr_in *)at)
				     ->sin_addr.s_addr) >>
			       24 ==
		       127;
	return at->sa_family == AF_INET6 &&
	       IN6_IS_ADDR_LOOPBACK(
		       &((const struct sockaddr_in6 *)at)->sin6_addr);
}

/* Split HOST:PORT or [HOST]:PORT into host and port. */
static bool cut(const char *address, char *host, size_t size, const char **port)
{
	const char *colon = strrchr(address, ':');
	size_t length = colon != NULL ? (size_t)(colon - address) : 0;

	if (length > 1 && address[0] == '[' && address[length - 1] == ']') {
		address++;
		length -= 2;
	}
	if (length == 0 || length >= size)
		return false;
	memcpy(host, address, length);
	host[length] = '\0';
	if (strcmp(host, "localhost") == 0)
		strcpy(host, "127.0.0.1");
	*port = colon + 1;
	/* getaddrinfo() accepts larger ports, modulo 2^16. */
	return strspn(*port, "0123456789") == strlen(*port) &&
	       strlen(*port) <= 5 && atoi(*port) <= UINT16_MAX &&
	       **port != '\0';
}

static int find_address(const char *address, bool exposed,
			struct sockaddr_storage *at)
{
	const struct addrinfo hints = { .ai_flags =
						AI_NUMERICHOST | AI_NUMERICSERV,
					.ai_socktype = SOCK_STREAM };
	struct addrinfo *found = NULL;
	const char *port;
	char host[64];

	if (!cut(address, host, sizeof(host), &port) ||
	    getaddrinfo(host, port, &hints, &found) != 0)
		return complain(address, "not an address; allowed: for "
					 "example 127.0.0.1:9464 or "
					 "[::1]:9464");
	memset(at, 0, sizeof(*at));
	memcpy(at, found->ai_addr, found->ai_addrlen);
	freeaddrinfo(found);
	if (is_loopback((struct sockaddr *)at) || exposed)
		return 0;
	complain(address, "other machines can reach that address; allowed: "
			  "an address of this machine only, or --expose as "
			  "well");
	return -EPERM;
}

/* ---- serving --------------------------------------------------------------- */

/* Listen on the address. Call it before rights are dropped: ports below 1024
 * need them. */
static int listen_at(const struct sockaddr_storage *at)
{
	int on = 1, err;
	int fd = socket(at->ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t size = at->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6)
						   : sizeof(struct sockaddr_in);

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (at->ss_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	if (bind(fd, (const struct sockaddr *)at, size) == 0 &&
	    listen(fd, SOMAXCONN) == 0)
		return fd;
	err = -errno;
	close(fd);
	return err;
}

static struct MHD_Daemon *start(struct server *server, int fd, bool six)
{
	unsigned flags = MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_AUTO;

	if (six)
		flags |= MHD_USE_IPv6;
	return MHD_start_daemon(
		flags, 0, NULL, NULL, handle, server, MHD_OPTION_LISTEN_SOCKET,
		fd, MHD_OPTION_NOTIFY_CONNECTION, connected, server,
		MHD_OPTION_NOTIFY_COMPLETED, completed, server,
		MHD_OPTION_CONNECTION_LIMIT, PEERS_PLACES,
		MHD_OPTION_CONNECTION_TIMEOUT, 30u, MHD_OPTION_END);
}

/* Return the port; if the user asked for 0, the kernel has chosen one. */
static unsigned port_of(int fd)
{
	struct sockaddr_storage at = { .ss_family = AF_UNSPEC };
	socklen_t size = sizeof(at);

	if (getsockname(fd, (struct sockaddr *)&at, &size) != 0)
		return 0;
	return ntohs(at.ss_family == AF_INET6
			     ? ((struct sockaddr_in6 *)&at)->sin6_port
			     : ((struct sockaddr_in *)&at)->sin_port);
}

int metrics_serve(const struct metrics_source *source, const char *address,
		  bool exposed)
{
	struct server server = { .source = source };
	struct sockaddr_storage at;
	struct MHD_Daemon *daemon;
	int fd, err = find_address(address, exposed, &at);

	if (err != 0)
		return err;
	fd = listen_at(&at);
	err = fd < 0 ? fd : metrics_drop_rights(false);
	peers_init(&server.peers);
	errno = 0;
	daemon = err == 0 ? start(&server, fd, at.ss_family == AF_INET6) : NULL;
	if (daemon == NULL) {
		if (err == 0)
			err = errno != 0 ? -errno : -EIO;
		complain(address, strerror(-err));
		if (fd >= 0)
			close(fd);
		return err;
	}
	fprintf(stderr, ARGS_PROGRAM " metrics: listening on port %u\n",
		port_of(fd));
	while (!exits_wait(source->exits, exits_now() + 1))
		peers_look(&server.peers, exits_now());
	MHD_stop_daemon(daemon); /* closes the socket, too */
	return 0;
}
