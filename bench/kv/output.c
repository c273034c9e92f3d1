/* SPDX-License-Identifier: MIT */
/* output.c - sends the replies of a connection */
#include "bench/kv/output.h"

#include <errno.h>

/* Pieces of one write. */
#define PIECES 64

/* Collect the next pieces, @most at most. Return: their number */
static int pieces(const struct reply *r, const struct output *from,
		  struct iovec *vector, int most)
{
	size_t mark = from->mark, at = from->at, inside = from->inside;
	int count = 0;

	while (count < most - 1) {
		bool more = mark < r->marked;
		size_t until = more ? r->marks[mark].at : r->used;

		if (until > at)
			vector[count++] =
				(struct iovec){ r->data + at, until - at };
		if (!more)
			break;
		at = until;
		if (r->marks[mark].blob->size > inside)
			vector[count++] = (struct iovec){
				r->marks[mark].blob->data + inside,
				r->marks[mark].blob->size - inside
			};
		inside = 0;
		mark++;
	}
	return count;
}

static void advance(const struct reply *r, struct output *p, size_t sent)
{
	while (sent) {
		bool more = p->mark < r->marked;
		size_t until = more ? r->marks[p->mark].at : r->used;
		size_t step = until - p->at < sent ? until - p->at : sent;

		p->at += step;
		sent -= step;
		if (!more || p->at < until)
			continue;
		step = r->marks[p->mark].blob->size - p->inside;
		if (step > sent) {
			p->inside += sent;
			return;
		}
		sent -= step;
		p->inside = 0;
		p->mark++;
	}
}

/* Send replies with large values, which lie in several places. */
static bool send_pieces(struct skua_io io, const struct reply *r)
{
	struct output progress = { .mark = 0 };
	struct iovec vector[PIECES];

	while (progress.at < r->used || progress.mark < r->marked) {
		int count = pieces(r, &progress, vector, PIECES);
		ssize_t sent =
			skua_io_writev(io, vector, count, SKUA_FOREVER_NS);

		if (sent < 0)
			return false;
		advance(r, &progress, (size_t)sent);
	}
	return true;
}

static bool send_all(struct skua_io io, const struct reply *r)
{
	if (r->marked)
		return send_pieces(io, r);
	return skua_io_write_all(io, r->data, r->used, NULL, SKUA_FOREVER_NS) ==
	       0;
}

bool output_send(struct skua_io io, struct reply *r)
{
	if (r->failed)
		return false;
	if (r->waiting == 0)
		return true;
	if (!send_all(io, r))
		return false;
	reply_sent(r);
	return true;
}

/* Send the pieces. A single one takes a cheaper system call. */
static ssize_t write_pieces(struct skua_task *self, struct skua_io io,
			    const struct output *output, struct skua_wait *wait)
{
	const struct iovec *first = output->pieces;

	if (output->count == 1)
		return skua_io_write_poll(self, io, first->iov_base,
					  first->iov_len, wait,
					  SKUA_FOREVER_NS);
	return skua_io_writev_poll(self, io, first, output->count, wait,
				   SKUA_FOREVER_NS);
}

int output_send_poll(struct skua_task *self, struct skua_io io, struct reply *r,
		     struct output *output, struct skua_wait *wait)
{
	if (r->failed)
		return -ENOMEM;
	while (output->at < r->used || output->mark < r->marked) {
		ssize_t sent;

		if (!output->count)
			output->count = pieces(r, output, output->pieces,
					       OUTPUT_PIECES);
		sent = write_pieces(self, io, output, wait);
		if (sent < 0)
			return (int)sent;
		output->count = 0;
		advance(r, output, (size_t)sent);
	}
	reply_sent(r);
	output->mark = output->at = output->inside = 0;
	return 0;
}
