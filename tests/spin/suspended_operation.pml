/* SPDX-License-Identifier: MIT
 *
 * How an executor that lives on another one sleeps, is woken, and ends with its context:
 * asio/detail/serial_executor.hpp and registry.hpp. Step for step; labels in brackets are the inbox's.
 * Sequentially consistent.
 *
 * P operations wait on the executor, which is asleep. P partners may each claim one, and post its node; if
 * the executor sleeps, the partner wakes it: under the registry's mutex it queues a turn in the context. A
 * thread runs the context for a while. Then the context ends: the registry destroys its sleepers, the queue
 * its turns, and what is destroyed withdraws its operations, or waits for the posts of those that are claimed
 * already. An executor whose nodes have all been run ends by itself. With OWNER its owner may destroy it before
 * the context ends (`task_executor`).
 *
 * Claimed: nobody touches the executor after its end, nor the context after its own; each node that was
 * posted is run or taken back, once; at the end the executor has ended, too: no frame leaks.
 *
 * Options: -DP (operations) -DOWNER
 * Mutants (-DM_...), each a mistake that must be found: see `run`. */
#ifndef P
#define P 2
#endif

/* The word: how many nodes, or this. */
#define SLEEPING 200

/* An operation. */
#define OFFERED 0
#define CLAIMED 1
#define ENDED 2

byte operation[P];
byte word = SLEEPING;
byte finished;         /* operations that were run, withdrawn or taken back */
bool gone;            /* the executor has ended */
bool orphaned;        /* its owner has left it to its turn */

bool mutex;           /* the registry's, is locked */
bool listed = true;   /* in the registry */
bool woken;
bool ended;           /* the context accepts no turns */
bool context_gone;
bool asleep = true;   /* what the executor thinks of itself */
bool queued;          /* a turn is in the context's queue */
bool running = true;  /* the context's thread takes turns */

#define INSIDE() assert(!gone)
#define CONTEXT() assert(!context_gone)

inline lock() { atomic { CONTEXT(); !mutex -> mutex = true } }
inline unlock() { atomic { CONTEXT(); assert(mutex); mutex = false } }

proctype partner(byte mine) {
  bool wakes;
  atomic {
    if
    :: operation[mine] == OFFERED -> operation[mine] = CLAIMED
    :: else -> goto over
    fi
  };
  atomic { INSIDE(); wakes = (word == SLEEPING); word = (wakes -> 1 : word + 1) }; /* [M1] */
  if
  :: wakes ->
#ifdef M_UNLOCKED
     atomic { CONTEXT(); assert(!ended); INSIDE(); listed = false; woken = true; queued = true }
#else
     lock();
     atomic {
       INSIDE();
#ifndef M_WOKEN_LATE
       woken = true;
#endif
#ifdef M_UNLINK_ENDED
       listed = false;
#endif
       if
       :: !ended -> listed = false; queued = true
       :: else
       fi
     };
#ifdef M_WOKEN_LATE
     atomic { INSIDE(); woken = true };
#endif
     unlock()
#endif
  :: else
  fi;
over:
  skip
}

/* Destroys what waits: each operation is withdrawn, or its node waited for. */
inline dispose() {
  INSIDE();
  i = 0;
  do
  :: i < P ->
     atomic {
       if
       :: operation[i] == OFFERED -> operation[i] = ENDED; finished++
       :: else
       fi
     };
     i++
  :: else -> break
  od;
  atomic { assert(word != SLEEPING); finished = finished + word; word = 0 }; /* [M2] */
#ifndef M_NOWAIT
  do
  :: finished < P -> atomic { word > 0 && word != SLEEPING -> finished = finished + word; word = 0 }
  :: else -> break
  od;
#endif
  INSIDE()
}

/* Sets alone: whether nobody but a turn will come. */
inline leave() {
  INSIDE();
  if
  :: asleep ->
     atomic { if :: word == SLEEPING -> word = 0; roused = true :: else -> roused = false fi }; /* [M4] */
     if
     :: !roused ->
#ifndef M_NOAWAIT
        do
        :: lock();
           roused = woken;
           unlock();
           if :: roused -> break :: else -> woken fi
        od
#endif
     :: else
     fi;
#ifndef M_NOREMOVE
     lock();
     listed = false;
     unlock();
#endif
     asleep = false
  :: else
  fi;
  alone = !queued
}

proctype context() {
  byte i; bool roused, alone, prepared;
  /* Turns, until somebody stops the context. */
  do
  :: atomic { queued && running -> queued = false };
     INSIDE();
     if
     :: orphaned -> gone = true; goto stopped
     :: else
     fi;
     asleep = false;
     do
     :: atomic { assert(word != SLEEPING); finished = finished + word; word = 0 }; /* [M2], and runs them */
        if
        :: finished == P -> gone = true; goto stopped
        :: finished < P && word == 0 ->
           asleep = true;
           lock(); woken = false; listed = true; unlock();
           atomic { if :: word == 0 -> word = SLEEPING; prepared = true :: else -> prepared = false fi }; /* [M3] */
           if
           :: prepared -> break
           :: else -> lock(); listed = false; unlock(); asleep = false
           fi
        :: else
        fi
     od
  :: true -> break
  od;
stopped:
  running = false;
#ifdef OWNER
  if
  :: !gone ->
     leave();
     dispose();
     if :: alone -> gone = true :: else -> orphaned = true fi
  :: true
  fi;
#endif
  /* The registry's shutdown. */
  lock();
  ended = true;
  if :: unlock(); lock() :: skip fi; /* another sleeper ends */
  do
  :: listed ->
     listed = false;
     unlock();
     leave();
     if :: alone -> dispose(); gone = true :: else fi;
     lock()
  :: else -> break
  od;
  unlock();
  /* The queue's. */
  if
  :: queued ->
     queued = false;
     if :: orphaned :: else -> dispose() fi;
     gone = true
  :: else
  fi;
  context_gone = true
}

init {
  byte k;
  atomic {
    run context();
    for (k : 0 .. P - 1) { run partner(k) }
  };
  _nr_pr == 1;
  assert(gone);
  assert(finished == P)
}
