/* SPDX-License-Identifier: MIT
 *
 * The protocol of an exchange: protocol.hpp, waiter.hpp (I5), slot.hpp (I1), the pins of arena.hpp
 * and what exchange_operation.hpp does around them (limits, check, finish, abandon, threads). Labels in
 * brackets are the headers'. Sequentially consistent.
 *
 * A step (`atomic`) is one access to what is shared, and whatever its process does by itself until the
 * next: computing, or using a waiter that it owns. That a waiter is owned is asserted (I1).
 *
 *   parties    N make K exchanges each, one waiter (that is: one address) per party
 *   cancellers a stop callback for each party below CANCELS, a timer for each below TIMERS
 *   closer     with CLOSER, closes once, at any time or never
 *   destroyer  destroys the exchanger as soon as any party is allowed to
 *
 * Claimed: nobody touches the exchanger after its end (INSIDE), nor a waiter after its owner finished
 * (ALIVE, I1); each waiter is completed and posted once, and items are swapped or kept; nobody offers
 * itself above slot 0 past a waiter in it (I4); the destructor ends, and nobody waits for ever (else spin
 * reports an invalid end state); with QUIET, I2 and I3: when nothing moves any more, at most one party
 * waits, in slot 0, and none once closed.
 *
 * Options: -DN -DS (slots) -DK -DCANCELS -DTIMERS -DCLOSER
 *   -DBARE=mask   parties without executor: they wait in slot 0 only, and whoever completes them resumes
 *                 them
 *   -DTHREADS=mask parties that are threads: they spin, then sleep; below TIMERS, their own timers
 *   -DTAKERS=mask parties that only `take`: they offer nothing
 *   -DPICK        one stop callback in all, of any one party below CANCELS
 *   -DSHARED      parties 0 and 1, the closer and the destroyer may run on one serial executor
 *   -DPOOL        a party may be resumed before the step that offered it in slot 0 is over: on a pool of
 *                 threads. (Only an unstoppable one that is moving has something left to do.)
 *   -DABANDON     party 0's frame may be destroyed while it is suspended in its last exchange
 *   -DQUIET       destroys only when all parties are back or asleep and nobody is under way, and checks
 *                 I3 first
 *   -DSAME=k      parties from k on are interchangeable (same.h); changes no verdict
 * Mutants (-DM_...), each a mistake that must be found: see `run`. */
#ifndef N
#define N 2
#endif
#ifndef S
#define S 2
#endif
#ifndef K
#define K 1
#endif
#ifndef CANCELS
#define CANCELS 0
#endif
#ifndef TIMERS
#define TIMERS 0
#endif
#ifndef BARE
#define BARE 0
#endif
#ifndef THREADS
#define THREADS 0
#endif
#ifndef TAKERS
#define TAKERS 0
#endif

#if K > 1 && N > 2
#error "somebody may be left alone in an exchange that is not its last"
#endif

#if defined(SHARED) && ((BARE) & 3 || (THREADS) & 3 || defined(POOL))
#error "parties 0 and 1 are not on one serial executor"
#endif
#if defined(POOL) && (S > 2 || defined(QUIET))
#error "one slot to leave behind, and no rest until it is left"
#endif

#ifdef SAME
#define ALIKE(mask) (((mask) >> SAME) == 0 || ((mask) >> SAME) == (1 << (N - SAME)) - 1)
#if !ALIKE(BARE) || !ALIKE(THREADS) || !ALIKE(TAKERS) || \
    (TIMERS > SAME && !(TIMERS == N && THREADS == (1 << N) - 1))
#error "parties from SAME on are not of one kind"
#endif
#if CANCELS > SAME && !(defined(PICK) && CANCELS == N)
#error "parties from SAME on have each a canceller, or not"
#endif
#ifdef POOL
#error "rest_of_move is not in same.h"
#endif
#if (defined(SHARED) && SAME < 2) || (defined(ABANDON) && SAME < 1)
#error "the first parties are special"
#endif
#endif

/* A slot's word: one of these, or a party's number plus one. */
#define EMPTY 0
#define CLOSED 250
#define MOVING 251
#define WORD(p) (p + 1)
#define PARTY(word) (word - 1)
#define OFFERED(word) (word != EMPTY && word != CLOSED && word != MOVING)

