/* SPDX-License-Identifier: MIT */
/**
 * main.c - skua-kv: a key-value server for clients of Redis
 *
 * A fiber accepts connections, each of which has a fiber of its own (connection.c), and
 * another fiber removes keys that have expired. The main thread waits for SIGTERM or
 * SIGINT by a signalfd of the runtime; SHUTDOWN sends SIGTERM.
 *
 * The end: no new connections; a cancel, which ends each connection when it has answered
 * all that it has received; after the time of grace, the end of all sockets.
 */
#include <skua/skua.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench/kv/commands/command.h"
#include "bench/kv/commands/logged.h"
#include "bench/kv/commands/replay.h"
#include "bench/kv/connection.h"
#include "bench/kv/poll.h"
#include "bpf/cli/args.h"

#define MS     UINT64_C(1000000)
#define SECOND (1000 * MS)
/* How often keys that have expired are looked for, if there are keys that expire. */
#define SWEEP_NS (100 * MS)

static struct server server;
static struct skua_runtime *runtime;
static struct skua_group connections;
static struct skua_io listener, signals;
static struct skua_fiber acceptor, sweeper;
static bool as_tasks;
static struct log server_log;
static enum log_mode log_mode;
static bool with_log;

/* ---- options ------------------------------------------------------------------ */

struct options {
	uint64_t port, workers, max_clients;
	double grace_s;
	bool tasks;
	const char *bind, *password, *max_memory, *max_bulk;
	const char *append, *folder, *append_file;
	const char *rewrite_percent, *rewrite_min_size;
};

static const struct args_verb verb = {
	.doc = "A key-value server for clients of Redis, on skua",
	ARGS_OPTIONS(
		ARGS_NUMBER_OF(struct options, "port", port, 0, 65535, "PORT",
			       "Listen at PORT; 0: at a free one, which is "
			       "printed (default: 6379)"),
		ARGS_TEXT_OF(struct options, "bind", bind, "ADDRESS",
			     "Listen at ADDRESS (default: 127.0.0.1); 0.0.0.0: "
			     "on all addresses"),
		ARGS_NUMBER_OF(struct options, "workers", workers, 1, 4096, "N",
			       "Run on N workers (default: one for each CPU)"),
		ARGS_TEXT_OF(struct options, "maxmemory", max_memory, "SIZE",
			     "Refuse writes when the keys use SIZE bytes, such "
			     "as 100mb, and limit the large buffers of clients "
			     "to as much (default: no limit)"),
		ARGS_NUMBER_OF(struct options, "maxclients", max_clients, 1,
			       1000000, "N",
			       "Refuse more than N connections (default: "
			       "10000)"),
		ARGS_TEXT_OF(struct options, "max-bulk", max_bulk, "SIZE",
			     "Refuse arguments of more than SIZE bytes, 1mb to "
			     "512mb (default: 512mb)"),
		ARGS_TEXT_OF(struct options, "requirepass", password,
			     "PASSWORD", "Clients must give PASSWORD first"),
		ARGS_FLAG_OF(struct options, "tasks", tasks,
			     "Serve each connection in a poll task instead of "
			     "a fiber"),
		ARGS_TEXT_OF(struct options, "append", append, "WHEN",
			     "Log all changes, and sync the log to the disk: "
			     "always (before each reply), everysec, or no (as "
			     "the kernel likes); by default there is no log"),
		ARGS_TEXT_OF(struct options, "dir", folder, "FOLDER",
			     "Put the log into FOLDER (default: .)"),
		ARGS_TEXT_OF(struct options, "append-file", append_file, "NAME",
			     "Name of the log (default: skua-kv.log)"),
		ARGS_TEXT_OF(struct options, "auto-aof-rewrite-percentage",
			     rewrite_percent, "PERCENT",
			     "Rewrite the log when it has grown by PERCENT "
			     "since the last rewrite (default: 100); 0: never"),
		ARGS_TEXT_OF(struct options, "auto-aof-rewrite-min-size",
			     rewrite_min_size, "SIZE",
			     "Rewrite the log only if it has more than SIZE "
			     "bytes (default: 64mb)"),
		{ .name = "grace",
		  .arg = "SECONDS",
		  .doc = "At the end, wait SECONDS for clients to take their "
			 "replies (default: 1)",
		  .value = ARGS_SECONDS,
		  .field = offsetof(struct options, grace_s),
		  .min = 0,
		  .max = 3600 }),
};

/* Set one of the settings of CONFIG. Return: 0; -1: the error is printed. */
static int set(const char *name, const char *value)
{
	struct bytes name_bytes = { name, strlen(name) };
	char text[SETTING_TEXT];
	const char *error;

	if (!value)
		return 0;
	error = settings_write(&server.settings, name_bytes,
			       (struct bytes){ value, strlen(value) }, text);
	if (!error)
		return 0;
	fprintf(stderr, "skua-kv: %s %s: %s\n", name, value, error);
	return -1;
}

