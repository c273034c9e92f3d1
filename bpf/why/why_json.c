/* SPDX-License-Identifier: MIT */
/* why_json.c - prints the results as JSON */
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>

#include "bpf/cli/json.h"
#include "bpf/recording/offcpu.h"
#include "bpf/target/wait_kind.h"
#include "bpf/why/why.h"
#include "bpf/why/why_forks.h"

static const char *const sources[] = { "bpf", "schedstat", "none" };

/* The names in JSON are those of the members. */
#define REASON(member) JSON_FIELD(struct ledger_reason, member)
static const struct json_field fields_of_reason[] = {
	REASON(ns),     REASON(times), REASON(longest_ns),
	REASON(thread), REASON(burst), REASON(burst_ns),
	{ 0 }
};

#define TYPE(member) JSON_FIELD(struct ledger_type, member)
static const struct json_field fields_of_type[] = {
	TYPE(count),   TYPE(p50_ns),     TYPE(p99_ns),
	TYPE(p999_ns), TYPE(longest_ns), { 0 }
};

#define ITEM(member) JSON_FIELD(struct ledger_item, member)
static const struct json_field fields_of_item[] = {
	ITEM(from_ns), ITEM(ready_ns), ITEM(begin_ns), ITEM(end_ns), { 0 }
};

static void set_text(json_t *object, const char *name, const char *text)
{
	json_object_set_new(object, name,
			    text && text[0] ? json_string(text) : json_null());
}

static void set_parts(json_t *object, const char *name, const uint64_t *parts)
{
	json_t *all = json_object();

	for (unsigned i = 0; i < LEDGER_PARTS; i++)
		json_set_count(all, ledger_word(i), parts[i]);
	json_object_set_new(object, name, all);
}

static void set_place(json_t *object, const struct why *why, uint32_t track)
{
	const struct trace_stream *stream =
		&trace_source(why->trace, track)->stream;

	json_set_count(object, "runtime", stream->runtime);
	if (stream->index == TRACE_OUTSIDE)
		json_object_set_new(object, "worker", json_null());
	else
		json_set_count(object, "worker", stream->index);
}

static json_t *place_json(const struct why *why, uint32_t track)
{
	json_t *place = json_object();

	set_place(place, why, track);
	return place;
}

/* Describe the lock that was waited for. */
static json_t *lock_json(const struct why *why,
			 const struct ledger_reason *reason)
{
	json_t *object = json_object();
	char text[32];

	if (reason->kind != LEDGER_WAITED || !reason->lock) {
		json_decref(object);
		return json_null();
	}
	set_text(object, "kind", wait_kind_name(reason->lock_kind));
	snprintf(text, sizeof(text), "0x%" PRIx64, reason->lock);
	set_text(object, "address", text);
	set_text(object, "name",
		 trace_name(why->trace, TRACE_NAME_OBJECT, reason->lock));
	snprintf(text, sizeof(text), "0x%" PRIx64, reason->holder);
	set_text(object, "holder", reason->holder ? text : NULL);
	json_object_set_new(object, "others", json_boolean(reason->others));
	set_parts(object, "holder_parts", reason->did);
	return object;
}

static void set_reason(json_t *object, const struct why *why,
		       const struct ledger_reason *reason)
{
	static const char *const hows[] = { NULL, "itself", "stopped" };

	set_text(object, "kind", ledger_word(reason->kind));
	set_text(object, "how", hows[reason->how]);
	set_text(object, "culprit", reason->culprit);
	set_text(object, "label", reason->label);
	json_set_fields(object, fields_of_reason, reason);
	json_object_set_new(object, "unseen", json_boolean(reason->unseen));
	json_object_set_new(object, "lock", lock_json(why, reason));
}

static void set_time(json_t *object, const char *name, const struct why *why,
		     uint64_t ns)
{
	char text[WHY_TIME];

	set_text(object, name, why_time(why->trace, ns, text));
}

