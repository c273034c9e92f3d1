/* SPDX-License-Identifier: MIT */
/*
 * task_state.pml - the state word of a task (core/task/task_state.h)
 *
 * Modelled: the word of task 0, bit for bit, with its references; pollers that
 * do as core/loop/loop.c does; wakers, who hold a reference each, post something,
 * wake and drop; a cancel, a join by a thread, a join by a task (task 1, which
 * is detached), a detach, and a shutdown. The task is done when it has seen all
 * posts, or, with CANCEL and SHUTDOWN, that it is cancelled. Whoever owns its
 * memory at the end gives it back. Each piece names what it stands for.
 *
 * What must hold:
 * - W1: a woken task is polled, and a task ends, in the end (ltl w1);
 * - W5: with REPEAT wakes go on for ever, and so do polls (no cycle without
 *   progress).
 * Fairness: W1 and W5 assume weak fairness: a process that can take a step from
 * some time on takes one.
 *
 * Memory: a step is one atomic operation, seen by all at once, but for a post:
 * it is late until its waker's next releasing operation on the word, or any
 * moment before. What a variant does in the wrong order stands for what a
 * weaker memory order would allow. Reordering of loads is not modelled.
 *
 * Left out: the queues (a task has a flag that says that it is queued), groups,
 * timers but that of the shutdown, spawns (they come first), a fork, and a poll
 * that yields after it lent its spare reference.
 *
 * Safety is the explorer's, on the code itself (model_task_state.c): one poll at a
 * time, no access to memory that was given back, one end.
 *
 * A configuration (see run): POLLERS; WAKERS; YIELDS, polls that yield first; JOIN
 * or JOIN_TASK; REPEAT.
 */

#ifndef POLLERS
#define POLLERS 1
#endif
#ifndef WAKERS
#define WAKERS 0
#endif
#ifndef YIELDS
#define YIELDS 0
#endif

#define SCHEDULED  1
#define ACTIVE    2
#define COMPLETE   4
#define CLAIMED    8
#define END_THREAD 16
#define END_TASK   32
#define END_DETACH 64
#define CANCELLED  128
#define REFERENCE  256
#define END_MASK   (END_THREAD | END_TASK | END_DETACH)

#define ENDED(word)   (((word) & COMPLETE) && (word) < REFERENCE)
#define SPAWNED(word) (((word) & COMPLETE) || (word) >= REFERENCE)

short state[2];
byte end_field[2]; /* which of the ends it is for */
bool queued[2];
bool polling[2];
bool completed[2];
bool freed[2];
byte ends[2];
bool owed; /* task 0 was woken, and neither polled since nor complete */

byte posted;
bool late[WAKERS + 1]; /* a waker's post is not visible yet */
bool cancelling;       /* struct pool */

bool joiner_done; /* struct task_joiner, on the joiner's stack */
bool joiner_gone;

#define TOUCH(t) assert(!freed[t])

/* Whoever learns of the end owns the memory, and gives it back. */
inline task_ended(t)
{
	atomic {
		assert(completed[t] && ends[t] == 0);
		ends[t]++;
		TOUCH(t);
		freed[t] = true
	}
}

#ifdef JOIN_TASK
#define OVER (ends[0] && ends[1])
#else
#define OVER ends[0]
#endif

/* What is late may become visible at any moment. */
inline release_post(i)
{
	if
	:: i < WAKERS && late[i] -> late[i] = false; posted++
	:: else
	fi
}

#if WAKERS
active proctype memory()
{
end:
	do
	:: atomic { late[0] -> release_post(0) }
#if WAKERS > 1
	:: atomic { late[1] -> release_post(1) }
#endif
#if WAKERS > 2
#error "more wakers than memory() knows of"
#endif
	od
}
#endif

/* ---- core/loop/schedule.c, core/task/task.c ------------------------------------------ */

/* schedule(): only who made the task ACTIVE or SCHEDULED does, so that it is in
 * one queue at most. */
inline schedule(t)
{
	atomic { TOUCH(t); assert(!queued[t]); queued[t] = true }
}

/* task_state_transition_to_woken(), schedule_wake() */
inline schedule_wake(t)
{
	atomic {
		TOUCH(t);
		release_post(me);
		old = state[t];
		state[t] = old | SCHEDULED;
		owed = owed || (t == 0 && !(old & COMPLETE));
		wake = !(old & (SCHEDULED | ACTIVE | COMPLETE))
	};
	if
	:: wake -> wake = false; schedule(t)
	:: else
	fi;
	old = 0
}

