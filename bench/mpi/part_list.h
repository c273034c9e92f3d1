/* SPDX-License-Identifier: MIT */
/**
 * part_list.h - the parts of a search that a rank has to give away, without threads
 *
 * Parts are wanted by the searchers of this rank that wait, and by other ranks that have
 * asked. A rank is idle when it has no parts and all its searchers wait. work_pool.h guards
 * a list by a lock; the simulation of ranks needs none.
 */
#ifndef SKUA_BENCH_MPI_PART_LIST_H
#define SKUA_BENCH_MPI_PART_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct part_list {
	size_t part_bytes;
	unsigned searchers;
	unsigned waiting; /* searchers that wait for a part; set by the owner */
	unsigned asked;   /* parts that other ranks have asked for */
	bool over;        /* set by the owner */
	size_t count, capacity;
	char *parts; /* oldest first */
};

/* part_list_free - free the memory of a list */
void part_list_free(struct part_list *list);

/* part_list_put - add @count parts. Return: 0; -ENOMEM */
int part_list_put(struct part_list *list, const void *parts, size_t count);

/* part_list_take - take the newest part. Return: false if there is none */
bool part_list_take(struct part_list *list, void *part);

/**
 * part_list_answer - take parts for a rank that has asked for @wanted
 * @parts: room for @max parts
 *
 * The rank gets the oldest parts, because they are the largest: half of them, or @wanted
 * if that is more. Return: the number of parts; 0: this rank is idle; -EAGAIN: there is
 * no part yet. After 0 or more, the other rank no longer counts as one that has asked.
 */
int part_list_answer(struct part_list *list, void *parts, unsigned wanted,
		     unsigned max);

/* part_list_idle - return whether there are no parts, and all searchers wait or the search
 * is over */
bool part_list_idle(const struct part_list *list);

/* part_list_missing - return how many more parts are wanted than there are */
size_t part_list_missing(const struct part_list *list);

#endif