static json_t *reasons_json(const struct why *why,
			    const struct ledger_reason *reasons, unsigned count)
{
	json_t *all = json_array();
	char text[LEDGER_TEXT];

	for (unsigned i = 0; i < count; i++) {
		json_t *reason = json_object();

		set_reason(reason, why, &reasons[i]);
		set_place(reason, why, reasons[i].track);
		ledger_say(&why->ledger, &reasons[i], 1, text, sizeof(text));
		set_text(reason, "text", text);
		json_array_append_new(all, reason);
	}
	return all;
}

static json_t *slow_json(const struct why *why, const struct ledger_slow *slow)
{
	const struct ledger_item *item = &slow->item;
	const struct ledger_late *late = ledger_late_of(&why->ledger, item);
	json_t *object = json_object();
	json_t *reasons = reasons_json(why, slow->reasons, slow->reason_count);
	char text[32];

	snprintf(text, sizeof(text), "0x%" PRIx64, item->task);
	set_text(object, "task", text);
	set_text(object, "type", why->ledger.names[item->name]);
	set_text(object, "label",
		 item->label < why->ledger.name_count
			 ? why->ledger.names[item->label]
			 : NULL);
	set_place(object, why, item->track);
	json_set_fields(object, fields_of_item, item);
	json_set_count(object, "took_ns", ledger_took(item));
	set_time(object, "from_time", why, item->from_ns);
	set_time(object, "ready_time", why, item->ready_ns);
	set_time(object, "begin_time", why, item->begin_ns);
	set_time(object, "end_time", why, item->end_ns);
	json_object_set_new(object, "stolen_from",
			    slow->split.stolen
				    ? place_json(why, slow->split.victim)
				    : json_null());
	set_parts(object, "parts", slow->split.parts);
	json_set_count(object, "late_ns", late ? ledger_late_by(late) : 0);
	json_object_set(object, "reason", json_array_get(reasons, 0));
	json_array_remove(reasons, 0);
	json_object_set_new(object, "also", reasons);
	return object;
}

static json_t *delay_json(const struct why *why,
			  const struct ledger_delay *delay)
{
	json_t *object = json_object();

	set_place(object, why, delay->late.track);
	json_set_count(object, "from_ns", delay->late.from_ns);
	json_set_count(object, "until_ns", delay->late.until_ns);
	set_time(object, "from_time", why, delay->late.from_ns);
	set_time(object, "until_time", why, delay->late.until_ns);
	json_set_count(object, "late_ns", ledger_late_by(&delay->late));
	json_set_count(object, "woken", delay->late.woken);
	json_object_set_new(
		object, "reasons",
		reasons_json(why, delay->reasons, delay->reason_count));
	return object;
}

static json_t *delays_json(const struct why *why,
			   const struct ledger_delays *delays)
{
	json_t *object = json_object(), *latest = json_array();

	json_set_count(object, "limit_ns", why->verdict.late_ns);
	json_set_count(object, "times", delays->times);
	for (unsigned i = 0; i < delays->count; i++)
		json_array_append_new(latest,
				      delay_json(why, &delays->list[i]));
	json_object_set_new(object, "latest", latest);
	return object;
}

static json_t *channel_json(const struct why *why,
			    const struct ledger_channel *channel)
{
	const struct ledger *l = &why->ledger;
	const struct ledger_wait *wait = &l->waits[channel->longest - 1];
	json_t *object = json_object();
	char text[LEDGER_TEXT];

	set_text(object, "kind", wait_kind_name(channel->kind));
	snprintf(text, sizeof(text), "0x%" PRIx64, channel->object);
	set_text(object, "address", channel->object ? text : NULL);
	set_text(object, "name",
		 trace_name(why->trace, TRACE_NAME_OBJECT, channel->object));
	set_text(object, "state", wait_kind_state(channel->kind));
	json_set_count(object, "waits", channel->times);
	json_set_count(object, "waited_ns", channel->ns);
	json_set_count(object, "waiting", channel->still);
	json_set_count(object, "waiting_ns", channel->still_ns);
	json_set_count(object, "longest_ns", channel->longest_ns);
	json_set_count(object, "longest_from_ns", wait->from_ns);
	set_time(object, "longest_from_time", why, wait->from_ns);
	set_text(object, "longest_type",
		 wait->name < l->name_count ? l->names[wait->name] : NULL);
	json_object_set_new(object, "longest_goes_on",
			    json_boolean(wait->still));
	set_text(object, "server",
		 wait->server.name < l->name_count ? l->names[wait->server.name]
						   : NULL);
	set_parts(object, "server_parts", channel->did);
	ledger_say_channel(l, channel, text, sizeof(text));
	set_text(object, "text", text);
	return object;
}