static int choose_log(const char *when)
{
	static const char *const modes[] = { "no", "everysec", "always" };
	unsigned mode = 0;

	while (mode < 3 && strcmp(when, modes[mode]))
		mode++;
	if (mode == 3) {
		fprintf(stderr,
			"skua-kv: --append %s: must be no, everysec or "
			"always\n",
			when);
		return -1;
	}
	log_mode = (enum log_mode)mode;
	with_log = true;
	server.settings.append_only = "yes";
	server.settings.append_fsync = modes[mode];
	return 0;
}

static int apply(const struct options *options)
{
	struct settings *settings = &server.settings;

	settings->port = (uint16_t)options->port;
	settings->max_clients = options->max_clients;
	if (strlen(options->bind) >= sizeof(settings->address)) {
		fprintf(stderr, "skua-kv: --bind %s: too long\n",
			options->bind);
		return -1;
	}
	strcpy(settings->address, options->bind);
	settings->folder = options->folder;
	settings->append_file = options->append_file;
	if (options->append && choose_log(options->append))
		return -1;
	return set("maxmemory", options->max_memory) ||
			       set("auto-aof-rewrite-percentage",
				   options->rewrite_percent) ||
			       set("auto-aof-rewrite-min-size",
				   options->rewrite_min_size) ||
			       set("proto-max-bulk-len", options->max_bulk) ||
			       set("requirepass", options->password)
		       ? -1
		       : 0;
}

/* ---- fibers ------------------------------------------------------------------- */

static void accept_all(struct skua_fiber *self)
{
	struct skua_io io;
	int code;

	(void)self;
	while (!(code = skua_io_accept(listener, &io, NULL, NULL,
				       SKUA_FOREVER_NS)))
		(as_tasks ? poll_start : connection_start)(&server,
							   &connections, io);
	/* The end of the server cancels this fiber, or closes the listener. */
	if (code != -ECANCELED && code != -EBADF)
		fprintf(stderr, "skua-kv: no more clients are accepted: %s\n",
			strerror(-code));
}

/* Remove keys that have expired from all stripes. */
static void sweep(void)
{
	struct garbage garbage = { NULL, NULL };

	for (unsigned i = 0; i < STORE_STRIPES; i++) {
		struct stripe *stripe = &server.store->stripes[i];

		while (logged_sweep(&server, stripe, &garbage) ||
		       garbage_free(&garbage))
			skua_yield();
	}
}

static void sweep_all(struct skua_fiber *self)
{
	uint64_t pause_ns;

	(void)self;
	do {
		pause_ns =
			store_count_expiring(server.store) ? SWEEP_NS : SECOND;
		logged_rewrite_if_large(&server);
		skua_cancel_mask();
		sweep();
		skua_cancel_unmask();
	} while (!skua_sleep_until(skua_now_ns() + pause_ns));
}

/* ---- start and stop ------------------------------------------------------------- */

static void stop(void)
{
	kill(getpid(), SIGTERM);
}

/* Block the signals in all threads, and make them readable. Return: a descriptor */
static int open_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC);
}

static int start_runtime(unsigned workers, struct skua_error *err)
{
	struct skua_config config = SKUA_CONFIG_INIT;
	int fd = open_signals(), code;

	config.workers = workers;
	code = skua_runtime_create(&runtime, &config, err);
	if (code)
		return code;
	server.runtime = runtime;
	server.settings.workers = skua_runtime_workers(runtime);
	code = skua_io_attach(runtime, fd, 0, &signals);
	if (code)
		snprintf(err->text, sizeof(err->text), "signalfd: %s",
			 strerror(-code));
	return code;
}

/* Open the log, and run the commands that are in it. */
static int replay_log(const char *path, struct skua_error *err)
{
	struct replay replay = { .server = &server, .path = path };
	uint64_t max_bulk = server.settings.max_bulk, cut;
	int code;

	/* Each command was within the limits of its time. */
	server.settings.max_bulk = SETTING_MAX_BULK;
	code = log_open(&server_log, path, replay_frame, &replay, &cut, err);
	server.settings.max_bulk = max_bulk;
	reply_free(&replay.session.reply);
	/* log_open() knows only that a record was refused. */
	if (replay.err.code)
		*err = replay.err;
	if (code)
		return code;
	if (cut)
		fprintf(stderr,
			"skua-kv: %s: the last %llu bytes were not written "
			"completely, and are cut off\n",
			path, (unsigned long long)cut);
	printf("skua-kv: %s: replayed %llu commands\n", path,
	       (unsigned long long)replay.commands);
	return 0;
}

