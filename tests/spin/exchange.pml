/* SPDX-License-Identifier: MIT
 *
 * The protocol of an exchange: protocol.hpp, waiter.hpp (W1), slot.hpp (R1), the stragglers of arena.hpp
 * and what exchange_operation.hpp does around them (limits, check, finish, abandon). Step for step, one
 * step for each atomic access; labels in brackets are the headers'. Sequentially consistent.
 *
 *   parties    N coroutines make K exchanges each, one waiter (that is: one address) per party
 *   cancellers a stop callback for each party below CANCELS, a timer for each below TIMERS
 *   closer     with CLOSER, closes once, at any time or never
 *   destroyer  destroys the exchanger as soon as any party is allowed to
 *
 * Claimed: nobody touches the exchanger after its end (INSIDE), nor a waiter after its owner finished
 * (ALIVE, R1); each waiter is completed once, and items are swapped or kept; the destructor ends, and
 * nobody waits for ever (else spin reports an invalid end state); with QUIET, R2 and R3.
 *
 * Options: -DN -DS (slots) -DK -DCANCELS -DTIMERS -DCLOSER
 *   -DBARE=mask   parties without executor: in slot 0 only, and resumed by whoever completes them
 *   -DSHARED      parties 0 and 1, the closer and the destroyer may run on one serial executor
 *   -DABANDON     party 0's frame may be destroyed while it is suspended in its last exchange
 *   -DQUIET       destroys only when nothing else can happen any more, and checks R3 first
 * Mutants, each a mistake that must be found:
 *   -DM_NOCOUNT      nobody counts stragglers (W1)
 *   -DM_COUNT_LATE   `complete` counts a withdrawal under way after it has set `done`, not before
 *   -DM_SLOT_EARLY   the slot is looked up before the withdrawal from it is announced
 *   -DM_NOMOVING     no `moving` between a slot above 0 and slot 0
 *   -DM_PARKFIRST    `parked` is set before a stop that came earlier has been served
 *   -DM_NOLEFT       an owner whose withdrawal failed does not say so when it parks
 *   -DM_STAY         an offer above slot 0 does not expire (R2)
 *   -DM_RESET_EARLY  the signal is cleared before the waiter is out of its slot
 *   -DM_LIMITS_EARLY stop and deadline are in force from the first offer on
 *   -DM_INPLACE      [W8] is used for limited waiters, too */
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

/* A slot's word: one of these, or a party's number plus one. */
#define EMPTY 0
#define CLOSED 250
#define MOVING 251
#define WORD(p) (p + 1)
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
#define REASON(s) ((s & EXPIRED) -> TIMED_OUT : CANCELLED)

#define NOBODY 255
#define STRANGER 200 /* a closer that runs on nobody's executor */

/* The exchanger */
byte slot[S];
short stragglers;
bool gone; /* it has been destroyed */
bool destroying, closing, abandoning;

/* The waiters */
byte state[N], result[N], item[N];
bool limited[N];
bool live[N];       /* exists */
bool posted[N];     /* is in its executor's queue, to be resumed */
bool stoppable[N], stopping[N];   /* its stop callback is registered, runs */
bool armed[N], firing[N];         /* so its timer */

/* What the parties know */
byte mate[N];       /* its partner */
bool final[N];      /* it is in its last exchange */
bool mate_final[N]; /* so was its partner, when they met */
bool arrived[N];    /* it is known to be suspended in its last exchange, or back from it */
bool returned[N];   /* back from it */
bool dead[N];       /* its frame was destroyed instead */

#define SIMPLE(p) (p >= CANCELS && p >= TIMERS)
#define HAS_EXECUTOR(p) (((BARE >> p) & 1) == 0)

#define INSIDE() assert(!gone)
#define ALIVE(q) assert(live[q])

