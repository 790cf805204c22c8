/* SPDX-License-Identifier: MIT
 *
 * How a context sleeps in the kernel, and is woken: src/uring/wakeup.cpp over detail/run/inbox.hpp. One step
 * for each atomic access or system call; labels in brackets are the inbox's. Sequentially consistent.
 *
 * P posters post one node each. The poster that finds the owner asleep wakes it: by a message from its own
 * ring, if it is a context itself, else by the owner's eventfd, which a poll watches. A message may be refused;
 * its poster finds that out in its own ring, sooner or later, and writes to the eventfd. The owner sleeps until
 * any completion: that of a wake, or another one, which may arrive at any time, or never. It leaves when it has
 * run the last node, or with STOPPED the first poster's. Then everything that waits on it is destroyed, and
 * the context as well, while posters may still be on their way.
 *
 * Claimed: no poster touches the context after its end, nor uses the numbers of its ring and eventfd, which may
 * then belong to another file (I31, I32); each node is delivered once; no wake-up is lost (else spin reports an
 * invalid end state); each wake ends the sleep that it was sent for, and none is left over (U5).
 * `dozing` and `call_owed` are the states sleeping and owed of the class `wakeup`.
 *
 * Options: -DP (posters) -DMESSAGES=bits (posters that are contexts) -DSTOPPED
 * Mutants (-DM_...), each a mistake that must be found: see `run`. */
#ifndef P
#define P 2
#endif
#ifndef MESSAGES
#define MESSAGES 0
#endif

/* The inbox's word: one of these, or the latest node's number plus one. */
#define EMPTY 0
#define SLEEPING 200

byte word;
byte next[P];
byte count;         /* nodes delivered */
bool delivered[P];
bool told_to_stop;  /* the node that stops the loop has been run */
bool gone;          /* the context has been destroyed */

/* What the owner knows. */
bool watching;      /* the eventfd's poll was asked for, and has not been completed */
bool dozing;        /* we said that we sleep, and have not been called */
bool call_owed;     /* we woke by ourselves, but a poster is about to call */

/* The kernel's. */
bool submitting;    /* the poll is in the submission queue */
bool polling;       /* it is armed */
bool polled;        /* its completion */
byte calls;         /* the eventfd's count */
byte messages;      /* completions that others have sent */

#define INSIDE() assert(!gone)

inline write_eventfd() {
  atomic {
    INSIDE();
    calls++;
    if
    :: polling -> polling = false; polled = true
    :: else
    fi
  }
}

proctype poster(byte node) {
  byte seen; bool refused;
  INSIDE(); /* reads the numbers of ring and eventfd */
  atomic { INSIDE(); seen = word };
  do
  :: next[node] = (seen == SLEEPING -> EMPTY : seen);
     atomic { INSIDE(); /* [M1] */
       if
       :: word == seen -> word = node + 1; break
       :: else -> seen = word
       fi
     }
  od;
#ifdef M_NUMBERS_LATE
  INSIDE();
#endif
#ifdef M_CALLER_LATE
  if :: seen == SLEEPING -> INSIDE() :: else fi;
#endif
#ifndef M_NOCALL
  if
  :: seen == SLEEPING && (MESSAGES >> node) % 2 == 1 ->
     atomic {
       INSIDE();
       if
       :: messages++; refused = false
       :: refused = true
       fi
     };
     /* It goes on, and looks at its completions later, or when it leaves. */
     if
     :: refused ->
#ifdef M_LEAVE_REFUSED
        if :: write_eventfd() :: skip fi
#else
        write_eventfd()
#endif
     :: else ->
#ifdef M_CALL_BOTH
        write_eventfd()
#endif
     fi
  :: seen == SLEEPING && (MESSAGES >> node) % 2 == 0 -> write_eventfd()
  :: else
  fi
#endif
}

inline called() {
  assert(dozing || call_owed);
  if
  :: dozing -> dozing = false
  :: else ->
#ifndef M_CALL_FORGOTTEN
     call_owed = false
#endif
  fi
}

/* Looks at all completions. */
inline reap() {
  do
  :: messages > 0 -> messages--; called()
  :: polled ->
     polled = false;
#ifndef M_UNWATCHED
     watching = false;
#endif
#ifdef M_NOREAD
     atomic { ok = (calls > 0) };
#else
     atomic { ok = (calls > 0); calls = 0 };
#endif
     if :: ok -> called() :: else fi
  :: else -> break
  od
}

inline watch() {
  if
  :: !watching -> watching = true; submitting = true
  :: else
  fi
}

inline submit() {
  atomic {
    if
    :: submitting && calls > 0 -> submitting = false; polled = true
    :: submitting && calls == 0 -> submitting = false; polling = true
    :: else
    fi
  }
}

/* Until a completion. `otherwise`: another than a call's may come at any time, as may a deadline or an error. */
inline wait(otherwise) {
  if
  :: skip ->
     submit();
     if :: polled || messages > 0 :: otherwise fi
  :: otherwise
  fi;
  reap()
}

inline take() {
  atomic { assert(word != SLEEPING); node = word; word = EMPTY }; /* [M2] */
  do
  :: node != EMPTY ->
     assert(!delivered[node - 1]); delivered[node - 1] = true; count++;
     if :: node == 1 -> told_to_stop = true :: else fi;
     node = next[node - 1]
  :: else -> break
  od
}

#ifdef STOPPED
#define LEAVES told_to_stop
#else
#define LEAVES (count == P)
#endif

#ifdef M_DOZE_OWED
#define OWED false
#else
#define OWED call_owed
#endif

inline sleep() {
  watch();
  if
  :: OWED ->
#ifdef M_OWED_BLIND
     mail = false
#else
     mail = (word != EMPTY)
#endif
  :: else ->
#ifdef M_NODOZE
     mail = (word != EMPTY)
#else
     atomic { /* [M3] */
       if :: word == EMPTY -> word = SLEEPING; dozing = true; mail = false :: else -> mail = true fi
     }
#endif
#ifdef M_DOZE_BLIND
     ; mail = false
#endif
  fi;
  if
  :: mail
  :: else ->
     if :: timed = false :: timed = true fi;
     wait(timed);
     if
     :: dozing ->
        dozing = false;
#ifndef M_STAY_DOZING
        atomic { if :: word == SLEEPING -> word = EMPTY; ok = true :: else -> ok = false fi }; /* [M4] */
#ifndef M_ROUSE_BLIND
        call_owed = !ok
#endif
#endif
     :: else
     fi
  fi
}

proctype owner() {
  byte node; bool ok, mail, timed;
  do
  :: mail = (word != EMPTY);
     if
     :: mail -> take()
     :: else
     fi;
     submit();
     reap();
     if
     :: LEAVES -> break
     :: !(LEAVES) && !mail -> sleep()
     :: else
     fi
  od;
  /* Comes to rest. */
#ifndef M_LEAVE_OWED
  do
  :: call_owed -> watch(); wait(false)
  :: else -> break
  od;
#endif
  /* Is destroyed: what waits on it waits for the posts that are promised. */
  do
  :: count < P -> word != EMPTY -> take()
  :: else -> break
  od;
  assert(calls + messages == 0);
  gone = true
}

init {
  byte k;
  atomic {
    run owner();
    for (k : 0 .. P - 1) { run poster(k) }
  };
  _nr_pr == 1;
  assert(gone && count == P)
}