static int start_log(struct skua_error *err)
{
	const struct settings *settings = &server.settings;
	char path[4096];
	int code;

	if (!with_log)
		return 0;
	if (snprintf(path, sizeof(path), "%s/%s", settings->folder,
		     settings->append_file) >= (int)sizeof(path)) {
		snprintf(err->text, sizeof(err->text),
			 "--dir %.40s..., --append-file %.40s...: together "
			 "they have more than %zu bytes",
			 settings->folder, settings->append_file,
			 sizeof(path) - 2);
		return -ENAMETOOLONG;
	}
	server_log.runtime = runtime;
	server_log.mode = log_mode;
	code = replay_log(path, err);
	if (code)
		return code;
	code = logged_start(&server, &server_log) ? log_start(&server_log)
						  : -ENOMEM;
	if (code)
		snprintf(err->text, sizeof(err->text), "log: %s",
			 strerror(-code));
	return code;
}

static int start_listening(struct skua_error *err)
{
	struct settings *settings = &server.settings;
	bool six = strchr(settings->address, ':');
	char address[SKUA_IO_ADDRESS_ROOM];
	int code;

	snprintf(address, sizeof(address), six ? "[%s]:%u" : "%s:%u",
		 settings->address, settings->port);
	code = skua_listen(runtime, address, SOMAXCONN, 0, &listener, err);
	if (code)
		return code;
	/* The kernel has chosen one if it was 0. */
	code = skua_io_local_address(listener, address, sizeof(address));
	if (!code)
		settings->port = (uint16_t)atoi(strrchr(address, ':') + 1);
	return code;
}

static int start(unsigned workers, struct skua_error *err)
{
	int code = start_runtime(workers, err);

	if (!code)
		code = start_log(err);
	if (!code)
		code = start_listening(err);
	if (code)
		return code;
	skua_group_init(&connections, runtime);
	skua_group_set_release(&connections,
			       as_tasks ? poll_release : connection_release);
	code = skua_fiber_init(&acceptor, accept_all, 0);
	if (!code)
		code = skua_fiber_init(&sweeper, sweep_all, 0);
	if (!code)
		code = skua_task_spawn(runtime, &acceptor.task);
	if (!code)
		code = skua_task_spawn(runtime, &sweeper.task);
	if (code)
		snprintf(err->text, sizeof(err->text), "fibers: %s",
			 strerror(-code));
	return code;
}

/* End all connections. */
static void finish(uint64_t grace_ns)
{
	skua_io_close(listener); /* ends accept_all() */
	skua_task_join(&acceptor.task);
	skua_task_cancel(&sweeper.task);
	skua_task_join(&sweeper.task);
	if (as_tasks)
		poll_stop_all(&server);
	else
		skua_group_cancel(&connections);
	if (skua_group_wait_until(&connections, skua_now_ns() + grace_ns)) {
		connections_shut_down(&server);
		skua_group_wait(&connections);
	}
	skua_io_close(signals);
}

/* Close the log, and free all. Return: 0; a negative errno value: not all changes are in the
 * log; -EBUSY: the runtime cannot be destroyed */
static int clean_up(void)
{
	int code = with_log ? log_stop(&server_log) : 0;

	if (code)
		fprintf(stderr,
			"skua-kv: the last changes are not in the log: %s\n",
			strerror(-code));
	free(server.logged);
	if (skua_runtime_destroy(runtime))
		return -EBUSY;
	store_destroy(server.store);
	puts("skua-kv: all connections have ended");
	return code;
}

/* Prepare the server. Return: 0; -1: the error is printed. */
static int prepare(const struct options *options)
{
	settings_init(&server.settings);
	commands_init();
	server.stop = stop;
	server.kick = connection_kick;
	server.started_ns = skua_now_ns();
	server.store = store_create();
	as_tasks = options->tasks;
	return apply(options);
}

int main(int argc, char **argv)
{
	struct options options = { .port = 6379,
				   .bind = "127.0.0.1",
				   .max_clients = 10000,
				   .folder = ".",
				   .append_file = "skua-kv.log",
				   .grace_s = 1 };
	struct skua_error err = { 0, "" };
	struct signalfd_siginfo got;

	if (args_parse_verb(&verb, "", argc, argv, &options) ||
	    prepare(&options))
		return EXIT_USAGE;
	if (!server.store || start((unsigned)options.workers, &err)) {
		fprintf(stderr, "skua-kv: %s\n",
			server.store ? err.text : "no memory");
		return EXIT_FAILED;
	}
	printf("skua-kv: listening at %s, port %u, with %u workers\n",
	       server.settings.address, server.settings.port,
	       server.settings.workers);
	fflush(stdout);
	skua_io_read(signals, &got, sizeof(got), SKUA_FOREVER_NS);
	finish((uint64_t)(options.grace_s * (double)SECOND));
	return clean_up() ? EXIT_FAILED : EXIT_OK;
}