#ifdef SHARED
bool busy; /* somebody runs on the executor of parties 0 and 1 */
#define ALONE_HERE(me, q) (me < 2 && q < 2)
#define ENTER(p) if :: p < 2 -> atomic { !busy -> busy = true } :: else fi
#define LEAVE(p) if :: p < 2 -> busy = false :: else fi
#define CHOOSE_THREAD(me) if :: me = STRANGER :: me = 0 fi; ENTER(me)
#else
#define ALONE_HERE(me, q) false
#define ENTER(p) skip
#define LEAVE(p) skip
#define CHOOSE_THREAD(me) me = STRANGER
#endif

#ifdef M_SLOT_EARLY
#define LOOK_UP_EARLY() INSIDE()
#else
#define LOOK_UP_EARLY() skip /* the CAS after the announcement is the first use */
#endif

inline cas(i, from, to) {
  atomic { INSIDE(); if :: slot[i] == from -> slot[i] = to; ok = true :: else -> ok = false fi }
}

/* Sets s to what was there. [W4] [W6] [W7] */
inline fetch_or(p, bits) { atomic { ALIVE(p); s = state[p]; state[p] = s | (bits) } }

inline post(q) { atomic { ALIVE(q); assert(!posted[q]); posted[q] = true } }

inline begin_straggling() {
#ifndef M_NOCOUNT
  atomic { INSIDE(); stragglers++ } /* [A3] */
#else
  skip
#endif
}
inline end_straggling() {
#ifndef M_NOCOUNT
  atomic { INSIDE(); stragglers-- } /* [A4] */
#else
  skip
#endif
}

/* Sets s to what was there when `left` was set. [W7] */
inline retire(p, also) {
  fetch_or(p, LEFT | also);
  if :: s & DONE -> end_straggling() :: else fi
}

/* Completes q. Sets suspended: whether q must be posted. */
inline complete(me, q, how, at_home) {
  atomic { ALIVE(q); assert(result[q] == PENDING); result[q] = how };
  if
  :: at_home && SIMPLE(q) -> suspended = true
#ifdef M_INPLACE
  :: !(at_home && SIMPLE(q)) && ALONE_HERE(me, q) ->
#else
  :: !(at_home && SIMPLE(q)) && ALONE_HERE(me, q) && !limited[q] ->
#endif
     atomic { ALIVE(q); assert(state[q] == 0); state[q] = DONE; suspended = false } /* [W8] */
  :: else ->
#ifdef M_COUNT_LATE
     fetch_or(q, DONE); suspended = (s & PARKED) != 0;
     if :: UNDER_WAY(s) -> begin_straggling() :: else fi
#else
     counted = false;
     atomic { ALIVE(q); s = state[q] };
     do
     :: if
        :: UNDER_WAY(s) && !counted -> begin_straggling(); counted = true
        :: !UNDER_WAY(s) && counted -> end_straggling(); counted = false
        :: else
        fi;
        atomic { ALIVE(q); /* [W5] */
          if
          :: state[q] == s -> state[q] = s | DONE; suspended = (s & PARKED) != 0; break
          :: else -> s = state[q]
          fi
        }
     od
#endif
  fi
}

inline end_move() {
  if
  :: from != 0 ->
     atomic {
#ifndef M_NOMOVING
       INSIDE(); assert(slot[from] == MOVING); slot[from] = EMPTY; /* [S5] */
#endif
       from = 0
     }
  :: else
  fi
}

/* p has claimed q. */
inline swap_with(p, q, at_home) {
  atomic {
    ALIVE(p); ALIVE(q);
    s = item[p]; item[p] = item[q]; item[q] = s;
    mate[p] = q; mate_final[p] = final[q];
    mate[q] = p; mate_final[q] = final[p];
    result[p] = EXCHANGED
  };
  complete(p, q, EXCHANGED, at_home);
  end_move();
  if :: suspended -> assert(at_home); post(q) :: else fi
}

/* After this no stop and no deadline refers to p. */
inline finish(p) { atomic { stoppable[p] = false; !stopping[p]; armed[p] = false; !firing[p] } }

inline start_limits(p) {
  atomic { armed[p] = p < TIMERS; stoppable[p] = p < CANCELS; limited[p] = true }
}

