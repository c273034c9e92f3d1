/* SPDX-License-Identifier: MIT */
/* current.c - see current.h */
#include "core/loop/current.h"

_Thread_local struct worker *current_worker;
