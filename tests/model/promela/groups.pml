/* SPDX-License-Identifier: MIT */
/*
 * groups.pml - the idle protocol of core/idle/IDLE.md with workers in groups
 *
 * Modelled: a searchers' count and parked bits for each group, the summary of the
 * groups where somebody sleeps (I8), whom a producer wakes and on whom it relies
 * (I1, I3, I4); a searcher that leaves tasks leaves many. All work is in one place,
 * where everybody finds it; what a group has of its own to search, and the order of a
 * search, are hints. idle.pml has the rest of the protocol, with one group.
 *
 * What must hold: as in idle.pml, w1. A task waits, in its poll, until MEET tasks
 * have started. Safety is the explorer's, on the code itself.
 *
 * Memory: a step is one atomic operation, and all see it at once: what a fence
 * orders is in order here. The explorer leaves out the fences, on the code itself
 * (model_idle*.c, mutants.py).
 *
 * A configuration (see run): WORKERS, worker i being of group i % GROUPS;
 * PRODUCERS outside, near group 0, which push BATCH tasks each; CHILDREN, tasks
 * that another one spawns, which is there at first; STALE, the summary says of all groups that somebody sleeps there, when it begins; MEET.
 */

#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef GROUPS
#define GROUPS 2
#endif
#ifndef PRODUCERS
#define PRODUCERS 0
#endif
#ifndef BATCH
#define BATCH 1
#endif
#ifndef CHILDREN
#define CHILDREN 0
#endif
#ifndef MEET
#define MEET 0
#endif

#if CHILDREN
#define TOTAL (1 + CHILDREN + PRODUCERS * BATCH)
#else
#define TOTAL (PRODUCERS * BATCH)
#endif
#define BIT(i)      (1 << (i))
#define GROUP_OF(i) ((i) % GROUPS)
#define NOBODY      GROUPS
#if GROUPS > 2
#define SLEEPERS (parked[0] + parked[1] + parked[2] != 0)
#elif GROUPS > 1
#define SLEEPERS (parked[0] + parked[1] != 0)
#else
#define SLEEPERS (parked[0] != 0)
#endif

byte work;              /* tasks that everybody finds */
byte searching[GROUPS]; /* struct idle_group */
byte parked[GROUPS];    /* bit i: worker i */
byte sleepy;            /* struct idle: bit g: group g */
byte notified;          /* the parkers' states, a bit each */
bool stopping;

byte started, finished, ended;
byte calls; /* producers at work */

/* ---- core/idle/claim.c, wake.c, idle.c ---------------------------------------- */

/* claim_any(): any bit of the word; false if there is none. */
inline claim_any()
{
	woke = false;
	do
	:: woke -> break
	:: else ->
		bits = parked[target];
		if
		:: bits == 0 -> break
		:: else
		fi;
		/* Any of those that were seen; the step decides. */
		if
		:: bits & 1 -> chosen = 0
		:: bits & 2 -> chosen = 1
#if WORKERS > 2
		:: bits & 4 -> chosen = 2
#endif
#if WORKERS > 3
		:: bits & 8 -> chosen = 3
#endif
		fi;
		atomic {
			if
			:: parked[target] & BIT(chosen) ->
				parked[target] = parked[target] & ~BIT(chosen);
				woke = true
			:: else
			fi
		};
		if
		:: woke -> notified = notified | BIT(chosen)
		:: else
		fi
	od;
	bits = 0;
	chosen = 0
}

/* searched(), of a look that has a clock reading if @beside */
#define SEARCHED(group) (searching[group] != 0 && !beside)

/* group_to_wake() of a thread near group @own: @target, or NOBODY. */
inline group_to_wake(own)
{
	target = NOBODY;
	if
	:: SEARCHED(own)
	:: else ->
		if
		:: parked[own] != 0 -> target = own
		:: else -> sleepy_elsewhere(own)
		fi
	fi
}

/* The others one by one, from any on: their order is a matter of cost. */
inline sleepy_elsewhere(own)
{
	seen = BIT(own);
	do
	:: target != NOBODY || seen == BIT(GROUPS) - 1 -> break
	:: else ->
		if
		:: !(seen & 1) -> other = 0
		:: !(seen & 2) -> other = 1
#if GROUPS > 2
		:: !(seen & 4) -> other = 2
#endif
		fi;
		seen = seen | BIT(other);
		if
		:: sleepy & BIT(other) ->
			if
			:: parked[other] != 0 -> target = other
			:: else -> still_sleepy()
			fi;
			if
			:: target != NOBODY && SEARCHED(target) ->
				target = NOBODY
			:: else
			fi
		:: else
		fi
	od;
	seen = 0;
	other = 0
}

/* I8 */
inline still_sleepy()
{
	sleepy = sleepy & ~BIT(other);
	if
	:: parked[other] != 0 ->
		sleepy = sleepy | BIT(other);
#ifndef SETS_AND_LEAVES
		target = other
#endif
	:: else
	fi
}

/* wake(), count_claim(), I4 */
inline wake(own)
{
	do
	:: true ->
		group_to_wake(own);
		if
		:: target == NOBODY -> break
		:: else
		fi;
		atomic {
			taken = searching[target] == 0 || beside;
			if
			:: taken -> searching[target]++
			:: else
			fi
		};
		if
		:: !taken -> break
		:: else
		fi;
		claim_any();
		if
		:: woke -> break
		:: else -> searching[target]--
		fi;
	od;
	target = 0;
	taken = false;
	woke = false
}

/* idle_wake(), idle_wake_beside() */
#define idle_wake(own) wake(own)

