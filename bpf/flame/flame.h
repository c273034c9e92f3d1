/* SPDX-License-Identifier: MIT */
/**
 * flame.h - a tree that counts how often each stack was seen; reads and writes folded
 * stacks, and draws a picture
 *
 * A node is a function in the context of its callers, the nodes above it. Names are
 * any UTF-8 without control characters and without ';': other bytes become '?'.
 *
 * Threads: a flame belongs to one thread.
 */
#ifndef SKUA_BPF_FLAME_H
#define SKUA_BPF_FLAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define FLAME_NODES (1u << 20) /* limit of nodes */
/* Limit of depth; samples of deeper functions count for the caller at the
 * limit. */
#define FLAME_DEPTH 512u
/* Size of a name with its 0 byte; longer names are cut. */
#define FLAME_NAME 1024u
#define FLAME_TEXT 240u /* size of an error message */

/* Fields hold indices of nodes. 0 is the root; as a child or sibling it means
 * none. */
struct flame_node {
	const char *name;
	uint64_t own;   /* samples that ended in this function */
	uint64_t total; /* own samples, and those of all nodes below */
	uint32_t parent;
	uint32_t depth; /* 0 for the root */
	uint32_t child;
	uint32_t sibling;
};

struct flame;

/* flame_new - create an empty tree. Return: NULL if there is no memory */
struct flame *flame_new(void);
void flame_free(struct flame *flame);

/**
 * flame_enter - add the next function, one call deeper, to the current stack
 * @name: @length bytes of any value
 *
 * flame_count() counts the stack and begins the next one. Return: 0; -ENOMEM;
 * -E2BIG (FLAME_NODES): the stack can still be counted, up to its last function that
 * found room.
 */
int flame_enter(struct flame *flame, const char *name, size_t length);

/* flame_count - count the current stack. Return: 0; -EOVERFLOW: more than 2^53
 * samples in all */
int flame_count(struct flame *flame, uint64_t samples);

/* flame_nodes - return the nodes. The first one is the root, whose total is the
 * sum */
const struct flame_node *flame_nodes(const struct flame *flame);
uint32_t flame_node_count(const struct flame *flame);

/* flame_sort - put siblings with more samples first. Return: 0 or -ENOMEM */
int flame_sort(struct flame *flame);

/**
 * flame_read - add folded stacks: lines of "function;function;function 12"
 * @why: FLAME_TEXT bytes; receives a message on failure
 *
 * Return: 0; -EILSEQ (a malformed line); or another -errno.
 */
int flame_read(struct flame *flame, FILE *file, char *why);

/* flame_write_folded - write all stacks as folded stacks; call flame_sort()
 * before */
void flame_write_folded(const struct flame *flame, FILE *file);

/**
 * flame_write_svg - draw the tree as SVG with a script to zoom; call flame_sort() before
 * @title, @subtitle: any bytes
 */
void flame_write_svg(const struct flame *flame, FILE *file, const char *title,
		     const char *subtitle);

/* Contents of flame.css and flame.js, made into strings by flame_assets.cmake. */
extern const char flame_style[];
extern const char flame_script[];

#endif
