/* SPDX-License-Identifier: MIT */
/* open_polls.c - see open_polls.h */
#include "bpf/recording/open_polls.h"

#include <errno.h>

#include "probes/events.h"

void open_poll_begin(struct open_poll *before, struct target *target,
		     const struct target_runtime *runtime, unsigned worker,
		     uint32_t stream)
{
	struct target_now now;

	if (target_look(target, runtime, worker, &now) != 0 || !now.task ||
	    !(now.type || now.poll))
		return;
	*before = (struct open_poll){
		.seen = { .from_ns = now.at_ns,
			  .task = now.task,
			  .name = now.type ? now.type : now.poll,
			  .detail =
				  now.type ? EVENT_NAME_TYPE : EVENT_NAME_POLL,
			  .stream = stream },
		.polls = now.tasks_polled,
		.open = true,
	};
}

void open_poll_check(struct open_poll *before, struct target *target,
		     const struct target_runtime *runtime, unsigned worker)
{
	struct target_now now;
	int code =
		runtime ? target_look(target, runtime, worker, &now) : -ESRCH;

	if (code == -EAGAIN) /* other runtimes started or ended */
		return;
	before->open = code == 0 && now.task == before->seen.task &&
		       now.tasks_polled == before->polls;
	if (before->open && now.at_ns > before->seen.from_ns)
		before->seen.until_ns = now.at_ns;
}