/* task_state_transition_to_woken_by_value(): given tells. */
inline wake_by_value(t)
{
	atomic {
		TOUCH(t);
		release_post(me);
		old = state[t];
		given = !(old & COMPLETE);
		assert(!given || old >= 2 * REFERENCE);
		if
		:: given ->
			owed = owed || t == 0;
			wake = !(old & (SCHEDULED | ACTIVE));
			state[t] = (old | (wake -> ACTIVE : SCHEDULED)) -
				   REFERENCE
		:: else
		fi
	};
	if
	:: wake -> wake = false; schedule(t)
	:: else
	fi;
	old = 0
}

/* task_drop(), task_state_transition_to_dropped(); what is the end field. */
inline task_drop(t, complete)
{
	atomic { TOUCH(t); old = state[t] };
	do
	:: true ->
		/* Copied before the drop: the task may be gone afterwards. */
		atomic {
			ending = old & END_MASK;
			if
			:: ending ->
				TOUCH(t);
				assert(end_field[t] == ending)
			:: else
			fi
		};
		atomic {
			TOUCH(t);
			release_post(me);
			if
			:: state[t] == old ->
				next = old - REFERENCE;
				if
				:: complete ->
					next = next ^ (ACTIVE | COMPLETE);
					next = next - (spare -> REFERENCE : 0);
					completed[t] = true;
					owed = owed && t != 0
				:: else
				fi;
				assert(next >= 0);
				state[t] = next;
				break
#ifdef DROP_NEVER_RELOADS
			:: else
#else
			:: else -> old = state[t]
#endif
			fi
		}
	od;
	if
	:: !ENDED(next) -> ending = 0
	:: else
	fi;
	old = 0;
	next = 0
}

/* schedule_drop() */
inline schedule_drop(t, complete)
{
	who = t;
	task_drop(t, complete);
#ifdef JOIN_TASK
	if
	:: ending == END_TASK ->
		/* What the field holds: task 1. */
		who = 1;
		wake_by_value(1);
		if
		:: given -> ending = 0; given = false
		:: else -> task_drop(1, false)
		fi
	:: else
	fi;
#endif
	if
	:: ending == END_THREAD ->
		/* task_joiner_wake() */
		atomic { assert(!joiner_gone); joiner_done = true }
	:: ending == END_DETACH -> task_ended(who)
	:: else
	fi;
	ending = 0;
	who = 0
}

/* schedule_wake_by_value() */
inline schedule_wake_by_value(t)
{
	wake_by_value(t);
	if
	:: given -> given = false
	:: else -> schedule_drop(t, false)
	fi
}

/* ---- core/loop/loop.c --------------------------------------------------------- */

/* The poll functions: task 1 joins task 0. */
#define POLL_DONE    0
#define POLL_PENDING 1
#define POLL_YIELD   2

/* pass_on_cancel() */
inline pass_on_cancel(t)
{
	if
	:: cancelling ->
		atomic { TOUCH(t); state[t] = state[t] | CANCELLED; told = true }
	:: else
	fi
}

/* skua_task_join_poll(), by task 1 */
#ifdef JOIN_TASK
inline join_poll()
{
	atomic { TOUCH(0); old = state[0] };
	if
	:: old & END_TASK ->
		if
		:: ENDED(old) -> state[0] = 0; task_ended(0)
		:: else -> result = POLL_PENDING
		fi
	:: else ->
		atomic {
			TOUCH(0);
			assert(!(state[0] & CLAIMED));
			state[0] = state[0] | CLAIMED
		};
		end_field[0] = END_TASK;
		/* current_lend() */
		assert(spare);
		spare = false;
		atomic {
			TOUCH(0);
			old = state[0];
			state[0] = old | END_TASK
		};
		if
		:: !ENDED(old) -> result = POLL_PENDING
		:: else ->
			schedule_drop(1, false);
			state[0] = 0;
			task_ended(0)
		fi
	fi;
	old = 0
}
#endif

inline poll(t)
{
	atomic {
		assert(!polling[t] && !completed[t]);
		polling[t] = true;
		result = POLL_DONE
	};
#ifdef JOIN_TASK
	if
	:: t == 1 -> join_poll()
	:: else ->
#endif
#ifdef REPEAT
		result = POLL_PENDING;
#else
		if
		:: posted == WAKERS
		:: else -> result = POLL_PENDING
		fi;
#endif
#if YIELDS
		if
		:: result == POLL_PENDING && yields > 0 ->
			yields--;
			result = POLL_YIELD
		:: else
		fi;
#endif
		skip;
progress:
		skip
#ifdef JOIN_TASK
	fi
#endif
	;
	polling[t] = false
}

/* pending() */
inline pending(t)
{
	/* task_state_transition_to_waiting() */
	atomic {
		TOUCH(t);
		old = state[t];
		assert(old & ACTIVE);
		state[t] = old - ACTIVE + (spare -> 0 : REFERENCE)
	};
	if
	:: old & SCHEDULED -> schedule(t)
	:: else
	fi;
	old = 0
}

