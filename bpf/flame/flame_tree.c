/* SPDX-License-Identifier: MIT */
/* flame_tree.c - see flame.h; hash tables find nodes and names */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/flame/flame.h"

#define MAX_SAMPLES \
	(UINT64_C(1) << 53) /* exact as a double, as in JavaScript */
#define SMALLEST 1024u

/* A hash table with open addressing, at most half full. */
struct table {
	uint32_t *slots; /* index + 1; 0: empty */
	uint32_t size;   /* a power of two */
	uint32_t count;
};

struct flame {
	struct flame_node *nodes;
	uint32_t room;
	struct table children; /* nodes, by parent and name */
	struct table named;    /* names */
	char **names;
	uint32_t names_room;
	uint32_t cursor;
	bool stuck; /* a function had no room: ignore deeper ones */
};

/* ---- tables ---------------------------------------------------------------- */

static uint32_t mix(uint64_t key)
{
	key ^= key >> 33;
	key *= UINT64_C(0xff51afd7ed558ccd);
	return (uint32_t)(key >> 32);
}

static uint32_t hash_name(const char *name)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
	return mix(hash);
}

static uint32_t hash_child(uint32_t parent, const char *name)
{
	return mix((uintptr_t)name * UINT64_C(0x9e3779b97f4a7c15) + parent);
}

static uint32_t hash_at(const struct flame *flame, const struct table *table,
			uint32_t index)
{
	if (table == &flame->named)
		return hash_name(flame->names[index]);
	return hash_child(flame->nodes[index].parent, flame->nodes[index].name);
}

static void put(struct table *table, uint32_t hash, uint32_t index)
{
	while (table->slots[hash & (table->size - 1)] != 0)
		hash++;
	table->slots[hash & (table->size - 1)] = index + 1;
}

/* Make room for one more entry. */
static int grow(const struct flame *flame, struct table *table)
{
	struct table larger = { .size = table->size ? 2 * table->size
						    : SMALLEST };

	if (2 * (table->count + 1) <= table->size)
		return 0;
	larger.slots = calloc(larger.size, sizeof(*larger.slots));
	if (!larger.slots)
		return -ENOMEM;
	for (uint32_t i = 0; i < table->size; i++)
		if (table->slots[i] != 0)
			put(&larger, hash_at(flame, table, table->slots[i] - 1),
			    table->slots[i] - 1);
	free(table->slots);
	larger.count = table->count;
	*table = larger;
	return 0;
}

/* Return the only copy of a name, so that names can be compared by address. */
static const char *intern(struct flame *flame, const char *name)
{
	struct table *table = &flame->named;
	uint32_t hash = hash_name(name);

	if (grow(flame, table))
		return NULL;
	for (uint32_t at = hash, slot;
	     (slot = table->slots[at & (table->size - 1)]) != 0; at++)
		if (strcmp(flame->names[slot - 1], name) == 0)
			return flame->names[slot - 1];
	if (table->count == flame->names_room) {
		uint32_t room =
			flame->names_room ? 2 * flame->names_room : SMALLEST;
		char **more = reallocarray(flame->names, room, sizeof(*more));

		if (!more)
			return NULL;
		flame->names = more;
		flame->names_room = room;
	}
	flame->names[table->count] = strdup(name);
	if (!flame->names[table->count])
		return NULL;
	put(table, hash, table->count);
	return flame->names[table->count++];
}

/* ---- names ----------------------------------------------------------------- */

/* Length of the UTF-8 character at @at; 0 if there is none that XML allows. */
static size_t character(const unsigned char *at, size_t left)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t length = *at < 0x80   ? 1
			: *at < 0xc0 ? 0
			: *at < 0xe0 ? 2
			: *at < 0xf0 ? 3
			: *at < 0xf8 ? 4
				     : 0;
	uint32_t code = length > 1 ? *at & (0x7fu >> length) : *at;

	if (length == 0 || length > left)
		return 0;
	for (size_t i = 1; i < length; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (at[i] & 0x3fu);
	}
	if (code < ' ' || (code >= 0x7f && code < 0xa0) ||
	    (length > 1 && code < least[length]) ||
	    (code >= 0xd800 && code < 0xe000) || (code & 0xfffe) == 0xfffe ||
	    code > 0x10ffff)
		return 0;
	return length;
}

static void make_name(const char *name, size_t length, char *out)
{
	size_t used = 0;

	for (size_t i = 0, one; i < length && used + 5 < FLAME_NAME; i += one) {
		one = character((const unsigned char *)name + i, length - i);
		if (one == 0 || name[i] == ';') {
			out[used++] = '?';
			one = 1;
			continue;
		}
		memcpy(out + used, name + i, one);
		used += one;
	}
	if (used == 0)
		out[used++] = '?';
	out[used] = '\0';
}

