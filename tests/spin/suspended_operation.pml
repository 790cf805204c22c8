/* SPDX-License-Identifier: MIT
 *
 * How an operation of Asio waits, is woken, and ends with its context: asio/detail/registry.hpp (labels R),
 * serial_executor.hpp, exchange_executor.hpp and detail/run/rundown.hpp. Step for step; M are the labels of the
 * inbox. Sequentially consistent.
 *
 * P operations wait. P partners may each claim one and post its node, and so wake its executor: they queue an
 * entry in the context, inside its rundown. Partners in HOME run on the context, without the rundown. A thread
 * runs the entries for a while. Then the context ends: the rundown ends, the registry ends the executors that
 * it lists, the queue destroys its entries, and the registry is destroyed. Whatever is destroyed withdraws its
 * operations, or waits for the posts of those that are claimed already.
 *
 * By default, one serial executor with an inbox serves all operations, and its entry is a turn. With NODE each
 * operation has an exchange executor, whose entry is the operation's only node. Then each operation may begin
 * with a queued check, before it is parked. With OWNER the serial executor may be destroyed by its owner before
 * the context ends (`task_executor`). With QUEUE_FIRST the queue destroys its entries before the registry's
 * shutdown, as that of a user's own context may.
 *
 * Claimed: nobody touches an executor after its end, nor the context or its registry after theirs; nobody
 * queues an entry in a context whose queue has ended; each node that was posted is run or taken back, once; at
 * the end every executor has ended, too: no frame leaks.
 *
 * Options: -DP (operations) -DHOME (partners on the context, as bits) -DNODE -DOWNER -DQUEUE_FIRST
 * Mutants (-DM_...), each a mistake that must be found: see `run`. */
#ifndef P
#define P 2
#endif
#ifndef HOME
#define HOME 0
#endif
#define IS_HOME(p) ((HOME >> (p)) & 1)

#ifdef NODE
#define E P
#define EXECUTOR(p) (p)
#else
#define E 1
#define EXECUTOR(p) 0
#endif

/* An operation. */
#define OFFERED 0
#define CLAIMED 1
#define ENDED 2

/* Where the entry of an executor is. */
#define NONE 0
#define QUEUED 1
#define STRANDED 2

/* The inbox: how many nodes, or this. */
#define SLEEPING 200

byte operation[P];
byte finished;        /* operations that were run, withdrawn or taken back */

byte entry[E];
bool in_queue[E];     /* the entry is in the context's queue */
bool listed[E];       /* in the registry */
bool gone[E];         /* the executor has ended */
#ifdef NODE
bool parked[E];       /* the operation is to be posted */
#else
byte word = SLEEPING;
byte ready;           /* nodes that the executor has taken from its inbox */
bool asleep = true;   /* what the executor thinks of itself */
bool orphaned;        /* its owner has left it to its turn */
#endif

byte inside;          /* the rundown: threads in it, and whether it has ended */
bool ended;
byte handlers;        /* handlers that other threads of the context run */
bool running = true;  /* the context's threads run handlers */
bool shut;            /* the context's queue has ended */
bool context_gone;    /* and so has the registry */

#define INSIDE(e) assert(!(gone[e]))
#define CONTEXT() assert(!(context_gone))

/* Marks the entry of e as queued, and queues it. */
inline queue_entry(e) {
#ifdef M_QUEUED_LATE
  atomic { INSIDE(e); assert(!(shut)); in_queue[e] = true };
  atomic { INSIDE(e); entry[e] = QUEUED }
#else
  atomic { INSIDE(e); entry[e] = QUEUED }; /* [R7] */
  atomic { INSIDE(e); assert(!(shut)); in_queue[e] = true }
#endif
}

inline enter() {
#ifdef M_ENDED_FIRST
  atomic { CONTEXT(); open = !ended };
  atomic { CONTEXT(); inside++ }
#else
  atomic { CONTEXT(); inside++; open = !ended } /* [R1] */
#endif
}
inline leave_rundown() { atomic { CONTEXT(); assert(inside > 0); inside-- } } /* [R2] */

