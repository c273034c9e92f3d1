/* SPDX-License-Identifier: MIT */
/* publish.h - make the debug area of a runtime visible to other processes */
#ifndef SKUA_CORE_RUNTIME_PUBLISH_H
#define SKUA_CORE_RUNTIME_PUBLISH_H

struct skua_runtime;

/* publish - publish the debug area of @rt; the workers' threads may be running already */
void publish(struct skua_runtime *rt);

/* publish_end - withdraw the debug area if it was published, before its memory is freed */
void publish_end(struct skua_runtime *rt);

#endif
