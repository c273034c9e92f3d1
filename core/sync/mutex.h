/* SPDX-License-Identifier: MIT */
/* mutex.h - what the condition needs of the mutex */
#ifndef SKUA_CORE_SYNC_MUTEX_H
#define SKUA_CORE_SYNC_MUTEX_H

#include "core/wait/await.h"
#include "skua/sync.h"

/* mutex_step - lock @object, a mutex: a step of core/wait/await.h */
wait_step mutex_step;

/* mutex_held_by - does this waiter hold the mutex? */
bool mutex_held_by(struct skua_mutex *mutex, uintptr_t waiter);

/* mutex_unlock - unlock a mutex that @self holds */
void mutex_unlock(struct skua_mutex *mutex, uintptr_t self);

#endif
