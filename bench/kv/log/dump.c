/* SPDX-License-Identifier: MIT */
/* dump.c - the keys of a stripe as records that create them */
#include "bench/kv/log/dump.h"

#include "bench/kv/store/map.h"

#define TIME_MS 1
/* A record of a list or hash ends when it has so many elements, or so many bytes. */
#define MOST_ITEMS 64u
#define MOST_BYTES (1u << 15)
/* A string of so many bytes is shared. */
#define SHARED (1u << 16)

/**
 * struct dump - the dump of one stripe
 * @key: the key that is dumped
 * @argc, @bytes: arguments of @argv, and their bytes
 * @argv: a command of a list or hash: two words, and the elements
 * @scratch: for the texts of numbers
 */
struct dump {
	struct pieces *pieces;
	struct bytes key;
	size_t argc, bytes;
	struct bytes argv[2 + MOST_ITEMS];
	char scratch[2 + MOST_ITEMS][NUMBER_ROOM];
	bool failed;
};

static void add(struct dump *dump, size_t argc, const struct bytes *argv)
{
	size_t size = RECORD_HEADER + record_command_size(argc, argv);
	char *at = pieces_add(dump->pieces, size);

	dump->failed |= !at;
	if (at)
		record_put_command(record_put_header(at, TIME_MS, 1), argc,
				   argv);
}

/* ---- lists and hashes ----------------------------------------------------------- */

static void begin_items(struct dump *dump, const char *name)
{
	dump->argv[0] = (struct bytes){ name, strlen(name) };
	dump->argv[1] = dump->key;
	dump->argc = 2;
	dump->bytes = 0;
}

static void end_items(struct dump *dump)
{
	if (dump->argc > 2)
		add(dump, dump->argc, dump->argv);
	dump->argc = 2;
	dump->bytes = 0;
}

static void add_item(struct dump *dump, struct bytes item)
{
	dump->argv[dump->argc++] = item;
	dump->bytes += item.size;
}

static void dump_list(struct dump *dump, const struct list *list)
{
	struct list_place place = list_seek(list, 0);

	begin_items(dump, "RPUSH");
	for (size_t i = 0; i < list->count; i++) {
		const struct list_item *item = list_next(&place);

		add_item(dump, (struct bytes){ item->data, item->size });
		if (dump->argc == 2 + MOST_ITEMS || dump->bytes >= MOST_BYTES)
			end_items(dump);
	}
	end_items(dump);
}

static void dump_field(void *ctx, struct entry *field)
{
	struct dump *dump = ctx;

	add_item(dump, entry_key(field));
	add_item(dump, entry_string(field, dump->scratch[dump->argc]));
	if (dump->argc == 2 + MOST_ITEMS || dump->bytes >= MOST_BYTES)
		end_items(dump);
}

static void dump_map(struct dump *dump, const struct map *map)
{
	begin_items(dump, "HSET");
	map_visit(map, dump_field, dump);
	end_items(dump);
}

/* ---- keys ----------------------------------------------------------------------- */

static void dump_string(struct dump *dump, const struct entry *entry)
{
	struct bytes argv[] = { { "SET", 3 },
				dump->key,
				entry_string(entry, dump->scratch[0]) };
	bool shared = entry->kind == ENTRY_BLOB && argv[2].size >= SHARED;
	size_t size = argv[2].size;
	struct piece *last;

	if (shared)
		argv[2].size = 0;
	add(dump, 3, argv);
	if (!shared || dump->failed)
		return;
	last = dump->pieces->last;
	record_put_32(last->data + last->used - 4, (uint32_t)size);
	pieces_end_with(dump->pieces, entry->blob);
}

static void dump_time(struct dump *dump, int64_t expires_ms)
{
	char text[NUMBER_ROOM];
	struct bytes argv[] = { { "PEXPIRE", 7 },
				dump->key,
				{ text,
				  number_format(text, expires_ms - TIME_MS) } };

	add(dump, 3, argv);
}

static void dump_entry(void *ctx, struct entry *entry)
{
	struct dump *dump = ctx;

	dump->key = entry_key(entry);
	if (entry->kind == ENTRY_LIST)
		dump_list(dump, entry->list);
	else if (entry->kind == ENTRY_MAP)
		dump_map(dump, entry->map);
	else
		dump_string(dump, entry);
	if (entry->expires_ms)
		dump_time(dump, entry->expires_ms);
}

bool dump_stripe(const struct stripe *stripe, struct pieces *pieces)
{
	struct dump dump = { .pieces = pieces };
	uint64_t cursor = 0;

	do {
		cursor = table_scan(&stripe->table, cursor, dump_entry, &dump);
	} while (cursor && !dump.failed);
	return !dump.failed;
}
