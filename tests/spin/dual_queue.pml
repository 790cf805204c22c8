/* SPDX-License-Identifier: MIT
 *
 * The dual queue: dual_queue.hpp, below what two_colours.h has of the protocol. Labels in brackets are the
 * headers'. Sequentially consistent.
 *
 *   segments   of CELLS cells each; the pool has SEGS (at most 5), and hands out the one that was released last
 *   tidying    by each party that holds the first ticket of a segment, or has no memory, if nobody else tidies
 *              (unlike in the headers, where several may)
 *
 * Claimed, besides what two_colours.h asserts: the holder of a ticket visits no segment that has been released, or that
 * is another's by now; none is released twice, or is lost; at rest every cell of an open list before both cursors is
 * finished, unless somebody has had no memory; no scene takes more than LAST_TICKET tickets, so nobody takes them for
 * ever; a taker overlooks no waiter that waits all the time and that no partner is on the way to; with FIFO, a party
 * that begins when another of its colour waits takes a later ticket.
 *
 * Options: -DCELLS (1 or 2) -DSEGS -DFIFO, -DNOTIDY, -DNOSWEEP, -DTIDYINGS=n: at most n tidyings, at any time,
 * -DAHEAD: segments are appended in advance, -DLAGS: a party may leave the front where it is. */
#ifndef CELLS
#define CELLS 2
#endif
#ifndef SEGS
#define SEGS 4
#endif
#ifndef LAST_TICKET
#define LAST_TICKET 12
#endif

#if defined(FIFO) || TAKERS
#define BEGUN(p) note_waiters(p)
#define ENDED(p) forget_notes(p)
#endif

#define is_shut() (cursor[RED] & 1)
#define AT_THE_END() check_memory()
#define AT_REST() check_list()
#define SHUT(p) if :: COLOUR(p) == BLUE -> close_red() :: else fi; /* closed_to */
#define ONE_STEP_WITHDRAWAL

#include "two_colours.h"

/* A cursor: the next ticket, closed or not. */
#define IS_CLOSED(c) ((c) & 1)
#define TICKET(c) ((c) >> 1)

/* A segment's id and its number, or the number of the next; SEALED: it stays the last; GONE: it has left the list. */
#define REF(id, n) (((id) << 3) | (n))
#define ID(ref) ((ref) >> 3)
#define NODE(ref) ((ref) & 7)
#define NONE 0
#define SEALED 6
#define GONE 7

/* A cell: one of these, or a party's number plus three. */
#define EMPTY 0
#define VACANT 1
#define FINISHED 2
#define WORD(p) (p + 3)
#define PARTY(word) (word - 3)

short cursor[2];
short red_end = -1; /* the end of red's tickets, once known */
short front[2], oldest;
byte void_until;
byte cell[(SEGS + 1) * CELLS];
short next[SEGS + 1];
bool is_free[SEGS + 1]; /* in the pool, a stack */
byte top_, below_[SEGS + 1];
byte place[N];
bool left_[SEGS + 1]; /* taken out of the list by a sweep, and left to whoever has entered it, or to the end */
bool wasted; /* somebody has had no memory */

/* The tidier, of whom there is one at most */
bool tidying;
#ifdef TIDYINGS
byte tidyings_;
#endif
bit last_;
byte act_, limit_, p_, d_;
short link_;

#define LIVE_SEGMENT(n, id) assert(!is_free[n] && ID(next[n]) == (id))
#define CELL(n, t) ((n) * CELLS + (t) % CELLS)

#ifdef M_TIDY_CANCELLED
#define IS_FINISHED(c) ((c) == VACANT || (c) == FINISHED)
#else
#define IS_FINISHED(c) ((c) == FINISHED)
#endif
#ifdef M_SWEEP_WAITERS
#define HAS_LEFT(c) ((c) != EMPTY && (c) != FINISHED)
#else
#define HAS_LEFT(c) ((c) == VACANT)
#endif
#if CELLS == 1
#define CLEAR_CELLS(n) cell[n] = EMPTY
#define ALL_FINISHED(n) IS_FINISHED(cell[n])
#define ALL_VISITED(n) HAS_LEFT(cell[n])
#elif CELLS == 2
#define CLEAR_CELLS(n) cell[2 * n] = EMPTY; cell[2 * n + 1] = EMPTY
#define ALL_FINISHED(n) (IS_FINISHED(cell[2 * (n)]) && IS_FINISHED(cell[2 * (n) + 1]))
#define ALL_VISITED(n) (HAS_LEFT(cell[2 * (n)]) && HAS_LEFT(cell[2 * (n) + 1]))
#else
#error "CELLS is 1 or 2"
#endif

