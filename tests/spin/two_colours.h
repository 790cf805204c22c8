/* SPDX-License-Identifier: MIT
 *
 * What dual_queue.pml and dual_stack.pml have in common: the parties, red and blue, their signals (I5), their
 * cancellers, the guard of withdrawals, closer and destroyer (protocol.hpp, waiter.hpp, arena.hpp); slot 0 only.
 * A step (`atomic`) is one access to what is shared, and what its process does alone until the next.
 * The model that includes this defines afterwards
 *
 *   LIST_LOCALS       the variables of whoever visits the wait list
 *   arrive_in_list(p) looks and applies the match; goes to met (with q), offered, shut, no_memory or nobody
 *   withdraw(p)       sets ok, and own(p, CANCELLED) in the step that takes p out
 *   close_list()      does `complete_last`, and then `each` with every waiter, in the step that takes it out
 *
 * Parties:  -DN (2 to 4), -DREDS=mask; each makes K exchanges, or KR if red and KB if blue, one waiter (that is:
 *           one address) per party
 *   -DTAKERS=mask  parties that only `search`
 *   -DQUITS=mask   parties whose stop may have come before they park, in each exchange
 *   -DFALTERS=mask parties that nothing can stop, but that withdraw at once what they offer (`abandon`)
 *   -DQUICK=mask   parties whose steps, from the first to the one that parks, are one
 *   -DCANCELS=mask parties with a canceller, which comes once, at any time, or never
 *   -DCLOSER       somebody closes, once, at any time or never
 *   -DQUIET        the exchanger is destroyed only when nobody moves any more, and I3 is checked before; else as
 *                  soon as a party is allowed to */
#ifndef N
#define N 2
#endif
#ifndef REDS
#define REDS 1
#endif
#ifndef K
#define K 1
#endif
#ifndef KR
#define KR K
#endif
#ifndef KB
#define KB K
#endif
#ifndef TAKERS
#define TAKERS 0
#endif
#ifndef QUITS
#define QUITS 0
#endif
#ifndef CANCELS
#define CANCELS 0
#endif
#ifndef QUICK
#define QUICK 0
#endif
#ifndef FALTERS
#define FALTERS 0
#endif

#define IN(mask, p) (((mask) >> (p)) & 1)
#define RED 0
#define BLUE 1
#define COLOUR(p) (1 - IN(REDS, p))
#ifndef ONCE
#define ONCE 0
#endif
#define ROUNDS(p) (IN(ONCE, p) -> 1 : (IN(REDS, p) -> KR : KB))
#define SIMPLE(p) (!IN(CANCELS, p) && !IN(QUITS, p))

/* The signal */
#define STOP 1
#define DONE 4
#define PARKED 8
#define LEAVING 16
#define LEFT 32
#define UNDER_WAY(s) (((s & LEAVING) || ((s & STOP) && (s & PARKED))) && !(s & LEFT))
#define TOO_LATE(s) ((s & (DONE | STOP)) || !(s & PARKED))

/* The outcome */
#define PENDING 0
#define EXCHANGED 1
#define CLOSED_ON 2
#define CANCELLED 3
#define NO_PARTNER 4
#define OUT_OF_MEMORY 5

#define NOBODY 255

/* The exchanger */
short pins;
bool gone; /* it has been destroyed */
bool destroying, closing;

/* The waiters */
byte state[N], result[N];
bool live[N];       /* exists */
bool posted[N];     /* its resumption is queued */
bool stoppable[N], stopping[N]; /* its stop callback is registered, is withdrawing it */

/* What the parties know */
byte mate[N];       /* its partner */
bool final[N];      /* it is in its last exchange */
bool mate_final[N]; /* so was its partner, when they met */
bool arrived[N];    /* it is known to be suspended in its last exchange, or on the way back from it */
bool asleep[N];     /* it is suspended until it is posted */
bool returned[N];   /* it is back from its last exchange */

#define INSIDE() assert(!gone)
#define ALIVE(q) assert(live[q])

/* Sets s to what was there. [W3] [W5] [W6] */
inline fetch_or(p, bits) { ALIVE(p); s = state[p]; state[p] = s | (bits) }
inline post(q) { ALIVE(q); assert(!posted[q]); posted[q] = true }
inline pin() { INSIDE(); pins++ /* [A3] */ }
inline unpin() { INSIDE(); pins-- /* [A4] */ }

/* The first half of `complete`, in the step that took q out: the outcome. */
inline own(q, how) { ALIVE(q); assert(result[q] == PENDING); result[q] = how }

