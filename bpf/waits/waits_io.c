/* SPDX-License-Identifier: MIT */
/* waits_io.c - see waits_io.h */
#include "bpf/waits/waits_io.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/cli/json.h"
#include "bpf/cli/sorted.h"
#include "bpf/cli/table.h"

const char *waits_io_name(const struct waits *waits, uint32_t descriptor,
			  unsigned way, char *text)
{
	const struct descriptor *it = &waits->descriptors.list[descriptor];
	const struct socket_state *socket = &it->socket;

	snprintf(text, WAITS_WHAT, "descriptor %d (%s%s%s%s%s), to %s", it->fd,
		 descriptor_kind(it), *socket->local ? " " : "", socket->local,
		 *socket->peer ? ", peer " : "", socket->peer,
		 descriptor_use(it, way));
	return text;
}

/* ---- text ----------------------------------------------------------------------- */

/* A wait, with the texts that it shares with the others of its row. */
struct one {
	const struct descriptor *descriptor;
	const struct target_wait *wait;
	const char *kind, *state, *use;
	bool delayed;
	char type[2 * TARGET_NAME];
};

static struct target_party party_of(const struct one *one)
{
	return target_party(one->wait->armed.waiter);
}

/* The address that tells rows apart. Sockets that listen are few, and each serves something
 * else. */
static const char *own_address(const struct one *one)
{
	const struct socket_state *socket = &one->descriptor->socket;

	return socket->listens ? socket->local : "";
}

static int compare(const void *left, const void *right)
{
	const struct one *a = left, *b = right;
	int order = strcmp(a->kind, b->kind);

	if (!order)
		order = strcmp(a->state, b->state);
	if (!order)
		order = strcmp(a->use, b->use);
	if (!order)
		order = compare_numbers(a->delayed, b->delayed);
	if (!order)
		order = strcmp(own_address(a), own_address(b));
	return order ? order : strcmp(a->type, b->type);
}

/* List all waits, sorted by row. Return: their number; the caller frees @out. */
static uint32_t list_waits(const struct waits *waits, struct one **out)
{
	const struct descriptors *all = &waits->descriptors;
	struct one *list =
		calloc(all->count + 1, DESCRIPTOR_WAYS * sizeof(*list));
	uint32_t count = 0;

	for (uint32_t i = 0; list && i < all->count; i++) {
		const struct descriptor *it = &all->list[i];

		for (unsigned way = 0; way < DESCRIPTOR_WAYS; way++) {
			struct one *one = &list[count];

			if (!it->wait[way].address)
				continue;
			count++;
			*one = (struct one){
				.descriptor = it,
				.wait = &it->wait[way],
				.kind = descriptor_kind(it),
				.state = it->socket.state ? it->socket.state
							  : "",
				.use = descriptor_use(it, way),
				.delayed = it->delayed[way],
			};
			waits_party_type(waits, party_of(one), one->type);
		}
	}
	if (list)
		qsort(list, count, sizeof(*list), compare);
	*out = list;
	return count;
}

/* Reduce @common to the part that it shares with @address: "10.0.0.1:80", "10.0.0.1:*",
 * "*". */
static void merge(char *common, const char *address)
{
	const char *port = strrchr(address, ':');
	size_t host = port ? (size_t)(port - address) + 1 : 0;

	if (strcmp(common, address) == 0)
		return;
	if (host && strncmp(common, address, host) == 0)
		strcpy(common + host, "*");
	else
		strcpy(common, "*");
}

/* Did a wait begin before another one? 0: the time is not known. */
static bool began_before(const struct target_wait *a,
			 const struct target_wait *b)
{
	uint64_t a_ns = a->armed.since_ns, b_ns = b->armed.since_ns;

	return a_ns && (!b_ns || a_ns < b_ns);
}

static void add_row(struct table *table, const struct waits *waits,
		    const struct one *first, uint32_t count)
{
	const struct socket_state *socket = &first->descriptor->socket;
	const struct one *oldest = first;
	char local[TARGET_NAME], peer[TARGET_NAME], time[32],
		party[2 * TARGET_NAME];

	strcpy(local, socket->local);
	strcpy(peer, socket->peer);
	for (const struct one *one = first; one < first + count; one++) {
		merge(local, one->descriptor->socket.local);
		merge(peer, one->descriptor->socket.peer);
		if (began_before(one->wait, oldest->wait))
			oldest = one;
	}
	table_count(table, count);
	table_add(table, "%s", first->kind);
	table_add(table, "%s", *first->state ? first->state : "-");
	table_add(table, "%s%s", first->use, first->delayed ? ", again" : "");
	table_add(table, "%s", *local ? local : "-");
	table_add(table, "%s", *peer ? peer : "-");
	table_add(table, "%s",
		  waits_since_text(waits, oldest->wait->armed.since_ns, time));
	table_add(table, "%d: %s", oldest->descriptor->fd,
		  waits_party_name(waits, party_of(oldest), party));
}

