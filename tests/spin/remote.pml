/* SPDX-License-Identifier: MIT
 *
 * Exchanges between processes: the protocol between the rooms of P processes and the script that Redis runs,
 * src/redis/rendezvous.lua. A call of the script is one step, its request and its reply are messages that may be late.
 *
 *   operations M (2 to 4), each an offer of the process OWNER(n). Their numbers are not used again.
 *   processes  P. Each numbers its connections (its epoch, 1 to EPOCHS), joins, asks about its operations, and renews
 *   links      one for each process and epoch: executes the requests of that connection, in order. Those of a broken
 *              connection are executed later, or never
 *   faults     the environment: breaks connections, lets leases and time expire, ends processes, restarts the server
 *              with its present state or with a saved one, and deletes all keys. It may stop at any time
 *   monitor    looks at the state when nothing can happen any more
 *
 * Rules of the script:
 *   R1 only a process that has joined the present generation in its present epoch changes anything
 *   R2 a waiter is matched only in the generation in which it was enqueued
 *   R3 a waiter is matched only during the lease of its process
 *   R4 a match writes the results of both operations. They stay until they are acknowledged, or as long as the
 *      record of their process. A record without a lease may be removed, and then some of its results; the next one
 *      has another birth
 * Rules of a room:
 *   R5 in a new epoch it joins, then asks about each operation that was sent, and only then sends anything else
 *   R6 an operation of which the server knows nothing was not matched, if generation and birth are those in which the
 *      room asked last (or had nothing to ask). Otherwise it is in doubt
 *   R7 it acknowledges a result after it has the item, and again until that is answered
 *   R8 it withdraws an operation that it has reported as in doubt, and acknowledges its result, until both are answered
 *   R9 it ignores what a reply says of an operation that has been sent again after the request
 *   R10 a message without the token of an operation only makes the room collect (R5 of the script)
 *   R11 an operation whose limit was reached long ago is in doubt if its withdrawal has not succeeded
 *
 * Claimed:
 *   G1 no item is received twice
 *   G2 the item of an operation that has got it back was not received by anybody, and never will be
 *   G3 two operations that have exchanged have each other's items, if one of them has the other's
 *   G4 when nothing can happen any more, each operation of a live process has ended, or it has no limit, and waits in
 *      the queue without a partner
 *   G5 nobody is matched with an operation whose process has no lease
 *   G6 then there is also no result of a live process, and nothing of it in a queue except what waits. Results that a
 *      restart has restored, and queues that the next join empties (R2), are exceptions
 *   G7 no two operations wait in the queues that could meet, and none in a closed room
 * The scenes with `cycles` show that no execution goes on for ever.
 *
 * Options:
 *   -DP -DM         processes and operations
 *   -DEPOCHS        connections of each process, at most
 *   -DDEPTH         requests under way in one connection, at most
 *   -DBLUES=mask    a room of two sides: the operations of the other side. Without it, any two match
 *   -DLIMITS=mask   operations that have a limit, which is reached at any time
 *   -DTRIES=mask    operations that do not wait
 *   -DBREAKS=n -DEXPIRIES=n -DDEATHS=n -DRESTARTS=n -DFLUSHES=n   faults of each kind, at most
 *   -DROLLBACK      a restart may restore a state that was saved earlier
 *   -DREMOVALS      a join or a renewal removes what processes without a lease have left, if it likes
 *   -DOVERDUES=n    operations are in doubt because of R11, at most n
 *   -DFORGERIES=n   messages without a token, at most n
 *   -DAGAINS=n      arrivals are answered `again`: they do not wait, and are sent again, at most n
 *   -DRECALLS=n     operations are withdrawn, at most n times, to meet a partner at home, and may be sent again
 *   -DLARGE         wake-ups may come without the item
 *   -DCLOSER        process 0 closes the room, once, at any time or never
 *   -DLEAVES        a process leaves the room when its operations have ended
 *   -DPROXY         connections, and requests under way, survive a restart of the server. This needs
 *   -DRUN_CHECKED   each call of the script compares the server's run id with the one that made the generation
 * Mutants (-DM_...), each a mistake that must be found: see `run`. */
