/* SPDX-License-Identifier: MIT */
/* descriptors.c - see descriptors.h */
#include "bpf/waits/descriptors.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bpf/cli/grow.h"
#include "bpf/cli/sorted.h"
#include "bpf/target/target_files.h"

/* Limits of what a process may claim, for all its tables together. */
#define MAX_CHUNKS (UINT32_C(1) << 16)
#define MAX_SLOTS  (UINT32_C(1) << 21)
#define MAX_ARMED  (2 * DESCRIPTORS_MAX) /* waits, also those that are over */

/* Slots, and addresses of chunks, that are read at once. */
#define BATCH 1024u

struct reader {
	struct target *target;
	const struct area_runtime *area;
	struct descriptors *out;
	uint32_t chunks, slots, armed; /* numbers of those read so far */
	struct area_descriptor batch[BATCH];
};

/* ---- the table -------------------------------------------------------------------- */

/* Read the wait of one direction. */
static bool read_wait(struct reader *r, const struct area_descriptor *slot,
		      uint64_t address, unsigned way, struct target_wait *out)
{
	uint32_t kind = way == DESCRIPTOR_READ ? AREA_WAITS_IO_READ
					       : AREA_WAITS_IO_WRITE;

	*out = (struct target_wait){ .address = 0 };
	if ((slot->word[way] & AREA_IO_WAITER) != AREA_IO_ARMED)
		return false;
	r->armed++;
	/* If it is over, the memory has another use. */
	if (target_read_wait(r->target, slot->wait[way], out) &&
	    out->verb.kind == kind && out->armed.object == address)
		return true;
	*out = (struct target_wait){ .address = 0 };
	return false;
}

/* Is the descriptor attached to a runtime of the process? That of a parent process is
 * not. */
static bool is_attached(const struct reader *r, uint64_t owner)
{
	for (unsigned i = 0; i < target_runtimes(r->target); i++)
		if (target_runtime(r->target, i)->area.descriptor_owner ==
		    owner)
			return owner;
	return false;
}

/* Add the descriptor of a slot, if somebody waits for it. Return: 0; -ENOMEM. */
static int add_slot(struct reader *r, const struct area_descriptor *slot,
		    uint64_t address)
{
	struct descriptors *out = r->out;
	struct descriptor it = { .address = address, .fd = slot->fd };
	bool waits = false;

	for (unsigned way = 0; way < DESCRIPTOR_WAYS; way++) {
		waits |= read_wait(r, slot, address, way, &it.wait[way]);
		it.delayed[way] = slot->word[way] & AREA_IO_DELAYED;
	}
	if (!waits || !is_attached(r, slot->owner))
		return 0;
	if (out->count == DESCRIPTORS_MAX) {
		out->more = true;
		return 0;
	}
	if (!grow(&out->list, sizeof(it), out->count, &out->room))
		return -ENOMEM;
	it.connecting = slot->connecting;
	out->list[out->count++] = it;
	return 0;
}

/* Is a limit reached? Then something is left out. */
static bool at_limit(struct reader *r)
{
	r->out->more |= r->slots >= MAX_SLOTS || r->armed >= MAX_ARMED ||
			r->chunks >= MAX_CHUNKS;
	return r->out->more;
}

/* Read a chunk, whose first descriptor has the number @first. */
static int read_chunk(struct reader *r, uint64_t chunk, uint64_t first)
{
	const uint32_t slots = r->area->descriptor_slots;
	int code = 0;

	for (uint32_t at = 0; !code && at < slots && !at_limit(r);
	     at += BATCH) {
		uint32_t count = slots - at < BATCH ? slots - at : BATCH;
		uint64_t address = chunk + at * sizeof(*r->batch);

		if (target_read(r->target, address, r->batch,
				count * sizeof(*r->batch)) != 0)
			break;
		r->slots += count;
		/* A slot that was never used has the number 0. */
		for (uint32_t i = 0; !code && i < count && !at_limit(r); i++)
			if ((uint64_t)r->batch[i].fd == first + at + i)
				code = add_slot(r, &r->batch[i],
						address +
							i * sizeof(*r->batch));
	}
	return code;
}

/* Read the table of @r->area. */
static int read_table(struct reader *r)
{
	const struct area_runtime *area = r->area;
	uint64_t chunks[BATCH];
	int code = 0;

	for (uint64_t at = 0; !code && at < area->descriptor_chunks;
	     at += BATCH) {
		uint64_t left = area->descriptor_chunks - at;
		uint64_t count = left < BATCH ? left : BATCH;

		if (at_limit(r) ||
		    target_read(r->target,
				area->descriptors + at * sizeof(*chunks),
				chunks, count * sizeof(*chunks)) != 0)
			break;
		r->chunks += (uint32_t)count;
		for (uint64_t i = 0; !code && i < count; i++)
			if (chunks[i])
				code = read_chunk(
					r, chunks[i],
					(at + i) * area->descriptor_slots);
	}
	return code;
}

