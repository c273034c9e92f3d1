/* SPDX-License-Identifier: MIT */
/* number.c - integers as text */
#include "bench/kv/resp/number.h"

bool number_parse(struct bytes text, int64_t *out)
{
	bool negative = text.size > 0 && text.data[0] == '-';
	const char *next = text.data + negative;
	size_t digits = text.size - negative;
	uint64_t limit = (uint64_t)INT64_MAX + negative, value = 0;

	if (digits == 0 || digits > 19)
		return false;
	if (*next == '0' && (digits > 1 || negative))
		return false;
	for (const char *end = next + digits; next < end; next++) {
		unsigned digit = (unsigned char)*next - (unsigned)'0';

		if (digit > 9)
			return false;
		value = value * 10 + digit; /* 19 digits fit into 64 bits */
	}
	if (value > limit)
		return false;
	*out = (int64_t)(negative ? 0 - value : value);
	return true;
}

size_t number_format(char out[NUMBER_ROOM], int64_t number)
{
	uint64_t left = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
	char digits[NUMBER_ROOM];
	size_t used = sizeof(digits), size;

	/* Most numbers are sizes of small values. */
	if (number >= 10 && number < 100) {
		out[0] = (char)('0' + number / 10);
		out[1] = (char)('0' + number % 10);
		return 2;
	}
	do {
		digits[--used] = (char)('0' + left % 10);
		left /= 10;
	} while (left);
	if (number < 0)
		digits[--used] = '-';
	size = sizeof(digits) - used;
	memcpy(out, digits + used, size);
	return size;
}