#ifndef P
#define P 2
#endif
#ifndef M
#define M 2
#endif
#ifndef EPOCHS
#define EPOCHS 1
#endif
#ifndef DEPTH
#define DEPTH 1
#endif
#ifndef LIMITS
#define LIMITS 0
#endif
#ifndef TRIES
#define TRIES 0
#endif
#ifndef BREAKS
#define BREAKS 0
#endif
#ifndef EXPIRIES
#define EXPIRIES 0
#endif
#ifndef DEATHS
#define DEATHS 0
#endif
#ifndef RESTARTS
#define RESTARTS 0
#endif
#ifndef FLUSHES
#define FLUSHES 0
#endif
#ifndef RECALLS
#define RECALLS 0
#endif
#ifndef OVERDUES
#define OVERDUES 0
#endif
#ifndef FORGERIES
#define FORGERIES 0
#endif
#ifndef AGAINS
#define AGAINS 0
#endif

#define IN(mask, n) (((mask) >> (n)) & 1)
#define OWNER(n) (((n) % M) % P)
#define LINK(p, e) ((p) * EPOCHS + (e) - 1)
/* The numbers that the script sees. Only M_NEW_NUMBER gives an operation a second one. */
#ifdef M_NEW_NUMBER
#define NUMBERS (2 * M)
#define NUMBER(n) ((n) + (renumbered[n] -> M : 0))
bool renumbered[M];
#else
#define NUMBERS M
#define NUMBER(n) (n)
#endif
#define ITEM(k) ((k) % M)
#ifdef BLUES
#define MATCH(k, l) (IN(BLUES, ITEM(k)) != IN(BLUES, ITEM(l)))
#else
#define MATCH(k, l) ((k) != (l))
#endif

/* Requests */
#define JOIN 1
#define ARRIVE 2
#define WITHDRAW 3
#define COLLECT 4
#define RENEW 5
#define CLOSE 6
#define LEAVE 7

/* Replies. A positive value of `arrive`, `withdraw`, `collect` is the partner's number + 1; of `renew`, two bits for
 * each operation. */
#define DONE 0
#define DONE_CLOSED 1 /* and the room is closed */
#define REJOIN 2
#define REFUSED 3
#define WAITS 4
#define AGAIN 5
#define UNKNOWN 0
#define WAITING 1
#define MATCHED 2

/* The server: its keys, and the same as saved */
byte generation, maker; /* 0: no key; the run of the server that has made it */
byte queue;             /* the operations that wait, as a mask */
byte result[NUMBERS];   /* the partner's number + 1 */
byte record[P];         /* the epoch; 0: no record */
bool lease[P];
byte birth[P];          /* of the record */
bool closed;
#ifdef ROLLBACK
bool saved, closed_saved, lease_saved[P];
byte generation_saved, maker_saved, queue_saved, result_saved[NUMBERS], record_saved[P], birth_saved[P];
#endif
byte server = 1;        /* its run id */
byte ever;              /* generations and births so far: the next is another one */
bool restored;

/* The network: verb, number (or mask, or run id), generation, acknowledged, how often each operation was sent */
chan request[P * EPOCHS] = [DEPTH] of { byte, byte, byte, byte, byte };
/* verb, what, number, value, acknowledged (or birth), how often each operation was sent */
chan reply[P] = [DEPTH] of { byte, byte, byte, byte, byte, byte };
byte wake[M];           /* a message under way: the partner's number + 1 */
bool cut[P];            /* the server has gone, which the process has not noticed yet */

/* The rooms */
#define DOWN 0
#define UP 1            /* connected */
#define JOINING 2
#define JOINED 3        /* it must ask */
#define ASKING 4
#define READY 5
#define LEFT 6
bool alive[P];
byte room[P], epoch[P], run_id[P];
byte known[P], known_birth[P]; /* generation and birth, as the last join has told */
byte asked_in[P], asked_birth[P]; /* those in which it asked last */
bool is_same[P];        /* the last join has told the same */
bool has_closed;        /* process 0 has sent `close` */
byte results_had;       /* to be acknowledged, as a mask of numbers */
byte recalls, overdues, forgeries, agains;

/* The operations */
#define HOME 0          /* not sent, or known not to be on the server */
#define SENT 1
#define WAIT 2
#define LEAVING 3       /* `withdraw` is under way */
#define FOUND 4         /* it has a result, to be collected */
#define FETCHING 5
#define LOST 6          /* it was sent in an earlier epoch: nobody knows */
#define DOUBTED 7       /* in doubt, to be withdrawn */
#define LEAVING_DOUBTED 8
#define OVER 9
byte state[M];
byte times[P];          /* how often each operation was sent, modulo 4: two bits for each */
bool homeward[M];       /* it is withdrawn to meet somebody in its process */
#define PENDING 0
#define EXCHANGED 1
#define BACK 2
#define IN_DOUBT 3
byte outcome[M];
byte holder[M];         /* the operation that has received its item, + 1 */

