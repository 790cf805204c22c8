/* SPDX-License-Identifier: MIT
 *
 * Selections: the protocol of select.hpp, above what exchange.pml has of an exchange. One word per selection, one
 * waiter (node) per case. Sequentially consistent; a step (`atomic`) is as in exchange.pml.
 *
 *   exchangers E (2 or 3), numbered in the order of their addresses: one slot each, or with LIST a wait list of two
 *              colours, reduced to a set. Any waiter of the other colour may be claimed; a withdrawal is pinned and
 *              takes several steps; a closer takes the waiters out one by one, and keeps the last in hand.
 *   parties    N (2 to 4). C0 to C3: the exchangers of each, as a mask. D0 to D3: those of a second operation, if any
 *   cancellers a stop callback for each party of CANCELS, a timer for each of TIMERS
 *   destroyer  destroys the exchangers, each when its time has come
 *
 * Claimed: each operation is committed once, to a mutual partner at the same exchanger (`own`), and posted once;
 * nobody touches an exchanger after its end (INSIDE) or a frame after its end (ALIVE); when a frame ends, each of its
 * nodes is out of its list; nobody waits for ever (else spin reports an invalid end state); with QUIET, when nothing
 * moves any more, no two parties wait that could meet, none waits at a closed exchanger, and none that was stopped.
 *
 * Options:
 *   -DSELECTS=mask parties that are selections; the others have one case, and cannot be stopped
 *   -DTAKERS=mask  parties that only try: of a selection, the poll alone
 *   -DBARE=mask    parties without executor: whoever posts them resumes them, and goes on when they are suspended
 *   -DPERSISTS=mask parties that begin their second operation even if the first has found its exchanger closed
 *   -DTHREADS=mask selections by threads: their deadline ends their sleep; nobody has to post
 *   -DCHUNK        a selection releases its hold between any two cases
 *   -DBLUES=mask   with LIST: bit p * E + e says that party p is blue at exchanger e
 *   -DCLOSER=e     somebody closes exchanger e, once, at any time or never
 *   -DABANDON      the frame of party 0 may be destroyed while it is suspended in its last operation
 *   -DQUIET        destroys only when all parties are back or asleep and nobody is under way, and
 *                 in the order of their addresses
 * Mutants (-DM_...), each a mistake that must be found: see `run`. */
#ifndef N
#define N 2
#endif
#ifndef E
#define E 2
#endif
#ifndef SELECTS
#define SELECTS 3
#endif
#ifndef TAKERS
#define TAKERS 0
#endif
#ifndef BARE
#define BARE 0
#endif
#ifndef THREADS
#define THREADS 0
#endif
#ifndef PERSISTS
#define PERSISTS 0
#endif
#ifndef CANCELS
#define CANCELS 0
#endif
#ifndef TIMERS
#define TIMERS 0
#endif
#ifndef BLUES
#define BLUES 0
#endif
#ifndef C0
#define C0 3
#endif
#ifndef C1
#define C1 3
#endif
#ifndef C2
#define C2 3
#endif
#ifndef C3
#define C3 3
#endif
#ifndef D0
#define D0 0
#endif
#ifndef D1
#define D1 0
#endif
#ifndef D2
#define D2 0
#endif
#ifndef D3
#define D3 0
#endif
#if (BARE) & (THREADS) || (THREADS) & ~(SELECTS) || (CANCELS) & ~(SELECTS) || (TIMERS) & ~(SELECTS)
#error "a thread has an executor; only selections are threads, or have limits"
#endif

#define IN(mask, p) (((mask) >> (p)) & 1)
#define SELECTION(p) IN(SELECTS, p)
#define TAKES(p) IN(TAKERS, p)
#define HAS_EXECUTOR(p) (!IN(BARE, p))
#define IS_THREAD(p) IN(THREADS, p)
#define LIMITED(p) (IN(CANCELS, p) || IN(TIMERS, p) || IS_THREAD(p))
#define FIRST(p) ((p) == 0 -> C0 : ((p) == 1 -> C1 : ((p) == 2 -> C2 : C3)))
#define SECOND(p) ((p) == 0 -> D0 : ((p) == 1 -> D1 : ((p) == 2 -> D2 : D3)))
#define CASES(p, round) ((round) == 0 -> FIRST(p) : SECOND(p))
#define LAST_ROUND(p) (SECOND(p) != 0 -> 1 : 0)
#define NODE(p, e) ((p) * E + (e))
#define NOBODY 255
#define NONE 255