/* Notes for claims */
byte ahead[N];   /* 1 + the ticket of the last of its colour who waited when it began */
byte at_[N];     /* 1 + the ticket that it waits with, or 0 */
byte seen_[N];   /* those of the other colour who have waited since it began */
byte k_;
inline note_waiters(p) {
  for (k_ : 0 .. N - 1) {
    if
#ifdef FIFO
    :: COLOUR(k_) == COLOUR(p) && at_[k_] > ahead[p] -> ahead[p] = at_[k_]
#endif
    :: IN(TAKERS, p) && COLOUR(k_) != COLOUR(p) && at_[k_] != 0 -> seen_[p] = seen_[p] | (1 << k_)
    :: else
    fi
  };
  k_ = 0
}
inline forget_notes(p) { ahead[p] = 0; seen_[p] = 0 }
inline note_ticket(p, t) { assert(t + 1 > ahead[p]); assert(t < LAST_TICKET) }
#if defined(FIFO) || TAKERS
#define WAITS_WITH(p, t) at_[p] = t + 1
#else
#define WAITS_WITH(p, t) skip
#endif
inline is_out(p) {
#if defined(FIFO) || TAKERS
  at_[p] = 0;
#endif
#if TAKERS
  for (k_ : 0 .. N - 1) { seen_[k_] = seen_[k_] & ~(1 << p) };
  k_ = 0
#else
  skip
#endif
}
/* A taker overlooks nobody who waits all the time, but for whom a partner is on the way to. */
inline note_nobody(p) {
  for (k_ : 0 .. N - 1) {
    if :: (seen_[p] >> k_) & 1 -> assert(at_[k_] <= TICKET(cursor[COLOUR(p)])) :: else fi
  };
  k_ = 0
}

inline check_memory() {
  i = NODE(oldest);
  do
  :: i != NONE && i != SEALED ->
     assert(i <= SEGS && !is_free[i]);
     is_free[i] = true; i = NODE(next[i])
  :: else -> break
  od;
  for (i : 1 .. SEGS) { assert(is_free[i] || left_[i]) }
}

/* At rest each cell of the list before both cursors has been visited twice. If somebody has had no memory, it holds at
 * least no waiter. */
inline check_list() {
  i = oldest;
  do
  :: !is_shut() && i != NONE ->
     for (s : ID(i) * CELLS .. ID(i) * CELLS + CELLS - 1) {
       assert(s >= TICKET(cursor[RED]) || s >= TICKET(cursor[BLUE]) || cell[CELL(NODE(i), s)] == FINISHED ||
              (wasted && cell[CELL(NODE(i), s)] < FINISHED))
     };
     s = 0;
     if
     :: NODE(next[NODE(i)]) == NONE -> i = NONE
     :: else -> i = REF(ID(next[NODE(next[NODE(i)])]), NODE(next[NODE(i)]))
     fi
  :: else -> break
  od;
  i = 0
}

inline release(n) {
  assert(!is_free[n]); is_free[n] = true;
  below_[n] = top_; top_ = n
}
inline allocate(n) {
  n = top_;
  if :: n != NONE -> is_free[n] = false; top_ = below_[n]; below_[n] = NONE :: else fi
}
#define MAX(a, b) ((a) > (b) -> (a) : (b))
#define VOID_IDS ((void_until + CELLS - 1) / CELLS)
inline clear(n) { next[n] = REF(MAX(ID(at) + 1, VOID_IDS), NONE); CLEAR_CELLS(n) }

#ifdef M_NOREREAD
#define MOVED_ON false
#else
#define MOVED_ON (next[NODE(at)] != link)
#endif
#ifdef M_NOID
#define IS_THERE (NODE(link) != GONE)
#elif defined(M_NOMARK)
#define IS_THERE (ID(link) == ID(at))
#else
#define IS_THERE (ID(link) == ID(at) && NODE(link) != GONE)
#endif

/* From `at`, or from the oldest: sets `at`, and n: to its number if it is the segment `id`; to GONE if it is a later
 * one, because there will be no segment `id`; to NONE or SEALED if it is the last, and before `id`. */