#define MINE(p, mask) ((mask) & MASK_OF(p))
#if P == 2
#define MASK_OF(p) ((p) == 0 -> 85 : 170) /* M is even, or the numbers are M */
#else
#define MASK_OF(p) ((p) == 0 -> 73 : ((p) == 1 -> 18 : 36))
#endif
#if (defined(M_NEW_NUMBER) && M % P) || M > 4 || P < 2 || P > 3 || (P == 3 && M == 4)
#error "not a scene"
#endif
#define SENDABLE(p) (alive[p] && !cut[p] && len(request[LINK(p, epoch[p])]) + len(reply[p]) < DEPTH)
#define FREE(p) (room[p] == READY && SENDABLE(p))
#define send(p, verb, n) \
  request[LINK(p, epoch[p])]!verb, n, (verb == JOIN -> 0 : known[p]), MINE(p, results_had), times[p]; \
  acknowledgements_sent(p)

#ifdef M_ACK_ONCE
#define acknowledgements_sent(p) results_had = results_had & ~MASK_OF(p)
#else
#define acknowledgements_sent(p) skip
#endif

/* Outcomes */
inline exchanged(n, m) { /* n has the item of m */
  assert(!holder[m]);          /* G1 */
  assert(outcome[m] != BACK);  /* G2 */
  assert(outcome[m] != EXCHANGED || holder[n] == m + 1); /* G3 */
  assert(outcome[n] == PENDING);
  holder[m] = n + 1; outcome[n] = EXCHANGED; state[n] = OVER; homeward[n] = false;
  results_had = results_had | (1 << NUMBER(n))
}
inline back(n) {
  assert(holder[n] == 0);      /* G2 */
  assert(outcome[n] == PENDING);
  outcome[n] = BACK; state[n] = OVER
}
inline in_doubt(n, next) {
  assert(outcome[n] == PENDING);
  outcome[n] = IN_DOUBT; state[n] = next
}

/* Scratch; each step that uses it clears it. */
byte verb, what, number, gen, acks, sent, value, i, j, asked;
bool doubtful;
inline clear() {
  verb = 0; what = 0; number = 0; gen = 0; acks = 0; sent = 0; value = 0; i = 0; j = 0; asked = 0;
  doubtful = false
}

/* The script. p and e are those of the request; sets what and value. */
#ifdef M_NOEPOCH
#define SAME_EPOCH(p, e) (record[p] != 0)
#else
#define SAME_EPOCH(p, e) (record[p] == (e))
#endif
#ifdef M_NOGENERATION
#define SAME_GENERATION true
#else
#define SAME_GENERATION (generation == gen)
#endif
#if defined(RUN_CHECKED) && !defined(M_RUN_UNCHECKED)
#define RUN_ID server
#define SAME_RUN (maker == server)
#else
#define RUN_ID number
#define SAME_RUN true
#endif
#define ANOTHER_RUN (maker != RUN_ID)
#ifdef M_STALE_JOIN
#define STALE(p, e) false
#else
#define STALE(p, e) (record[p] > (e))
#endif
#ifdef M_NOLEASE
#define HAS_LEASE(k) true
#else
#define HAS_LEASE(k) lease[OWNER(k)]
#endif
inline grant(p) { lease[p] = true }
inline remove(q) {
#ifndef M_EPOCH_STAYS
  record[q] = 0; birth[q] = 0;
#endif
  lease[q] = false;
  for (i : 0 .. NUMBERS - 1) { if :: OWNER(i) == q && result[i] -> if :: result[i] = 0 :: true fi :: else fi }
}
inline remove_gone(p) {
  for (j : 0 .. P - 1) {
    if
    :: j != p && record[j] && !lease[j] -> remove(j)
    :: true
    fi
  }
}
/* Those that an arrival could match, and whose process has no lease */
inline drop_others() {
  for (i : 0 .. NUMBERS - 1) {
    if :: IN(queue, i) && MATCH(number, i) && !HAS_LEASE(i) -> queue = queue & ~(1 << i) :: else fi
  }
}
#define CANDIDATE(k) ((k) < NUMBERS && IN(queue, k) && MATCH(number, k) && HAS_LEASE(k))
#if NUMBERS > 4
#define ANY_CANDIDATE (CANDIDATE(0) || CANDIDATE(1) || CANDIDATE(2) || CANDIDATE(3) || CANDIDATE(4) || CANDIDATE(5) || \
  CANDIDATE(6) || CANDIDATE(7))