/* The word of a selection; `chosen` is its index. */
#define HELD 1
#define OPEN 0
#define PARKED 2
#define STOP 4
#define DECIDED 8
#define DELIVERED 16

/* The signal of a node */
#define DONE 4
#define LEAVING 16
#define LEFT 32
#define UNDER_WAY(s) (((s) & LEAVING) && !((s) & LEFT))

/* The outcome */
#define PENDING 0
#define EXCHANGED 1
#define CLOSED_ON 2
#define CANCELLED 3
#define NO_PARTNER 5

/* The exchangers: who waits, as a mask, and whether it is closed. */
#define CLOSED 128
#define WAITERS(word) ((word) & ~CLOSED)
byte slot[E];
short pins[E];
bool over[E];       /* it has been destroyed */
bool destroying[E], closing[E];
bool abandoning;
#ifdef LIST
bool walking[E];    /* its closer is still taking out waiters */
#define DIFFER(p, q, e) ((q) < N && IN(BLUES, NODE(p, e)) != IN(BLUES, NODE(q, e)) -> 1 << (q) : 0)
#define MATCHES(p, e) (DIFFER(p, 0, e) | DIFFER(p, 1, e) | DIFFER(p, 2, e) | DIFFER(p, 3, e))
#else
#define MATCHES(p, e) (15 & ~(1 << (p)))
#endif

/* The operations */
byte word[N], chosen[N] = NONE, result[N], mate[N] = NOBODY;
byte offered[N];    /* the nodes that have been in a list, as a mask */
byte out[N];        /* those that a completer has withdrawn for their owner */
byte state[N * E];  /* the signals of the nodes */
bool live[N];       /* exists */
bool posted[N];     /* its resumption is queued, or a thread's token is there */
bool nested[N];     /* it runs above whoever posted it */
bool stoppable[N], stopping[N]; /* its stop callback is registered, is posting it */
bool armed[N], firing[N];       /* so its timer */

/* What the parties know */
bool final[N];      /* it is in its last operation */
bool mate_final[N]; /* so was its partner, when they met */
bool arrived[N];    /* it is known to be suspended in its last operation, or on the way back from it */
bool asleep[N];     /* it is suspended until it is posted */
bool returned[N];   /* it is back from its last operation, or its frame was destroyed */
bool stop_came[N];    /* a stop came while it was in force */

#define INSIDE(e) assert(!over[e])
#define ALIVE(q) assert(live[q])

inline pin(e) { INSIDE(e); pins[e]++ /* [A3] */ }
inline unpin(e) { INSIDE(e); pins[e]-- /* [A4] */ }

/* Its outcome, in the step that decides it. */
inline own(q, how) { ALIVE(q); assert(result[q] == PENDING); result[q] = how }

/* The two meet at e, and swap. */
inline swap(p, q, e) {
  own(q, EXCHANGED); own(p, EXCHANGED);
  mate[p] = q; mate_final[p] = final[q];
  mate[q] = p; mate_final[q] = final[p];
  chosen[q] = e; chosen[p] = e
}

/* Posts q. Whoever resumes it inline goes on when it is suspended. */
inline post(q) {
  atomic { ALIVE(q); assert(!posted[q]); posted[q] = true; nested[q] = IN(BARE, q) };
  if :: HAS_EXECUTOR(q) :: !HAS_EXECUTOR(q) -> atomic { !nested[q] } fi
}

#ifdef M_NOPIN
#define PINS(e) skip
#define UNPINS(e) skip
#else
#define PINS(e) pin(e)
#define UNPINS(e) unpin(e)
#endif

