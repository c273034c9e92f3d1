/* SPDX-License-Identifier: MIT */
/* entry.c - a key and its value */
#include "bench/kv/store/entry.h"

#include <stdlib.h>

#include "bench/kv/store/map.h"

/* The memory that malloc() takes for a size, about: a header, and multiples of 16 bytes. */
static size_t allocated(size_t size)
{
	return (size + 8 + 15) & ~(size_t)15;
}

static size_t entry_size(size_t key_size, size_t room)
{
	return sizeof(struct entry) + key_size + room;
}

const char *entry_type(const struct entry *entry)
{
	switch (entry->kind) {
	case ENTRY_LIST:
		return "list";
	case ENTRY_MAP:
		return "hash";
	default:
		return "string";
	}
}

struct entry *entry_create(struct bytes key, size_t room)
{
	struct entry *entry;
	size_t whole;

	if (key.size > UINT32_MAX)
		return NULL;
	if (room > ENTRY_MAX_INLINE)
		room = 0;
	/* The rest of the last 16 bytes is there anyway. */
	whole = allocated(entry_size(key.size, room)) - 8;
	entry = malloc(whole);
	if (!entry)
		return NULL;
	entry->expires_ms = 0;
	entry->number = 0;
	entry->key_size = (uint32_t)key.size;
	entry->size = 0;
	entry->room = (uint16_t)(whole - entry_size(key.size, 0));
	entry->kind = ENTRY_INLINE;
	memcpy(entry->bytes, key.data, key.size);
	return entry;
}

struct entry *entry_create_list(struct bytes key)
{
	struct entry *entry = entry_create(key, 0);

	if (!entry)
		return NULL;
	entry->list = list_create();
	if (!entry->list) {
		free(entry);
		return NULL;
	}
	entry->kind = ENTRY_LIST;
	return entry;
}

struct entry *entry_create_map(struct bytes key)
{
	struct entry *entry = entry_create(key, 0);

	if (!entry)
		return NULL;
	entry->map = map_create();
	if (!entry->map) {
		free(entry);
		return NULL;
	}
	entry->kind = ENTRY_MAP;
	return entry;
}

/* Drop what the value has outside of the entry. */
static void drop_value(struct entry *entry)
{
	if (entry->kind == ENTRY_BLOB)
		blob_leave(entry->blob);
	else if (entry->kind == ENTRY_LIST)
		list_free(entry->list);
	else if (entry->kind == ENTRY_MAP)
		map_free(entry->map);
}

void entry_free(struct entry *entry)
{
	drop_value(entry);
	free(entry);
}

/* Elements, or fields, that are freed at once. */
#define FREED_AT_ONCE 64u

bool entry_is_large(const struct entry *entry)
{
	if (entry->kind == ENTRY_LIST)
		return entry->list->count > FREED_AT_ONCE;
	return entry->kind == ENTRY_MAP &&
	       map_count(entry->map) > FREED_AT_ONCE;
}

bool entry_free_some(struct entry *entry)
{
	bool more = false;

	if (entry->kind == ENTRY_LIST)
		more = list_free_some(entry->list);
	else if (entry->kind == ENTRY_MAP)
		more = map_free_some(entry->map);
	else
		drop_value(entry);
	if (!more)
		free(entry);
	return more;
}

size_t entry_memory(const struct entry *entry)
{
	size_t size = allocated(entry_size(entry->key_size, entry->room));

	if (entry->kind == ENTRY_BLOB)
		size += allocated(sizeof(struct blob) + entry->blob->room);
	else if (entry->kind == ENTRY_LIST)
		size += list_memory(entry->list);
	else if (entry->kind == ENTRY_MAP)
		size += map_memory(entry->map);
	return size;
}

