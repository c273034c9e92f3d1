/* SPDX-License-Identifier: MIT */
/**
 * terminal.h - a table that is drawn again and again in its place
 *
 * On a screen of its own, which is gone when it ends, by a signal too. Of one
 * thread; there is but one terminal.
 */
#ifndef SKUA_BPF_CLI_TERMINAL_H
#define SKUA_BPF_CLI_TERMINAL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* terminal_is_utf8 - may characters beyond ASCII be printed? */
bool terminal_is_utf8(void);

/* terminal_begin - Return: whether standard output is a terminal that can */
bool terminal_begin(void);

/* terminal_end - as it was before */
void terminal_end(void);

/**
 * terminal_draw - draw what @print writes, as much of it as there is room for
 * @print: writes to @file. Return: false: something is missing
 * @of: for @print
 *
 * Return: what @print returns; false if there is no memory.
 */
bool terminal_draw(bool (*print)(void *of, FILE *file), void *of);

/* terminal_rows - how many lines there is room for; terminal_columns */
unsigned terminal_rows(void);
unsigned terminal_columns(void);

/* The event that ends a wait. */
enum terminal_event {
	TERMINAL_NOTHING, /* but the time */
	TERMINAL_RESIZED,
	TERMINAL_QUIT, /* q, or a signal that ends programs */
};

/* terminal_wait - sleep, until something happens */
enum terminal_event terminal_wait(uint64_t ns);

/* terminal_signal - the signal that it was ended by, to be raised again; or 0 */
int terminal_signal(void);

#endif