/* Hands back the node of q, whose selection is decided. */
#ifdef M_NOT_HANDED_BACK
#define hand_back(q, e) skip
#else
inline hand_back(q, e) {
#ifdef M_PIN_LATE
  atomic {
    ALIVE(q); s = state[NODE(q, e)]; assert(!(s & DONE)); state[NODE(q, e)] = s | DONE;
    counted = UNDER_WAY(s); s = 0
  };
  if :: atomic { counted -> PINS(e); counted = false } :: !counted fi
#else
  do
  :: atomic {
       ALIVE(q); s = state[NODE(q, e)]; assert(!(s & DONE));
       if
       :: UNDER_WAY(s) == counted -> state[NODE(q, e)] = s | DONE; counted = false; s = 0; break /* [W4] */
       :: else
       fi
     };
     if
     :: atomic { UNDER_WAY(s) && !counted -> PINS(e); counted = true; s = 0 }
     :: atomic { !UNDER_WAY(s) && counted -> UNPINS(e); counted = false; s = 0 }
     fi
  od
#endif
}
#endif

/* Decides the selection q, whose node at e is claimed: `what` is done in this step. Sets ok, or it is stale; and
 * parked. Waits while q is held: it registers at exchangers above e. */
#ifdef M_WORD_IGNORED
#define IS_DECIDED(q) false
#else
#define IS_DECIDED(q) (word[q] & DECIDED)
#endif
#ifdef M_HOLD_IGNORED
#define IS_HELD(q) false
#else
#define IS_HELD(q) (word[q] & HELD)
#endif
#define commit(q, e, what) \
  atomic { \
    !live[q] || !IS_HELD(q) -> \
    ALIVE(q); \
    if \
    :: IS_DECIDED(q) -> ok = false \
    :: else -> ok = true; parked = (word[q] & PARKED) != 0; word[q] = DECIDED; chosen[q] = e; what \
    fi \
  }

/* A withdrawal of the node of q at e, in the list. Sets ok. */
#ifdef LIST
#define WITHDRAW(q, e) \
  atomic { pin(e) }; \
  atomic { INSIDE(e); TAKE_OUT(q, e) }; \
  atomic { unpin(e) }
#else
#define WITHDRAW(q, e) atomic { INSIDE(e); TAKE_OUT(q, e) }
#endif
#define TAKE_OUT(q, e) if :: IN(slot[e], q) -> slot[e] = slot[e] & ~(1 << (q)); ok = true :: else -> ok = false fi

/* `try_withdraw`: afterwards the node is out, or in somebody's hands (then `ok` is false). */
inline try_withdraw(q, e) {
#ifdef M_UNANNOUNCED
  s = state[NODE(q, e)];
#else
  atomic { ALIVE(q); s = state[NODE(q, e)]; state[NODE(q, e)] = s | LEAVING }; /* [W5] */
#endif
  if
  :: atomic { s & DONE -> s = 0; ok = true }
  :: atomic { !(s & DONE) && (s & LEFT) -> s = 0; ok = false }
  :: !(s & (DONE | LEFT)) ->
     s = 0;
     WITHDRAW(q, e);
     if
     :: ok
     :: atomic { /* withdraw_failed */
          !ok ->
          ALIVE(q); s = state[NODE(q, e)]; state[NODE(q, e)] = s | LEFT; ok = (s & DONE) != 0; s = 0 /* [W6] */
        };
#ifndef M_UNANNOUNCED
        if :: atomic { ok -> UNPINS(e) } :: !ok fi
#endif
     fi
  fi
}

/* The lowest exchanger of a mask. */
#define LOWEST(mask) ((mask) & 1 -> 0 : ((mask) & 2 -> 1 : 2))

/* The completer of a parked selection q, decided at e, withdraws the other nodes. */
inline help(q, e) {
  others = offered[q] & ~(1 << e);
  do
  :: others != 0 ->
     f = LOWEST(others); others = others & ~(1 << f);
     try_withdraw(q, f);
#ifndef M_HELP_UNMARKED
     atomic { if :: ok -> ALIVE(q); out[q] = out[q] | (1 << f) :: else fi; ok = false; f = 0 }
#endif
  :: else -> f = 0; ok = false; break
  od
}