static json_t *channels_json(const struct why *why)
{
	json_t *all = json_array();

	for (size_t i = 0; i < why->ledger.channel_count; i++)
		json_array_append_new(
			all, channel_json(why, &why->ledger.channels[i]));
	return all;
}

static json_t *io_json(const struct why *why)
{
	const struct ledger *l = &why->ledger;
	json_t *all = json_array();

	for (size_t i = 0; i < l->io_count; i++) {
		const struct ledger_io *io = &l->io[i];
		json_t *object = json_object();
		char text[LEDGER_TEXT];

		set_text(object, "type",
			 io->name < l->name_count ? l->names[io->name] : NULL);
		set_text(object, "to",
			 io->kind == AREA_WAITS_IO_READ ? "read" : "write");
		json_set_count(object, "waits", io->times);
		json_set_count(object, "waited_ns", io->ns);
		json_set_count(object, "peer_ns", io->ns - io->unseen_ns);
		json_set_count(object, "unseen_ns", io->unseen_ns);
		json_set_count(object, "longest_ns", io->longest_ns);
		json_set_count(object, "longest_unseen_ns",
			       io->longest_unseen_ns);
		json_set_count(object, "waiting", io->still);
		json_set_count(object, "waiting_ns", io->still_ns);
		ledger_say_io(l, io, text, sizeof(text));
		set_text(object, "text", text);
		json_array_append_new(all, object);
	}
	return all;
}

static json_t *incident_json(const struct why *why,
			     const struct ledger_incident *in)
{
	const struct ledger_slow *worst = &why->verdict.slow[in->worst];
	json_t *object = json_object(), *types = json_array();
	char text[32];

	snprintf(text, sizeof(text), "0x%" PRIx64, worst->item.task);
	set_text(object, "kind", ledger_word(worst->reasons[0].kind));
	set_text(object, "culprit", worst->reasons[0].culprit);
	json_object_set_new(object, "lock", lock_json(why, &worst->reasons[0]));
	json_set_count(object, "from_ns", in->from_ns);
	json_set_count(object, "to_ns", in->to_ns);
	set_time(object, "from_time", why, in->from_ns);
	set_time(object, "to_time", why, in->to_ns);
	set_text(object, "worst", text);
	json_set_count(object, "worst_ns", ledger_took(&worst->item));
	json_set_count(object, "tasks", in->tasks);
	for (unsigned i = 0; i < in->hit_count; i++) {
		json_t *type = json_object();

		set_text(type, "type", why->ledger.names[in->hits[i].name]);
		json_set_count(type, "tasks", in->hits[i].count);
		json_array_append_new(types, type);
	}
	json_object_set_new(object, "types", types);
	return object;
}

static json_t *type_json(const struct why *why, const struct ledger_type *type)
{
	json_t *object = json_object();

	if (type->name != LEDGER_NOBODY)
		set_text(object, "type", why->ledger.names[type->name]);
	json_set_fields(object, fields_of_type, type);
	set_parts(object, "p999_parts", type->p999);
	json_set_count(object, "slow", type->slow);
	set_parts(object, "slow_parts", type->means);
	return object;
}

static json_t *sched_json(const struct why *why)
{
	json_t *workers = json_array();

	for (unsigned i = 0; i < trace_sources(why->trace); i++) {
		const struct trace_stream *stream =
			&trace_source(why->trace, i)->stream;
		const struct why_thread *thread =
			why_sched_find(&why->sched, stream->tid);
		json_t *object;

		if (!thread || stream->index == TRACE_OUTSIDE)
			continue;
		object = json_object();
		set_place(object, why, i);
		json_set_count(object, "tid", stream->tid);
		json_set_count(object, "run_ns", thread->run_ns);
		json_set_count(object, "delay_ns", thread->delay_ns);
		json_array_append_new(workers, object);
	}
	return workers;
}