/* When the frame of party 0 may be destroyed. Not while the exchanger is being destroyed elsewhere. */
#define MAY_ABANDON(p) (p == 0 && final[p] && (!destroying || gone))
inline begin_abandoning() { if :: !gone -> abandoning = true :: else fi }

proctype party(byte p) {
  byte round, i, q, s, seen;
  byte from;      /* the slot that it is moving from, or 0 */
  bool ok, suspended, counted;
  bool spread;    /* may be offered above slot 0 */
  bool moved;     /* has come from above slot 0 */
  bool queued;    /* its check is in its executor's queue */

next_exchange:
  atomic {
    state[p] = 0; result[p] = PENDING; item[p] = WORD(p); mate[p] = NOBODY; limited[p] = false;
    live[p] = true; final[p] = (round == K - 1);
    spread = HAS_EXECUTOR(p); from = 0; moved = false; queued = false
  };
  ENTER(p);
#ifdef M_LIMITS_EARLY
  start_limits(p);
#endif

arrive:
  atomic { INSIDE(); seen = slot[0] };
  if
  :: seen == EMPTY
  :: seen == CLOSED -> result[p] = CLOSED_ON; end_move(); goto settled
  :: else ->
     q = seen - 1;
     cas(0, seen, EMPTY); /* [S2] */
     if
     :: ok -> swap_with(p, q, true); goto settled
     :: else -> INSIDE(); goto arrive /* collided */
     fi
  fi;
  i = 0;
  if :: spread -> select (i : 0 .. S - 1) :: else fi;
  if
  :: i == 0 ->
     cas(0, EMPTY, WORD(p)); /* [S1] */
     if
     :: ok -> end_move(); goto waiting
     :: else -> goto arrive
     fi
  :: else ->
     atomic { INSIDE(); seen = slot[i] };
     if
     :: seen == EMPTY ->
        cas(i, EMPTY, WORD(p)); /* [S1] */
        if
        :: ok -> goto a_turn
        :: else -> goto arrive
        fi
     :: seen == MOVING -> spread = false; goto arrive
     :: else ->
        q = seen - 1;
        cas(i, seen, EMPTY); /* [S2] */
        if
        :: ok -> swap_with(p, q, false); goto settled
        :: else -> INSIDE(); goto arrive /* collided */
        fi
     fi
  fi;

waiting: /* in slot 0 */
  if
  :: SIMPLE(p) -> goto is_suspended
  :: !SIMPLE(p) && !moved && HAS_EXECUTOR(p) -> goto a_turn
  :: else
  fi;

park:
#ifndef M_LIMITS_EARLY
  start_limits(p);
#endif
#ifdef M_PARKFIRST
  fetch_or(p, PARKED);
  if :: !(s & (DONE | STOP)) -> goto is_suspended :: else fi;
#else
  atomic { /* [W2] */
    ALIVE(p); s = state[p];
    if :: s == 0 -> state[p] = PARKED; goto is_suspended :: else fi
  };
#endif
  if :: !(s & DONE) -> fetch_or(p, LEAVING) /* [W6] */ :: else fi;
  if :: s & DONE -> goto settled :: else fi;
  cas(0, WORD(p), EMPTY); /* [S3] */
  if
  :: ok -> atomic { assert(s & STOP); assert(result[p] == PENDING); result[p] = REASON(s) }; goto settled
  :: else ->
#ifdef M_NOLEFT
     fetch_or(p, PARKED);
     if :: s & DONE -> end_straggling() :: else fi;
#else
     retire(p, PARKED);
#endif
     if :: s & DONE -> goto settled :: else -> goto is_suspended fi
  fi;

a_turn: /* its check is posted */
  if :: final[p] -> arrived[p] = true :: else fi;
  queued = true;
  LEAVE(p);
#ifdef M_STAY
  if :: i != 0 -> (state[p] & DONE) :: else fi;
#endif

check:
  ENTER(p);
#ifdef ABANDON
  if
  :: atomic { MAY_ABANDON(p) -> begin_abandoning() }; goto abandon
  :: true
  fi;
#endif
  queued = false;
  atomic { ALIVE(p); s = state[p] }; /* [W1] */
  if
  :: s & DONE -> goto settled
  :: !(s & DONE) && i == 0 -> goto park
  :: else
  fi;
  LOOK_UP_EARLY();
  fetch_or(p, LEAVING); /* [W6] */
  if
  :: s & DONE -> goto settled
  :: !(s & DONE) && (s & LEFT) -> goto claimed
  :: else
  fi;
#ifdef M_RESET_EARLY
  state[p] = 0;
#endif
#ifdef M_NOMOVING
  cas(i, WORD(p), EMPTY); /* [S3] */
#else
  cas(i, WORD(p), MOVING); /* [S4] */
#endif
  if
  :: ok -> goto expired
  :: else ->
     retire(p, 0);
     if :: s & DONE -> goto settled :: else -> goto claimed fi
  fi;

claimed: /* its check is posted again and again, until its partner has finished */
  queued = true;
  LEAVE(p);
  if
  :: (state[p] & DONE) -> goto check
#ifdef ABANDON
  :: atomic { MAY_ABANDON(p) -> begin_abandoning() }; ENTER(p); goto abandon
#endif
  fi;

expired:
  INSIDE(); /* the arena shrinks */
#ifndef M_RESET_EARLY
  atomic { ALIVE(p); assert(state[p] == LEAVING); state[p] = 0 }; /* a plain store: nobody else is at it */
#endif
  moved = true; from = i; spread = false;
  goto arrive;

is_suspended: /* whoever completes it posts it */
  if :: final[p] -> arrived[p] = true :: else fi;
  LEAVE(p);
  if
  :: posted[p] -> posted[p] = false; ENTER(p); goto settled
#ifdef ABANDON
  :: atomic { MAY_ABANDON(p) && (!gone || posted[p]) -> begin_abandoning() }; ENTER(p); goto abandon
#endif
  fi;

abandon: /* its frame is being destroyed, on its executor */
  finish(p);
  if
  :: queued -> /* the check is retracted; nobody else posts it */
     do
     :: LOOK_UP_EARLY();
        fetch_or(p, LEAVING); /* [W6] */
        if
        :: s & DONE -> break
        :: !(s & DONE) && (s & LEFT) -> (state[p] & DONE)
        :: else ->
           cas(i, WORD(p), EMPTY); /* [S3] */
           if :: ok -> break :: else fi;
           retire(p, 0);
           if :: s & DONE -> break :: else fi
        fi
     od
  :: !queued && posted[p] -> posted[p] = false /* the resumption is retracted */
  :: else -> /* parked, or simple, in slot 0 */
     ok = false;
     if
     :: SIMPLE(p) -> cas(0, WORD(p), EMPTY) /* [S3] */
     :: else ->
        fetch_or(p, LEAVING); /* [W6] */
        if
        :: s & (DONE | LEFT)
        :: else ->
           cas(0, WORD(p), EMPTY); /* [S3] */
           if :: ok :: else -> retire(p, 0) fi
        fi
     fi;
     if :: ok :: else -> posted[p]; posted[p] = false fi
  fi;
  atomic { live[p] = false; dead[p] = true; abandoning = false; arrived[p] = true; returned[p] = true };
  LEAVE(p);
  goto out;

settled: /* await_resume */
  finish(p);
  atomic {
    assert(!posted[p]);
    assert(result[p] != PENDING);
    assert((result[p] == EXCHANGED) == (mate[p] != NOBODY));
    assert(item[p] == (result[p] == EXCHANGED -> WORD(mate[p]) : WORD(p)));
    live[p] = false;
    if :: final[p] -> arrived[p] = true; returned[p] = true :: else fi
  };
  LEAVE(p);
  round++;
  if :: round < K -> goto next_exchange :: else fi;
out: skip
}