/* The signal */
#define STOP 1
#define EXPIRED 2
#define DONE 4
#define PARKED 8
#define LEAVING 16
#define LEFT 32
#define UNDER_WAY(s) (((s & LEAVING) || ((s & STOP) && (s & PARKED))) && !(s & LEFT))

/* The outcome */
#define PENDING 0
#define EXCHANGED 1
#define CLOSED_ON 2
#define CANCELLED 3
#define TIMED_OUT 4
#define NO_PARTNER 5
#define REASON(s) ((s & EXPIRED) -> TIMED_OUT : CANCELLED)

#define NOBODY 0
#define STRANGER 200 /* a closer that runs on nobody's executor */

/* The exchanger */
byte slot[S];
short pins;
bool gone; /* it has been destroyed */
bool destroying, closing, abandoning;

/* The waiters */
byte state[N], result[N], item[N];
bool limited[N];
bool live[N];       /* exists */
bool posted[N];     /* is in its executor's queue, to be resumed; or a thread's token is there */
bool stoppable[N], stopping[N];   /* its stop callback is registered, is withdrawing it */
bool armed[N], firing[N];         /* so its timer */

#ifdef POOL
byte left_behind[N]; /* the slot whose `moving` it has still to take away */
#endif

/* What the parties know */
byte mate[N];       /* the word of its partner */
bool final[N];      /* it is in its last exchange */
bool mate_final[N]; /* so was its partner, when they met */
bool arrived[N];    /* it is known to be suspended in its last exchange, or on the way back from it */
bool asleep[N];     /* it is suspended until it is posted */
bool returned[N];   /* it is back from its last exchange, or its frame was destroyed */

#define IN(mask, p) (((mask) >> p) & 1)
#define HAS_EXECUTOR(p) (!IN(BARE, p))
#define IS_THREAD(p) IN(THREADS, p)
#define TAKES(p) IN(TAKERS, p)
#define SIMPLE(p) (p >= CANCELS && p >= TIMERS && !IS_THREAD(p))

#define INSIDE() assert(!gone)
#define ALIVE(q) assert(live[q])

#ifdef SHARED
bool busy; /* somebody runs on the executor of parties 0 and 1 */
#define ALONE_HERE(me, q) (me < 2 && q < 2)
#define CAN_ENTER(p) (p >= 2 || !busy)
#define ENTER(p) if :: p < 2 -> busy = true :: else fi
#define LEAVE(p) if :: p < 2 -> busy = false :: else fi
#define CHOOSE_THREAD(me) if :: me = STRANGER :: !busy -> me = 0; busy = true fi
#else
#define ALONE_HERE(me, q) false
#define CAN_ENTER(p) true
#define ENTER(p) skip
#define LEAVE(p) skip
#define CHOOSE_THREAD(me) me = STRANGER
#endif

/* The slot's CASes, each part of a step. A mutant splits one into a load, a step before, and a store. */
#define CAS(i, from, to) INSIDE(); if :: slot[i] == from -> slot[i] = to; ok = true :: else -> ok = false fi
#define LOAD(i, from) atomic { INSIDE(); ok = (slot[i] == from) };
#define STORE(i, to) INSIDE(); if :: ok -> slot[i] = to :: else fi

#ifdef M_SPLIT_OFFER
#define BEFORE_OFFER(i) LOAD(i, EMPTY)
#define OFFER(i, w) STORE(i, w)
#else
#define BEFORE_OFFER(i)
#define OFFER(i, w) CAS(i, EMPTY, w) /* [S1] */
#endif
#ifdef M_SPLIT_CLAIM
#define BEFORE_CLAIM(i, w) LOAD(i, w)
#define CLAIM(i, w) STORE(i, EMPTY)
#elif defined(M_TOUCH_FIRST)
#define BEFORE_CLAIM(i, w) ALIVE(PARTY(w));
#define CLAIM(i, w) CAS(i, w, EMPTY)
#else
#define BEFORE_CLAIM(i, w)
#define CLAIM(i, w) CAS(i, w, EMPTY) /* [S2] */
#endif
#ifdef M_SPLIT_WITHDRAW
#define BEFORE_WITHDRAW(i, w) LOAD(i, w)
#define WITHDRAW(i, w) STORE(i, EMPTY)
#elif defined(M_WITHDRAW_BLIND)
#define BEFORE_WITHDRAW(i, w)
#define WITHDRAW(i, w) CAS(i, w, EMPTY); ok = true
#else
#define BEFORE_WITHDRAW(i, w)
#define WITHDRAW(i, w) CAS(i, w, EMPTY) /* [S3] */
#endif
#ifdef M_SPLIT_MOVE
#define BEFORE_MOVE(i, w) LOAD(i, w)
#define BEGIN_MOVE(i, w) STORE(i, MOVING)
#elif defined(M_NOMOVING)
#define BEFORE_MOVE(i, w)
#define BEGIN_MOVE(i, w) CAS(i, w, EMPTY)
#else
#define BEFORE_MOVE(i, w)
#define BEGIN_MOVE(i, w) CAS(i, w, MOVING) /* [S4] */
#endif
#ifdef M_SPLIT_CLOSE
#define BEFORE_CLOSE() atomic { INSIDE(); first = slot[0] };
#define CLOSE() INSIDE(); slot[0] = CLOSED
#else
#define BEFORE_CLOSE()
#define CLOSE() INSIDE(); first = slot[0]; slot[0] = CLOSED /* [S6] */
#endif