#define RESTART -1
inline find(id) {
  do
  :: at == RESTART ->
     atomic {
       INSIDE(); at = oldest;
       if :: ID(at) > id -> n = GONE; break :: else fi
     }
  :: else ->
     atomic {
       if :: ID(at) == id -> n = NODE(at); break :: else fi;
       assert(ID(at) < id);
       INSIDE(); link = next[NODE(at)];
       if
       :: !IS_THERE -> at = RESTART
       :: else -> if :: NODE(link) == NONE || NODE(link) == SEALED -> n = NODE(link); link = 0; break :: else fi
       fi
     };
     if
     :: atomic { at == RESTART -> link = 0 }
     :: else ->
        atomic { INSIDE(); found = ID(next[NODE(link)]) };
        atomic {
          INSIDE();
          if
          :: MOVED_ON -> skip
          :: else -> at = REF(found, NODE(link))
          fi;
          link = 0; found = 0;
          if :: ID(at) > id -> n = GONE; break :: else fi
        }
     fi
  od
}

#ifdef M_SKIP_BACK
#define SKIPS(c) (!IS_CLOSED(cursor[c]))
#else
#define SKIPS(c) (cursor[c] < 2 * CELLS * ID(at) && !IS_CLOSED(cursor[c]))
#endif
inline skip_to(c) {
  if :: SKIPS(c) -> cursor[c] = 2 * CELLS * ID(at) :: else fi
}

inline close_red() {
  atomic { INSIDE(); limit = cursor[RED]; cursor[RED] = limit | 1 }; /* [Q15] */
  if
  :: atomic { !IS_CLOSED(limit) -> INSIDE(); red_end = TICKET(limit); limit = 0 }
  :: atomic { IS_CLOSED(limit) -> limit = 0 }
  fi
}
#ifdef M_CLOSE_BLUE_ONLY
#define CLOSE_RED red_end = TICKET(cursor[RED])
#else
#define CLOSE_RED close_red()
#endif

#define LIST_LOCALS short at, link; byte mine, limit, found, n; bool isvoid, starved;
#define forget_list(p) at = 0; link = 0; mine = 0; limit = 0; found = 0; n = 0; isvoid = false; starved = false
#define forget_place at = 0; link = 0; mine = 0; found = 0; n = 0; isvoid = false

#define GO_ON \
    forget_place; \
    if \
    :: IN(TAKERS, p) -> goto search_on \
    :: !IN(TAKERS, p) && IS_STARVED -> starved = false; wasted = true; goto no_memory \
    :: else -> goto take \
    fi

#ifdef M_SPLIT_TICKET
#define BEFORE_TICKET(p) atomic { INSIDE(); limit = cursor[COLOUR(p)] };
#define TICKET_BEFORE(p) limit
#else
#define BEFORE_TICKET(p)
#define TICKET_BEFORE(p) cursor[COLOUR(p)]
#endif

inline begin_find(p) {
  INSIDE(); at = front[COLOUR(p)];
  if :: ID(at) > mine / CELLS -> at = RESTART :: else fi
}