struct bytes entry_string(const struct entry *entry, char scratch[NUMBER_ROOM])
{
	switch (entry->kind) {
	case ENTRY_INLINE:
		return (struct bytes){ entry->bytes + entry->key_size,
				       entry->size };
	case ENTRY_NUMBER:
		return (struct bytes){ scratch,
				       number_format(scratch, entry->number) };
	case ENTRY_BLOB:
		return (struct bytes){ entry->blob->data, entry->blob->size };
	default:
		return (struct bytes){ NULL, 0 };
	}
}

static void set_inline(struct entry *entry, struct bytes value)
{
	drop_value(entry);
	memcpy(entry->bytes + entry->key_size, value.data, value.size);
	entry->size = (uint16_t)value.size;
	entry->kind = ENTRY_INLINE;
}

static void set_blob(struct entry *entry, struct blob *blob)
{
	drop_value(entry);
	entry->blob = blob;
	entry->size = 0;
	entry->kind = ENTRY_BLOB;
}

/* Put @value into a larger entry, and free the old one. */
static bool replace(struct entry **entry, struct bytes value, size_t room)
{
	struct entry *old = *entry;
	struct entry *next = entry_create(entry_key(old), room);

	if (!next)
		return false;
	next->expires_ms = old->expires_ms;
	set_inline(next, value);
	entry_free(old);
	*entry = next;
	return true;
}

bool entry_set(struct entry **entry, struct bytes value)
{
	struct blob *blob;

	if (value.size <= (*entry)->room) {
		set_inline(*entry, value);
		return true;
	}
	if (value.size <= ENTRY_MAX_INLINE)
		return replace(entry, value, value.size);
	blob = blob_create(value.size);
	if (!blob)
		return false;
	memcpy(blob->data, value.data, value.size);
	blob->size = value.size;
	set_blob(*entry, blob);
	return true;
}

/* Make the string a blob of its own, with room for @size bytes. */
static struct blob *own_blob(struct entry *entry, size_t size)
{
	char scratch[NUMBER_ROOM];
	struct bytes old = entry_string(entry, scratch);
	struct blob *blob = entry->kind == ENTRY_BLOB ? entry->blob : NULL;

	if (blob && !blob_is_shared(blob)) {
		if (blob->room >= size)
			return blob;
		blob = realloc(blob, sizeof(*blob) + size + size / 4);
		if (!blob)
			return NULL;
		blob->room = size + size / 4;
		entry->blob = blob;
		return blob;
	}
	blob = blob_create(size + size / 4);
	if (!blob)
		return NULL;
	memcpy(blob->data, old.data, old.size);
	blob->size = old.size;
	set_blob(entry, blob);
	return blob;
}

bool entry_append(struct entry **entry, struct bytes more)
{
	char scratch[NUMBER_ROOM];
	struct bytes old = entry_string(*entry, scratch);
	size_t size = old.size + more.size;
	struct blob *blob;

	if (size <= (*entry)->room && (*entry)->kind != ENTRY_BLOB) {
		if (old.data == scratch)
			set_inline(*entry, old);
	} else if (size <= ENTRY_MAX_INLINE && (*entry)->kind != ENTRY_BLOB) {
		size_t room = size + size / 4;

		if (room > ENTRY_MAX_INLINE)
			room = ENTRY_MAX_INLINE;
		if (!replace(entry, old, room))
			return false;
	} else {
		blob = own_blob(*entry, size);
		if (!blob)
			return false;
		memcpy(blob->data + blob->size, more.data, more.size);
		blob->size = size;
		return true;
	}
	memcpy((*entry)->bytes + (*entry)->key_size + old.size, more.data,
	       more.size);
	(*entry)->size = (uint16_t)size;
	return true;
}

bool entry_number(const struct entry *entry, int64_t *out)
{
	char scratch[NUMBER_ROOM];

	if (entry->kind == ENTRY_NUMBER) {
		*out = entry->number;
		return true;
	}
	return number_parse(entry_string(entry, scratch), out);
}

void entry_set_number(struct entry *entry, int64_t number)
{
	drop_value(entry);
	entry->number = number;
	entry->size = 0;
	entry->kind = ENTRY_NUMBER;
}