/* Whether a canceller that sets `stop` leaves the withdrawal to somebody else. */
#ifdef M_STOP_UNPARKED
#define TOO_LATE(s) (s & (DONE | STOP))
#elif defined(M_BOTH)
#define TOO_LATE(s) ((s & DONE) || !(s & PARKED))
#else
#define TOO_LATE(s) ((s & (DONE | STOP)) || !(s & PARKED))
#endif

#ifdef M_SLOT_EARLY
#define LOOK_UP_EARLY() INSIDE();
#else
#define LOOK_UP_EARLY() /* the CAS after the announcement is the first use */
#endif

/* Sets s to what was there. [W3] [W5] [W6] */
inline fetch_or(p, bits) { ALIVE(p); s = state[p]; state[p] = s | (bits) }

inline post(q) {
#ifndef M_NOPOST
  ALIVE(q); assert(!posted[q]); posted[q] = true
#else
  skip
#endif
}

inline pin() {
#ifndef M_NOCOUNT
  INSIDE(); pins++ /* [A3] */
#else
  skip
#endif
}
inline unpin() {
#ifndef M_NOCOUNT
  INSIDE(); pins-- /* [A4] */
#else
  skip
#endif
}

/* The first half of `complete`, in the step that took q out of its slot: the outcome. */
inline own(q, how) { ALIVE(q); assert(result[q] == PENDING); result[q] = how }

#ifdef M_NODONE
#define SET_DONE(q) state[q] = s
#else
#define SET_DONE(q) state[q] = s | DONE
#endif
#ifdef M_INPLACE
#define IN_PLACE(me, q) ALONE_HERE(me, q)
#else
#define IN_PLACE(me, q) (ALONE_HERE(me, q) && !limited[q])
#endif

/* The second half of `complete`, unless q is unstoppable and in slot 0: the signal. Sets suspended: whether q must
 * be posted. The load before the first CAS is one step with it: a stale value only makes the CAS fail. */
inline set_done(me, q) {
  do
  :: atomic {
       ALIVE(q); s = state[q]; assert(!(s & DONE));
       if
       :: IN_PLACE(me, q) ->
          assert(s == 0); state[q] = DONE; suspended = false; s = 0; break /* [W7] */
       :: else ->
          if
#ifdef M_COUNT_LATE
          :: !counted ->
             SET_DONE(q); suspended = (s & PARKED) != 0; counted = UNDER_WAY(s); s = 0;
             if :: !counted -> break :: else fi
#else
          :: UNDER_WAY(s) == counted ->
             SET_DONE(q); suspended = (s & PARKED) != 0; counted = false; s = 0; /* [W4] */
#ifndef M_DONE_TWICE
             break
#endif
#endif
          :: else
          fi
       fi
     };
#ifdef M_COUNT_LATE
     atomic { pin(); counted = false; break }
#else
     if
     :: atomic { UNDER_WAY(s) && !counted -> pin(); counted = true; s = 0 }
     :: atomic { !UNDER_WAY(s) && counted -> unpin(); counted = false; s = 0 }
     :: else
     fi
#endif
  od
}

inline end_move() {
#ifndef M_NOMOVING
  INSIDE(); assert(slot[from] == MOVING); slot[from] = EMPTY; /* [S5] */
#endif
  from = 0
}