#ifdef M_SPLIT_OFFER
#define BEFORE_OFFER atomic { INSIDE(); ok = (cell[CELL(n, mine)] == EMPTY) };
#define OFFERS ok
#else
#define BEFORE_OFFER
#define OFFERS (cell[CELL(n, mine)] == EMPTY)
#endif
#ifdef M_SPLIT_CLAIM
#define BEFORE_CLAIM atomic { INSIDE(); ok = (cell[CELL(n, mine)] == q) };
#define CLAIMS ok
#else
#define BEFORE_CLAIM
#define CLAIMS (cell[CELL(n, mine)] == q)
#endif
#ifdef M_NOFINISH
#define AFTER_VACANT VACANT
#else
#define AFTER_VACANT FINISHED
#endif
#ifdef M_SPLIT_LINK
#define BEFORE_LINK atomic { INSIDE(); ok = (next[NODE(at)] == REF(ID(at), NONE)) };
#define LINKS ok
#else
#define BEFORE_LINK
#define LINKS (next[NODE(at)] == REF(ID(at), NONE))
#endif
#ifdef M_LOSER_KEEPS
#define RELEASE_UNUSED(n) skip
#else
#define RELEASE_UNUSED(n) release(n)
#endif
#ifdef M_SPLIT_TRY
#define BEFORE_TRY atomic { INSIDE(); ok = (cursor[COLOUR(p)] == 2 * mine) };
#define TRIES ok
#else
#define BEFORE_TRY
#define TRIES (cursor[COLOUR(p)] == 2 * mine)
#endif
#ifdef M_FRONT_EARLY
#define ADVANCE_EARLY(p) if :: n < SEALED && ID(at) > ID(front[COLOUR(p)]) -> front[COLOUR(p)] = at :: else fi;
#else
#define ADVANCE_EARLY(p)
#endif
#ifdef M_NOVOID
#define MAKE_VOID skip
#else
#define MAKE_VOID if :: void_until <= mine -> void_until = mine + 1 :: else fi
#endif
#ifdef M_VOID_UNWRITTEN /* the link of the last segment is not written */
#define STILL_LAST true
#else
#define STILL_LAST (next[NODE(at)] == REF(ID(at), NONE))
#endif
#ifdef M_VOID_BLIND
#define IS_VOID(t) false
#else
#define IS_VOID(t) ((t) < void_until)
#endif
#ifdef M_VOID_EARLY
#define LOOK_EARLY(p) atomic { INSIDE(); isvoid = (IN(TAKERS, p) || starved || IS_VOID(mine)) };
#define LOOK_FOR_VOID(p) skip
#else
#define LOOK_EARLY(p)
#define LOOK_FOR_VOID(p) isvoid = (IN(TAKERS, p) || starved || IS_VOID(mine))
#endif
#ifdef M_STARVED_GO_ON
#define IS_STARVED false
#else
#define IS_STARVED starved
#endif
#ifdef M_PASS_FOREVER
#define IS_BEYOND(t) ((t) >= TICKET(cursor[1 - COLOUR(p)]))
#else
#define IS_BEYOND(t) ((t) >= limit)
#endif
#ifdef M_CLOSED_TICKET
#define IS_SHUT(c) false
#else
#define IS_SHUT(c) IS_CLOSED(c)
#endif

#ifdef LAGS /* the party that moves the front is late */
#define FRONT_STAYS true
#else
#define FRONT_STAYS else
#endif

#define arrive_in_list(p) \
    if :: IN(TAKERS, p) -> goto search :: else fi; \
take: \
    BEFORE_TICKET(p) \
    atomic { /* [Q6] */ \
      INSIDE(); limit = TICKET_BEFORE(p); cursor[COLOUR(p)] = (limit + 2) | IS_CLOSED(cursor[COLOUR(p)]); mine = TICKET(limit); \
      if :: IS_SHUT(limit) -> forget_list(p); goto shut :: else -> limit = 0; note_ticket(p, mine) fi \
    }; \
find_own: \
    LOOK_EARLY(p) \
    atomic { begin_find(p) }; \
    find(mine / CELLS); \
    if \
    :: atomic { n == GONE -> skip_to(COLOUR(p)); GO_ON } \
    :: atomic { n == SEALED -> GO_ON } \
    :: atomic { n == NONE -> assert(!IN(TAKERS, p)); goto grow } \
    :: else \
    fi; \
    if \
    :: atomic { \
         ID(at) >= ID(front[COLOUR(p)]) + (mine % CELLS == 0 -> 1 : 2) -> INSIDE(); front[COLOUR(p)] = at /* [G6] */ \
       } \
    :: FRONT_STAYS \
    fi; \
    EXTEND(p) \
    atomic { \
      INSIDE(); at = 0; \
      LOOK_FOR_VOID(p) \
    }; \
visit_on: \
    BEFORE_OFFER \
    atomic { \
      INSIDE(); LIVE_SEGMENT(n, mine / CELLS); \
      if \
      :: OFFERS && !isvoid -> /* [Q1] */ \
         ALIVE(p); place[p] = CELL(n, mine); cell[CELL(n, mine)] = WORD(p); WAITS_WITH(p, mine); \
         ok = false; forget_list(p); offer_in_list(p); goto offered \
      :: OFFERS && isvoid -> ok = false; cell[CELL(n, mine)] = VACANT; GO_ON /* [Q4] */ \
      :: !(OFFERS) && cell[CELL(n, mine)] == VACANT -> cell[CELL(n, mine)] = AFTER_VACANT; GO_ON /* [Q5] */ \
      :: !(OFFERS) && cell[CELL(n, mine)] == FINISHED -> assert(cell[CELL(n, mine)] < FINISHED) /* I8 */ \
      :: else -> q = cell[CELL(n, mine)] \
      fi \
    }; \
    BEFORE_CLAIM \
    atomic { \
      INSIDE(); LIVE_SEGMENT(n, mine / CELLS); \
      if \
      :: CLAIMS -> /* [Q2] */ \
         ok = false; \
         cell[CELL(n, mine)] = FINISHED; q = PARTY(q); swap(p, q); is_out(q); forget_list(p); goto met \
      :: else -> q = NOBODY; goto visit_on \
      fi \
    }; \