/* The two swap, in the step that took q out. */
inline swap(p, q) {
  own(q, EXCHANGED); own(p, EXCHANGED);
  assert(COLOUR(p) != COLOUR(q));
  mate[p] = q; mate_final[p] = final[q];
  mate[q] = p; mate_final[q] = final[p]
}

/* The second half of `complete`: the signal, and the post. */
inline complete(q) {
  if
  :: SIMPLE(q) -> suspended = true
  :: else ->
     do
     :: atomic {
          ALIVE(q); s = state[q]; assert(!(s & DONE));
          if
          :: UNDER_WAY(s) == counted ->
             state[q] = s | DONE; suspended = (s & PARKED) != 0; counted = false; s = 0; break /* [W4] */
          :: else
          fi
        };
        if
        :: atomic { UNDER_WAY(s) && !counted -> pin(); counted = true; s = 0 }
        :: atomic { !UNDER_WAY(s) && counted -> unpin(); counted = false; s = 0 }
        fi
     od
  fi;
  if
  :: atomic { suspended -> post(q); suspended = false }
  :: !suspended
  fi
}

/* Around a withdrawal that takes more than its CAS. */
#if defined(M_NOGUARD) || defined(ONE_STEP_WITHDRAWAL)
#define BEGIN_WITHDRAWAL
#define END_WITHDRAWAL
#else
#define BEGIN_WITHDRAWAL atomic { pin() };
#define END_WITHDRAWAL atomic { unpin() };
#endif

inline suspend(p) { if :: final[p] -> arrived[p] = true :: else fi; asleep[p] = true }

/* What the including model may remember of an exchange for its own claims. */
#ifndef BEGUN
#define BEGUN(p) skip
#define ENDED(p) skip
#endif
#ifndef SHUT /* what one does who has found it closed */
#define SHUT(p)
#endif
#ifndef AT_REST
#define AT_REST() skip
#endif
#ifndef AT_THE_END
#define AT_THE_END() skip
#endif

#define PARTY_BODY(open, close) \
    byte round, q = NOBODY, s; \
    bool ok, suspended, counted; \
begin: \
    atomic { \
      result[p] = PENDING; live[p] = true; final[p] = (round == ROUNDS(p) - 1); mate[p] = NOBODY; BEGUN(p) \
    }; \
    open \
    arrive_in_list(p); \
met: \
    complete(q); \
    goto completed; \
offered: /* its limits are in force */ \
    atomic { \
      if \
      :: SIMPLE(p) && !IN(FALTERS, p) -> goto is_suspended \
      :: IN(FALTERS, p) -> goto falter \
      :: else -> \
         ALIVE(p); s = state[p]; /* [W2] */ \
         if \
         :: s == 0 -> state[p] = PARKED; suspend(p); goto is_suspended \
         :: s == 0 && IN(QUITS, p) -> state[p] = STOP \
         :: s & DONE -> s = 0; goto completed \
         :: s == STOP \
         fi \
      fi \
    }; \
    atomic { \
      fetch_or(p, LEAVING); /* [W5] */ \
      if :: s & DONE -> s = 0; goto completed :: else -> s = 0 fi \
    }; \
    BEGIN_WITHDRAWAL \
    withdraw(p); \
    END_WITHDRAWAL \
    if :: atomic { ok -> ok = false; goto completed } :: !ok fi; \
    atomic { /* withdraw_failed */ \
      fetch_or(p, LEFT | PARKED); /* [W6] */ \
      if :: s & DONE -> s = 0 :: else -> s = 0; suspend(p); goto is_suspended fi \
    }; \
    atomic { unpin(); goto completed }; \
falter: \
    if \
    :: FALTERS -> \
       withdraw(p); \
       atomic { if :: ok -> ok = false; goto completed :: else -> suspend(p) fi } \
    :: else \
    fi; \
    goto is_suspended \
    close; \
is_suspended: \
    atomic { \
      posted[p] && !stopping[p] -> posted[p] = false; asleep[p] = false; goto completed \
    }; \
shut: \
    SHUT(p) \
    atomic { own(p, CLOSED_ON); goto completed }; \
no_memory: \
    atomic { own(p, OUT_OF_MEMORY); goto completed }; \
nobody: \
    atomic { own(p, NO_PARTNER) }; \
