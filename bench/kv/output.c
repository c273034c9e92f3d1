/* SPDX-License-Identifier: MIT */
/* output.c - sends the replies of a connection */
#include "bench/kv/output.h"

#include <sys/uio.h>

/* Pieces of one write. */
#define PIECES 64

/* A place in the replies: @mark large values, and @at bytes of the buffer are sent, and
 * @inside bytes of the next large value. */
struct progress {
	size_t mark, at, inside;
};

/* Collect the next pieces. Return: their number */
static int pieces(const struct reply *r, struct progress p,
		  struct iovec vector[PIECES])
{
	int count = 0;

	while (count < PIECES - 1) {
		bool more = p.mark < r->marked;
		size_t until = more ? r->marks[p.mark].at : r->used;

		if (until > p.at)
			vector[count++] =
				(struct iovec){ r->data + p.at, until - p.at };
		if (!more)
			break;
		p.at = until;
		if (r->marks[p.mark].blob->size > p.inside)
			vector[count++] = (struct iovec){
				r->marks[p.mark].blob->data + p.inside,
				r->marks[p.mark].blob->size - p.inside
			};
		p.inside = 0;
		p.mark++;
	}
	return count;
}

static void advance(const struct reply *r, struct progress *p, size_t sent)
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
	struct progress progress = { 0, 0, 0 };
	struct iovec vector[PIECES];

	while (progress.at < r->used || progress.mark < r->marked) {
		int count = pieces(r, progress, vector);
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
