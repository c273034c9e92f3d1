/* SPDX-License-Identifier: MIT */
/**
 * entry.h - a key and its value
 *
 * An entry is one allocation: the key, and the value if it is a short string. A string of
 * more than ENTRY_MAX_INLINE bytes is a blob, which replies share. A number, the result
 * of INCR and the like, is kept as such. Which of these a string is, no client can see.
 */
#ifndef SKUA_BENCH_KV_ENTRY_H
#define SKUA_BENCH_KV_ENTRY_H

#include "bench/kv/resp/blob.h"
#include "bench/kv/resp/number.h"
#include "bench/kv/store/list.h"

struct map;

/* The longest string that is kept beside its key, in bytes. */
#define ENTRY_MAX_INLINE 4096u

/* The kinds of strings come first. */
enum entry_kind {
	ENTRY_INLINE,
	ENTRY_NUMBER,
	ENTRY_BLOB,
	ENTRY_LIST,
	ENTRY_MAP
};

/**
 * struct entry - a key and its value
 * @expires_ms: time of CLOCK_REALTIME from which on the entry does not exist; 0: never
 * @key_size: bytes of the key
 * @size, @room: bytes of an inline string, and bytes that are there for one
 * @bytes: the key, and then an inline string
 */
struct entry {
	union {
		int64_t expires_ms;
		struct entry *next; /* of entries that wait to be freed */
	};
	union {
		int64_t number;
		struct blob *blob;
		struct list *list;
		struct map *map;
	};
	uint32_t key_size;
	uint16_t size, room;
	enum entry_kind kind;
	char bytes[];
};

static inline struct bytes entry_key(const struct entry *entry)
{
	return (struct bytes){ entry->bytes, entry->key_size };
}

/* entry_is_string - tell whether the value is a string, of any kind */
static inline bool entry_is_string(const struct entry *entry)
{
	return entry->kind < ENTRY_LIST;
}

/* entry_type - return the name of the type of the value */
const char *entry_type(const struct entry *entry);

/* entry_create - make an entry with an empty string. @room: bytes of a string that it will
 * have. Return: NULL: no memory */
struct entry *entry_create(struct bytes key, size_t room);

/* entry_create_list - make an entry with an empty list. Return: NULL: no memory */
struct entry *entry_create_list(struct bytes key);

/* entry_create_map - make an entry with an empty map. Return: NULL: no memory */
struct entry *entry_create_map(struct bytes key);

/* entry_free - free an entry and its value */
void entry_free(struct entry *entry);

/* entry_is_large - tell whether it takes long to free the entry */
bool entry_is_large(const struct entry *entry);

/* entry_free_some - free a part of an entry, about as long as a poll may take. Return:
 * whether there is more */
bool entry_free_some(struct entry *entry);

/* entry_memory - return the memory that an entry and its value use, in bytes */
size_t entry_memory(const struct entry *entry);

/**
 * entry_string - return the bytes of a string
 * @scratch: for the text of a number
 */
struct bytes entry_string(const struct entry *entry, char scratch[NUMBER_ROOM]);

/**
 * entry_set - make the value a string; its time stays
 * @entry: may move
 * @value: not in the entry itself
 *
 * Return: false: no memory, and nothing was done.
 */
bool entry_set(struct entry **entry, struct bytes value);

/* entry_append - add bytes to a string. @entry: may move. Return: false: no memory, and
 * nothing was done. */
bool entry_append(struct entry **entry, struct bytes more);

/* entry_number - read a string as an integer. Return: false: it is none */
bool entry_number(const struct entry *entry, int64_t *out);

/* entry_set_number - make the value a number; its time stays */
void entry_set_number(struct entry *entry, int64_t number);

#endif
