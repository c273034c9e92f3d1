/* SPDX-License-Identifier: MIT */
/**
 * flame.h - how often each stack was seen: a tree, as folded stacks, as a picture
 *
 * A node is a function as called by those above it. Names are any UTF-8 without
 * control characters and without ';': other bytes become '?'.
 *
 * Threads: a flame belongs to one thread.
 */
#ifndef SKUA_BPF_FLAME_H
#define SKUA_BPF_FLAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define FLAME_NODES (1u << 20) /* the most that there may be */
#define FLAME_DEPTH 512u       /* what is deeper counts for what is above */
#define FLAME_NAME  1024u /* bytes of a name, with the 0; longer ones are cut */
#define FLAME_TEXT  240u  /* bytes for why something failed */

/* Indices of nodes; 0 is the root, and as a child or sibling, none. */
struct flame_node {
	const char *name;
	uint64_t own;   /* samples that ended here */
	uint64_t total; /* and those of what is below */
	uint32_t parent;
	uint32_t depth; /* of the root: 0 */
	uint32_t child;
	uint32_t sibling;
};

struct flame;

/* flame_new - of no stacks; NULL: no memory */
struct flame *flame_new(void);
void flame_free(struct flame *flame);

/**
 * flame_enter - in the stack that is begun, the next function inward
 * @name: @length bytes, any
 *
 * A call of flame_count() counts the stack, and begins the next. Return: 0; -ENOMEM;
 * -E2BIG (FLAME_NODES), after which the stack may be counted, up to there.
 */
int flame_enter(struct flame *flame, const char *name, size_t length);

/* flame_count - Return: 0; -EOVERFLOW: of all stacks more than 2^53 */
int flame_count(struct flame *flame, uint64_t samples);

/* flame_nodes - the root is the first, and has the sum */
const struct flame_node *flame_nodes(const struct flame *flame);
uint32_t flame_node_count(const struct flame *flame);

/* flame_sort - siblings: those with more samples first. Return: 0 or -ENOMEM */
int flame_sort(struct flame *flame);

/**
 * flame_read - add folded stacks: lines of "function;function;function 12"
 * @why: FLAME_TEXT bytes; receives a line on failure
 *
 * Return: 0; -EILSEQ (a line is not so); or another -errno.
 */
int flame_read(struct flame *flame, FILE *file, char *why);

/* flame_write_folded - all of them; the tree has been sorted */
void flame_write_folded(const struct flame *flame, FILE *file);

/**
 * flame_write_svg - a picture of it, with a script to look closer; sorted as well
 * @title: what it is of, and @subtitle: any bytes
 */
void flame_write_svg(const struct flame *flame, FILE *file, const char *title,
		     const char *subtitle);

/* Of the picture: flame.css and flame.js, by flame_assets.cmake. */
extern const char flame_style[];
extern const char flame_script[];

#endif
