/* SPDX-License-Identifier: MIT */
/**
 * fuzz_deque.c - the deque of queue.h beside an array, on one thread
 *
 * On one thread nobody is ever faster: each result is known. A few deques by
 * their handles, whose count the model keeps: one that lives too long or too
 * short is seen by the sanitizers. One without handles, whose positions start
 * next to where they wrap or change their sign, whose owner takes either end,
 * and which has memory to grow with or not.
 */
#include <errno.h>
#include <string.h>

#include "core/queue/deque.h"
#include "tests/fuzz/fuzz.h"

#define MAX_INPUT 2048u
#define MAX_ITEMS 1024u /* items of a deque here */
#define DEQUES    2u
#define STEALERS  4u

/* ---- the model ------------------------------------------------------------ */

/* Items are numbers from 1 on, the oldest first. */
struct model {
	uintptr_t items[MAX_ITEMS];
	unsigned count;
};

static uintptr_t last_item; /* that was pushed anywhere */

static void model_push(struct model *m, uintptr_t item)
{
	m->items[m->count++] = item;
}

/* Return: 0 if there is none; as the others. */
static uintptr_t model_newest(struct model *m)
{
	return m->count ? m->items[--m->count] : 0;
}

static uintptr_t model_oldest(struct model *m)
{
	uintptr_t item = m->items[0];

	if (m->count == 0)
		return 0;
	m->count--;
	memmove(m->items, m->items + 1, m->count * sizeof(m->items[0]));
	return item;
}

static void check_item(const void *item, uintptr_t expected, const char *how)
{
	fuzz_check((uintptr_t)item == expected, "%s %p, not %" PRIuPTR, how,
		   item, expected);
}

/* ---- deques, by their handles --------------------------------------------- */

static struct handled {
	struct skua_deque *owner; /* NULL: dropped */
	enum skua_deque_order order;
	struct model model;
	unsigned handles; /* of both kinds */
} deques[DEQUES];

static struct {
	struct skua_deque_stealer *handle;
	struct handled *deque;
} stealers[STEALERS];

static void create(struct fuzz_input *in, struct handled *d)
{
	static const uint32_t capacities[] = { 2, 4, 64,  0,
					       1, 3, 100, UINT32_MAX };
	unsigned choice = fuzz_below(in, COUNT_OF(capacities));
	unsigned order = fuzz_below(in, 3);
	bool valid = choice < 4 && order < 2;
	struct skua_deque *out = (struct skua_deque *)d;
	int code;

	if (d->handles > 0)
		return;
	code = skua_deque_create(&out, (enum skua_deque_order)order,
				 capacities[choice]);
	fuzz_check(code == (valid ? 0 : -EINVAL) && (out != NULL) == valid,
		   "order %u, capacity %u: %d", order, capacities[choice],
		   code);
	if (!valid)
		return;
	*d = (struct handled){ .owner = out,
			       .order = (enum skua_deque_order)order,
			       .handles = 1 };
}

static void push(struct handled *d, unsigned count)
{
	while (d->owner && count-- > 0 && d->model.count < MAX_ITEMS) {
		int code = skua_deque_push(d->owner, (void *)++last_item);

		fuzz_check(code == 0, "push: %d", code);
		model_push(&d->model, last_item);
	}
}

static void pop(struct handled *d)
{
	if (d->owner)
		check_item(skua_deque_pop(d->owner),
			   d->order == SKUA_DEQUE_FIFO
				   ? model_oldest(&d->model)
				   : model_newest(&d->model),
			   "popped");
}

static void destroy(struct handled *d)
{
	skua_deque_destroy(d->owner);
	d->handles -= d->owner != NULL;
	d->owner = NULL;
}

/* Of the deque, or as a clone. */
static void stealer_make(struct fuzz_input *in, struct handled *d)
{
	unsigned to = fuzz_below(in, STEALERS);
	unsigned from = fuzz_below(in, 2 * STEALERS);

	if (stealers[to].handle)
		return;
	if (from < STEALERS) {
		stealers[to].handle =
			skua_deque_stealer_clone(stealers[from].handle);
		d = stealers[from].deque;
	} else {
		stealers[to].handle = skua_deque_stealer_create(d->owner);
	}
	fuzz_check((stealers[to].handle != NULL) ==
			   (from < STEALERS ? stealers[from].handle != NULL
					    : d->owner != NULL),
		   "a handle of nothing, or none");
	stealers[to].deque = d;
	if (stealers[to].handle)
		d->handles++;
}

static void stealer_drop(unsigned i)
{
	skua_deque_stealer_drop(stealers[i].handle);
	if (stealers[i].handle)
		stealers[i].deque->handles--;
	stealers[i].handle = NULL;
}

static void steal(unsigned i)
{
	void *item = &item;
	uintptr_t expected;
	int code;

	if (!stealers[i].handle)
		return;
	code = skua_deque_stealer_steal(stealers[i].handle, &item);
	expected = model_oldest(&stealers[i].deque->model);
	fuzz_check(code == (expected ? SKUA_STEAL_SUCCESS : SKUA_STEAL_EMPTY),
		   "steal: %d", code);
	check_item(item, expected, "stole");
}