#define CHOICE_OF_MORE \
  :: CANDIDATE(4) -> i = 4 :: CANDIDATE(5) -> i = 5 :: CANDIDATE(6) -> i = 6 :: CANDIDATE(7) -> i = 7
#else
#define ANY_CANDIDATE (CANDIDATE(0) || CANDIDATE(1) || CANDIDATE(2) || CANDIDATE(3))
#define CHOICE_OF_MORE
#endif
inline arrive(p) {
  value = 0;
     if
     :: closed -> what = DONE_CLOSED
     :: !closed && agains < AGAINS -> agains++; what = AGAIN
     :: !closed ->
        if
        :: ANY_CANDIDATE ->
           if
           :: CANDIDATE(0) -> i = 0
           :: CANDIDATE(1) -> i = 1
           :: CANDIDATE(2) -> i = 2
           :: CANDIDATE(3) -> i = 3
           CHOICE_OF_MORE
           fi;
           value = i + 1;
           assert(lease[OWNER(i)]); /* G5 */
           queue = queue & ~(1 << i);
           result[i] = number + 1; /* R4 */
#ifndef M_ONE_RESULT
           result[number] = i + 1;
#endif
           if
           :: alive[OWNER(i)] && i == NUMBER(ITEM(i)) && outcome[ITEM(i)] == PENDING -> wake[ITEM(i)] = number + 1
           :: true /* the message is lost */
           fi;
           what = DONE;
           if :: drop_others() :: true fi; /* the older ones */
#ifdef M_REFUSED_LATE
           if :: what = REFUSED :: true fi
#endif
        :: else ->
           drop_others();
           if
           :: IN(TRIES, ITEM(number)) -> what = DONE
           :: else -> queue = queue | (1 << number); what = WAITS
           fi
        fi
     fi
}
inline script(p, e) {
  value = 0; what = DONE;
  if
  :: verb == JOIN && STALE(p, e) -> what = REFUSED
  :: verb == JOIN && !STALE(p, e) ->
     if
     :: generation == 0 || ANOTHER_RUN ->
#ifndef M_KEEP_QUEUES
        queue = 0; /* R2 */
#endif
        ever++; generation = ever; maker = RUN_ID
     :: else
     fi;
#ifdef REMOVALS
     remove_gone(p);
#endif
     if :: !record[p] -> ever++; birth[p] = ever :: else fi;
#ifdef M_BIRTH_UNNAMED
     acks = (record[p] != 0); /* tells only whether there was a record */
#else
     acks = birth[p];
#endif
     record[p] = e; grant(p); value = generation;
     what = (closed -> DONE_CLOSED : DONE)
  :: verb != JOIN && !(SAME_GENERATION && SAME_EPOCH(p, e) && SAME_RUN) -> what = REJOIN /* R1 */
  :: else ->
     for (i : 0 .. NUMBERS - 1) { if :: IN(acks, i) -> result[i] = 0 :: else fi };
     if
     :: verb == ARRIVE -> arrive(p)
     :: verb == WITHDRAW ->
#ifndef M_WITHDRAW_BLIND
        value = result[number];
#endif
        if :: !value -> queue = queue & ~(1 << number) :: else fi
     :: verb == COLLECT -> value = result[number]
     :: verb == RENEW ->
        grant(p);
#ifdef REMOVALS
        remove_gone(p);
#endif
        for (i : 0 .. M - 1) {
          if
          :: IN(number, i) ->
             if
             :: result[NUMBER(i)] -> value = value | (MATCHED << (2 * i))
             :: !result[NUMBER(i)] && IN(queue, NUMBER(i)) -> value = value | (WAITING << (2 * i))
             :: else
             fi
          :: else
          fi
        };
        what = (closed -> DONE_CLOSED : DONE)
     :: verb == CLOSE ->
        closed = true;
#ifndef M_CLOSE_KEEPS
        queue = 0
#endif
     :: verb == LEAVE -> record[p] = 0; lease[p] = false; birth[p] = 0
     fi
  fi
}