/* The end of a completion, of a partner or by a close: q has its outcome. */
inline release(q, e) {
#ifdef M_HELP_LATE
  if :: atomic { parked -> posted[q] = true; nested[q] = IN(BARE, q) } :: !parked fi;
#endif
  if
  :: parked && SELECTION(q) -> help(q, e) /* if it likes */
  :: skip
  fi;
  if
#ifdef M_HELP_LATE
  :: parked -> skip
#else
  :: parked -> post(q)
#endif
  :: !parked -> atomic { ALIVE(q); word[q] = word[q] | DELIVERED }
  fi;
  parked = false
}

#define CAN_FINISH(p) (!stopping[p] && !firing[p])
inline is_known_to_wait(p) { if :: final[p] -> arrived[p] = true :: else fi }
inline suspend(p) { is_known_to_wait(p); asleep[p] = true; nested[p] = false }

/* Makes equal what does not matter any more. */
inline forget(p) {
  live[p] = false; word[p] = 0; result[p] = 0; chosen[p] = NONE; mate[p] = NOBODY; mate_final[p] = false;
  offered[p] = 0; out[p] = 0; stop_came[p] = false;
  for (e : 0 .. E - 1) { state[NODE(p, e)] = 0 };
  e = 0; f = 0; q = 0; s = 0; left = 0; others = 0; ok = false; parked = false; queued = false; polls = false
}

#ifdef M_UNSORTED
#define CHOOSE(p) if :: IN(left, 0) -> e = 0 :: IN(left, 1) -> e = 1 :: IN(left, 2) -> e = 2 fi
#else
#define CHOOSE(p) e = LOWEST(left)
#endif
#ifdef M_NOHOLD
#define HOLD OPEN
#else
#define HOLD HELD
#endif

#ifdef LIST
#define MAY_OFFER(p, e) \
  (slot[e] & CLOSED -> walking[e] && !destroying[e] : (slot[e] & MATCHES(p, e)) == 0)
#else
#define MAY_OFFER(p, e) (slot[e] == 0)
#endif

#define MAY_ABANDON(p) \
  (p == 0 && final[p] && (!IN(C0 | D0, 0) || !destroying[0] || over[0]) && \
   (!IN(C0 | D0, 1) || !destroying[1] || over[1]) && ABANDONS_THIRD)
#if E > 2
#define ABANDONS_THIRD (!IN(C0 | D0, 2) || !destroying[2] || over[2])
#else
#define ABANDONS_THIRD true
#endif