completed: /* `await_resume`, and what its partner and it know then */ \
    atomic { \
      !stopping[p] -> stoppable[p] = false; \
      assert(!posted[p]); \
      assert(result[p] != PENDING); \
      assert((result[p] == EXCHANGED) == (mate[p] != NOBODY)); \
      if :: mate[p] != NOBODY && mate_final[p] -> arrived[mate[p]] = true :: else fi; \
      if \
      :: final[p] || result[p] == CLOSED_ON || destroying -> arrived[p] = true; returned[p] = true; ok = true \
      :: else -> ok = false \
      fi; \
      ENDED(p); \
      live[p] = false; state[p] = 0; result[p] = 0; mate[p] = NOBODY; mate_final[p] = false; final[p] = 0; \
      q = NOBODY; s = 0; round++; forget_list(p); \
      if :: ok -> ok = false; goto end_returned :: else -> goto begin fi \
    }; \
end_returned: \
    false

/* The step that leaves p in the wait list, where it may be taken at once. */
inline offer_in_list(p) {
  if
  :: SIMPLE(p) -> if :: IN(FALTERS, p) -> skip :: else -> suspend(p) fi
  :: else -> stoppable[p] = IN(CANCELS, p)
  fi
}

#define CANCELLER_BODY \
    byte s; bool ok; \
end_idle: \
    atomic { \
      stoppable[p] -> stoppable[p] = false; \
      fetch_or(p, STOP); /* [W3] */ \
      if :: TOO_LATE(s) -> s = 0; goto end_over :: else -> stopping[p] = true; s = 0 fi \
    }; \
    BEGIN_WITHDRAWAL \
    withdraw(p); \
    END_WITHDRAWAL \
    if \
    :: atomic { ok -> post(p); stopping[p] = false; goto end_over } \
    :: atomic { /* withdraw_failed */ \
         !ok -> \
         fetch_or(p, LEFT); /* [W6] */ \
         if :: s & DONE -> s = 0 :: else -> s = 0; stopping[p] = false; goto end_over fi \
       } \
    fi; \
    atomic { unpin(); stopping[p] = false }; \
end_over: \
    false

/* `close`: the last is let go when the exchanger is not needed any more. close_list does `each` with whom it has
 * taken out, and `complete_last` before it takes the next one out: who is resumed may destroy any suspended party. */
inline each(q) { assert(last == NOBODY); last = q }
inline complete_last() { if :: last != NOBODY -> complete(last); last = NOBODY :: else fi }
inline close_all() {
  close_list();
  complete_last()
}

#define CLOSER_BODY \
    byte s, q = NOBODY, last = NOBODY; bool ok, suspended, counted; \
end_idle: \
    atomic { !destroying -> closing = true }; \
    close_all(); \
    closing = false; \
end_over: \
    false

#if N == 1
#define ALL(what) what(0)
#elif N == 2
#define ALL(what) (what(0) && what(1))
#elif N == 3
#define ALL(what) (what(0) && what(1) && what(2))
#elif N == 4
#define ALL(what) (what(0) && what(1) && what(2) && what(3))
#elif N == 5
#define ALL(what) (what(0) && what(1) && what(2) && what(3) && what(4))
#else
#error "N is 2 to 5"
#endif
#define HAS_ARRIVED(p) arrived[p]
#define RESTS(p) (returned[p] || (asleep[p] && !posted[p] && !stopping[p]))
#define WAITS(p) (!returned[p])

/* Of those who wait when all rest, none could meet another (I3), and none waits in a closed exchanger. */
inline check_rest() {
  for (i : 0 .. N - 1) {
    if :: WAITS(i) -> assert(waits[1 - COLOUR(i)] == 0 && !is_shut()); waits[COLOUR(i)] = 1 :: else fi
  };
  i = 0; waits[0] = 0; waits[1] = 0
}

#ifdef QUIET
#define IS_TIME (ALL(RESTS) && !closing)
#else
#define IS_TIME (ALL(HAS_ARRIVED) && !closing)
#endif
#define DESTROYER_BODY \
    byte i, s, q = NOBODY, last = NOBODY; bool ok, suspended, counted; bit waits[2]; \
    atomic { IS_TIME -> destroying = true; if :: ALL(RESTS) -> check_rest(); AT_REST() :: else fi }; \
    close_all(); \
    atomic { pins == 0 -> AT_THE_END(); gone = true }; /* [A5] */ \
end_over: \
    false

#if QUICK
#define RUN_PARTY(k) if :: IN(QUICK, k) -> run quick_party(k) :: else -> run party(k) fi
#else
#define RUN_PARTY(k) run party(k)
#endif
#define RUN_ALL \
    for (k : 0 .. N - 1) { RUN_PARTY(k) }; \
    for (k : 0 .. N - 1) { if :: IN(CANCELS, k) -> run canceller(k) :: else fi }; \
    k = 0; \
    RUN_CLOSER \
    run destroyer()
#ifdef CLOSER
#define RUN_CLOSER run closer();
#else
#define RUN_CLOSER
#endif