#define CURRENT(p, e) (alive[p] && room[p] != DOWN && epoch[p] == (e))
proctype link(byte p, e) {
end:
  do
  :: atomic {
       nempty(request[LINK(p, e)]) ->
#ifdef M_REORDER
       if
       :: request[LINK(p, e)]?verb, number, gen, acks, sent
       :: len(request[LINK(p, e)]) > 1 ->
          request[LINK(p, e)]?verb, number, gen, acks, sent;
          request[LINK(p, e)]!verb, number, gen, acks, sent;
          request[LINK(p, e)]?verb, number, gen, acks, sent
       fi;
#else
       request[LINK(p, e)]?verb, number, gen, acks, sent;
#endif
       script(p, e);
       if :: CURRENT(p, e) && !cut[p] -> reply[p]!verb, what, number, value, acks, sent :: else fi;
       clear()
     }
  :: atomic { nempty(request[LINK(p, e)]) && !CURRENT(p, e) -> request[LINK(p, e)]?_, _, _, _, _ }
  od
}

/* The process finds its connection broken. */
inline lose(p) {
  room[p] = DOWN; cut[p] = false; run_id[p] = 0;
  do :: nempty(reply[p]) -> reply[p]?_, _, _, _, _, _ :: empty(reply[p]) -> break od;
  lose_operations(p)
}
inline lose_operations(p) {
  for (i : 0 .. M - 1) {
    if
    :: OWNER(i) == p && state[i] >= SENT && state[i] <= FETCHING ->
#ifdef M_LOST_BACK
       if :: state[i] == SENT -> back(i) :: else -> state[i] = LOST fi;
#else
       state[i] = LOST;
#endif
       homeward[i] = false
#ifdef M_DOUBT_ONCE
    :: OWNER(i) == p && state[i] == LEAVING_DOUBTED -> state[i] = OVER
#else
    :: OWNER(i) == p && state[i] == LEAVING_DOUBTED -> state[i] = DOUBTED
#endif
    :: else
    fi
  };
  i = 0
}

/* The server knows nothing of the operation i. */
inline unknown(i) {
  if
  :: doubtful -> in_doubt(i, OVER)
  :: !doubtful && what == DONE_CLOSED -> back(i)
  :: !doubtful && what != DONE_CLOSED && (state[i] != LEAVING || homeward[i]) -> state[i] = HOME
  :: !doubtful && what != DONE_CLOSED && state[i] == LEAVING && IN(LIMITS, i) -> back(i)
  fi;
  homeward[i] = false
}
/* Generation and birth are those in which the room asked last. */
#ifdef M_OTHER_GENERATION
#define SAME(p) (known_birth[p] == asked_birth[p])
#else
#ifdef M_BIRTH_UNNAMED
#define SAME(p) (known[p] == asked_in[p] && known_birth[p] == 1)
#else
#ifdef M_OTHER_BIRTH
#define SAME(p) (known[p] == asked_in[p])
#else
#define SAME(p) (known[p] == asked_in[p] && known_birth[p] == asked_birth[p])
#endif
#endif
#endif
inline has_asked(p) {
  room[p] = READY; asked_in[p] = known[p]; asked_birth[p] = known_birth[p]
}
/* How often an operation was sent: as a reply says, and now */
#define TIMES(set, n) (((set) >> (2 * (n))) & 3)
#ifdef M_STALE_REPLY
#define IS_NEW(p, n) true
#else
#define IS_NEW(p, n) (TIMES(sent, n) == TIMES(times[p], n))
#endif
inline count_sending(p, n) {
  times[p] = (times[p] & ~(3 << (2 * n))) | (((TIMES(times[p], n) + 1) & 3) << (2 * n))
}
#ifdef M_ACK_EARLY
#define ACK_EARLY(i) results_had = results_had | (1 << NUMBER(i))
#else
#define ACK_EARLY(i) skip
#endif
inline asked_about(i) {
  j = (value >> (2 * i)) & 3;
  if
#ifdef M_OLD_RESULT
  :: j == MATCHED && state[i] == LOST && doubtful -> in_doubt(i, OVER)
  :: j == MATCHED && state[i] == LOST && !doubtful -> state[i] = FOUND
#else
  :: j == MATCHED && state[i] == LOST -> state[i] = FOUND; ACK_EARLY(i)
#endif
  :: j == MATCHED && (state[i] == WAIT || state[i] == SENT || state[i] == LEAVING) ->
     state[i] = FOUND; homeward[i] = false; ACK_EARLY(i)
  :: j == WAITING && state[i] == LOST ->
     if :: doubtful -> in_doubt(i, DOUBTED) :: else -> state[i] = WAIT fi
#ifdef M_UNKNOWN_WAITS
  :: j == UNKNOWN && state[i] == LOST -> unknown(i)
#else
  :: j == UNKNOWN && (state[i] == LOST || state[i] == WAIT || state[i] == SENT || state[i] == LEAVING) -> unknown(i)
#endif
  :: else
  fi
}

