/* SPDX-License-Identifier: MIT */
/* expiry.c - times of keys, as clients write them */
#include "bench/kv/commands/expiry.h"

bool expiry_unit(struct bytes word, struct expiry *expiry)
{
	if (bytes_is(word, "ex"))
		expiry->unit = EXPIRY_SECONDS;
	else if (bytes_is(word, "px"))
		expiry->unit = EXPIRY_MS;
	else if (bytes_is(word, "exat"))
		expiry->unit = EXPIRY_SECONDS | EXPIRY_AT;
	else if (bytes_is(word, "pxat"))
		expiry->unit = EXPIRY_MS | EXPIRY_AT;
	else
		return false;
	return true;
}

static bool invalid(struct call *call)
{
	reply_error(call->reply, "ERR invalid expire time in '%s' command",
		    call->command->name);
	return false;
}

bool expiry_from_now(struct call *call, int64_t number, bool seconds,
		     int64_t *out)
{
	if (seconds && __builtin_mul_overflow(number, 1000, &number))
		return invalid(call);
	if (__builtin_add_overflow(number, store_now_ms(&call->session->clock),
				   out))
		return invalid(call);
	return true;
}

bool expiry_time(struct call *call, const struct expiry *expiry, int64_t *out)
{
	bool seconds = expiry->unit & EXPIRY_SECONDS;

	*out = 0;
	if (expiry->unit == EXPIRY_NONE)
		return true;
	if (!call_number(call, expiry->arg, out))
		return false;
	if (*out <= 0)
		return invalid(call);
	if (!(expiry->unit & EXPIRY_AT))
		return expiry_from_now(call, *out, seconds, out);
	if (seconds && __builtin_mul_overflow(*out, 1000, out))
		return invalid(call);
	return true;
}