proctype party(byte p) {
  byte round, e, f, q, s;
  byte left;      /* the cases still to visit, as a mask */
  byte others;
  bool polls;     /* visits them unpublished, and offers nothing */
  bool ok, parked, counted;
  bool queued;    /* its check is in its executor's queue */

begin:
  atomic {
    live[p] = true; final[p] = (round == LAST_ROUND(p)); left = CASES(p, round);
    polls = SELECTION(p) || TAKES(p)
  };

next_case:
  atomic {
    if
    :: left == 0 && polls && TAKES(p) -> own(p, NO_PARTNER); goto completed
    :: left == 0 && polls && !TAKES(p) -> /* begins to register: nobody knows its word yet */
       polls = false; left = CASES(p, round); word[p] = HOLD; CHOOSE(p); goto look
    :: left == 0 && !polls -> goto registered
    :: left != 0 && polls -> if :: IN(left, 0) -> e = 0 :: IN(left, 1) -> e = 1 :: IN(left, 2) -> e = 2 fi
    :: left != 0 && !polls -> CHOOSE(p)
    fi;
    goto look
  };

look:
  atomic {
    INSIDE(e);
    if
    :: slot[e] & CLOSED -> goto found_closed
    :: !(slot[e] & CLOSED) && (slot[e] & MATCHES(p, e)) ->
       if
       :: IN(slot[e] & MATCHES(p, e), 0) -> q = 0
       :: IN(slot[e] & MATCHES(p, e), 1) -> q = 1
       :: IN(slot[e] & MATCHES(p, e), 2) -> q = 2
       :: IN(slot[e] & MATCHES(p, e), 3) -> q = 3
       fi;
       goto claim
    :: !(slot[e] & CLOSED) && !(slot[e] & MATCHES(p, e)) && polls -> left = left & ~(1 << e); goto next_case
    :: !(slot[e] & CLOSED) && !(slot[e] & MATCHES(p, e)) && !polls
    fi
  };
  atomic { /* offer */
    INSIDE(e);
    if
    :: MAY_OFFER(p, e) ->
       slot[e] = slot[e] | (1 << p); offered[p] = offered[p] | (1 << e); left = left & ~(1 << e);
       if
       :: !SELECTION(p) -> suspend(p); goto is_suspended
#ifdef CHUNK
       :: SELECTION(p) && left != 0 -> goto reopen
       :: SELECTION(p) && left == 0 -> goto registered
#else
       :: SELECTION(p) -> goto next_case
#endif
       fi
    :: else -> goto look
    fi
  };

#ifdef CHUNK
reopen:
  atomic { word[p] = OPEN };
  atomic {
#ifdef M_RETAKE_BLIND
    word[p] = HELD; goto next_case
#else
    if :: word[p] == OPEN -> word[p] = HELD; goto next_case :: else -> goto is_decided fi
#endif
  };
#endif

claim:
  atomic {
    INSIDE(e); TAKE_OUT(q, e);
    if
#ifdef M_STALE
    :: !ok -> goto claim
#else
    :: !ok -> q = 0; goto look /* collided */
#endif
    :: ok && !SELECTION(q) -> ok = false; parked = true; swap(p, q, e)
    :: ok && SELECTION(q) -> goto claimed_selection
    fi
  };
  goto matched;

claimed_selection:
  commit(q, e, swap(p, q, e));
  if
  :: ok -> ok = false; goto matched
  :: else -> hand_back(q, e); q = 0; goto look
  fi;

found_closed:
  atomic {
    own(p, CLOSED_ON); chosen[p] = e;
    if :: SELECTION(p) && !polls -> word[p] = DECIDED; goto decided :: else -> goto completed fi
  };

matched:
#ifndef M_DECIDED_LATE
  if :: atomic { SELECTION(p) && !polls -> assert(!(word[p] & DECIDED)); word[p] = DECIDED } :: else fi;
#endif
  release(q, e);
#ifdef M_DECIDED_LATE
  if :: atomic { SELECTION(p) && !polls -> word[p] = DECIDED } :: else fi;
#endif
  if :: polls || !SELECTION(p) -> goto completed :: else -> goto decided fi;

registered:
  atomic {
    if
    :: !LIMITED(p) ->
#ifndef M_NOHOLD
       word[p] = PARKED; suspend(p); goto is_suspended /* a plain store */
#else
       if :: word[p] & DECIDED -> goto is_decided :: else -> word[p] = PARKED; suspend(p); goto is_suspended fi
#endif
    :: LIMITED(p) && HAS_EXECUTOR(p) -> word[p] = OPEN; is_known_to_wait(p); queued = true
    :: LIMITED(p) && !HAS_EXECUTOR(p) -> word[p] = OPEN
    fi
  };
  if
  :: atomic { /* the check, or a thread has spun */
       queued = false;
       if
       :: word[p] & DECIDED -> goto is_decided
       :: else -> stoppable[p] = IN(CANCELS, p); armed[p] = IN(TIMERS, p)
       fi
     }
#ifdef ABANDON
  :: atomic { MAY_ABANDON(p) && !IS_THREAD(p) -> abandoning = true }; goto abandon
#endif
  fi;
#ifdef M_PARK_BLIND
  atomic { word[p] = PARKED; suspend(p); goto is_suspended };
#endif
  atomic {
    if
    :: word[p] == OPEN -> word[p] = PARKED; suspend(p); goto is_suspended
    :: word[p] & DECIDED -> goto is_decided
    :: word[p] == STOP ->
#ifdef M_STOP_LOST
       word[p] = PARKED; suspend(p); goto is_suspended
#endif
    fi
  };
  atomic {
    if
    :: word[p] == STOP -> word[p] = DECIDED; own(p, CANCELLED); goto decided
    :: word[p] & DECIDED -> goto is_decided
    fi
  };

is_suspended:
  if
  :: atomic { posted[p] -> posted[p] = false; asleep[p] = false };
     if :: SELECTION(p) -> goto decided :: else -> goto completed fi
#if THREADS
  :: atomic { /* its deadline */
       IS_THREAD(p) && !posted[p] ->
       if
       :: !(word[p] & DECIDED) -> word[p] = DECIDED; own(p, CANCELLED); asleep[p] = false; goto decided
       :: else
       fi
     };
#ifdef M_NOTOKEN
     atomic { asleep[p] = false; goto decided };
#endif
     atomic { posted[p] -> posted[p] = false; asleep[p] = false }; /* collects the token */
     goto decided
#endif
#ifdef ABANDON
  :: atomic { MAY_ABANDON(p) && !IS_THREAD(p) && SELECTION(p) -> abandoning = true; parked = true }; goto abandon
#endif
  fi;

is_decided: /* by somebody else, while it was open */
#ifndef M_NOT_AWAITED
  atomic { word[p] & DELIVERED };
#endif

decided:
  atomic {
    CAN_FINISH(p) ->
    stoppable[p] = false; armed[p] = false;
    left = offered[p] & ~out[p];
    if :: chosen[p] != NONE -> left = left & ~(1 << chosen[p]) :: else fi
  };
#ifdef M_SIBLINGS_FORGOTTEN
  left = 0;
#endif
  do
  :: left != 0 ->
     e = LOWEST(left); left = left & ~(1 << e);
     try_withdraw(p, e);
#ifndef M_NOT_WAITED_FOR
     if
     :: ok
     :: atomic { !ok -> state[NODE(p, e)] & DONE } /* tries until it is handed back */
     fi;
#endif
     ok = false; e = 0
  :: else -> break
  od;
#ifdef ABANDON
  if :: atomic { abandoning && p == 0 -> goto is_abandoned } :: !abandoning || p != 0 fi;
#endif

completed: /* `await_resume`, and what its partner and it know then */
  atomic {
    assert(!posted[p]);
    assert(result[p] != PENDING);
    assert((result[p] == EXCHANGED) == (mate[p] != NOBODY));
    assert((result[p] == EXCHANGED || result[p] == CLOSED_ON) == (chosen[p] != NONE));
    for (e : 0 .. E - 1) { assert(!IN(slot[e], p)) };
    if :: mate[p] != NOBODY && mate_final[p] -> arrived[mate[p]] = true :: else fi;
    ok = final[p] || (result[p] == CLOSED_ON && !IN(PERSISTS, p));
    if :: ok -> arrived[p] = true; returned[p] = true :: else fi;
    if :: ok -> nested[p] = false; forget(p); goto end_returned :: else -> forget(p); round++; goto begin fi
  };

#ifdef ABANDON
abandon: /* `parked` says whether it was */
  atomic { CAN_FINISH(p) -> stoppable[p] = false; armed[p] = false };
  atomic {
    if
    :: queued -> queued = false
    :: !queued && posted[p] -> posted[p] = false; asleep[p] = false; parked = false; goto decided
    :: else
    fi
  };
  atomic {
    if
    :: !(word[p] & DECIDED) -> word[p] = DECIDED; own(p, CANCELLED); asleep[p] = false; parked = false; goto decided
    :: (word[p] & DECIDED) && !parked -> goto is_decided
    :: (word[p] & DECIDED) && parked
    fi
  };
#ifndef M_ABANDON_NOWAIT
  atomic { posted[p] -> posted[p] = false };
#endif
  atomic { asleep[p] = false; parked = false; goto decided };

is_abandoned:
  atomic {
    for (e : 0 .. E - 1) { assert(!IN(slot[e], p)) };
    abandoning = false; arrived[p] = true; returned[p] = true; forget(p)
  };
#endif

end_returned:
  false
}