inline begin_exchange(p) {
  result[p] = PENDING; item[p] = WORD(p); live[p] = true; final[p] = (round == K - 1);
#ifdef M_LIMITS_EARLY
  start_limits(p);
#endif
  spread = HAS_EXECUTOR(p) && !TAKES(p)
}

/* A stop and a deadline are in force from here on. The deadline of a thread is in `sleep`. */
inline start_limits(p) {
  armed[p] = (p < TIMERS && !IS_THREAD(p)); stoppable[p] = p < CANCELS; limited[p] = true
}

inline start_limits_late(p) {
#ifndef M_LIMITS_EARLY
  start_limits(p)
#else
  skip
#endif
}

/* After this no stop and no deadline refers to p. */
#define CAN_FINISH(p) (!stopping[p] && !firing[p])
inline finish(p) { stoppable[p] = false; armed[p] = false }

inline is_known_to_wait(p) { if :: final[p] -> arrived[p] = true :: else fi }

/* Its check is posted; or, for a thread, it spins. */
inline wait_a_turn(p) {
  is_known_to_wait(p);
#ifndef M_NOCHECK
  queued = true;
#endif
  LEAVE(p)
}

/* Whoever completes it posts it. */
inline suspend(p) { is_known_to_wait(p); asleep[p] = true; LEAVE(p) }

/* p has been offered in slot 0, and is not moving any more. */
inline wait_in_list(p) {
  if
  :: SIMPLE(p) -> suspend(p); goto is_suspended
  :: !SIMPLE(p) && (!moved || IS_THREAD(p)) && HAS_EXECUTOR(p) -> wait_a_turn(p); goto check
  :: else ->
     start_limits_late(p); goto park
  fi
}

/* I4: whether we passed by a waiter in slot 0, who is still there. */
#define PASSED_BY() (OFFERED(passed) && slot[0] == passed)

inline choose_slot() { i = 1; do :: i + 1 < S -> i++ :: break od }

/* The rest of `take`, which has found nobody in slot i: the bound may be anywhere. */
inline look_further(p) {
  i++;
  if
  :: i < S -> goto look_above
  :: assert(!PASSED_BY()); result[p] = NO_PARTNER; goto completed
  fi
}

/* `await_resume`, and what its partner and it know then. */
inline finish_claims(p) {
  finish(p);
  assert(!posted[p]);
  assert(result[p] != PENDING);
  assert((result[p] == EXCHANGED) == (mate[p] != NOBODY));
  assert(item[p] == (result[p] == EXCHANGED -> mate[p] : WORD(p)));
  if :: final[p] -> arrived[p] = true; returned[p] = true :: else fi;
  if :: mate_final[p] -> arrived[PARTY(mate[p])] = true :: else fi;
  forget(p);
  LEAVE(p);
  round++;
  if :: round < K -> goto arrive :: else -> goto end_returned fi
}

/* Makes equal what does not matter any more. */
inline forget(p) {
  live[p] = false; state[p] = 0; result[p] = 0; item[p] = 0; limited[p] = false;
  mate[p] = NOBODY; mate_final[p] = false;
  i = 0; s = 0; seen = 0; passed = 0; ok = false; moved = false; queued = false; late = false
}

/* When the frame of party 0 may be destroyed. Not while the exchanger is being destroyed elsewhere. */
#define MAY_ABANDON(p) (p == 0 && final[p] && (!destroying || gone) && CAN_ENTER(p))
inline begin_abandoning(p) { ENTER(p); if :: !gone -> abandoning = true :: else fi }

#ifdef M_STAY
#define CAN_EXPIRE(p) && (i == 0 || (state[p] & DONE))
#else
#define CAN_EXPIRE(p)
#endif
#ifdef M_PARK_ABOVE
#define STAYS(i) true
#else
#define STAYS(i) (i == 0)
#endif

