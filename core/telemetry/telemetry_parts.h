/* SPDX-License-Identifier: MIT */
/* telemetry_parts.h - what the files of telemetry.h have in common */
#ifndef SKUA_CORE_TELEMETRY_TELEMETRY_PARTS_H
#define SKUA_CORE_TELEMETRY_TELEMETRY_PARTS_H

#include "core/telemetry/telemetry.h"

/* telemetry_samples - the samples that other processes read; NULL: there is no memory for
 * them */
static inline struct area_samples *
telemetry_samples(const struct worker_telemetry *t)
{
	return (struct area_samples *)(uintptr_t)t->area->samples;
}

/* telemetry_note - note an event; does nothing while the recorder is off */
static inline void telemetry_note(struct worker_telemetry *t,
				  enum event_kind kind, uint64_t a, uint64_t b,
				  uint32_t detail, unsigned other)
{
	recorder_note_owner(&t->recorder, kind, a, b, detail, other);
}

#endif