#define OP(n, s) ((n) < M && OWNER(n) == p && state[n] == (s))
#define ANY(s) (OP(0, s) || OP(1, s) || OP(2, s) || OP(3, s))
#define NEWS(n) (OP(n, WAIT) && !IN(queue, NUMBER(n)))
#define ALL_OVER(n) ((n) >= M || OWNER(n) != p || state[n] == OVER)
#define NOTHING_LEFT (ALL_OVER(0) && ALL_OVER(1) && ALL_OVER(2) && ALL_OVER(3) && !MINE(p, results_had))
/* A renewal at another time would change nothing. */
#define RENEWAL_DUE \
  (NEWS(0) || NEWS(1) || NEWS(2) || NEWS(3) || (ANY(WAIT) && !lease[p]) || \
   MINE(p, results_had) || (ANY(WAIT) && (known[p] != generation || maker != server)))

inline mask_of(p, s, t, u) {
  asked = 0;
  for (i : 0 .. M - 1) {
    if :: OWNER(i) == p && (state[i] == s || state[i] == t || state[i] == u) -> asked = asked | (1 << i) :: else fi
  }
}

proctype process(byte p) {
end:
  do
  :: atomic { /* connects */
       alive[p] && room[p] == DOWN && epoch[p] < EPOCHS -> epoch[p]++; room[p] = UP; run_id[p] = server
     }
  :: atomic { /* R5 */
       room[p] == UP && SENDABLE(p) -> send(p, JOIN, run_id[p]); room[p] = JOINING
     }
  :: atomic {
       room[p] == JOINED && SENDABLE(p) ->
       mask_of(p, LOST, LOST, LOST); send(p, RENEW, asked); clear(); room[p] = ASKING
     }
  :: atomic {
       alive[p] && nempty(reply[p]) ->
       reply[p]?verb, what, number, value, acks, sent;
       if
#ifdef M_REJOIN_MISSED
       :: what == REJOIN && room[p] == READY -> room[p] = UP; lose_operations(p)
       :: what == REJOIN && room[p] != READY
#else
       :: what == REJOIN && (room[p] == READY || room[p] == ASKING) -> room[p] = UP; lose_operations(p)
       :: what == REJOIN && room[p] != READY && room[p] != ASKING
#endif
       :: what != REJOIN ->
          if
          :: verb == JOIN -> /* it acknowledges nothing */
             assert(what != REFUSED);
             known[p] = value; known_birth[p] = acks;
#ifdef M_NEW_NUMBER
             for (i : 0 .. M - 1) {
               if
               :: OWNER(i) == p && state[i] == LOST && asked_in[p] == value && !renumbered[i] ->
                  renumbered[i] = true; state[i] = HOME
               :: else
               fi
             };
#endif
             room[p] = JOINED;
             is_same[p] = SAME(p);
#ifdef M_DOUBT_FORGOTTEN
             for (i : 0 .. M - 1) {
               if :: OWNER(i) == p && state[i] == DOUBTED && !is_same[p] -> state[i] = OVER :: else fi
             };
#endif
             if
             :: !ANY(LOST) -> has_asked(p)
#ifdef M_ASKED_EARLY
             :: ANY(LOST) -> has_asked(p); room[p] = JOINED
#endif
             :: else
             fi
          :: else -> results_had = results_had & ~acks
          fi;
          if
          :: verb == JOIN
          :: verb == ARRIVE ->
             number = ITEM(number);
             if
             :: !IS_NEW(p, number)
             :: else ->
             if
             :: (state[number] == SENT || state[number] == LEAVING) && what == REFUSED -> back(number)
             :: (state[number] == SENT || state[number] == LEAVING) && what != REFUSED && value ->
                exchanged(number, ITEM(value - 1))
             :: state[number] == SENT && what == WAITS -> state[number] = WAIT
             :: state[number] == SENT && what == AGAIN -> state[number] = HOME
             :: state[number] == LEAVING && what == AGAIN -> unknown(number)
             :: (state[number] == SENT || state[number] == LEAVING) && what <= DONE_CLOSED && !value -> back(number)
             :: else
             fi
             fi
          :: verb == WITHDRAW ->
             number = ITEM(number);
             if
             :: IS_NEW(p, number) && state[number] == LEAVING && value -> exchanged(number, ITEM(value - 1))
             :: IS_NEW(p, number) && state[number] == LEAVING && !value -> unknown(number)
             :: state[number] == LEAVING_DOUBTED ->
#ifndef M_DOUBT_UNACKED
                if :: value -> results_had = results_had | (1 << NUMBER(number)) :: else fi;
#endif
                state[number] = OVER
             :: else
             fi
          :: verb == COLLECT ->
             number = ITEM(number);
             if
             :: state[number] == FETCHING && value -> exchanged(number, ITEM(value - 1))
             :: state[number] == FETCHING && !value -> assert(forgeries); state[number] = WAIT
             :: else
             fi
          :: verb == RENEW ->
             doubtful = room[p] == ASKING && !is_same[p];
             if :: room[p] == ASKING -> has_asked(p) :: else fi;
             for (i : 0 .. M - 1) { if :: IN(number, i) && IS_NEW(p, i) -> asked_about(i) :: else fi }
          :: verb == CLOSE || verb == LEAVE
          fi
       fi;
       clear()
     }
#ifndef M_NORENEW
  :: atomic {
       FREE(p) && RENEWAL_DUE ->
       mask_of(p, WAIT, (DEPTH > 1 -> SENT : LEAVING), LEAVING); send(p, RENEW, asked); clear()
     }
#else
  :: atomic { FREE(p) && MINE(p, results_had) -> send(p, RENEW, 0) }
#endif
#ifdef CLOSER
  :: atomic { p == 0 && FREE(p) && !has_closed -> has_closed = true; send(p, CLOSE, 0) }
#endif
#ifdef LEAVES
  :: atomic { FREE(p) && NOTHING_LEFT -> send(p, LEAVE, 0); room[p] = LEFT }
#endif
  :: atomic { alive[p] && cut[p] && epoch[p] < EPOCHS -> lose(p) }
  od
}

