/* SPDX-License-Identifier: MIT */
/* info.c - INFO: figures of the server, as text */
#include "bench/kv/commands/command.h"
#include "bench/kv/log/log.h"

#include <skua/stats.h>

#include <stdarg.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

typedef unsigned long long number;

struct text {
	size_t used;
	char bytes[4096];
};

static void add(struct text *text, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void add(struct text *text, const char *format, ...)
{
	size_t room = sizeof(text->bytes) - text->used;
	va_list args;
	int size;

	va_start(args, format);
	size = vsnprintf(text->bytes + text->used, room, format, args);
	va_end(args);
	if (size > 0 && (size_t)size < room)
		text->used += (size_t)size;
}

static void add_server(struct call *call, struct text *text)
{
	number up = (skua_now_ns() - call->server->started_ns) / 1000000000;

	add(text,
	    "# Server\r\n"
	    "redis_version:7.0.15\r\n"
	    "redis_mode:standalone\r\n"
	    "arch_bits:%u\r\n"
	    "process_id:%d\r\n"
	    "tcp_port:%u\r\n"
	    "uptime_in_seconds:%llu\r\n"
	    "uptime_in_days:%llu\r\n"
	    "server_name:skua-kv\r\n",
	    (unsigned)sizeof(void *) * 8, (int)getpid(),
	    call->server->settings.port, up, up / 86400);
}

static void add_clients(struct call *call, struct text *text)
{
	add(text,
	    "# Clients\r\n"
	    "connected_clients:%llu\r\n"
	    "maxclients:%llu\r\n"
	    "blocked_clients:0\r\n",
	    (number)shared_read(&call->server->clients),
	    (number)setting(&call->server->settings.max_clients));
}

static void add_memory(struct call *call, struct text *text)
{
	add(text,
	    "# Memory\r\n"
	    "used_memory:%llu\r\n"
	    "maxmemory:%llu\r\n"
	    "maxmemory_policy:noeviction\r\n",
	    (number)store_memory(call->store),
	    (number)setting(&call->server->settings.max_memory));
}

/* Return a time in seconds; -1: it is @none. */
static long long seconds(uint64_t time_ns, bool none)
{
	return none ? -1 : (long long)(time_ns / 1000000000);
}

static void add_rewrites(const struct log *log, struct text *text)
{
	struct rewrite_figures figures = { .running = false };

	if (log)
		figures = rewrite_figures(log);
	add(text,
	    "aof_rewrite_in_progress:%d\r\n"
	    "aof_rewrite_scheduled:0\r\n"
	    "aof_last_rewrite_time_sec:%lld\r\n"
	    "aof_current_rewrite_time_sec:%lld\r\n"
	    "aof_last_bgrewrite_status:%s\r\n"
	    "aof_rewrites:%llu\r\n"
	    "aof_rewrites_consecutive_failures:%llu\r\n",
	    figures.running, seconds(figures.took_ns, !figures.took_ns),
	    seconds(skua_now_ns() - figures.begun_ns, !figures.running),
	    figures.failures ? "err" : "ok", (number)figures.rewrites,
	    (number)figures.failures);
}

static void add_persistence(struct call *call, struct text *text)
{
	struct log *log = call->server->log;

	add(text,
	    "# Persistence\r\n"
	    "loading:0\r\n"
	    "aof_enabled:%d\r\n",
	    log != NULL);
	add_rewrites(log, text);
	if (!log)
		return;
	add(text,
	    "aof_last_write_status:%s\r\n"
	    "aof_current_size:%llu\r\n"
	    "aof_base_size:%llu\r\n"
	    "aof_bytes_added:%llu\r\n"
	    "aof_frames:%llu\r\n"
	    "aof_sync_us:%llu\r\n",
	    log_error(log) ? "err" : "ok", (number)log_size(log),
	    (number)log_base(log), (number)log_added(log),
	    (number)shared_read(&log->frames),
	    (number)shared_read(&log->sync_ns) / 1000);
}

static void add_stats(struct call *call, struct text *text)
{
	number received, rejected, commands, channels, patterns;

	clients_enter(call->session);
	received = call->server->received;
	rejected = call->server->rejected;
	commands = call->server->ended;
	for (struct session *s = call->server->first; s; s = s->next)
		commands += shared_read(&s->commands);
	clients_leave(call->session);
	pubsub_enter(call->session);
	channels = call->server->pubsub.topics[TOPIC_CHANNEL].count;
	patterns = call->server->pubsub.topics[TOPIC_PATTERN].count;
	pubsub_leave(call->session);
	add(text,
	    "# Stats\r\n"
	    "total_connections_received:%llu\r\n"
	    "total_commands_processed:%llu\r\n"
	    "rejected_connections:%llu\r\n"
	    "expired_keys:%llu\r\n"
	    "pubsub_channels:%llu\r\n"
	    "pubsub_patterns:%llu\r\n",
	    received, commands, rejected,
	    (number)shared_read(&call->store->expired), channels, patterns);
}

static void add_cpu(struct call *call, struct text *text)
{
	struct rusage usage;

	(void)call;
	getrusage(RUSAGE_SELF, &usage);
	add(text,
	    "# CPU\r\n"
	    "used_cpu_sys:%ld.%06ld\r\n"
	    "used_cpu_user:%ld.%06ld\r\n",
	    (long)usage.ru_stime.tv_sec, (long)usage.ru_stime.tv_usec,
	    (long)usage.ru_utime.tv_sec, (long)usage.ru_utime.tv_usec);
}

static void add_keyspace(struct call *call, struct text *text)
{
	number keys = store_count(call->store);

	add(text, "# Keyspace\r\n");
	if (keys)
		add(text, "db0:keys=%llu,expires=%llu,avg_ttl=0\r\n", keys,
		    (number)store_count_expiring(call->store));
}

/* Counters of the library. */
static void add_runtime(struct call *call, struct text *text)
{
	struct skua_stats stats;

	if (skua_runtime_stats(call->server->runtime, &stats))
		return;
	add(text,
	    "# Skua\r\n"
	    "workers:%llu\r\n"
	    "tasks_polled:%llu\r\n"
	    "tasks_stolen:%llu\r\n"
	    "times_parked:%llu\r\n"
	    "io_reaps:%llu\r\n"
	    "io_events:%llu\r\n"
	    "io_parks:%llu\r\n"
	    "accepts_delayed:%llu\r\n",
	    (number)stats.workers, (number)stats.total.tasks_polled,
	    (number)stats.total.tasks_stolen, (number)stats.total.times_parked,
	    (number)stats.total.io_reaps, (number)stats.total.io_events,
	    (number)stats.total.io_parks, (number)stats.accepts_delayed);
}

static const struct {
	const char *name;
	void (*add)(struct call *call, struct text *text);
} sections[] = { { "server", add_server }, { "clients", add_clients },
		 { "memory", add_memory }, { "persistence", add_persistence },
		 { "stats", add_stats },   { "cpu", add_cpu },
		 { "skua", add_runtime },  { "keyspace", add_keyspace } };

static bool is_wanted(const struct call *call, const char *section)
{
	for (size_t i = 1; i < call->argc; i++)
		if (bytes_is(call->argv[i], section) ||
		    bytes_is(call->argv[i], "all") ||
		    bytes_is(call->argv[i], "default") ||
		    bytes_is(call->argv[i], "everything"))
			return true;
	return call->argc == 1;
}

void run_info(struct call *call)
{
	struct text text = { .used = 0 };

	for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++) {
		if (!is_wanted(call, sections[i].name))
			continue;
		if (text.used)
			add(&text, "\r\n");
		sections[i].add(call, &text);
	}
	reply_verbatim(call->reply, text.bytes, text.used);
}
