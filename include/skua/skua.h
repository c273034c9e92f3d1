/* SPDX-License-Identifier: MIT */
/* skua.h - includes all public headers except skua/sort_template.h */
#ifndef SKUA_H
#define SKUA_H

#include <skua/base.h>
#include <skua/blocking.h>
#include <skua/channel.h>
#include <skua/fiber.h>
#include <skua/file.h>
#include <skua/fork.h>
#include <skua/group.h>
#include <skua/io.h>
#include <skua/parallel.h>
#include <skua/poller.h>
#include <skua/queue.h>
#include <skua/record.h>
#include <skua/runtime.h>
#include <skua/select.h>
#include <skua/sort.h>
#include <skua/stall.h>
#include <skua/stats.h>
#include <skua/sync.h>
#include <skua/task.h>
#include <skua/timer.h>
#include <skua/topology.h>
#include <skua/version.h>
#include <skua/wait.h>
#include <skua/waker.h>

#endif