inline idle_wake_beside(own)
{
	beside = true;
	wake(own);
	beside = false
}

/* wake_elsewhere(), I3 */
inline wake_elsewhere(own)
{
	target = NOBODY;
	sleepy_elsewhere(own);
	if
	:: target == NOBODY -> woke = true
	:: else ->
		atomic {
			taken = searching[target] == 0;
			if
			:: taken -> searching[target]++
			:: else
			fi
		};
		if
		:: !taken -> woke = true
		:: else ->
			claim_any();
			if
			:: woke
			:: else -> searching[target]--
			fi
		fi
	fi;
	target = 0;
	taken = false;
	if
	:: woke -> woke = false
	:: else -> wake(own)
	fi
}

/* idle_park_begin(), I2 */
inline idle_park_begin()
{
	parked[GROUP_OF(me)] = parked[GROUP_OF(me)] | BIT(me);
	if
	:: !(sleepy & BIT(GROUP_OF(me))) ->
		sleepy = sleepy | BIT(GROUP_OF(me))
	:: else
	fi;
	if
	:: searches -> atomic { searching[GROUP_OF(me)]--; searches = false }
	:: else
	fi
}

/* idle_park_cancel() */
inline idle_park_cancel()
{
	atomic {
		if
		:: parked[GROUP_OF(me)] & BIT(me) ->
			parked[GROUP_OF(me)] = parked[GROUP_OF(me)] & ~BIT(me);
			searching[GROUP_OF(me)]++
		:: else
		fi;
		searches = true
	}
}

/* idle_leave_search() and found(), I3 */
inline found()
{
	atomic {
		assert(searching[GROUP_OF(me)] > 0);
		searching[GROUP_OF(me)]--;
		searches = false;
		last = searching[GROUP_OF(me)] == 0
	};
	if
	:: last ->
		last = false;
		if
		:: work > 0 ->
			idle_wake(GROUP_OF(me));
			wake_elsewhere(GROUP_OF(me))
		:: else
		fi
	:: else
	fi
	last = false
}

inline take()
{
	atomic {
		if
		:: work > 0 -> work--; got = true
		:: else
		fi
	}
}

inline produce(own)
{
	work++;
	idle_wake(own)
}

/* ---- threads --------------------------------------------------------------- */

/* pool_stop() and idle_wake_all() */
inline stop()
{
	atomic {
		stopping = true;
		i = 0;
		do
		:: i < WORKERS ->
			if
			:: parked[GROUP_OF(i)] & BIT(i) ->
				parked[GROUP_OF(i)] =
					parked[GROUP_OF(i)] & ~BIT(i);
				searching[GROUP_OF(i)]++;
				notified = notified | BIT(i)
			:: else
			fi;
			i++
		:: else -> break
		od;
		i = 0
	}
}

inline run_task()
{
	got = false;
	atomic { started++; first = started == 1 };
	do
	:: first && i < CHILDREN -> produce(GROUP_OF(me)); i++
	:: else -> break
	od;
	i = 0;
	first = false;
	started >= MEET;
	atomic { finished++; last = finished == TOTAL };
	if
	:: last -> last = false; stop()
	:: else
	fi
}

proctype worker(byte me)
{
	byte target, chosen, bits, seen, other, i;
	bool woke, taken, searches, got, last, first, beside;

again:	do
	:: true ->
		take();
		if
		:: got -> run_task()
		:: else -> break
		fi
	od;
	atomic {
		if
		:: 2 * searching[GROUP_OF(me)] <
			   (WORKERS - GROUP_OF(me) + GROUPS - 1) / GROUPS ->
			searching[GROUP_OF(me)]++;
			searches = true
		:: else
		fi
	};
search:	if
	:: searches -> take()
	:: else
	fi;
	if
	:: got -> found(); run_task(); goto again
	:: else
	fi;
	idle_park_begin();
#ifndef NO_RECHECK
	take();
#endif
	if
	:: got -> idle_park_cancel(); found(); run_task(); goto again
	:: else
	fi;
	if
	:: stopping -> idle_park_cancel(); goto end
	:: else
	fi;
	do
	:: !(parked[GROUP_OF(me)] & BIT(me)) -> break
	:: else -> /* parker_park() */
		atomic { notified & BIT(me) -> notified = notified & ~BIT(me) }
	od;
	searches = true;
	if
	:: stopping
	:: else -> goto search
	fi;
end:	atomic { searching[GROUP_OF(me)]--; ended++ }
}

proctype producer(byte own)
{
	byte target, chosen, bits, seen, other, i;
	bool woke, taken, beside;

	do
	:: i < BATCH - 1 -> work++; i++
	:: else -> break
	od;
	produce(own);
	calls--
}

/* A count that leaked would disable every later wake-up. */
proctype ender()
{
	byte i;

	ended == WORKERS && calls == 0;
	do
	:: i < GROUPS ->
		assert(searching[i] == 0 && parked[i] == 0);
		i++
	:: else -> break
	od
}

init
{
	byte i;

	atomic {
#ifdef STALE
		sleepy = BIT(GROUPS) - 1;
#endif
#if CHILDREN
		work = 1;
#endif
		calls = PRODUCERS;
		do
		:: i < WORKERS -> run worker(i); i++
		:: else -> break
		od;
		i = 0;
		do
		:: i < PRODUCERS -> run producer(0); i++
		:: else -> break
		od;
		i = 0;
		run ender()
	}
}

#ifdef W1
ltl w1 { <> (finished == TOTAL) }
#endif