grow: \
    append(n); \
    if :: atomic { ok -> ok = false; n = NONE; goto find_own } :: !ok fi; \
    if :: tidy() :: TIDIES_NOT fi; \
    append(n); \
    if :: atomic { ok -> ok = false; n = NONE; goto find_own } :: !ok fi; \
    atomic { n = NONE; starved = true }; \
    atomic { \
      INSIDE(); \
      MAKE_VOID \
    }; \
    atomic { /* [G4] */ \
      INSIDE(); \
      if :: STILL_LAST -> GO_ON :: else -> goto find_own fi \
    }; \
search: \
    atomic { INSIDE(); limit = TICKET(cursor[1 - COLOUR(p)]) }; \
search_on: \
    atomic { \
      INSIDE(); mine = TICKET(cursor[COLOUR(p)]); /* [Q11] */ \
      if :: IS_CLOSED(cursor[COLOUR(p)]) -> forget_list(p); goto shut :: else fi \
    }; \
    if \
    :: atomic { IS_BEYOND(mine) -> goto see_nobody } \
    :: else \
    fi; \
    TRY_FINDS(p) \
    BEFORE_TRY \
    atomic { /* [Q8] */ \
      INSIDE(); \
      if \
      :: TRIES -> \
         ok = false; note_ticket(p, mine); \
         cursor[COLOUR(p)] = (2 * mine + 2) | IS_CLOSED(cursor[COLOUR(p)]) \
      :: else -> GO_ON \
      fi; \
      FIND_AGAIN \
    }; \
see_nobody: \
    atomic { note_nobody(p); forget_list(p); goto nobody }

#define TRY_FINDS(p) \
    atomic { begin_find(p) }; \
    find(mine / CELLS); \
    if :: atomic { n == NONE || n == SEALED -> goto see_nobody } :: else fi; \
    ADVANCE_EARLY(p)
#ifdef M_TRY_FINDS_ONCE
#define FIND_AGAIN if :: n == GONE -> GO_ON :: else -> isvoid = true; goto visit_on fi
#else
#define FIND_AGAIN at = 0; link = 0; found = 0; n = 0; goto find_own
#endif

/* Sets ok if there is, or was, a segment after `at`. */
inline append(n) {
  atomic {
    INSIDE();
    if
    :: next[NODE(at)] != REF(ID(at), NONE) -> ok = true
    :: else ->
       allocate(n);
       if :: n == NONE -> ok = false :: else -> clear(n) fi
    fi
  };
  if
  :: n != NONE ->
     BEFORE_LINK
     atomic { /* [G3] */
       INSIDE();
       if :: LINKS -> next[NODE(at)] = REF(ID(at), n) :: else -> RELEASE_UNUSED(n) fi;
       n = NONE; ok = true
     }
  :: else
  fi
}

#ifdef AHEAD
#define EXTEND(p) \
    if \
    :: mine % CELLS == 0 && !IN(TAKERS, p) -> \
       at_own = at; \
       find(mine / CELLS + 2); \
       if :: n == NONE -> append(n) :: else -> n = NONE; link = 0; found = 0 fi; \
       ok = false; \
       if :: tidy() :: TIDIES_NOT fi; \
       at = at_own; n = NODE(at); at_own = 0 \
    :: else \
    fi;
#define AHEAD_LOCALS short at_own;
#else
#define EXTEND(p) if :: mine % CELLS == 0 && !IN(TAKERS, p) -> if :: tidy() :: TIDIES_NOT fi :: else fi;
#define AHEAD_LOCALS
#endif