proctype party(byte p) {
  byte round, i, s, seen;
  byte from;      /* the slot that it is moving from, or 0 */
  byte passed;    /* who was in slot 0 when it looked last (I4) */
  bool ok, suspended, counted;
  bool spread;    /* may be offered above slot 0 */
  bool moved;     /* has come from above slot 0 */
  bool queued;    /* its check is in its executor's queue */
  bool late;      /* its deadline, as a thread, is over */

arrive:
  atomic {
    live[p] || CAN_ENTER(p) ->
    if :: !live[p] -> ENTER(p); begin_exchange(p) :: else fi;
    i = 0;
    INSIDE(); seen = slot[0];
    passed = seen;
    if
#ifdef M_PASS_BY
    :: OFFERED(seen) && spread && S > 1 -> i = 1; goto look_above
#endif
    :: seen == EMPTY && TAKES(p) -> look_further(p)
    :: seen == EMPTY && !TAKES(p) -> goto offer
    :: seen == EMPTY && (spread || !HAS_EXECUTOR(p)) && !TAKES(p) && S > 1 ->
       choose_slot(); goto look_above
    :: seen == CLOSED -> result[p] = CLOSED_ON; goto completed
    :: OFFERED(seen) -> goto claim
    fi
  };

look_above:
  atomic {
    INSIDE();
    seen = slot[i];
    if
    :: OFFERED(seen) -> goto claim
    :: !OFFERED(seen) && TAKES(p) -> look_further(p)
    :: seen == EMPTY && !TAKES(p) && spread -> goto offer
    :: seen == MOVING && !TAKES(p) && spread -> spread = false; goto arrive
    :: !OFFERED(seen) && !TAKES(p) && !spread -> i = 0; goto offer
    fi
  };

claim:
  BEFORE_CLAIM(i, seen)
  atomic {
    CLAIM(i, seen);
#ifdef M_TAKE_BLIND
    if :: TAKES(p) -> ok = true :: else fi;
#endif
    passed = EMPTY;
    if
    :: ok -> /* swap_with */
       own(PARTY(seen), EXCHANGED);
       ALIVE(p); result[p] = EXCHANGED;
       s = item[p]; item[p] = item[PARTY(seen)]; item[PARTY(seen)] = s; s = 0;
       mate[p] = seen; mate_final[p] = final[PARTY(seen)];
       mate[PARTY(seen)] = WORD(p); mate_final[PARTY(seen)] = final[p];
       if :: i == 0 && SIMPLE(PARTY(seen)) -> suspended = true; goto completed :: else fi
    :: !ok && i != 0 && TAKES(p) -> look_further(p)
#ifdef M_STALE
    :: else -> goto claim
#else
    :: else -> goto arrive /* collided */
#endif
    fi
  };
  set_done(p, PARTY(seen));
  goto completed;

offer:
  BEFORE_OFFER(i)
  atomic {
    OFFER(i, WORD(p));
    if
    :: !ok -> goto arrive
    :: ok && i != 0 -> assert(!PASSED_BY()); wait_a_turn(p); goto check
    :: ok && i == 0 && from == 0 -> wait_in_list(p)
#ifdef POOL
    :: ok && i == 0 && from != 0 && SIMPLE(p) ->
       left_behind[p] = from; from = 0; suspend(p); goto is_suspended
    :: ok && i == 0 && from != 0 && !SIMPLE(p)
#else
    :: ok && i == 0 && from != 0
#endif
    fi
  };
  atomic { end_move(); wait_in_list(p) };

check: /* or a thread has spun */
  if
  :: atomic {
       queued && CAN_ENTER(p) CAN_EXPIRE(p) ->
       ENTER(p); queued = false; ok = false;
       ALIVE(p); s = state[p]; /* [W1] */
#if defined(M_BLIND) || defined(M_NOLOOK)
       s = 0;
#endif
       if
       :: s & DONE -> goto completed
       :: !(s & DONE) && STAYS(i) -> start_limits_late(p); goto park
       :: !(s & DONE) && !STAYS(i)
       fi
     }
#ifdef ABANDON
  :: atomic { MAY_ABANDON(p) -> begin_abandoning(p) }; goto abandon
#endif
  fi;
  LOOK_UP_EARLY()
  atomic {
    fetch_or(p, LEAVING); /* [W5] */
#ifndef M_BLIND
    if :: s & DONE -> goto completed :: else -> s = 0 fi;
#endif
  };
#ifdef M_RESET_EARLY
  state[p] = 0;
#endif
  BEFORE_MOVE(i, WORD(p))
  atomic {
    BEGIN_MOVE(i, WORD(p));
#ifdef M_WITHDRAW_BLIND
    ok = true;
#endif
    if
    :: ok ->
#ifndef M_RESET_EARLY
       ALIVE(p); assert(state[p] == LEAVING); state[p] = 0; /* a plain store: nobody else is at it */
#endif
#ifndef M_NOMOVING
       from = i;
#endif
       moved = true; spread = false; ok = false;
       goto arrive
    :: else
    fi
  };
  atomic { /* withdraw_failed */
    fetch_or(p, LEFT); /* [W6] */
    if :: s & DONE -> s = 0 :: else -> s = 0; wait_a_turn(p); goto claimed fi
  };
  atomic { unpin(); goto completed };

claimed: /* its check is posted again and again, until its partner has finished */
  if
  :: atomic { (state[p] & DONE) && CAN_ENTER(p) -> ALIVE(p); ENTER(p); queued = false; goto completed }
#ifdef ABANDON
  :: atomic { MAY_ABANDON(p) -> begin_abandoning(p) }; goto abandon
#endif
  fi;

park:
#ifdef M_PARKFIRST
  atomic {
    fetch_or(p, PARKED);
    if
    :: !(s & (DONE | STOP)) -> s = 0; suspend(p); goto is_suspended
    :: s & DONE -> goto completed
    :: else
    fi
  };
#else
  atomic {
    ALIVE(p); s = state[p]; /* [W2] */
    if
    :: s == 0 -> state[p] = PARKED; suspend(p); goto is_suspended
    :: s & DONE -> goto completed
    :: else
    fi
  };
#endif
  atomic {
    fetch_or(p, LEAVING); /* [W5] */
    if :: s & DONE -> goto completed :: else fi
  };
  BEFORE_WITHDRAW(0, WORD(p))
  atomic {
    WITHDRAW(0, WORD(p));
    if
    :: ok -> assert(s & STOP); own(p, REASON(s)); goto completed
    :: else -> s = 0
    fi
  };
  atomic { /* withdraw_failed */
#ifdef M_NOLEFT
    fetch_or(p, PARKED);
#else
    fetch_or(p, LEFT | PARKED); /* [W6] */
#endif
    if :: s & DONE -> s = 0 :: else -> s = 0; suspend(p); goto is_suspended fi
  };
  atomic { unpin(); goto completed };

is_suspended:
  if
  :: atomic {
       posted[p] && CAN_ENTER(p) && CAN_FINISH(p) ->
       posted[p] = false; asleep[p] = false; ENTER(p); finish_claims(p)
     }
  :: atomic { /* sleep: park_until has returned false */
       IS_THREAD(p) && p < TIMERS && !late ->
       late = true; ok = false;
       fetch_or(p, STOP | EXPIRED); /* [W3] */
       if
       :: TOO_LATE(s) -> s = 0; goto is_suspended
       :: else -> s = 0; asleep[p] = false
       fi
     }
#ifdef ABANDON
  :: atomic {
       MAY_ABANDON(p) && (!gone || posted[p]) -> begin_abandoning(p); asleep[p] = false;
       goto abandon
     }
#endif
  fi;
  BEFORE_WITHDRAW(0, WORD(p))
  atomic { WITHDRAW(0, WORD(p)); if :: ok -> own(p, TIMED_OUT) :: else fi };
  if
  :: atomic {
       ok -> ok = false; post(p);
#ifdef M_NOTOKEN
       goto completed
#else
       asleep[p] = true; goto is_suspended
#endif
     }
  :: atomic { /* withdraw_failed */
       !ok ->
       fetch_or(p, LEFT); /* [W6] */
       if :: s & DONE -> s = 0 :: else -> s = 0; asleep[p] = true; goto is_suspended fi
     }
  fi;
  atomic { unpin(); asleep[p] = true; goto is_suspended };

completed: /* what is left to do for whom it has claimed; then `await_resume` */
  do
  :: atomic { from != 0 -> end_move() }
  :: atomic {
       from == 0 && suspended ->
       post(PARTY(seen));
#ifndef M_POST_TWICE
       suspended = false
#endif
     }
  :: atomic { from == 0 && !suspended && CAN_FINISH(p) -> finish_claims(p) }
  od;

#ifdef ABANDON
abandon: /* its frame is being destroyed, on its executor */
  atomic {
    CAN_FINISH(p) -> finish(p); ok = false;
    if
    :: queued -> queued = false /* the check is retracted; nobody else posts it */
    :: !queued && posted[p] -> posted[p] = false; goto is_abandoned /* the resumption is retracted */
    :: !queued && !posted[p] && SIMPLE(p) -> goto abandon_simple
    :: else -> goto abandon_parked
    fi
  };
  /* try_withdraw */
  do
  :: LOOK_UP_EARLY()
     atomic {
       fetch_or(p, LEAVING); /* [W5] */
       if
       :: s & DONE -> goto is_abandoned
       :: !(s & DONE) && (s & LEFT) -> s = 0; goto abandon_claimed
       :: else -> s = 0
       fi
     };
     BEFORE_WITHDRAW(i, WORD(p))
     atomic { WITHDRAW(i, WORD(p)); if :: ok -> goto is_abandoned :: else fi };
     atomic { fetch_or(p, LEFT); if :: s & DONE -> s = 0 :: else -> s = 0; goto abandon_claimed fi }; /* [W6] */
     atomic { unpin(); goto is_abandoned }
  od;
abandon_claimed:
  atomic { (state[p] & DONE) -> goto is_abandoned };

abandon_simple:
  BEFORE_WITHDRAW(0, WORD(p))
  atomic { WITHDRAW(0, WORD(p)); if :: ok -> goto is_abandoned :: else -> goto abandon_posted fi };

abandon_parked: /* try_withdraw */
  atomic {
    fetch_or(p, LEAVING); /* [W5] */
    if :: s & (DONE | LEFT) -> s = 0; goto abandon_posted :: else -> s = 0 fi
  };
  BEFORE_WITHDRAW(0, WORD(p))
  atomic { WITHDRAW(0, WORD(p)); if :: ok -> goto is_abandoned :: else fi };
  atomic { fetch_or(p, LEFT); if :: s & DONE -> s = 0 :: else -> s = 0; goto abandon_posted fi }; /* [W6] */
  atomic { unpin() };

abandon_posted: /* its resumption is about to be */
  atomic { posted[p] -> posted[p] = false };

is_abandoned:
  atomic {
    abandoning = false; arrived[p] = true; returned[p] = true; forget(p); LEAVE(p)
  };
#endif

end_returned:
  false
}