/* A stop callback (why: STOP) or a timer (why: STOP | EXPIRED) of p, which comes once or never. */
proctype canceller(byte p; byte why) {
  byte s; bool ok;
  if
  :: atomic { why == STOP && stoppable[p] -> stoppable[p] = false; stopping[p] = true }
  :: atomic { why != STOP && armed[p] -> armed[p] = false; firing[p] = true }
  :: goto out
  fi;
  fetch_or(p, why); /* [W4] */
  if
  :: (s & (DONE | STOP)) || !(s & PARKED)
  :: else ->
     cas(0, WORD(p), EMPTY); /* [S3] */
     if
     :: ok -> atomic { ALIVE(p); assert(result[p] == PENDING); result[p] = REASON(why) }; post(p)
     :: else -> retire(p, 0)
     fi
  fi;
  if :: why == STOP -> stopping[p] = false :: else -> firing[p] = false fi;
out: skip
}

inline close() {
  atomic { INSIDE(); first = slot[0]; slot[0] = CLOSED }; /* [S6] */
  i = 1;
  do
  :: i < S ->
     atomic { INSIDE(); seen = slot[i] };
     if
     :: OFFERED(seen) ->
        q = seen - 1;
        cas(i, seen, EMPTY); /* [S2] */
        if :: ok -> complete(me, q, CLOSED_ON, false); assert(!suspended) :: else fi
     :: else
     fi;
     i++
  :: else -> break
  od;
  if
  :: OFFERED(first) ->
     q = first - 1;
     complete(me, q, CLOSED_ON, true);
     if :: suspended -> post(q) :: else fi
  :: else
  fi
}

