/* SPDX-License-Identifier: MIT */
/* publish.h - let other processes find what they may read of a runtime */
#ifndef SKUA_CORE_RUNTIME_PUBLISH_H
#define SKUA_CORE_RUNTIME_PUBLISH_H

struct skua_runtime;

/* publish - from now on; the workers' threads may run already */
void publish(struct skua_runtime *rt);

/* publish_end - no more, if it was ever; before its memory goes */
void publish_end(struct skua_runtime *rt);

#endif
