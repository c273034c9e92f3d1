/* SPDX-License-Identifier: MIT */
/* skua.h - the whole public interface; each concept has a header of its own */
#ifndef SKUA_H
#define SKUA_H

#include <skua/base.h>
#include <skua/queue.h>
#include <skua/runtime.h>
#include <skua/stats.h>
#include <skua/task.h>

#endif
