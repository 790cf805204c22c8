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
 * invalid end state); each wake ends the sleep that it was sent for, and none is left over (I33).
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

/* The state of class `wakeup`. */
bool watching;      /* the eventfd's poll was asked for, and has not been completed */
bool sleeping;        /* the owner has prepared to sleep, and has not been woken */
bool owed;     /* the owner woke by itself, but a poster is about to wake it */

/* The kernel's. */
bool submitting;    /* the poll is in the submission queue */
bool polling;       /* it is armed */
bool polled;        /* its completion */
byte wakes;         /* the eventfd's count */
byte messages;      /* completions that others have sent */

#define INSIDE() assert(!gone)

inline write_eventfd() {
  atomic {
    INSIDE();
    wakes++;
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
#ifdef M_WAKER_LATE
  if :: seen == SLEEPING -> INSIDE() :: else fi;
#endif
#ifndef M_NOWAKE
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
#ifdef M_WAKE_BOTH
        write_eventfd()
#endif
     fi
  :: seen == SLEEPING && (MESSAGES >> node) % 2 == 0 -> write_eventfd()
  :: else
  fi
#endif
}

inline woken() {
  assert(sleeping || owed);
  if
  :: sleeping -> sleeping = false
  :: else ->
#ifndef M_WAKE_FORGOTTEN
     owed = false
#endif
  fi
}

/* Looks at all completions. */
inline reap() {
  do
  :: messages > 0 -> messages--; woken()
  :: polled ->
     polled = false;
#ifndef M_UNWATCHED
     watching = false;
#endif
#ifdef M_NOREAD
     atomic { ok = (wakes > 0) };
#else
     atomic { ok = (wakes > 0); wakes = 0 };
#endif
     if :: ok -> woken() :: else fi
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
    :: submitting && wakes > 0 -> submitting = false; polled = true
    :: submitting && wakes == 0 -> submitting = false; polling = true
    :: else
    fi
  }
}

/* Until a completion. `otherwise`: another than that of a wake may come at any time, as may a deadline or an error. */
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

#ifdef M_SLEEP_OWED
#define OWED false
#else
#define OWED owed
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
#ifdef M_NOSLEEP
     mail = (word != EMPTY)
#else
     atomic { /* [M3] */
       if :: word == EMPTY -> word = SLEEPING; sleeping = true; mail = false :: else -> mail = true fi
     }
#endif
#ifdef M_SLEEP_BLIND_TO_MAIL
     ; mail = false
#endif
  fi;
  if
  :: mail
  :: else ->
     if :: timed = false :: timed = true fi;
     wait(timed);
     if
     :: sleeping ->
        sleeping = false;
#ifndef M_STAY_ASLEEP
        atomic { if :: word == SLEEPING -> word = EMPTY; ok = true :: else -> ok = false fi }; /* [M4] */
#ifndef M_CANCEL_BLIND
        owed = !ok
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
  :: owed -> watch(); wait(false)
  :: else -> break
  od;
#endif
  /* Is destroyed: what waits on it waits for the posts that are promised. */
  do
  :: count < P -> word != EMPTY -> take()
  :: else -> break
  od;
  assert(wakes + messages == 0);
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