inline has_fired(p) {
  if :: why == STOP -> stopping[p] = false :: else -> firing[p] = false fi;
  p = 0
}

/* A stop callback (why: STOP) or a timer (why: STOP | EXPIRED) of p, which comes once or never. With PICK,
 * of anybody. */
proctype canceller(byte p; byte why) {
  byte s; bool ok;
end_idle:
  atomic {
    if
#ifdef PICK
    :: why == STOP && stoppable[0] -> p = 0
    :: why == STOP && stoppable[1] -> p = 1
#if N > 2
    :: why == STOP && stoppable[2] -> p = 2
#endif
#if N > 3
    :: why == STOP && stoppable[3] -> p = 3
#endif
#else
    :: why == STOP && stoppable[p]
#endif
    :: why != STOP && armed[p]
    fi;
    if :: why == STOP -> stoppable[p] = false :: else -> armed[p] = false fi;
    fetch_or(p, why); /* [W3] */
    if
    :: TOO_LATE(s) -> s = 0; goto end_over
    :: why == STOP && !TOO_LATE(s) -> stopping[p] = true; s = 0
    :: why != STOP && !TOO_LATE(s) -> firing[p] = true; s = 0
    fi
  };
  BEFORE_WITHDRAW(0, WORD(p))
  atomic { WITHDRAW(0, WORD(p)); if :: ok -> own(p, REASON(why)) :: else fi };
  if
  :: atomic { ok -> post(p); has_fired(p); goto end_over }
  :: atomic { /* withdraw_failed */
       !ok ->
       fetch_or(p, LEFT); /* [W6] */
       if :: s & DONE -> s = 0 :: else -> s = 0; has_fired(p); goto end_over fi
     }
  fi;
  atomic { unpin(); has_fired(p) };
end_over:
  false
}

