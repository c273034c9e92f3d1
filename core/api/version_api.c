/* SPDX-License-Identifier: MIT */
/* version_api.c - report the library's version and struct sizes at run time */
#include <string.h>

#include "skua/skua.h"

#define TEXT(number)  TEXT_(number)
#define TEXT_(number) #number

int skua_version(void)
{
	return SKUA_VERSION;
}

const char *skua_version_string(void)
{
	return TEXT(SKUA_VERSION_MAJOR) "." TEXT(SKUA_VERSION_MINOR) "." TEXT(
		SKUA_VERSION_PATCH);
}

struct size {
	const char *type;
	size_t bytes;
};

#define SIZE(type)                         \
	{                                  \
#type, sizeof(struct type) \
	}

static const struct size sizes[] = {
	SIZE(skua_allocator),    SIZE(skua_barrier),
	SIZE(skua_blocking),     SIZE(skua_broadcast),
	SIZE(skua_channel),      SIZE(skua_condition),
	SIZE(skua_config),       SIZE(skua_cpu),
	SIZE(skua_ctx),          SIZE(skua_error),
	SIZE(skua_event),        SIZE(skua_fiber),
	SIZE(skua_file_op),      SIZE(skua_group),
	SIZE(skua_hooks),        SIZE(skua_interval),
	SIZE(skua_io),           SIZE(skua_job),
	SIZE(skua_mutex),        SIZE(skua_node),
	SIZE(skua_notify),       SIZE(skua_numa_node),
	SIZE(skua_once),         SIZE(skua_oneshot),
	SIZE(skua_poller),       SIZE(skua_reduction),
	SIZE(skua_rwlock),       SIZE(skua_scope),
	SIZE(skua_select),       SIZE(skua_select_case),
	SIZE(skua_semaphore),    SIZE(skua_spsc),
	SIZE(skua_stall),        SIZE(skua_stats),
	SIZE(skua_subscription), SIZE(skua_sync_name),
	SIZE(skua_task),         SIZE(skua_task_type),
	SIZE(skua_timer),        SIZE(skua_times),
	SIZE(skua_type_stats),   SIZE(skua_wait),
	SIZE(skua_waiters),      SIZE(skua_waker),
	SIZE(skua_watch),        SIZE(skua_worker_stats),
};

size_t skua_sizeof(const char *type)
{
	for (size_t i = 0; type && i < sizeof(sizes) / sizeof(*sizes); i++) {
		if (strcmp(type, sizes[i].type) == 0)
			return sizes[i].bytes;
	}
	return 0;
}