/* A stop callback, or a timer, which comes once or never. */
proctype canceller(byte p; bool is_timer) {
end_idle:
  atomic {
    (is_timer && armed[p]) || (!is_timer && stoppable[p]) ->
    if :: is_timer -> armed[p] = false :: else -> stoppable[p] = false fi;
    ALIVE(p); assert(!(word[p] & HELD)); stop_came[p] = true;
    if
    :: word[p] & DECIDED -> goto end_over
#ifdef M_STOP_UNSET
    :: word[p] == OPEN -> goto end_over
#else
    :: word[p] == OPEN || word[p] == STOP -> word[p] = STOP; goto end_over
#endif
    :: word[p] & PARKED ->
#ifndef M_CANCEL_UNDECIDED
       word[p] = DECIDED;
#endif
       own(p, CANCELLED);
       if :: is_timer -> firing[p] = true :: else -> stopping[p] = true fi
    fi
  };
  atomic {
    ALIVE(p); assert(!posted[p]); posted[p] = true; nested[p] = IN(BARE, p);
    if :: is_timer -> firing[p] = false :: else -> stopping[p] = false fi
  };
end_over:
  false
}

/* What a closer, and the destroyer, do with a waiter that they have claimed: it is decided at once. */
inline close_claimed(q, e) {
  if
  :: atomic { !SELECTION(q) -> own(q, CLOSED_ON); chosen[q] = e; parked = true; ok = true }
  :: SELECTION(q) ->
#ifdef M_CLOSE_UNDECIDED
     atomic { own(q, CLOSED_ON); parked = (word[q] & PARKED) != 0; ok = true };
#else
     commit(q, e, own(q, CLOSED_ON));
#endif
     if :: ok :: !ok -> hand_back(q, e) fi
  fi
}

