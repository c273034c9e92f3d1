/* SPDX-License-Identifier: MIT */
/*
 * driver.pml - the leader of core/idle/IDLE.md, rules I11 and I12
 *
 * Modelled: workers that look for events, poll their tasks, park and sleep, one of them
 * in the driver; the roles of leader and sentinel, and how they are given up, taken over
 * and summoned; a thread that attaches the first descriptor, after which two events come;
 * a waker that claims a sleeper. The poll of the first event never ends or, with CLAIM, that
 * of the task for which the waker has claimed a worker. Each piece names the functions that
 * it stands for.
 *
 * What must hold: the second event is polled (ltl w1).
 * Fairness: weak: a process that can take a step from some time on takes one. A deadline
 * is a step of the sentinel that is always possible.
 *
 * Memory. A step is one atomic operation, and all see it at once, except for a store
 * before a fence of the protocol, which is *late*, as in idle.pml: its own process is past
 * it, others still load what was there before, until the fence, or any moment before that,
 * or the end of the look behind the place of the fence, if a variant has left it out.
 * Reordering of loads is not modelled; the explorer does that on the code itself.
 *
 * Left out: the searchers' count and queues (idle.pml): an event that a worker has taken is
 * polled by this worker; pollers; LIFO slots and timers, so that the sentinel watches the
 * leader alone; groups; the value of delays.
 *
 * A configuration (see run): WORKERS, 2 or 3; CLAIM; INSIDE, worker 0 attaches, in a poll
 * that never ends; LONG, a leader gives the role up before it polls; PREFERS, all workers but
 * worker 1 pass the role on to that while it is parked.
 */

#ifndef WORKERS
#define WORKERS 2
#endif

/* Workers, the waker, the thread that attaches and makes the events. */
#define PROCESSES (WORKERS + 2)
#define WAKER     WORKERS
#define OUTSIDE   (WORKERS + 1)

#define BIT(i) (1 << (i))
#define ALL    (BIT(WORKERS) - 1)
#define NOBODY WORKERS

#define PREFERRED 1

#ifdef NO_ATTACH_FENCE /* driver_attach() */
#define ATTACH_FENCE 0
#define FENCE_MISSING
#else
#define ATTACH_FENCE 1
#endif

/* ---- what the threads share ---------------------------------------------- */

byte parked;
bool notified[WORKERS]; /* the parkers */
bool attached;
byte leader = NOBODY;
bool asleep; /* the leader sleeps in the driver */
bool interrupted;
byte holder = NOBODY; /* struct sentinel */
byte summoned = NOBODY;

byte claimed_for = NOBODY; /* the worker that was claimed for a task */
byte events; /* in the epoll, and not taken */
#ifdef INSIDE
byte taken = 1; /* events; the poll that attaches is like that of the first one */
#else
byte taken;
#endif
bool second_polled;
/* A bit for each worker: it has begun no poll since the sentinel's last check, and nobody
 * has looked for events. */
byte seen;

/* ---- late stores, and fences --------------------------------------------- */

#define NOTHING 0
#define SET_BIT 1
#define ATTACH  2
#define RESIGN  3
#define RETIRE  4
byte late[PROCESSES];

inline make_visible(p)
{
	if
	:: late[p] == SET_BIT -> parked = parked | BIT(p)
	:: late[p] == ATTACH -> attached = true
	:: late[p] == RESIGN -> leader = NOBODY
	:: late[p] == RETIRE -> holder = NOBODY
	:: else
	fi;
	late[p] = NOTHING
}

inline store(what)
{
	make_visible(me);
	late[me] = what
}

inline fence(there)
{
	if
	:: there -> make_visible(me)
	:: else
	fi
}

/* The end of a look: a fence that was left out delays no longer than that. */
#ifdef FENCE_MISSING
#define LOOKED atomic { make_visible(me) };

active proctype memory()
{
	byte p;
end:
	do
	:: atomic { late[0] -> make_visible(0) }
	:: atomic { late[1] -> make_visible(1) }
#if WORKERS > 2
	:: atomic { late[2] -> make_visible(2) }
#endif
	:: atomic { late[OUTSIDE] -> make_visible(OUTSIDE) }
	od
}
#else
#define LOOKED
#endif

/* ---- the sentinel ---------------------------------------------------------- */

/* parker_unpark(); epoll_set_interrupt() if it sleeps in the driver */
inline unpark(i)
{
	atomic {
		notified[i] = true;
		if
		:: asleep && leader == i -> interrupted = true
		:: else
		fi
	}
}

/* checks_pay(), something_to_watch() */
#define WATCHED (attached && (parked != ALL || leader == NOBODY))

/* sentinel_summon_leader() */
inline summon()
{
	old = holder;
	if
	:: old != NOBODY && (parked & BIT(old)) -> unpark(old)
	:: else ->
		do
		:: atomic {
			i = 0;
			do
			:: i < WORKERS && !(parked & BIT(i)) -> i++
			:: else -> break
			od;
			if
			:: i < WORKERS -> summoned = i
			:: else -> break
			fi
		   };
		   if
		   :: parked & BIT(i) -> unpark(i); break
		   :: else
		   fi
		od
	fi;
	old = 0;
	i = 0
}

/* sentinel_leave() */
inline leave()
{
	if
	:: holder == me ->
		atomic { store(RETIRE); fence(1) };
		if
		:: WATCHED -> summon()
		:: else
		fi
	:: holder != me && summoned == me ->
		summoned = NOBODY;
		if
		:: WATCHED -> summon()
		:: else
		fi
#ifndef LEAVES_UNWATCHED
	:: holder == NOBODY && summoned != me && leader == me ->
		if
		:: WATCHED -> summon()
		:: else
		fi
#endif
	:: else
	fi
}