/* The first step of `close`, after which the waiter in slot 0 is the closer's. */
inline close_list() {
  CLOSE();
#ifdef M_CLOSE_FORGETS
  first = NOBODY;
#endif
  if :: OFFERED(first) -> own(PARTY(first), CLOSED_ON) :: else -> first = NOBODY fi;
  i = 1
}

/* The others. */
inline close_spread() {
#ifndef M_CLOSE_LIST_ONLY
  do
  :: atomic {
       i < S ->
       INSIDE(); seen = slot[i];
       if :: !OFFERED(seen) -> seen = 0; i++ :: else fi
     };
     if
     :: seen != 0 ->
        BEFORE_CLAIM(i, seen)
        atomic {
          CLAIM(i, seen); i++;
          if :: ok -> own(PARTY(seen), CLOSED_ON) :: else -> seen = 0 fi
        };
        if :: seen != 0 -> set_done(me, PARTY(seen)); assert(!suspended); seen = 0 :: else fi
     :: else
     fi
  :: i == S -> break
  od;
#endif
  if
  :: first != NOBODY && SIMPLE(PARTY(first)) -> suspended = true
  :: first != NOBODY && !SIMPLE(PARTY(first)) -> set_done(me, PARTY(first))
  :: else
  fi;
  if :: atomic { suspended -> post(PARTY(first)); suspended = false } :: !suspended fi;
  first = NOBODY
}