static void refuse_null(void)
{
	struct skua_deque *deque = deques[0].owner;
	void *item = &item;
	bool refused =
		skua_deque_create(NULL, SKUA_DEQUE_LIFO, 4) == -EINVAL &&
		skua_deque_push(NULL, &item) == -EINVAL &&
		skua_deque_push(deque, NULL) == -EINVAL &&
		!skua_deque_pop(NULL) && skua_deque_length(NULL) == 0 &&
		!skua_deque_stealer_create(NULL) &&
		!skua_deque_stealer_clone(NULL) &&
		skua_deque_stealer_steal(stealers[0].handle, NULL) == -EINVAL &&
		skua_deque_stealer_steal(NULL, &item) == -EINVAL && !item;

	skua_deque_destroy(NULL);
	skua_deque_stealer_drop(NULL);
	fuzz_check(refused, "NULL is not refused as it has to be");
}

/* ---- one without handles -------------------------------------------------- */

static struct deque bare;
static struct model bare_model;
static uint64_t bare_capacity; /* as it has grown */
static bool bare_memory;       /* is there any */

static void *bare_alloc(void *ctx, size_t align, size_t size)
{
	(void)ctx;
	return bare_memory ? aligned_alloc(align, size) : NULL;
}

static void bare_free(void *ctx, void *memory, size_t size)
{
	(void)ctx;
	(void)size;
	free(memory);
}

static const struct skua_allocator bare_allocator = { .alloc = bare_alloc,
						      .free = bare_free };

static void bare_init(struct fuzz_input *in)
{
	uint64_t wrap = fuzz_byte(in) % 2 ? 0 : UINT64_C(1) << 63;
	uint64_t start = wrap - fuzz_byte(in);

	bare_memory = false;
	fuzz_check(deque_init(&bare, 2, start, &bare_allocator) == -ENOMEM,
		   "made without memory");
	bare_memory = true;
	bare_capacity = 2;
	bare_model.count = 0;
	fuzz_check(deque_init(&bare, 2, start, &bare_allocator) == 0, "init");
}

static void bare_push(void)
{
	bool full = bare_model.count == bare_capacity;
	int code;

	if (bare_model.count == MAX_ITEMS)
		return;
	code = deque_push_owner(&bare, (void *)++last_item);
	fuzz_check(code == (full && !bare_memory ? -ENOMEM : 0),
		   "push to %u of %" PRIu64 ": %d", bare_model.count,
		   bare_capacity, code);
	if (code)
		return;
	if (full)
		bare_capacity *= 2;
	model_push(&bare_model, last_item);
}

static void bare_steal(void)
{
	struct deque_steal got = deque_steal(&bare);

	fuzz_check(got.outcome != SKUA_STEAL_RETRY, "overtaken by nobody");
	if (got.outcome == SKUA_STEAL_EMPTY)
		got.item = NULL;
	check_item(got.item, model_oldest(&bare_model), "stole");
}

static void bare_step(struct fuzz_input *in)
{
	switch (fuzz_below(in, 8)) {
	case 0:
		check_item(deque_pop_owner(&bare), model_newest(&bare_model),
			   "popped");
		break;
	case 1:
		check_item(deque_pop_oldest_owner(&bare),
			   model_oldest(&bare_model), "popped the oldest");
		break;
	case 2:
		bare_steal();
		break;
	case 3:
		bare_memory = !bare_memory;
		break;
	default:
		bare_push();
	}
}

/* ---- the program ---------------------------------------------------------- */

static void step(struct fuzz_input *in)
{
	unsigned what = fuzz_below(in, 16);
	struct handled *d = &deques[fuzz_below(in, DEQUES)];

	switch (what) {
	case 0:
		create(in, d);
		break;
	case 1:
		pop(d);
		break;
	case 2:
		destroy(d);
		break;
	case 3:
		stealer_make(in, d);
		break;
	case 4:
		stealer_drop(fuzz_below(in, STEALERS));
		break;
	case 5:
		steal(fuzz_below(in, STEALERS));
		break;
	case 6:
		refuse_null();
		break;
	case 7:
		push(d, fuzz_byte(in));
		break;
	case 8:
		push(d, 1);
		break;
	default:
		bare_step(in);
	}
	for (unsigned i = 0; i < DEQUES; i++)
		fuzz_check(!deques[i].owner ||
				   skua_deque_length(deques[i].owner) ==
					   deques[i].model.count,
			   "length, not %u", deques[i].model.count);
	fuzz_check(deque_length(&bare) == bare_model.count, "length, not %u",
		   bare_model.count);
}

static void finish(void)
{
	while (bare_model.count > 0)
		bare_steal();
	bare_steal();
	deque_destroy(&bare);
	for (unsigned i = 0; i < DEQUES; i++) {
		while (deques[i].owner && deques[i].model.count > 0)
			pop(&deques[i]);
		pop(&deques[i]);
		destroy(&deques[i]);
	}
	for (unsigned i = 0; i < STEALERS; i++) {
		steal(i);
		stealer_drop(i);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, data + size };

	if (size > MAX_INPUT)
		return -1; /* longer ones say nothing new */
	last_item = 0;
	memset(deques, 0, sizeof(deques));
	bare_init(&in);
	while (fuzz_more(&in))
		step(&in);
	finish();
	return 0;
}