/* Queues the entry of e, or strands it. */
inline wake(e, at_home) {
#ifdef M_UNLINKS
  atomic { INSIDE(e); listed[e] = false };
#endif
#ifdef M_NOENTER
  queue_entry(e)
#else
  if
  :: at_home -> queue_entry(e)
  :: else ->
     enter();
     if
     :: open ->
#ifdef M_LEAVE_EARLY
        leave_rundown();
#endif
        queue_entry(e)
     :: else ->
#ifdef M_STRANDED_LATE
        leave_rundown();
#endif
        atomic { INSIDE(e); entry[e] = STRANDED } /* [R7] */
     fi;
#ifdef M_LEAVE_EARLY
     if :: open :: else -> leave_rundown() fi
#elif defined(M_STRANDED_LATE)
     if :: open -> leave_rundown() :: else fi
#else
     leave_rundown()
#endif
  fi
#endif
}

proctype partner(byte mine) {
  bool open, posts;
  if
  :: IS_HOME(mine) ->
     if
     :: atomic { running -> handlers++ }
     :: atomic { !running -> goto over }
     fi
  :: else
  fi;
  atomic {
    if
    :: operation[mine] == OFFERED -> operation[mine] = CLAIMED
    :: else -> goto returns
    fi
  };
#ifdef NODE
  atomic { INSIDE(mine); operation[mine] = ENDED; posts = parked[mine] }; /* [W4] */
#else
  atomic { INSIDE(0); posts = (word == SLEEPING); word = (posts -> 1 : word + 1) }; /* [M1] */
#endif
  if
  :: posts -> wake(EXECUTOR(mine), IS_HOME(mine))
  :: else
  fi;
returns:
  if
  :: IS_HOME(mine) -> handlers--
  :: else
  fi;
over:
  skip
}

#ifdef NODE

inline leave(e) { atomic { INSIDE(e); listed[e] = false } }

/* The operation is withdrawn, or its completion waited for; then its executor ends. */
inline dispose(e) {
  if
  :: atomic { operation[e] == OFFERED -> INSIDE(e); operation[e] = ENDED }
  :: operation[e] != OFFERED ->
     if
     :: parked[e] ->
#ifndef M_NOWAIT
        entry[e] == STRANDED /* [R6] */
#endif
     :: else -> operation[e] == ENDED
     fi
  fi;
  atomic { INSIDE(e); finished++; gone[e] = true }
}

/* The queue destroys the entry of e. */
inline destroy_entry(e) {
  atomic { INSIDE(e); entry[e] = STRANDED };
  leave(e);
  dispose(e)
}

inline context_ends(e) {
  INSIDE(e);
  if
#ifndef M_DISPOSE_QUEUED
  :: entry[e] == QUEUED
#endif
  :: else -> dispose(e)
  fi
}

/* The context's thread runs the entry of e. */
inline run_entry(e) {
  atomic { INSIDE(e); entry[e] = NONE };
  if
  :: operation[e] == ENDED ->
#ifndef M_NOREMOVE
     leave(e);
#endif
     atomic { INSIDE(e); finished++; gone[e] = true }
  :: atomic { operation[e] != ENDED -> parked[e] = true } /* [W2] */
  fi
}

#else

/* Each operation is withdrawn, or its node waited for. */
inline dispose() {
  i = 0;
  do
  :: i < P ->
     atomic {
       INSIDE(0);
       if
       :: operation[i] == OFFERED -> operation[i] = ENDED; finished++
       :: else
       fi
     };
     i++
  :: else -> break
  od;
  atomic { INSIDE(0); assert(word != SLEEPING); finished = finished + ready + word; ready = 0; word = 0 }; /* [M2] */
#ifndef M_NOWAIT
  do
  :: finished < P -> atomic { word > 0 && word != SLEEPING -> finished = finished + word; word = 0 }
  :: else -> break
  od;
#endif
  INSIDE(0)
}