/* poll_task() */
inline poll_task(t)
{
	/* task_state_transition_to_running() */
	atomic {
		TOUCH(t);
		old = state[t];
		assert(old & (SCHEDULED | ACTIVE))
	};
	if
	:: old & SCHEDULED ->
		atomic {
			TOUCH(t);
			assert((state[t] & SCHEDULED) &&
			       ((state[t] & ACTIVE) == (old & ACTIVE)));
			state[t] = (state[t] | ACTIVE) & ~SCHEDULED;
			owed = owed && t != 0
		}
	:: else ->
		/* What was owed when it was queued; what came since makes it
		 * SCHEDULED. */
		atomic { owed = owed && (t != 0 || (state[t] & SCHEDULED)) }
	fi;
	old = 0;
	spare = true;
	poll(t);
	if
#if YIELDS
	:: result == POLL_YIELD ->
		schedule(t) /* yielded() */
#endif
	:: result == POLL_PENDING -> pending(t)
	:: else -> schedule_drop(t, true) /* done() */
	fi
}

proctype poller(byte me)
{
	short old, next, ending;
	byte result, who;
	bool wake, given, told, spare;
#if YIELDS
	byte yields = YIELDS;
#endif

end:
	do
	:: atomic { queued[0] -> queued[0] = false }; poll_task(0)
#ifdef JOIN_TASK
	:: atomic { queued[1] -> queued[1] = false }; poll_task(1)
#endif
	od
}

/* ---- core/api/task_api.c -------------------------------------------------------- */

/* skua_waker_wake(), or skua_waker_wake_by_ref(): once, or for ever */
proctype waker(byte me)
{
	short old, next, ending;
	byte who;
	bool wake, given, spare;

#ifdef REPEAT
	do
	:: schedule_wake(0)
	od;
#endif
	late[me] = true;
#ifdef LOST_COALESCED_WAKE
	/* Returns if it is SCHEDULED already. */
	if
	:: state[0] & SCHEDULED
	:: else -> schedule_wake(0)
	fi;
	schedule_drop(0, false)
#else
	schedule_wake_by_value(0);
#endif
}

/* skua_task_cancel(), task_state_transition_to_cancelled() */

/* pool_cancel(), timers_fire_all(): the task has a timer. */

/* task_state_transition_to_claimed(): claimed tells. */
inline claim()
{
	atomic {
		TOUCH(0);
		/* Not spawned any more: it was joined. */
		claimed = !(state[0] & CLAIMED) && SPAWNED(state[0]);
		if
		:: claimed -> state[0] = state[0] | CLAIMED
		:: else
		fi
	}
}

/* task_state_transition_to_ended_by(): was tells if it had ended. */
inline ended_by(how)
{
	atomic { TOUCH(0); end_field[0] = how };
	atomic {
		TOUCH(0);
		was = ENDED(state[0]);
		state[0] = state[0] | how
	};
	old = 0
}

/* skua_task_join(), task_joiner_wait() */
#ifdef JOIN
proctype joiner()
{
	short old;
	bool claimed, was, joined;

	/* task_state_transition_to_joined() */
	atomic {
		TOUCH(0);
		joined = ENDED(state[0]) && !(state[0] & CLAIMED);
		if
		:: joined -> state[0] = 0
		:: else
		fi
	};
	if
	:: joined ->
		joiner_gone = true;
		task_ended(0);
		goto gone
	:: else
	fi;
	claim();
	if
	:: claimed ->
		ended_by(END_THREAD);
		if
		:: was
		:: else -> joiner_done
		fi;
		atomic { TOUCH(0); state[0] = 0 };
		joiner_gone = true;
		task_ended(0)
	:: else
	fi;
gone:	skip
}
#endif

/* skua_task_detach() */

/* Nobody is left waiting, and the end of each task was seen to. */
proctype checker()
{
	OVER
}

init
{
	byte i;

	atomic {
		/* skua_task_spawn(), and skua_task_waker() for each holder. */
		state[0] = ACTIVE +
			   REFERENCE * (2 + WAKERS);
		queued[0] = true;
		owed = true;
#ifdef JOIN_TASK
		state[1] = ACTIVE + CLAIMED + END_DETACH + 2 * REFERENCE;
		end_field[1] = END_DETACH;
		queued[1] = true;
#endif
		i = 0;
		do
		:: i < POLLERS -> run poller(WAKERS + 1); i++
		:: else -> break
		od;
		i = 0;
		do
		:: i < WAKERS -> run waker(i); i++
		:: else -> break
		od;
		i = 0;
#ifdef JOIN
		run joiner();
#endif
#ifndef REPEAT
		run checker()
#endif
	}
}

#ifdef W1
ltl w1 { [] (owed -> <> !owed) && <> (OVER) }
#endif