static void set_verdict(json_t *object, const struct why *why)
{
	const struct ledger_verdict *v = &why->verdict;
	json_t *verdict = json_object(), *also = json_array();
	char text[LEDGER_TEXT];

	ledger_say_verdict(&why->ledger, v, text, sizeof(text));
	json_set_count(verdict, "judged", v->judged);
	if (v->share_count == 0)
		set_text(verdict, "kind", NULL);
	for (unsigned i = 0; i < v->share_count; i++) {
		json_t *share = i > 0 ? json_object() : verdict;

		set_reason(share, why, &v->shares[i].reason);
		json_object_set_new(share, "share",
				    json_real(v->shares[i].share));
		json_object_set_new(share, "part_share",
				    json_real(v->shares[i].part_share));
		if (i > 0)
			json_array_append_new(also, share);
	}
	json_object_set_new(verdict, "also", also);
	set_text(verdict, "text", text);
	json_object_set_new(object, "verdict", verdict);
}

static void set_about(json_t *object, const struct why *why)
{
	const struct trace_about *about = trace_about(why->trace);
	uint64_t start = about->meta.start.monotonic_ns;
	uint64_t stop = about->end.stop.monotonic_ns;

	json_set_count(object, "pid", about->meta.pid);
	json_object_set_new(object, "comm", json_string(about->meta.program));
	json_object_set_new(
		object, "seconds",
		json_real(stop > start ? (double)(stop - start) / 1e9 : 0));
	set_time(object, "start_time", why, start);
	set_time(object, "stop_time", why, why->ledger.stop_ns);
	json_set_count(object, "events", about->events);
	json_set_count(object, "lost", about->lost);
	json_set_count(object, "switches_lost", trace_offcpu(why->trace)->lost);
	json_set_count(object, "switches_unseen",
		       trace_offcpu(why->trace)->unseen);
	set_text(object, "source", sources[why->source]);
	set_text(object, "missing", why->missing);
	json_set_count(object, "count", why->ledger.count);
	json_set_count(object, "incomplete", why->ledger.incomplete);
	set_text(object, "type", why->type);
	json_set_count(object, "slower_than_ns", why->verdict.slower_than_ns);
	json_set_count(object, "slower", why->verdict.slower);
	json_set_count(object, "waiting", why->ledger.waiting);
	json_set_count(object, "waiting_oldest_ns", why->ledger.oldest_ns);
	json_set_count(object, "waiting_for_locks", why->ledger.stuck_count);
	if (about->origin.rank == TRACE_NO_RANK)
		json_object_set_new(object, "rank", json_null());
	else
		json_set_count(object, "rank", about->origin.rank);
	set_text(object, "host", about->origin.host);
}

bool why_print_json(FILE *file, const struct why *why)
{
	const struct ledger_verdict *v = &why->verdict;
	json_t *object = json_object(), *slow = json_array(),
	       *incidents = json_array(), *types = json_array();

	set_about(object, why);
	json_object_set_new(object, "schedstat",
			    why->source == WHY_SCHEDSTAT ? sched_json(why)
							 : json_null());
	for (size_t i = 0; i < v->slow_count; i++)
		json_array_append_new(slow, slow_json(why, &v->slow[i]));
	json_object_set_new(object, "slowest", slow);
	for (size_t i = 0; i < v->incident_count; i++)
		json_array_append_new(incidents,
				      incident_json(why, &v->incidents[i]));
	json_object_set_new(object, "incidents", incidents);
	json_object_set_new(object, "late_pollers",
			    delays_json(why, &v->pollers));
	json_object_set_new(object, "late_events",
			    delays_json(why, &v->events));
	json_object_set_new(object, "channels", channels_json(why));
	json_object_set_new(object, "descriptors", io_json(why));
	json_object_set_new(object, "fork_join", why_forks_json(why));
	json_object_set_new(object, "all", type_json(why, &v->types[0]));
	for (size_t i = 1; i < v->type_count; i++)
		json_array_append_new(types, type_json(why, &v->types[i]));
	json_object_set_new(object, "types", types);
	set_verdict(object, why);
	return json_print(file, object, 9);
}
