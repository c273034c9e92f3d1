/* SPDX-License-Identifier: MIT */
/* test_kv_entry.c - the values of skua-kv: strings, blobs that replies share, lists */
#include <stdio.h>
#include <stdlib.h>

#include "bench/kv/store/entry.h"
#include "bench/kv/store/list.h"
#include "tests/unit/unit.h"

static struct bytes text(const char *text)
{
	return (struct bytes){ text, strlen(text) };
}

/* Strings of all sizes around the limits, each set, appended to, and replaced. */
TEST(entry__any_size__same_bytes)
{
	static char bytes[3 * ENTRY_MAX_INLINE];
	static const size_t sizes[] = { 0,
					1,
					15,
					16,
					100,
					ENTRY_MAX_INLINE - 1,
					ENTRY_MAX_INLINE,
					ENTRY_MAX_INLINE + 1,
					2 * ENTRY_MAX_INLINE };
	size_t count = sizeof(sizes) / sizeof(sizes[0]);
	char scratch[NUMBER_ROOM];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)(i * 7);
	for (size_t i = 0; i < count * count; i++) {
		struct entry *entry = entry_create(text("key"), i % 7);
		struct bytes first = { bytes, sizes[i / count] };
		struct bytes second = { bytes + first.size, sizes[i % count] };
		struct bytes both = { bytes, first.size + second.size };

		if (both.size > sizeof(bytes))
			both.size = second.size = 0;
		assert_true(entry_set(&entry, first));
		assert_true(bytes_equal(entry_string(entry, scratch), first));
		if (both.size) {
			assert_true(entry_append(&entry, second));
			assert_true(bytes_equal(entry_string(entry, scratch),
						both));
		}
		assert_true(entry_set(&entry, second));
		assert_true(bytes_equal(entry_string(entry, scratch), second));
		assert_true(bytes_equal(entry_key(entry), text("key")));
		entry_free(entry);
	}
}

/* A blob that a reply shares is not changed. */
TEST(entry_append__shared__copied)
{
	static char bytes[2 * ENTRY_MAX_INLINE];
	struct entry *entry = entry_create(text("key"), 0);
	struct blob *blob;
	char scratch[NUMBER_ROOM];

	assert_true(entry_set(&entry, (struct bytes){ bytes, sizeof(bytes) }));
	blob = entry->blob;
	blob_take(blob);
	assert_true(entry_append(&entry, text("x")));
	assert_ptr_not_equal(entry->blob, blob);
	assert_int_equal(blob->size, sizeof(bytes));
	assert_int_equal(entry_string(entry, scratch).size, sizeof(bytes) + 1);
	blob_drop(blob);
	blob = entry->blob;
	assert_true(entry_append(&entry, text("x")));
	assert_ptr_equal(entry->blob, blob);
	entry_free(entry);
}

TEST(list__both_ends__a_deque)
{
	struct list *list = list_create();
	int head = 0, tail = 0; /* numbers from -head to tail - 1 */
	unsigned random = 1;

	for (int i = 0; i < 5000; i++) {
		char value[12];
		bool at_head;

		random = random * 1664525 + 1013904223;
		at_head = random >> 31;
		if (head + tail > 0 && (random >> 20) % 5 < 2) {
			struct list_item *item = list_pop(list, at_head);

			snprintf(value, sizeof(value), "%d",
				 at_head ? -head : tail - 1);
			assert_int_equal(item->size, strlen(value));
			assert_memory_equal(item->data, value, item->size);
			free(item);
			if (at_head)
				head--;
			else
				tail--;
		} else {
			snprintf(value, sizeof(value), "%d",
				 at_head ? -head - 1 : tail);
			assert_true(list_push(list, at_head, text(value)));
			if (at_head)
				head++;
			else
				tail++;
		}
		assert_int_equal(list->count, head + tail);
	}
	for (size_t i = 0; i < list->count; i += 17) {
		struct list_place place = list_seek(list, i);

		for (size_t k = i; k < list->count && k < i + 300; k++) {
			char value[12];
			const struct list_item *item = list_next(&place);

			snprintf(value, sizeof(value), "%d", (int)k - head);
			assert_int_equal(item->size, strlen(value));
			assert_memory_equal(item->data, value, item->size);
		}
	}
	list_free(list);
}
