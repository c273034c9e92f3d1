/* SPDX-License-Identifier: MIT */
/* error.c - see error.h */
#include "topology/error.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>

/* Keep the text one line, even if strings of the user contain control characters. */
static void make_printable(char *text)
{
	for (; *text; text++) {
		if (iscntrl((unsigned char)*text))
			*text = '?';
	}
}

int error_set(struct skua_error *err, int code, const char *format, ...)
{
	va_list args;

	if (err) {
		err->code = code;
		va_start(args, format);
		vsnprintf(err->text, sizeof(err->text), format, args);
		va_end(args);
		make_printable(err->text);
	}
	return code;
}