/* ---- nodes ----------------------------------------------------------------- */

struct flame *flame_new(void)
{
	struct flame *flame = calloc(1, sizeof(*flame));

	if (!flame)
		return NULL;
	flame->nodes = calloc(SMALLEST, sizeof(*flame->nodes));
	if (!flame->nodes) {
		free(flame);
		return NULL;
	}
	flame->room = SMALLEST;
	flame->nodes[0].name = "";
	return flame;
}

void flame_free(struct flame *flame)
{
	if (!flame)
		return;
	for (uint32_t i = 0; i < flame->named.count; i++)
		free(flame->names[i]);
	free(flame->names);
	free(flame->named.slots);
	free(flame->children.slots);
	free(flame->nodes);
	free(flame);
}

static int add_node(struct flame *flame, const char *name)
{
	uint32_t count = flame_node_count(flame);
	struct flame_node *parent;

	if (count == FLAME_NODES)
		return -E2BIG;
	if (count == flame->room) {
		struct flame_node *more = reallocarray(
			flame->nodes, 2 * (size_t)count, sizeof(*more));

		if (!more)
			return -ENOMEM;
		flame->nodes = more;
		flame->room = 2 * count;
	}
	parent = &flame->nodes[flame->cursor];
	flame->nodes[count] = (struct flame_node){ .name = name,
						   .parent = flame->cursor,
						   .depth = parent->depth + 1,
						   .sibling = parent->child };
	parent->child = count;
	put(&flame->children, hash_child(flame->cursor, name), count);
	flame->children.count++;
	flame->cursor = count;
	return 0;
}

static int enter(struct flame *flame, const char *name)
{
	struct table *table = &flame->children;

	if (grow(flame, table))
		return -ENOMEM;
	for (uint32_t at = hash_child(flame->cursor, name), slot;
	     (slot = table->slots[at & (table->size - 1)]) != 0; at++) {
		const struct flame_node *node = &flame->nodes[slot - 1];

		if (node->parent == flame->cursor && node->name == name) {
			flame->cursor = slot - 1;
			return 0;
		}
	}
	return add_node(flame, name);
}

int flame_enter(struct flame *flame, const char *name, size_t length)
{
	char text[FLAME_NAME];
	const char *known;
	int err;

	if (flame->stuck || flame->nodes[flame->cursor].depth == FLAME_DEPTH)
		return 0;
	make_name(name, length, text);
	known = intern(flame, text);
	err = known ? enter(flame, known) : -ENOMEM;
	flame->stuck = err != 0;
	return err;
}

int flame_count(struct flame *flame, uint64_t samples)
{
	uint32_t at = flame->cursor;

	flame->cursor = 0;
	flame->stuck = false;
	if (samples > MAX_SAMPLES - flame->nodes[0].total)
		return -EOVERFLOW;
	flame->nodes[at].own += samples;
	for (; at != 0; at = flame->nodes[at].parent)
		flame->nodes[at].total += samples;
	flame->nodes[0].total += samples;
	return 0;
}

const struct flame_node *flame_nodes(const struct flame *flame)
{
	return flame->nodes;
}

uint32_t flame_node_count(const struct flame *flame)
{
	return flame->children.count + 1;
}

/* ---- order ----------------------------------------------------------------- */

/* Sort the smallest first, because flame_sort() puts each node before its
 * siblings. */
static int compare(const void *a, const void *b, void *context)
{
	const struct flame_node *nodes = context;
	const struct flame_node *left = &nodes[*(const uint32_t *)a];
	const struct flame_node *right = &nodes[*(const uint32_t *)b];

	if (left->total != right->total)
		return left->total < right->total ? -1 : 1;
	return strcmp(right->name, left->name);
}

int flame_sort(struct flame *flame)
{
	uint32_t count = flame_node_count(flame);
	uint32_t *order = reallocarray(NULL, count, sizeof(*order));

	if (!order)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		order[i] = i;
		flame->nodes[i].child = 0;
	}
	qsort_r(order, count, sizeof(*order), compare, flame->nodes);
	for (uint32_t i = 0; i < count; i++) {
		struct flame_node *node = &flame->nodes[order[i]];
		struct flame_node *parent = &flame->nodes[node->parent];

		if (order[i] == 0)
			continue;
		node->sibling = parent->child;
		parent->child = order[i];
	}
	free(order);
	return 0;
}