/* ---- workers ----------------------------------------------------------------- */

/* driver_resign() */
inline resign()
{
#ifdef LONG
	if
	:: leader == me ->
		atomic {
			if
			:: leader == me -> store(RESIGN); fence(1)
			:: else
			fi
		};
		summon()
	:: else
	fi
#else
	skip
#endif
}

/* idle_park_cancel(), and the fence of sleep_parked() */
#define AWAKE atomic { parked = parked & ~BIT(me) }

#ifdef NOBODY_WATCHES
#define WATCHES false
#else
#define WATCHES true
#endif

proctype worker(byte me)
{
	byte mine;  /* the event that it has taken, from 1 */
	bool until; /* it sleeps with a deadline */
	byte old, i; /* of summon() */
	bool passes; /* it has given the role up for the preferred worker */

#ifdef INSIDE
	if
	:: me == 0 ->
		atomic { store(ATTACH); fence(ATTACH_FENCE) };
#ifndef ATTACHES_SILENTLY
		if
		:: leader == NOBODY -> summon()
		:: else
		fi;
#endif
		LOOKED
		goto never_ends
	:: else
	fi;
#endif
search:
	/* reap_owner(). A leader whose search time is over does not look. */
	if
	:: atomic {
		attached && !asleep && events > 0 ->
		events--;
		taken++;
		mine = taken;
		seen = 0
	   };
	   goto poll
	:: true
	fi;
	/* idle_park_begin() */
	atomic { store(SET_BIT); fence(1) };
sleep:
	/* sentinel_enter() */
	until = false;
	if
	:: holder == me -> until = true
	:: holder == NOBODY && WATCHED ->
		atomic {
			if
			:: holder == NOBODY ->
				holder = me;
				summoned = NOBODY;
				until = true
			:: else
			fi
		}
	:: else
	fi;
	/* It retires: all are parked, and it has checked often enough. */
	if
	:: until && !WATCHED ->
		atomic { store(RETIRE); fence(1) };
		until = false;
		if
		:: WATCHED -> goto sleep
		:: else
		fi
	:: true
	fi;
#ifdef PREFERS
	/* sentinel_pass_lead() */
	if
	:: attached && me != PREFERRED && (parked & BIT(PREFERRED)) ->
		atomic {
			if
			:: leader == me ->
				store(RESIGN);
				fence(1);
				passes = true
			:: leader == NOBODY -> passes = true
			:: else
			fi
		}
	:: else
	fi;
	if
	:: passes ->
		passes = false;
		summoned = PREFERRED;
#ifndef PASSES_SILENTLY
		if
		:: parked & BIT(PREFERRED) ->
			unpark(PREFERRED);
			goto asleep_outside
		:: else
		fi
#else
		goto asleep_outside
#endif
	:: else
	fi;
#endif
	/* driver_enter() */
	atomic {
		if
		:: attached && (leader == NOBODY || leader == me) ->
			leader = me;
			asleep = true
		:: else
		fi
	};
	LOOKED
	if
	:: leader == me && asleep ->
		/* driver_sleep() */
		if
		:: atomic {
			events > 0 ->
			events--;
			taken++;
			mine = taken;
			seen = 0;
			notified[me] = false;
			interrupted = false;
			asleep = false
		   }
		:: atomic {
			interrupted ->
			interrupted = false;
			notified[me] = false;
			seen = 0;
			asleep = false
		   }
		:: atomic {
			until && events == 0 && !interrupted ->
			notified[me] = false;
			asleep = false
		   }
		fi
	:: else ->
asleep_outside:
		/* parker_park(), parker_park_until() */
		atomic { notified[me] || until -> notified[me] = false };
		if
		:: until && WATCHES ->
			/* watch_leader(), driver_take() */
			atomic {
				if
				:: asleep || !attached
				:: !asleep && attached && events > 0 ->
					events--;
					taken++;
					mine = taken;
					seen = 0
				:: else ->
					if
					:: leader != NOBODY && leader != me &&
						(seen & BIT(leader)) ->
						leader = me
					:: else
					fi;
					seen = ALL
				fi
			}
		:: else
		fi
	fi;
	if
	:: mine -> AWAKE; goto poll
	:: !mine && !(parked & BIT(me)) ->
		assert(claimed_for == me);
		goto poll
	:: else -> goto sleep
	fi;
poll:
	leave();
	resign();
	atomic { seen = seen & ~BIT(me) };
	if
	:: mine == 2 -> second_polled = true; mine = 0; goto search
#ifdef CLAIM
	:: mine == 1 -> mine = 0; goto search
#endif
	:: else -> goto never_ends
	fi;
never_ends:
end:
	false
}

#ifdef CLAIM
/* idle_wake(), for a task that no other worker can run */
proctype waker()
{
	byte i;

	do
	:: atomic {
		i < WORKERS && (parked & BIT(i)) && claimed_for == NOBODY ->
		parked = parked & ~BIT(i);
		claimed_for = i
	   };
	   unpark(i);
	   break
	:: i < WORKERS - 1 -> i++
	:: i == WORKERS - 1 -> break
	od
}
#endif

/* driver_attach(), and the two events; the second one comes when the first was taken. */
proctype outside()
{
	byte me = OUTSIDE;
	byte old, i;

#ifndef INSIDE
	atomic { store(ATTACH); fence(ATTACH_FENCE) };
#ifndef ATTACHES_SILENTLY
	summon();
#endif
	LOOKED
	atomic { events++ };
	taken >= 1;
#endif
	atomic { attached -> events++ }
}

init
{
	atomic {
		byte i;

		do
		:: i < WORKERS -> run worker(i); i++
		:: else -> break
		od;
#ifdef CLAIM
		run waker();
#endif
		run outside()
	}
}

ltl w1 { <> second_polled }