proctype operation(byte n, p) {
end:
  do
  :: atomic {
       state[n] == HOME && FREE(p) ->
       count_sending(p, n); send(p, ARRIVE, NUMBER(n)); state[n] = SENT
     }
  :: atomic { /* its limit, or nothing was offered */
       alive[p] && state[n] == HOME && (IN(LIMITS, n) || room[p] == DOWN) -> back(n)
     }
  :: atomic { /* its limit */
       IN(LIMITS, n) && (state[n] == WAIT || (state[n] == SENT && DEPTH > 1)) && FREE(p) ->
       send(p, WITHDRAW, NUMBER(n)); state[n] = LEAVING
     }
  :: atomic { /* a partner has come in its process */
       recalls < RECALLS && (state[n] == WAIT || (state[n] == SENT && DEPTH > 1)) && FREE(p) ->
       recalls++; send(p, WITHDRAW, NUMBER(n)); state[n] = LEAVING; homeward[n] = true
     }
  :: atomic { state[n] == FOUND && FREE(p) -> send(p, COLLECT, NUMBER(n)); state[n] = FETCHING }
  :: atomic { /* R11 */
       overdues < OVERDUES && alive[p] && IN(LIMITS, n) && !homeward[n] &&
       (state[n] == LEAVING || (state[n] == SENT && DEPTH > 1)) ->
       overdues++;
#ifdef M_LIMIT_BACK
       back(n)
#else
       in_doubt(n, DOUBTED)
#endif
     }
  :: atomic { /* R10 */
       forgeries < FORGERIES && alive[p] && state[n] == WAIT ->
       forgeries++;
#ifdef M_FORGERY_BELIEVED
       exchanged(n, (n + 1) % M)
#else
       state[n] = FOUND
#endif
     }
  :: atomic { /* not connected again within a lease */
       alive[p] && state[n] == LOST && room[p] != READY ->
#ifdef M_DOUBT_KEPT
       in_doubt(n, OVER)
#else
       in_doubt(n, DOUBTED)
#endif
     }
  :: atomic { state[n] == DOUBTED && FREE(p) -> send(p, WITHDRAW, NUMBER(n)); state[n] = LEAVING_DOUBTED }
  :: atomic { /* a message */
       alive[p] && wake[n] ->
       if
       :: outcome[n] == PENDING -> exchanged(n, ITEM(wake[n] - 1))
       :: outcome[n] != PENDING
#ifdef LARGE
       :: state[n] == WAIT -> state[n] = FOUND; ACK_EARLY(n)
#endif
       fi;
       wake[n] = 0
     }
#ifdef M_CLOSED_TRUSTED
  :: atomic { alive[p] && closed && state[n] == WAIT -> back(n) }
#endif
  od
}