#define IS_FREE (!tidying)
#ifdef NOTIDY
#define TIDIES false
#define TIDIES_NOT true
#elif defined(TIDYINGS)
#define TIDIES (IS_FREE && tidyings_ < TIDYINGS)
#define TIDIES_NOT true
#else
#define TIDIES IS_FREE
#define TIDIES_NOT !IS_FREE
#endif
#ifdef NOSWEEP
#define SWEEPS false
#else
#define SWEEPS true
#endif
#define IS_BEFORE(c, id) (TICKET(c) <= (id) * CELLS)
#ifdef M_SWEEP_UNCHECKED
#define MAY_RELEASE(c, id) true
#elif defined(M_SWEEP_CLOSED)
#define MAY_RELEASE(c, id) IS_BEFORE(c, id)
#else
#define MAY_RELEASE(c, id) (!IS_CLOSED(c) && IS_BEFORE(c, id))
#endif
#ifdef M_NOMARK
#define MARK(d) skip
#else
#define MARK(d) next[d] = REF(ID(next[d]), GONE)
#endif
#define RELEASES 1
#define SWEEP 2
#ifdef M_SWEEP_FIRST
#define IS_FIRST false
#else
#define IS_FIRST (p_ == NONE)
#endif
#ifdef M_SWEEP_ENTERED
#define IS_BEHIND(id) ((id) >= limit_)
#else
#define IS_BEHIND(id) ((id) > limit_)
#endif
#ifdef M_TIDY_LAST
#define IS_LAST(n) false
#else
#define IS_LAST(n) (NODE(next[n]) == NONE || NODE(next[n]) == SEALED)
#endif

/* Looks on from d_ to a segment that it takes out: act_ tells how, or is 0 at the end. One step, because whoever takes it out later would find it
 * so as well. */
inline look_on() {
  do
  :: IS_LAST(d_) || (!SWEEPS && ID(next[d_]) >= limit_) -> act_ = 0; break
  :: !IS_LAST(d_) && ID(next[d_]) < limit_ && ALL_FINISHED(d_) -> act_ = RELEASES; break
  :: !IS_LAST(d_) && SWEEPS && IS_BEHIND(ID(next[d_])) && !IS_FIRST && ALL_VISITED(d_) -> act_ = SWEEP; break
  :: else -> p_ = d_; d_ = NODE(next[d_])
  od;
  ok = (act_ != 0);
  if
  :: !ok -> p_ = 0; d_ = 0; last_ = 0; limit_ = 0; tidying = false
  :: else ->
     link_ = next[d_]; tidying = true;
     if
     :: p_ == NONE -> oldest = REF(ID(next[NODE(link_)]), NODE(link_)) /* [G5] */
     :: else -> next[p_] = REF(ID(next[p_]), NODE(link_)) /* [G5] */
     fi
  fi
}

#ifdef TIDYINGS
#define COUNT_TIDYING if :: ok -> tidyings_++ :: else fi
#else
#define COUNT_TIDYING skip
#endif
/* Of the party that can set `tidying`; if there is nothing to do, nobody notices that. */
inline tidy() {
  atomic {
    TIDIES ->
    INSIDE(); d_ = NODE(oldest);
    last_ = (TICKET(cursor[RED]) < TICKET(cursor[BLUE]) -> RED : BLUE);
    limit_ = TICKET(cursor[last_]) / CELLS;
    look_on();
    COUNT_TIDYING
  };
  do
  :: !ok -> break
  :: else ->
     if
     :: act_ == SWEEP ->
        atomic { INSIDE(); MARK(d_) }; /* [G12] */
        atomic {
          INSIDE();
          if :: MAY_RELEASE(cursor[last_], ID(link_)) -> release(d_) :: else -> left_[d_] = true fi; /* [Q9] */
          d_ = NODE(link_); link_ = 0; look_on()
        }
     :: else ->
        atomic { INSIDE(); MARK(d_); release(d_); d_ = NODE(link_); link_ = 0; look_on() }
     fi
  od
}

/* sets ok */
#ifdef M_SPLIT_WITHDRAW
#define BEFORE_WITHDRAW(p) atomic { INSIDE(); ok = (cell[place[p]] == WORD(p)) };
#define WITHDRAWS(p) ok
#else
#define BEFORE_WITHDRAW(p)
#define WITHDRAWS(p) (cell[place[p]] == WORD(p))
#endif
inline withdraw(p) {
  BEFORE_WITHDRAW(p)
  atomic { /* [Q3] */
    INSIDE(); ALIVE(p);
    if
    :: WITHDRAWS(p) -> cell[place[p]] = VACANT; own(p, CANCELLED); is_out(p); ok = true
    :: else -> ok = false
    fi
  }
}