proctype closer() {
  byte me, i, q, s, seen, first; bool ok, suspended, counted;
  if
  :: atomic { !destroying -> closing = true };
     CHOOSE_THREAD(me);
     close();
     LEAVE(me);
     closing = false
  :: true
  fi
}

/* Somebody may destroy the exchanger who knows that no operation will arrive any more: a party that is
 * back from its last exchange, if each other is suspended in its own, or back, or was its partner ("on
 * the way back"); or anybody, once all are suspended or back. */
#define NO_MORE(p, q) (arrived[q] || (mate[p] == q && mate_final[p]))
#define BACK(p) (returned[p] && !dead[p])
#if N == 2
#define MAY_DESTROY ((BACK(0) && NO_MORE(0, 1)) || (BACK(1) && NO_MORE(1, 0)) || (arrived[0] && arrived[1]))
#elif N == 3
#define MAY_DESTROY ((BACK(0) && NO_MORE(0, 1) && NO_MORE(0, 2)) || \
                     (BACK(1) && NO_MORE(1, 0) && NO_MORE(1, 2)) || \
                     (BACK(2) && NO_MORE(2, 0) && NO_MORE(2, 1)) || \
                     (arrived[0] && arrived[1] && arrived[2]))
#else
#error "N is 2 or 3"
#endif

proctype destroyer() {
  byte me, i, q, s, seen, first; bool ok, suspended, counted;
#ifdef QUIET
  timeout;
  d_step { /* R3 */
    i = 0; q = 0;
    do
    :: i < N ->
       if
       :: !returned[i] -> q++; assert(slot[0] == WORD(i)) /* R2 */
       :: else
       fi;
       i++
    :: else -> break
    od;
    assert(q <= 1);
    i = 0; q = 0
  };
#endif
  atomic { MAY_DESTROY && !closing && !abandoning -> destroying = true };
  CHOOSE_THREAD(me);
  close();
  i = 1;
  do
  :: i < S -> slot[i] != MOVING; i++ /* [S7] */
  :: else -> break
  od;
  atomic { stragglers == 0 -> gone = true }; /* [A5] */
  LEAVE(me)
}

init {
  byte k;
  atomic {
    for (k : 0 .. N - 1) { mate[k] = NOBODY };
    for (k : 0 .. N - 1) { run party(k) };
    k = 0; do :: k < CANCELS -> run canceller(k, STOP); k++ :: else -> break od;
    k = 0; do :: k < TIMERS -> run canceller(k, STOP | EXPIRED); k++ :: else -> break od;
#ifdef CLOSER
    run closer();
#endif
    run destroyer()
  };
  _nr_pr == 1;
  assert(gone && stragglers == 0)
}
