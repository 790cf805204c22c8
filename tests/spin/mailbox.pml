/* SPDX-License-Identifier: MIT
 *
 * How a loop sleeps until it has mail: detail/run/mailbox.hpp, detail/run/parker.hpp and the sleep_word of
 * detail/platform/atomic.hpp. Step for step, one step for each atomic access; labels in brackets are the headers'.
 * Sequentially consistent.
 *
 * P posters post one node each; a loop takes them and sleeps, with and without a deadline, and is
 * destroyed as soon as it has run the last one, while posters may still be inside `post`.
 *
 * Claimed: nobody touches the loop after its end, except that a futex may be woken by its address; each
 * node is delivered once; no wake-up is lost (else spin reports an invalid end state); there is one
 * `unpark` for each `park` that was promised one. Spurious wake-ups are left out: they would hide lost ones.
 *
 * Options: -DP (posters) -DNOFUTEX (the sleep_word of a mutex and a condition variable)
 * Mutants (-DM_...), each a mistake that must be found: see `run`. */
#ifndef P
#define P 2
#endif

/* The mailbox's word: one of these, or the latest node's number plus one. */
#define EMPTY 0
#define SLEEPING 200

byte word;
byte next[P];
bool token;   /* the parker's word */
bool mutex;   /* is locked */
bool asleep;  /* in the kernel, or on the condition variable */
bool woken;
bool gone;    /* the loop has been destroyed */
byte count;   /* nodes delivered */
bool delivered[P];

#define INSIDE() assert(!gone)

inline unpark() {
#ifdef NOFUTEX
  atomic { INSIDE(); !mutex -> mutex = true };
  atomic { INSIDE(); assert(!token); token = true }; /* [P1] */
  atomic { INSIDE(); if :: asleep -> woken = true :: else fi };
  atomic { INSIDE(); mutex = false }
#else
  atomic { INSIDE(); assert(!token); token = true }; /* [P1] */
  atomic { if :: asleep -> woken = true :: else fi } /* by address: the word may be no more */
#endif
}

proctype poster(byte node) {
  byte seen;
  atomic { INSIDE(); seen = word };
  do
  :: next[node] = (seen == SLEEPING -> EMPTY : seen);
#ifdef M_POST_SPLIT
     atomic { INSIDE(); if :: word == seen :: else -> seen = word; goto again fi };
     atomic { INSIDE(); word = node + 1; break };
again:
#endif
     atomic { INSIDE(); /* [M1] */
       if
       :: word == seen -> word = node + 1; break
       :: else -> seen = word
       fi
     }
  od;
#ifndef M_NOWAKE
  if :: seen == SLEEPING -> unpark() :: else fi
#endif
}

#ifdef M_SLEEP_BLIND
#define MAY_SLEEP true
#else
#define MAY_SLEEP !token
#endif

#ifdef M_NORECHECK
#define AWAKE() ok = true; break
#else
#define AWAKE() skip
#endif

/* Sets ok: whether the token was taken. `timed`: the deadline may be over at any time. */
inline park(timed) {
  do
  :: ok = token; /* [P2] */
     if
     :: ok ->
        token = false;
#if defined(NOFUTEX) && !defined(M_NOLOCK)
        atomic { !mutex -> mutex = true };
        mutex = false;
#endif
        break
     :: !ok && timed -> break
     :: !ok ->
        /* Sleeps only if the token is not there: the kernel, or the mutex, makes this one step. */
#ifdef NOFUTEX
        atomic { !mutex; asleep = MAY_SLEEP };
        if
        :: asleep ->
           if :: woken :: timed fi;
           atomic { !mutex; asleep = false; woken = false };
           AWAKE()
        :: else
        fi
#else
        asleep = MAY_SLEEP;
        if
        :: asleep ->
           if :: woken :: timed fi;
           atomic { asleep = false; woken = false };
           AWAKE()
        :: else
        fi
#endif
     fi
  od
}

proctype loop() {
  byte node; bool ok, prepared;
  do
  :: count == P -> break
  :: else ->
     node = word; /* has_mail */
     if
     :: node != EMPTY ->
        atomic { assert(word != SLEEPING); node = word; word = EMPTY }; /* [M2] */
        do
        :: node != EMPTY ->
           assert(!delivered[node - 1]); delivered[node - 1] = true; count++;
           node = next[node - 1]
        :: else -> break
        od
     :: else ->
#ifdef M_PREPARE_SPLIT
        prepared = (word == EMPTY);
        if :: prepared -> word = SLEEPING :: else fi;
#else
        atomic { /* [M3] */
          if :: word == EMPTY -> word = SLEEPING; prepared = true :: else -> prepared = false fi
        };
#endif
        if
        :: prepared -> park(false)
        :: prepared ->
           park(true);
           if
           :: !ok ->
#ifdef M_NOCANCEL_WAIT
              ok = true;
#else
              atomic { if :: word == SLEEPING -> word = EMPTY; ok = true :: else fi }; /* [M4] */
#endif
#ifndef M_NOCOLLECT
              if :: !ok -> park(false) :: else fi
#endif
           :: else
           fi
        :: else
        fi
     fi
  od;
  assert(!token);
  gone = true
}

init {
  byte k;
  atomic {
    run loop();
    for (k : 0 .. P - 1) { run poster(k) }
  };
  _nr_pr == 1;
  assert(gone && count == P)
}