/* Sets q to one of those who wait at e, or NOBODY. */
inline any_waiter(e) {
  if
  :: IN(slot[e], 0) -> q = 0
  :: IN(slot[e], 1) -> q = 1
  :: IN(slot[e], 2) -> q = 2
  :: IN(slot[e], 3) -> q = 3
  :: WAITERS(slot[e]) == 0 -> q = NOBODY
  fi
}

#ifdef QUIET
#define CLOSE_BEGUN(e) skip
#define CLOSE_ENDED(e) closing[e] = false
#else
#define CLOSE_BEGUN(e) closing[e] = false /* who finds it closed may destroy it */
#define CLOSE_ENDED(e) skip
#endif

/* `close`, but for the completion of the last, q (NOBODY: there is none). */
#ifdef LIST
/* With M_CLOSER_HOLDS, a selection in its hands is not decided until it is completed. */
#ifdef M_CLOSER_HOLDS
#define TAKE(q, e) ok = true
#define KEEPS(q) true
#define COMPLETE(q, e) ok = false; close_claimed(q, e); if :: ok -> release(q, e) :: !ok fi
#else
#define TAKE(q, e) close_claimed(q, e)
#define KEEPS(q) (!SELECTION(q) || parked)
#define COMPLETE(q, e) release(q, e)
#endif
inline close_waiters(e) {
  atomic { INSIDE(e); slot[e] = slot[e] | CLOSED; walking[e] = true; CLOSE_BEGUN(e) };
  do
  :: if /* a hint: whether there is another */
     :: atomic { WAITERS(slot[e]) != 0 && last != NOBODY -> parked = last_parked };
        COMPLETE(last, e); last = NOBODY; last_parked = false; ok = false
     :: atomic { WAITERS(slot[e]) == 0 || last == NOBODY }
     fi;
     atomic {
       INSIDE(e); any_waiter(e);
       if :: q == NOBODY -> walking[e] = false; break :: else -> slot[e] = slot[e] & ~(1 << q) fi
     };
     TAKE(q, e);
     if
#ifndef M_CLOSER_HOLDS
     :: ok && SELECTION(q) && !parked -> release(q, e) /* only whom it must post is kept */
#endif
     :: ok && KEEPS(q) ->
        other = q; other_parked = parked; ok = false;
        if
        :: last != NOBODY -> parked = last_parked; COMPLETE(last, e)
        :: else
        fi;
        last = other; last_parked = other_parked; other = NOBODY; other_parked = false
     :: !ok
     fi;
     parked = false; ok = false; q = NOBODY
  od;
  q = last; parked = last_parked; last = NOBODY; last_parked = false
}
#define CLOSER_LOCALS \
  byte q = NOBODY, s, f, others, last = NOBODY, other = NOBODY; \
  bool ok, parked, counted, last_parked, other_parked;
