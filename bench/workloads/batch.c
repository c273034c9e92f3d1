/* SPDX-License-Identifier: MIT */
/* batch.c - see batch.h */
#include "bench/workloads/batch.h"

#include <errno.h>

json_t *batch_params(const void *arg)
{
	const struct batch_options *options = arg;

	return json_pack("{s:I, s:I}", "tasks", (json_int_t)options->tasks,
			 "repeat", (json_int_t)options->repeat);
}

/* Spawn a batch, or go on joining it if it was spawned. */
static int step(struct batch_driver *driver)
{
	int err;

	if (!driver->spawned) {
		err = driver->spawn(driver->state);
		driver->spawned = err == 0;
		return err;
	}
	err = driver->join(&driver->task, driver->state);
	if (err != 0)
		return err;
	driver->spawned = false;
	driver->left--;
	return 0;
}

static enum skua_poll poll_driver(struct skua_task *self)
{
	struct batch_driver *driver = (struct batch_driver *)self;
	int err = 0;

	while (err == 0 && driver->left > 0)
		err = step(driver);
	if (err == -EAGAIN)
		return SKUA_PENDING;
	driver->err = err;
	return SKUA_DONE;
}

int batch_drive(struct skua_runtime *rt, struct batch_driver *driver,
		uint64_t repeat)
{
	int err;

	driver->left = repeat;
	driver->spawned = false;
	skua_task_init(&driver->task, poll_driver);
	err = skua_task_spawn(rt, &driver->task);
	if (err == 0)
		err = skua_task_join(&driver->task);
	return err == 0 ? driver->err : err;
}