void waits_io_text(const struct waits *waits)
{
	static const char *const titles[] = {
		"descriptors", "kind",    "state",    "to", "local",
		"peer",        "longest", "of which", NULL
	};
	struct table table;
	struct one *list;
	uint32_t count, end;

	if (waits->descriptors.count == 0)
		return;
	count = list_waits(waits, &list);
	table_begin(&table, titles, "01111101");
	for (uint32_t i = 0; i < count; i = end) {
		for (end = i + 1;
		     end < count && compare(&list[i], &list[end]) == 0;)
			end++;
		add_row(&table, waits, &list[i], end - i);
	}
	table_print(stdout, &table);
	printf("\n");
	free(list);
}

/* ---- JSON ----------------------------------------------------------------------- */

static json_t *wait_json(const struct waits *waits, const struct descriptor *it,
			 unsigned way)
{
	const struct area_armed *armed = &it->wait[way].armed;
	struct target_party party = target_party(armed->waiter);
	char name[2 * TARGET_NAME], type[2 * TARGET_NAME];

	return json_pack("{s:s, s:s, s:s, s:o, s:b}", "to",
			 descriptor_use(it, way), "waiter",
			 waits_party_name(waits, party, name), "type",
			 waits_party_type(waits, party, type), "since_ns",
			 json_count(waits_since(waits, armed->since_ns)),
			 "delayed", it->delayed[way]);
}

json_t *waits_io_json(const struct waits *waits)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < waits->descriptors.count; i++) {
		const struct descriptor *it = &waits->descriptors.list[i];
		json_t *list = json_array();

		for (unsigned way = 0; way < DESCRIPTOR_WAYS; way++)
			if (it->wait[way].address)
				json_array_append_new(
					list, wait_json(waits, it, way));
		json_array_append_new(
			array,
			json_pack("{s:i, s:s, s:s, s:s, s:s, s:o}", "fd",
				  it->fd, "kind", descriptor_kind(it), "state",
				  it->socket.state ? it->socket.state : "",
				  "local", it->socket.local, "peer",
				  it->socket.peer, "waits", list));
	}
	return array;
}

/* ---- blocking calls --------------------------------------------------------------- */

/* Count the waiters for the calls of a pool: each call has one. Find the longest wait of the
 * waiters that are known. A task that is no fiber, or a thread, is not known if its call runs,
 * or if no fiber waits for the pool: then nothing tells where the lists of the pool are. */
static struct waits_side callers(const struct waits *waits,
				 const struct blocking_pool *pool)
{
	struct waits_side side = { .waiters = pool->area.running +
					      pool->area.queued +
					      pool->area.waiting };

	for (uint32_t i = 0; i < waits->waiter_count; i++) {
		const struct waits_waiter *waiter = &waits->waiters[i];

		if (waiter->wait.verb.kind != AREA_WAITS_BLOCKING ||
		    waiter->wait.armed.object != pool->address)
			continue;
		waits_note_since(&side, waiter->wait.armed.since_ns,
				 waiter->party);
	}
	return side;
}

static void add_of(struct table *table, uint64_t number, uint64_t most)
{
	char first[32], second[32];

	table_add(table, "%s of %s", text_count(first, number),
		  text_count(second, most));
}

void waits_io_pools_text(const struct waits *waits)
{
	static const char *const titles[] = { "blocking threads", "busy",
					      "queued",           "for a place",
					      "waiters",          "longest",
					      "of which",         NULL };
	struct table table;

	if (waits->pools.count == 0)
		return;
	table_begin(&table, titles, "0000001");
	for (size_t i = 0; i < waits->pools.count; i++) {
		const struct blocking_pool *pool = &waits->pools.list[i];
		struct waits_side side = callers(waits, pool);
		char time[32], party[2 * TARGET_NAME];

		add_of(&table, pool->area.threads, pool->area.max_threads);
		table_count(&table, pool->area.running);
		add_of(&table, pool->area.queued, pool->area.max_queued);
		table_count(&table, pool->area.waiting);
		table_count(&table, side.waiters);
		table_add(&table, "%s",
			  waits_since_text(waits, side.since_ns, time));
		table_add(&table, "%s",
			  side.since_ns
				  ? waits_party_name(waits, side.oldest, party)
				  : "-");
	}
	table_print(stdout, &table);
	printf("\n");
}

json_t *waits_io_pools_json(const struct waits *waits)
{
	json_t *array = json_array();

	for (size_t i = 0; i < waits->pools.count; i++) {
		const struct blocking_pool *pool = &waits->pools.list[i];
		struct waits_side side = callers(waits, pool);
		char party[2 * TARGET_NAME];

		json_array_append_new(
			array,
			json_pack(
				"{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:s}",
				"threads", json_count(pool->area.threads),
				"max_threads",
				json_count(pool->area.max_threads), "running",
				json_count(pool->area.running), "queued",
				json_count(pool->area.queued), "max_queued",
				json_count(pool->area.max_queued),
				"waiting_for_a_place",
				json_count(pool->area.waiting), "waiters",
				json_count(side.waiters), "longest_ns",
				json_count(waits_since(waits, side.since_ns)),
				"of_which",
				waits_party_name(waits, side.oldest, party)));
	}
	return array;
}