#ifdef M_SPLIT_SEAL
#define BEFORE_SEAL atomic { INSIDE(); ok = (next[NODE(at)] == REF(ID(at), NONE)) };
#define SEALS ok
#else
#define BEFORE_SEAL
#define SEALS (next[NODE(at)] == REF(ID(at), NONE))
#endif
#ifdef M_NOSEAL
#define SEAL skip
#else
#define SEAL next[NODE(at)] = REF(ID(at), SEALED)
#endif
#ifdef M_SPLIT_CLOSE
#define BEFORE_CLOSE atomic { INSIDE(); ok = (cell[CELL(NODE(at), c)] == q) };
#define CLOSES ok
#else
#define BEFORE_CLOSE
#define CLOSES (cell[CELL(NODE(at), c)] == q)
#endif
#ifdef M_CLOSE_LEAVES_EMPTY
#define CLOSED_EMPTY EMPTY
#else
#define CLOSED_EMPTY VACANT
#endif
#ifdef M_CLOSE_PAIRS
#define FIRST_TO_CLOSE 0
#else
#define FIRST_TO_CLOSE (blues < red_end -> blues : red_end)
#endif
inline close_list() {
  atomic { INSIDE(); not_mine = IS_CLOSED(cursor[BLUE]); blues = TICKET(cursor[BLUE]); cursor[BLUE] = cursor[BLUE] | 1 }; /* [Q14] */
  CLOSE_RED;
  if
  :: !not_mine ->
     atomic { red_end >= 0; INSIDE(); at = oldest };
     do /* seal */
     :: find(126);
        BEFORE_SEAL
        atomic { /* [G13] */
          INSIDE();
          if :: SEALS -> ok = false; SEAL; break :: else fi
        }
     od;
     atomic { INSIDE(); at = oldest; n = 0 };
     do /* for_each_cell */
     :: for (c : 0 .. CELLS - 1) {
          atomic {
            INSIDE(); q = cell[CELL(NODE(at), c)];
            if
            :: ID(at) * CELLS + c < FIRST_TO_CLOSE || (ID(at) * CELLS + c >= blues && ID(at) * CELLS + c >= red_end) -> q = NOBODY
            :: else ->
            if
            :: q == EMPTY -> cell[CELL(NODE(at), c)] = CLOSED_EMPTY; q = NOBODY /* [Q12] */
            :: q == VACANT || q == FINISHED -> q = NOBODY
            :: else
            fi
            fi
          };
          if
          :: q != NOBODY ->
             complete_last();
             BEFORE_CLOSE
             atomic { /* [Q12] */
               INSIDE();
               if
               :: CLOSES ->
                  ok = false;
                  cell[CELL(NODE(at), c)] = VACANT; q = PARTY(q); own(q, CLOSED_ON); is_out(q)
               :: else -> q = NOBODY
               fi
             };
             if :: q != NOBODY -> each(q); q = NOBODY :: else fi
          :: else
          fi
        };
        c = 0;
        limit = ID(at) + 1;
        find(limit);
        if
        :: n == SEALED || n == NONE -> n = 0; break
        :: else
        fi
     od;
     at = 0; n = 0; limit = 0
  :: else
  fi;
  not_mine = false; blues = 0
}
#define CLOSER_LOCALS short at, link; byte found, n, c, limit, blues; bool not_mine;

#define NOTHING
proctype party(byte p) { LIST_LOCALS AHEAD_LOCALS PARTY_BODY(NOTHING, NOTHING) }
#if QUICK
proctype quick_party(byte p) { LIST_LOCALS AHEAD_LOCALS PARTY_BODY(atomic {, }) }
#endif
proctype canceller(byte p) { CANCELLER_BODY }
proctype closer() { CLOSER_LOCALS CLOSER_BODY }
proctype destroyer() { CLOSER_LOCALS DESTROYER_BODY }

init {
  byte k;
  atomic {
    for (k : 1 .. SEGS) { if :: k > 1 -> release(k) :: else fi };
    front[RED] = REF(0, 1); front[BLUE] = REF(0, 1); oldest = REF(0, 1); next[1] = REF(0, NONE);
    RUN_ALL
  }
}