proctype closer() {
  byte me, i, s, seen, first; bool ok, suspended, counted;
end_idle:
  BEFORE_CLOSE()
  atomic { !destroying -> closing = true; CHOOSE_THREAD(me); close_list() };
  close_spread();
  atomic { LEAVE(me); closing = false };
end_over:
  false
}

/* Somebody may destroy the exchanger who knows that no operation will arrive any more: because each party
 * is suspended in its last exchange, or back from it, or was met in it by one who is back. */
#if N == 2
#define ALL(what) (what(0) && what(1))
#define HOW_MANY(what) (what(0) + what(1))
#elif N == 3
#define ALL(what) (what(0) && what(1) && what(2))
#define HOW_MANY(what) (what(0) + what(1) + what(2))
#elif N == 4
#define ALL(what) (what(0) && what(1) && what(2) && what(3))
#define HOW_MANY(what) (what(0) + what(1) + what(2) + what(3))
#else
#error "N is 2, 3 or 4"
#endif
#define HAS_ARRIVED(p) arrived[p]
#define MAY_DESTROY (ALL(HAS_ARRIVED) && !closing && !abandoning)

#ifdef QUIET
#define RESTS(p) (returned[p] || (asleep[p] && !posted[p] && !stopping[p] && !firing[p]))
#define WAITS(p) (!returned[p])
#define WAITS_IN_LIST(p) (returned[p] || slot[0] == WORD(p))
#define IS_TIME (MAY_DESTROY && ALL(RESTS))
#else
#define IS_TIME MAY_DESTROY
#endif

proctype destroyer() {
  byte me, i, s, seen, first; bool ok, suspended, counted;
  atomic {
    IS_TIME -> destroying = true;
#ifdef QUIET
    assert(ALL(WAITS_IN_LIST)); /* I2 */
    assert(HOW_MANY(WAITS) <= 1); /* I3 */
#endif
    CHOOSE_THREAD(me)
  };
  BEFORE_CLOSE()
  atomic { close_list() };
  close_spread();
  i = 1;
  do
  :: atomic { i < S && slot[i] != MOVING -> i++ } /* [S7] */
  :: i == S -> break
  od;
#ifdef M_NODRAIN
  atomic { gone = true; LEAVE(me) };
#else
  atomic { pins == 0 -> gone = true; LEAVE(me) }; /* [A5] */
#endif
end_over:
  false
}

#ifdef POOL
/* On another thread of the pool, the end of the step in which p moved to slot 0. */
proctype rest_of_move(byte p) {
end_idle:
  do
  :: atomic {
       left_behind[p] != 0 ->
       INSIDE(); assert(slot[left_behind[p]] == MOVING); slot[left_behind[p]] = EMPTY; /* [S5] */
       left_behind[p] = 0
     }
  od
}
#endif

init {
  byte k;
  atomic {
    for (k : 0 .. N - 1) { run party(k) };
    k = 0;
#ifdef PICK
    run canceller(0, STOP);
#else
    do :: k < CANCELS -> run canceller(k, STOP); k++ :: else -> break od;
    k = 0;
#endif
    do
    :: k < TIMERS -> if :: IS_THREAD(k) :: else -> run canceller(k, STOP | EXPIRED) fi; k++
    :: else -> break
    od;
    k = 0;
#ifdef CLOSER
    run closer();
#endif
    run destroyer();
#ifdef POOL
    for (k : 0 .. N - 1) { run rest_of_move(k) };
#endif
    k = 0
  }
}