/* Sets alone: whether no turn will come. */
inline leave() {
  INSIDE(0);
  if
  :: asleep ->
     atomic { if :: word == SLEEPING -> word = 0; cancelled = true :: else -> cancelled = false fi }; /* [M4] */
#ifndef M_NOAWAIT
     if
     :: cancelled
     :: else -> entry[0] != NONE /* [R6] */
     fi;
#endif
     asleep = false
  :: else
  fi;
#ifdef M_NOREMOVE
  skip;
#else
  listed[0] = false;
#endif
  alone = (entry[0] != QUEUED)
}

/* The queue destroys the turn. */
inline destroy_entry(e) {
  atomic { INSIDE(e); entry[e] = STRANDED };
#ifndef M_TURN_LISTED
  atomic { INSIDE(e); listed[e] = false };
#endif
  if :: orphaned :: else -> dispose() fi;
  gone[e] = true
}

inline context_ends(e) {
  leave();
#ifdef M_DISPOSE_QUEUED
  alone = true;
#endif
  if
  :: alone -> dispose(); gone[e] = true
  :: else
  fi
}

/* The context's thread runs a turn. */
inline run_entry(e) {
  atomic { INSIDE(e); entry[e] = NONE; asleep = false };
  do
  :: orphaned -> gone[e] = true; break
  :: !orphaned ->
     atomic { INSIDE(e); assert(word != SLEEPING); ready = ready + word; word = 0 }; /* [M2] */
     if
     :: ready > 0 && ready < P -> queue_entry(e); break /* the turn has run its share */
     :: ready > 0 -> finished = finished + ready; ready = 0
     :: ready == 0
     fi;
     if
     :: finished == P ->
        atomic { INSIDE(e); listed[e] = false };
        gone[e] = true;
        break
     :: else ->
        asleep = true;
        atomic { if :: word == 0 -> word = SLEEPING; cancelled = false :: else -> cancelled = true fi }; /* [M3] */
        if
        :: !cancelled -> break
        :: else -> asleep = false
        fi
     fi
  od
}

#endif

/* The queue destroys its entries. */
inline end_queue() {
  for (e : 0 .. E - 1) {
    if
    :: in_queue[e] -> in_queue[e] = false; destroy_entry(e)
    :: else
    fi
  }
}

proctype context() {
  byte e;
#ifndef NODE
  byte i; bool cancelled, alone, left;
#endif
  /* Entries, until somebody stops the context. */
  do
  :: atomic { in_queue[0] -> in_queue[0] = false; e = 0 }; run_entry(e)
#if defined(NODE) && P > 1
  :: atomic { in_queue[1] -> in_queue[1] = false; e = 1 }; run_entry(e)
#endif
#if defined(NODE) && P > 2
  :: atomic { in_queue[2] -> in_queue[2] = false; e = 2 }; run_entry(e)
#endif
#ifdef OWNER
  :: atomic { !left && !gone[0] && handlers == 0 -> left = true; running = false };
     leave();
     dispose();
     if :: alone -> gone[0] = true :: else -> orphaned = true fi;
     running = true
#endif
  :: break
  od;
  atomic { handlers == 0 -> running = false };
#ifdef QUEUE_FIRST
  end_queue();
#endif
  /* The registry's shutdown. */
  ended = true;
#ifndef M_NOEND
  inside == 0; /* [R3] */
#endif
  for (e : 0 .. E - 1) {
    if
    :: listed[e] -> listed[e] = false; context_ends(e)
    :: else
    fi
  }
  end_queue();
  shut = true;
#ifndef M_NODRAIN
  inside == 0;
#endif
  context_gone = true
}

init {
  byte k;
  atomic {
    for (k : 0 .. E - 1) {
      listed[k] = true;
#ifdef NODE
      if
      :: parked[k] = true
      :: entry[k] = QUEUED; in_queue[k] = true
      fi
#endif
    }
    run context();
    for (k : 0 .. P - 1) { run partner(k) }
  };
  _nr_pr == 1;
  for (k : 0 .. E - 1) { assert(gone[k]) }
  assert(finished == P)
}