#define MAY_BREAK(p) (alive[p] && room[p] != DOWN && epoch[p] < EPOCHS && !cut[p])
#ifdef PROXY
#define MAY_CUT(p) true
#else
#define MAY_CUT(p) ((p) >= P || !alive[p] || room[p] == DOWN || epoch[p] < EPOCHS)
#endif
inline restart() {
  server++;
#ifndef PROXY
  for (i : 0 .. P * EPOCHS - 1) {
    do :: nempty(request[i]) -> request[i]?_, _, _, _, _ :: empty(request[i]) -> break od
  };
  for (i : 0 .. P - 1) { cut[i] = (alive[i] && room[i] != DOWN) };
#endif
  i = 0
}
#ifdef ROLLBACK
inline save() {
  saved = true; generation_saved = generation; maker_saved = maker; queue_saved = queue; closed_saved = closed;
  for (i : 0 .. NUMBERS - 1) { result_saved[i] = result[i] };
  for (i : 0 .. P - 1) { record_saved[i] = record[i]; lease_saved[i] = lease[i]; birth_saved[i] = birth[i] };
  i = 0
}
inline restore() {
  saved = false; restored = true;
  generation = generation_saved; maker = maker_saved; queue = queue_saved; closed = closed_saved;
  generation_saved = 0; maker_saved = 0; queue_saved = 0; closed_saved = false;
  for (i : 0 .. NUMBERS - 1) { result[i] = result_saved[i]; result_saved[i] = 0 };
  for (i : 0 .. P - 1) {
    record[i] = record_saved[i]; lease[i] = lease_saved[i]; birth[i] = birth_saved[i];
    record_saved[i] = 0; lease_saved[i] = false; birth_saved[i] = 0
  };
  i = 0
}
#endif

proctype faults() {
  byte breaks, expiries, deaths, restarts, flushes;
  do
  :: breaks < BREAKS ->
     breaks++;
     if
     :: atomic { MAY_BREAK(0) -> lose(0) }
     :: atomic { MAY_BREAK(1) -> lose(1) }
#if P > 2
     :: atomic { MAY_BREAK(2) -> lose(2) }
#endif
     :: skip
     fi
  :: expiries < EXPIRIES ->
     expiries++;
     if
     :: atomic { lease[0] -> lease[0] = false }
     :: atomic { lease[1] -> lease[1] = false }
#if P > 2
     :: atomic { lease[2] -> lease[2] = false }
#endif
     :: skip
     fi
  :: deaths < DEATHS ->
     deaths++;
     if
     :: atomic { alive[0] -> lose(0); alive[0] = false }
     :: atomic { alive[1] -> lose(1); alive[1] = false }
     :: skip
     fi
  :: atomic {
       restarts < RESTARTS && MAY_CUT(0) && MAY_CUT(1) && MAY_CUT(2) ->
       restarts++; restart();
#ifdef ROLLBACK
       if :: saved -> restore() :: true fi;
#endif
#ifdef M_SAME_RUN
       maker = server
#endif
     }
#ifdef ROLLBACK
  :: atomic { restarts < RESTARTS && !saved -> save() }
#endif
  :: atomic {
       flushes < FLUSHES ->
       flushes++; generation = 0; maker = 0; queue = 0; closed = false;
       for (i : 0 .. NUMBERS - 1) { result[i] = 0 };
       for (i : 0 .. P - 1) { record[i] = 0; lease[i] = false; birth[i] = 0 };
       i = 0
     }
  :: break
  od;
end:
  false
}

#define RESTS(n) \
  (!alive[OWNER(n)] || state[n] == OVER || (!IN(LIMITS, n) && state[n] == WAIT && IN(queue, n) && lease[OWNER(n)]))
proctype monitor() {
end:
  atomic {
    timeout ->
    for (i : 0 .. M - 1) {
      assert(RESTS(i)); /* G4 */
      assert(!alive[OWNER(i)] || !result[i] || restored); /* G6 */
      assert(!alive[OWNER(i)] || maker != server || !IN(queue, i) || state[i] == WAIT); /* G6; R2 */
      assert(!closed || !IN(queue, i)); /* G7 */
      for (j : 0 .. M - 1) {
        assert(!IN(queue, i) || !IN(queue, j) || !MATCH(i, j)) /* G7 */
      }
    };
    i = 0; j = 0
  };
end_over:
  false
}

init {
  byte k, l;
  atomic {
    for (k : 0 .. P - 1) {
      alive[k] = true;
      for (l : 1 .. EPOCHS) { run link(k, l) };
      run process(k)
    };
    for (k : 0 .. M - 1) { run operation(k, OWNER(k)) };
    k = 0; l = 0;
    run faults();
    run monitor()
  }
}