/* Do the first @count runtimes have the table of runtime @count? */
static bool is_read(struct target *target, unsigned count)
{
	uint64_t table = target_runtime(target, count)->area.descriptors;

	for (unsigned i = 0; i < count; i++)
		if (target_runtime(target, i)->area.descriptors == table)
			return true;
	return false;
}

static int read_tables(struct target *target, struct descriptors *out)
{
	struct reader *reader = malloc(sizeof(*reader));
	int code = reader ? 0 : -ENOMEM;

	for (unsigned i = 0; !code && i < target_runtimes(target); i++) {
		if (i == 0)
			*reader =
				(struct reader){ .target = target, .out = out };
		reader->area = &target_runtime(target, i)->area;
		if (reader->area->descriptors && !is_read(target, i))
			code = read_table(reader);
	}
	free(reader);
	return code;
}

/* ---- kinds and addresses ------------------------------------------------------------ */

/* Take the name out of "anon_inode:[eventfd]" or "anon_inode:inotify". */
static void name_anonymous(const char *link, char *text, size_t size)
{
	const char *name = link + strlen("anon_inode:");

	name += *name == '[';
	snprintf(text, size, "%.*s", (int)strcspn(name, "]"), name);
}

static void read_link(struct target *target, struct descriptor *it)
{
	char link[TARGET_NAME];
	mode_t type;

	it->known = target_link(target, it->fd, link, sizeof(link), &type);
	if (!it->known)
		return;
	if (sscanf(link, "socket:[%" SCNu64, &it->socket.inode) == 1)
		strcpy(it->text, "socket");
	else if (strncmp(link, "anon_inode:", strlen("anon_inode:")) == 0)
		name_anonymous(link, it->text, sizeof(it->text));
	else if (strncmp(link, "pidfd:", strlen("pidfd:")) == 0)
		strcpy(it->text, "pidfd");
	else
		strcpy(it->text, type == S_IFIFO   ? "pipe"
				 : type == S_IFCHR ? "device"
						   : "file");
	if (*link == '/')
		strcpy(it->socket.local, link);
}

static int compare_inodes(const void *left, const void *right)
{
	struct socket_state *const *a = left, *const *b = right;

	return compare_numbers((*a)->inode, (*b)->inode);
}

/* Find the addresses of the sockets. */
static int name_sockets(struct target *target, struct descriptors *out)
{
	struct socket_state **sockets = calloc(out->count, sizeof(*sockets));
	size_t count = 0;

	if (!sockets)
		return -ENOMEM;
	for (uint32_t i = 0; i < out->count; i++)
		if (out->list[i].socket.inode)
			sockets[count++] = &out->list[i].socket;
	qsort(sockets, count, sizeof(*sockets), compare_inodes);
	out->nameless = !sockets_find(target, sockets, count);
	free(sockets);
	return 0;
}

static int compare_addresses(const void *left, const void *right)
{
	const struct descriptor *a = left, *b = right;

	return compare_numbers(a->address, b->address);
}

int descriptors_read(struct target *target, struct descriptors *out)
{
	int code;

	*out = (struct descriptors){ .list = NULL };
	code = read_tables(target, out);
	if (code || out->count == 0)
		return code;
	qsort(out->list, out->count, sizeof(*out->list), compare_addresses);
	for (uint32_t i = 0; i < out->count; i++)
		read_link(target, &out->list[i]);
	return name_sockets(target, out);
}

void descriptors_free(struct descriptors *descriptors)
{
	free(descriptors->list);
	*descriptors = (struct descriptors){ .list = NULL };
}

/* ---- queries ------------------------------------------------------------------------- */

uint32_t descriptors_find(const struct descriptors *descriptors,
			  uint64_t address)
{
	size_t n = SORTED_UP_TO(descriptors->list, descriptors->count, address,
				address);

	return n > 0 && descriptors->list[n - 1].address == address
		       ? (uint32_t)n - 1
		       : UINT32_MAX;
}

const char *descriptor_kind(const struct descriptor *descriptor)
{
	if (!descriptor->known)
		return "-";
	return descriptor->socket.kind ? descriptor->socket.kind
				       : descriptor->text;
}

const char *descriptor_use(const struct descriptor *descriptor, unsigned way)
{
	if (way == DESCRIPTOR_READ)
		return descriptor->socket.listens ? "accept" : "read";
	return descriptor->connecting ? "connect" : "write";
}
