/* SPDX-License-Identifier: MIT */
/**
 * accounts.c - fibers that move money between accounts, each under its lock
 *
 * A transfer is written straight down: lock both accounts, move, unlock. While a fiber
 * waits for a lock, its worker runs other fibers. The locks have an order, by address,
 * so that no two transfers wait for each other; and names, so that `skua waits` shows
 * them.
 */
#include <skua/skua.h>

#include <stdio.h>

#define ACCOUNTS  4u
#define CLERKS    100u
#define TRANSFERS 200u

struct account {
	struct skua_mutex lock;
	struct skua_sync_name name;
	long money;
};

/* A fiber and its arguments. */
struct clerk {
	struct skua_fiber fiber; /* first: the function casts back */
	unsigned number;
	unsigned refused;
};

static struct account accounts[ACCOUNTS];
static const char *const names[ACCOUNTS] = { "cash", "stock", "rent", "wages" };
static struct clerk clerks[CLERKS];

static void lock_both(struct account *a, struct account *b)
{
	struct account *first = a < b ? a : b;
	struct account *second = a < b ? b : a;

	skua_mutex_lock(&first->lock, SKUA_FOREVER_NS);
	skua_mutex_lock(&second->lock, SKUA_FOREVER_NS);
}

/* Return: whether there was enough money. */
static bool transfer(struct account *from, struct account *to, long money)
{
	bool enough;

	lock_both(from, to);
	enough = from->money >= money;
	if (enough) {
		from->money -= money;
		skua_yield(); /* others run, and wait for the locks */
		to->money += money;
	}
	skua_mutex_unlock(&from->lock);
	skua_mutex_unlock(&to->lock);
	return enough;
}

static void work(struct skua_fiber *self)
{
	struct clerk *clerk = (struct clerk *)self;

	for (unsigned i = 0; i < TRANSFERS; i++) {
		unsigned from = (clerk->number + i) % ACCOUNTS;
		unsigned to = (from + 1 + i % (ACCOUNTS - 1)) % ACCOUNTS;

		if (!transfer(&accounts[from], &accounts[to], 10 + i % 7))
			clerk->refused++;
	}
}

static int run(struct skua_runtime *rt)
{
	struct skua_group group;

	skua_group_init(&group, rt);
	for (unsigned i = 0; i < CLERKS; i++) {
		clerks[i].number = i;
		if (skua_fiber_init(&clerks[i].fiber, work, 0) ||
		    skua_group_spawn(&group, &clerks[i].fiber.task))
			return -1;
	}
	return skua_group_wait(&group);
}

int main(void)
{
	struct skua_runtime *rt;
	long sum = 0;

	if (skua_runtime_create(&rt, NULL, NULL))
		return 1;
	for (unsigned i = 0; i < ACCOUNTS; i++) {
		accounts[i].money = 1000;
		skua_sync_set_name(rt, &accounts[i].name, SKUA_SYNC_MUTEX,
				   &accounts[i].lock, names[i]);
	}
	if (run(rt))
		return 1;
	for (unsigned i = 0; i < ACCOUNTS; i++) {
		sum += accounts[i].money;
		skua_sync_clear_name(&accounts[i].name);
	}
	printf("%u transfers, %ld in all accounts\n", CLERKS * TRANSFERS, sum);
	return skua_runtime_destroy(rt) != 0;
}