#else
#define COMPLETE(q, e) release(q, e)
inline close_waiters(e) {
  atomic { INSIDE(e); any_waiter(e); slot[e] = CLOSED; CLOSE_BEGUN(e) }; /* [S6] */
  if :: q != NOBODY -> close_claimed(q, e); if :: ok -> ok = false :: else -> q = NOBODY fi :: else fi
}
#define CLOSER_LOCALS byte q = NOBODY, s, f, others; bool ok, parked, counted;
#endif

#ifdef CLOSER
proctype closer() {
  CLOSER_LOCALS
end_idle:
  atomic { !destroying[CLOSER] -> closing[CLOSER] = true; pin(CLOSER) };
  close_waiters(CLOSER);
  atomic { unpin(CLOSER) };
  if :: q != NOBODY -> COMPLETE(q, CLOSER) :: else fi;
  atomic { CLOSE_ENDED(CLOSER) };
end_over:
  false
}
#endif

#if N == 1
#define ALL(what, e) (what(0, e))
#elif N == 2
#define ALL(what, e) (what(0, e) && what(1, e))
#elif N == 3
#define ALL(what, e) (what(0, e) && what(1, e) && what(2, e))
#elif N == 4
#define ALL(what, e) (what(0, e) && what(1, e) && what(2, e) && what(3, e))
#else
#error "N is 1 to 4"
#endif
#define RESTS(p, e) (returned[p] || (asleep[p] && !posted[p] && !stopping[p] && !firing[p]))
#define HAS_ARRIVED(p, e) (arrived[p] || !IN(FIRST(p) | SECOND(p), e))
#ifdef QUIET
#if E > 2
#define NO_CLOSING (!closing[0] && !closing[1] && !closing[2])
#else
#define NO_CLOSING (!closing[0] && !closing[1])
#endif
#define IS_TIME(e) (destroyed == (e) && ALL(RESTS, e) && NO_CLOSING && !abandoning)
#else
#define IS_TIME(e) (ALL(HAS_ARRIVED, e) && !closing[e] && !abandoning)
#endif

/* Of those who wait when all rest, no two could meet; each has been offered in every case. */
#define WAITS_FOR(p) CASES(p, (final[p] -> LAST_ROUND(p) : 0))
inline check_rest() {
  for (q : 0 .. N - 1) {
    if
    :: !returned[q] ->
       assert(!stop_came[q]);
       for (e : 0 .. E - 1) {
         assert(!IN(WAITS_FOR(q), e) || (IN(slot[e], q) && !(slot[e] & CLOSED)));
         assert(!(IN(WAITS_FOR(q), e) && (slot[e] & MATCHES(q, e))))
       }
    :: else
    fi
  };
  q = NOBODY; e = 0
}

proctype destroyer() {
  CLOSER_LOCALS
  byte e, destroyed;
  do
  :: atomic {
       destroyed < E ->
       if
       :: !destroying[0] && IS_TIME(0) -> e = 0
       :: !destroying[1] && IS_TIME(1) -> e = 1
#if E > 2
       :: !destroying[2] && IS_TIME(2) -> e = 2
#endif
       fi;
#ifdef QUIET
       if :: destroyed == 0 -> s = e; check_rest(); e = s; s = 0 :: else fi;
#endif
       destroying[e] = true
     };
     close_waiters(e);
     if :: q != NOBODY -> COMPLETE(q, e) :: else fi;
     q = NOBODY; ok = false;
#ifdef M_NODRAIN
     atomic { over[e] = true; destroyed++; e = 0 }
#else
     atomic { pins[e] == 0 -> over[e] = true; destroyed++; e = 0 } /* [A5] */
#endif
  :: destroyed == E -> break
  od;
end_over:
  false
}

init {
  byte k;
  atomic {
    for (k : 0 .. N - 1) { run party(k) };
    for (k : 0 .. N - 1) {
      if :: IN(CANCELS, k) -> run canceller(k, false) :: else fi;
      if :: IN(TIMERS, k) -> run canceller(k, true) :: else fi
    };
    k = 0;
#ifdef CLOSER
    run closer();
#endif
    run destroyer()
  }
}
