/* SPDX-License-Identifier: MIT
 *
 * The dual queue: dual_queue.hpp, below what two_colours.h has of the protocol. Labels in brackets are the
 * headers'. Sequentially consistent.
 *
 *   segments   of CELLS cells each; the pool has SEGS, and hands out the one with the lowest number, so that what
 *              has been released is used again at once
 *   sweeping   may come whenever the list grows and nobody else sweeps: any history of until_sweep_
 *
 * Claimed, besides what two_colours.h asserts (I1, I3; each waiter is completed once, by its canceller, a closer or
 * a partner of the other colour; nobody waits for ever; nobody is inside after the end): nobody visits, or counts
 * in, a segment that has been released, or that is another's by now; none is released twice, or with a cursor in it, or never, unless a sweep
 * leaves it;
 * with FIFO, whoever begins when another of its colour waits comes behind it, and no waiter is left behind by the
 * other colour's cursor without a partner who is on the way to it.
 *
 * Options: -DCELLS (a power of 2) -DSEGS -DFIFO, -DTICKETS=b: tickets of b bits, which wrap, for `--cycles`. */
#ifndef CELLS
#define CELLS 2
#endif
#ifndef SEGS
#define SEGS 4
#endif
#ifndef TICKETS
#define TICKETS 9
#endif

#ifdef FIFO
#define BEGUN(p) note_waiters(p)
#define ENDED(p) ahead[p] = 0
#endif

#define is_shut() (cursor[RED] & 1)
#define AT_THE_END() check_memory()
#define SHUT(p) INSIDE(); if :: COLOUR(p) == BLUE -> cursor[RED] = cursor[RED] | 1 :: else fi /* closed_to [Q16] */

#include "two_colours.h"

/* A cursor: the next ticket, the segment, whether it has left the last cell, closed or not. */
#define TICKET_MASK ((1 << TICKETS) - 1)
#define ID_MASK (TICKET_MASK / CELLS)
#define IS_CLOSED(c) ((c) & 1)
#define AT_END(c) ((c) & 2)
#define SEGMENT(c) (((c) >> 2) & 7)
#define TICKET(c) (((c) >> 5) & TICKET_MASK)
#define DISTANCE(to, from) (((TICKET(to) - TICKET(from) + TICKET_MASK / 2 + 1) & TICKET_MASK) - TICKET_MASK / 2 - 1)
#define CURSOR(t, n) (((t) << 5) | ((n) << 2))
#define NEXT_TICKET(c) ((TICKET(c) + 1) & TICKET_MASK)
#define AFTER(c) (CURSOR(NEXT_TICKET(c), SEGMENT(c)) | (NEXT_TICKET(c) % CELLS == 0 -> 2 : 0))
#define ID(c) (((TICKET(c) - (AT_END(c) -> 1 : 0)) & TICKET_MASK) / CELLS)
#define CELL(c) (SEGMENT(c) * CELLS + TICKET(c) % CELLS)
#define NEXT_ID(id) (((id) + 1) & ID_MASK)

/* A link */
#define LINK(id, n) (((id) << 3) | (n))
#define OWNER(link) ((link) >> 3)
#define SUCCESSOR(link) ((link) & 7)
#define NONE 0

/* A cell: one of these, or a party's number plus three. */
#define EMPTY 0
#define VACANT 1
#define MET 2
#define WORD(p) (p + 3)
#define PARTY(word) (word - 3)

#define ONE_ENDED 16
#define ONE_GONE 1
#define ALL_ENDED ((CELLS + 2) * ONE_ENDED)
#define ALL_GONE (ONE_ENDED + CELLS * ONE_GONE)

short cursor[2];
byte cell[(SEGS + 1) * CELLS];
short next[SEGS + 1];
short ended[SEGS + 1];
bool is_free[SEGS + 1]; /* in the pool */
byte place[N];

/* The sweeper, of whom there is one at most */
bool sweeping;
bit last_;
byte p_, d_;
short id_, link_, after_d_;
short red_, blue_;

#define LIVE_SEGMENT(c) assert(!is_free[SEGMENT(c)] && OWNER(next[SEGMENT(c)]) == ID(c))

#ifdef FIFO
short ahead[N];   /* 1 + the ticket of the last of its colour who waited when it began */
short at_[N];     /* 1 + the ticket that it waits with, or 0 */
inline note_waiters(p) {
  for (k_ : 0 .. N - 1) {
    if :: COLOUR(k_) == COLOUR(p) && at_[k_] > ahead[p] -> ahead[p] = at_[k_] :: else fi
  };
  k_ = 0
}
byte k_;
inline note_ticket(p, c) {
  assert(TICKET(c) + 1 > ahead[p])
}
/* Nobody who waits before the ticket c of the colour mine_ is without a partner on the way. */
inline note_claim(mine_, c) {
  for (k_ : 0 .. N - 1) {
    if
    :: COLOUR(k_) != mine_ && at_[k_] != 0 && at_[k_] - 1 < TICKET(c) -> assert(TICKET(cursor[mine_]) >= at_[k_])
    :: else
    fi
  };
  k_ = 0
}
#define WAITS_WITH(p, c) at_[p] = TICKET(c) + 1
#define IS_OUT(p) at_[p] = 0
#else
#define note_ticket(p, c) skip
#define note_claim(mine_, c) skip
#define WAITS_WITH(p, c) skip
#define IS_OUT(p) skip
#endif

bool left_[SEGS + 1]; /* taken out of the list by a sweep, and left to whoever has entered it, or to the end */

/* In the end all segments are in the pool, but for those of the list from the cursor that is behind. */
inline check_memory() {
  i = (DISTANCE(cursor[RED], cursor[BLUE]) < 0 -> SEGMENT(cursor[RED]) : SEGMENT(cursor[BLUE]));
  do
  :: i != NONE -> assert(!is_free[i]); is_free[i] = true; i = SUCCESSOR(next[i])
  :: else -> break
  od;
  for (i : 1 .. SEGS) { assert(is_free[i] || left_[i]) }
}

inline release(n) {
  assert(!is_free[n]);
  assert(!(SEGMENT(cursor[0]) == n && ID(cursor[0]) == OWNER(next[n])));
  assert(!(SEGMENT(cursor[1]) == n && ID(cursor[1]) == OWNER(next[n])));
  is_free[n] = true; left_[n] = false
}

/* [Q7] */
inline count(n, what) {
  INSIDE(); assert(!is_free[n]);
  ended[n] = ended[n] + (what);
  if :: ended[n] == ALL_ENDED -> release(n) :: else fi
}

/* Those who look again after a visit or a step come back to what they were about. */
#define LOOKING 0
#define SEARCHING 1
#define SETTLING 2
#define GO_ON if :: what == LOOKING -> what = 0; goto look :: what == SEARCHING -> what = 0; goto search_on \
              :: what == SETTLING -> what = 0; goto enqueue_or_match fi

#ifdef M_SPLIT_TICKET
#define BEFORE_TICKET(p) atomic { INSIDE(); ok = (cursor[COLOUR(p)] == mine) };
#define TICKET_TAKEN(p) ok
#else
#define BEFORE_TICKET(p)
#define TICKET_TAKEN(p) (cursor[COLOUR(p)] == mine)
#endif
#ifdef M_CLOSED_TICKET
#undef TICKET_TAKEN
#define TICKET_TAKEN(p) ((cursor[COLOUR(p)] | 1) == (mine | 1))
#endif
/* sets ok */
inline take_ticket(p) {
  INSIDE();
  if
  :: TICKET_TAKEN(p) -> cursor[COLOUR(p)] = AFTER(mine) | IS_CLOSED(cursor[COLOUR(p)]); ok = true /* take_ticket */
  :: else -> ok = false
  fi
}

#define LIST_LOCALS short mine, link, limit; byte n; bool stays; byte what;
#define forget_list(p) mine = 0; link = 0; limit = 0; n = 0; stays = false; what = 0

#ifdef M_COUNT_FIRST
#define COUNT_BEFORE_CLAIM atomic { count(SEGMENT(mine), ONE_ENDED) };
#define COUNT_CLAIM skip
#else
#define COUNT_BEFORE_CLAIM
#define COUNT_CLAIM count(SEGMENT(mine), ONE_ENDED)
#endif
#ifdef M_NOPASSCOUNT
#define PASSED 0
#else
#define PASSED ONE_GONE
#endif
#ifdef M_VACANCY_ENDED
#define FOUND_VACANT ONE_ENDED /* a withdrawal that is found is not taken off */
#else
#define FOUND_VACANT (ONE_ENDED - ONE_GONE)
#endif
#ifdef M_PASS_FOREVER
#define MORE_BEHIND(p) (DISTANCE(cursor[1 - COLOUR(p)], mine) > 1)
#else
#define MORE_BEHIND(p) (DISTANCE(limit, mine) > 1)
#endif
#ifdef M_NOVERSION
#define GROWS(l, id) (SUCCESSOR(l) == NONE) /* a link does not tell whose it is */
#define IS_MINE(l, id) true
#else
#define GROWS(l, id) (l == LINK(id, NONE))
#define IS_MINE(l, id) (OWNER(l) == id)
#endif

#define arrive_in_list(p) \
    if :: IN(TAKERS, p) -> goto search :: else fi; \
look: \
    atomic { INSIDE(); mine = cursor[COLOUR(p)]; if :: IS_CLOSED(mine) -> goto shut :: else fi }; /* [Q11] [Q12] [Q13] */ \
    atomic { \
      INSIDE(); limit = DISTANCE(cursor[1 - COLOUR(p)], mine); \
      if \
      :: limit <= 0 -> limit = 0; goto see_nobody \
      :: limit > 0 && AT_END(mine) -> limit = 0; what = LOOKING; goto step_on \
      :: limit > 0 && !AT_END(mine) -> limit = 0 \
      fi \
    }; \
    atomic { INSIDE(); if :: cell[CELL(mine)] == EMPTY -> goto see_nobody :: else fi }; \
    BEFORE_TICKET(p) \
    atomic { \
      take_ticket(p); \
      if :: ok -> ok = false; stays = false; what = LOOKING; goto visit :: else -> goto look fi \
    }; \
search: \
    atomic { INSIDE(); limit = cursor[1 - COLOUR(p)] }; \
search_on: \
    atomic { \
      INSIDE(); mine = cursor[COLOUR(p)]; \
      if \
      :: IS_CLOSED(mine) -> goto shut \
      :: !IS_CLOSED(mine) && DISTANCE(limit, mine) <= 0 -> goto look \
      :: !IS_CLOSED(mine) && DISTANCE(limit, mine) > 0 && AT_END(mine) -> what = SEARCHING; goto step_on \
      :: else \
      fi \
    }; \
    BEFORE_TICKET(p) \
    atomic { \
      take_ticket(p); \
      if :: ok -> ok = false; stays = false; what = SEARCHING; goto visit :: else -> goto search_on fi \
    }; \
see_nobody: \
    if :: IN(TAKERS, p) -> goto nobody :: else fi; \
settle_first: \
    atomic { INSIDE(); limit = cursor[1 - COLOUR(p)] }; \
enqueue_or_match: \
    atomic { \
      INSIDE(); mine = cursor[COLOUR(p)]; \
      if \
      :: IS_CLOSED(mine) -> goto shut \
      :: !IS_CLOSED(mine) && AT_END(mine) -> what = SETTLING; goto step_on \
      :: else \
      fi \
    }; \
    BEFORE_TICKET(p) \
    atomic { \
      take_ticket(p); \
      if :: ok -> ok = false; what = SETTLING :: else -> goto enqueue_or_match fi \
    }; \
    atomic { INSIDE(); stays = !(MORE_BEHIND(p)) }; \
visit: \
    atomic { \
      INSIDE(); LIVE_SEGMENT(mine); note_ticket(p, mine); \
      if \
      :: cell[CELL(mine)] == EMPTY && stays -> /* [Q1] */ \
         ALIVE(p); place[p] = CELL(mine); cell[CELL(mine)] = WORD(p); WAITS_WITH(p, mine); \
         forget_list(p); offer_in_list(p); goto offered \
      :: cell[CELL(mine)] == EMPTY && !stays -> cell[CELL(mine)] = VACANT; goto pass /* [Q4] */ \
      :: cell[CELL(mine)] == VACANT -> goto find_vacant \
      :: else -> q = cell[CELL(mine)]; assert(q > MET) \
      fi \
    }; \
    COUNT_BEFORE_CLAIM \
    BEFORE_CLAIM \
    atomic { \
      INSIDE(); \
      if \
      :: CLAIMS -> /* [Q2] */ \
         cell[CELL(mine)] = MET; q = PARTY(q); swap(p, q); note_claim(COLOUR(p), mine); IS_OUT(q) \
      :: else -> q = NOBODY; goto find_vacant \
      fi \
    }; \
    atomic { COUNT_CLAIM; goto met }; \
pass: \
    atomic { count(SEGMENT(mine), PASSED); GO_ON }; \
find_vacant: \
    atomic { count(SEGMENT(mine), FOUND_VACANT); GO_ON }; \
step_on: \
    atomic { \
      INSIDE(); link = next[SEGMENT(mine)]; /* [Q18] */ \
      if :: GROWS(link, ID(mine)) -> goto grow :: else -> goto move_on fi \
    }; \
grow: \
    if :: SWEEPS -> sweep() :: true fi; \
    atomic { /* the pool's, and then ours */ \
      INSIDE(); allocate(n); \
      if \
      :: n == NONE -> assert(what == SETTLING); what = 0; goto no_memory \
      :: else -> clear(n, NEXT_ID(ID(mine))) \
      fi \
    }; \
    BEFORE_LINK \
    atomic { \
      INSIDE(); \
      if \
      :: LINKS -> link = LINK(ID(mine), n); next[SEGMENT(mine)] = link /* [Q5] */ \
      :: else -> link = next[SEGMENT(mine)]; RELEASE_UNUSED(n) \
      fi; \
      n = NONE \
    }; \
move_on: \
    atomic { \
      INSIDE(); \
      if \
      :: !IS_MINE(link, ID(mine)) -> link = 0; GO_ON \
      :: else -> link = CURSOR(OWNER(next[SUCCESSOR(link)]) * CELLS, SUCCESSOR(link)) /* start_of */ \
      fi \
    }; \
    BEFORE_MOVE \
    atomic { \
      INSIDE(); \
      if \
      :: MOVES -> cursor[COLOUR(p)] = link; link = 0; ok = false /* [Q6] */ \
      :: else -> link = 0; ok = false; GO_ON \
      fi \
    }; \
    atomic { COUNT_DEPARTURE; GO_ON }

#ifdef M_SPLIT_CLAIM
#define BEFORE_CLAIM atomic { INSIDE(); ok = (cell[CELL(mine)] == q) };
#define CLAIMS ok
#else
#define BEFORE_CLAIM
#define CLAIMS (cell[CELL(mine)] == q)
#endif
#ifdef M_SPLIT_LINK
#define BEFORE_LINK atomic { INSIDE(); ok = (next[SEGMENT(mine)] == link) };
#define LINKS ok
#else
#define BEFORE_LINK
#define LINKS (next[SEGMENT(mine)] == link)
#endif
#ifdef M_SPLIT_STEP
#define BEFORE_MOVE atomic { INSIDE(); ok = (cursor[COLOUR(p)] == mine) };
#define MOVES ok
#else
#define BEFORE_MOVE
#define MOVES (cursor[COLOUR(p)] == mine)
#endif
#ifdef M_NODEPARTURE
#define COUNT_DEPARTURE skip
#elif defined(M_DEPARTURE_FIRST)
#define COUNT_DEPARTURE skip
#undef BEFORE_MOVE
#define BEFORE_MOVE atomic { count(SEGMENT(mine), ONE_ENDED) };
#else
#define COUNT_DEPARTURE count(SEGMENT(mine), ONE_ENDED)
#endif
#ifdef M_LOSER_KEEPS
#define RELEASE_UNUSED(n) skip
#else
#define RELEASE_UNUSED(n) release(n)
#endif
#ifdef NOSWEEP
#define SWEEPS false
#elif defined(M_SWEEP_TOGETHER)
#define SWEEPS true
#else
#define SWEEPS atomic { !sweeping -> sweeping = true }
#endif

inline allocate(n) {
  n = 1;
  do
  :: n <= SEGS && is_free[n] -> is_free[n] = false; break
  :: n <= SEGS && !is_free[n] -> n++
  :: n > SEGS -> n = NONE; break
  od
}

#if CELLS == 1
#define CLEAR_CELLS(n) cell[n] = EMPTY
#elif CELLS == 2
#define CLEAR_CELLS(n) cell[2 * n] = EMPTY; cell[2 * n + 1] = EMPTY
#else
#error "CELLS is 1 or 2"
#endif
inline clear(n, id) { next[n] = LINK(id, NONE); ended[n] = 0; CLEAR_CELLS(n) }

#define BEFORE_END_OF(id, c) (DISTANCE(CURSOR((NEXT_ID(id) * CELLS) & TICKET_MASK, 0), c) > 0)
#ifdef M_SWEEP_UNCHECKED /* after the CAS */
#define MAY_RELEASE(id, c) true
#elif defined(M_SWEEP_CLOSED)
#define MAY_RELEASE(id, c) BEFORE_END_OF(id, c)
#else
#define MAY_RELEASE(id, c) (BEFORE_END_OF(id, c) && !IS_CLOSED(c))
#endif
#ifdef M_SWEEP_LAST
#define IS_LAST(l) false
#else
#define IS_LAST(l) (SUCCESSOR(l) == NONE)
#endif
#ifdef M_SWEEP_WAITERS /* one of whom has not withdrawn */
#define HAS_GONE(n) (ended[n] >= ONE_ENDED + CELLS * ONE_GONE - 1 && ended[n] <= ALL_GONE)
#else
#define HAS_GONE(n) (ended[n] == ALL_GONE)
#endif
#ifdef M_SWEEP_NOT_BEHIND /* does not look where the other cursor is before the CAS */
#define IS_BEHIND(id, c) true
#else
#define IS_BEHIND(id, c) BEFORE_END_OF(id, c)
#endif
#ifdef M_SPLIT_SWEEP
#define BEFORE_AROUND atomic { INSIDE(); sweep_ok = (next[p_] == link_) };
#define GOES_AROUND sweep_ok
bool sweep_ok;
#else
#define BEFORE_AROUND
#define GOES_AROUND (next[p_] == link_)
#endif

inline sweep() {
  atomic { INSIDE(); red_ = cursor[RED] };
  atomic { INSIDE(); blue_ = cursor[BLUE] };
  atomic {
    INSIDE();
    if
    :: DISTANCE(red_, blue_) < 0 -> last_ = RED; p_ = SEGMENT(red_); id_ = ID(red_)
    :: else -> last_ = BLUE; p_ = SEGMENT(blue_); id_ = ID(blue_)
    fi;
    red_ = 0; blue_ = 0;
    link_ = next[p_]
  };
  do
  :: OWNER(link_) != id_ || SUCCESSOR(link_) == NONE -> break
  :: else ->
     atomic { INSIDE(); d_ = SUCCESSOR(link_); after_d_ = next[d_] };
     if
     :: atomic { IS_LAST(after_d_) -> ok = false }
     :: atomic { !IS_LAST(after_d_) -> INSIDE(); ok = HAS_GONE(d_) } /* [Q19] */
     fi;
     if :: atomic { ok -> INSIDE(); ok = IS_BEHIND(id_, cursor[last_]) } :: !ok fi;
     if
     :: ok ->
        BEFORE_AROUND
        atomic {
          INSIDE(); ok = false;
          if
          :: GOES_AROUND -> link_ = LINK(id_, SUCCESSOR(after_d_)); next[p_] = link_; ok = true /* [Q8] */
          :: else -> link_ = next[p_]
          fi
        };
        if
        :: atomic {
             ok -> INSIDE(); ok = MAY_RELEASE(id_, cursor[last_]); /* [Q9] */
             if :: !ok && ended[d_] != ALL_ENDED && !is_free[d_] -> left_[d_] = true :: else fi
           }
        :: !ok
        fi;
        if :: atomic { ok -> release(d_); ok = false } :: !ok fi
     :: else -> atomic { p_ = d_; id_ = OWNER(after_d_); link_ = after_d_ }
     fi
  od;
  atomic {
    last_ = 0; p_ = 0; d_ = 0; id_ = 0; link_ = 0; after_d_ = 0; sweeping = false
  }
}

/* [Q3], sets ok */
#ifdef M_SPLIT_WITHDRAW
#define BEFORE_WITHDRAW(p) atomic { INSIDE(); ok = (cell[place[p]] == WORD(p)) };
#define WITHDRAWS(p) ok
#else
#define BEFORE_WITHDRAW(p)
#define WITHDRAWS(p) (cell[place[p]] == WORD(p))
#endif
#ifdef M_NOCOUNT_GONE
#define WITHDRAWN 0
#else
#define WITHDRAWN ONE_GONE
#endif
inline withdraw(p) {
  BEFORE_WITHDRAW(p)
  atomic {
    INSIDE(); ALIVE(p);
    if
    :: WITHDRAWS(p) -> cell[place[p]] = VACANT; own(p, CANCELLED); IS_OUT(p); ok = true
    :: else -> ok = false
    fi
  };
  if :: atomic { ok -> count(place[p] / CELLS, WITHDRAWN) } :: !ok fi
}

#ifdef M_CLOSE_VISITS_NOT
#define CLOSE_UNTIL(at) false
#else
#define CLOSE_UNTIL(at) (DISTANCE(end, at) > 0)
#endif
inline close_list() {
  atomic { INSIDE(); end = cursor[BLUE]; cursor[BLUE] = end | 1 }; /* [Q14] */
  atomic {
    INSIDE(); at = cursor[RED]; cursor[RED] = at | 1; /* [Q15] */
    if
    :: IS_CLOSED(end) -> at = 0; end = 0 /* another's, who closed blue's */
    :: !IS_CLOSED(end) && DISTANCE(end, at) < 0 -> ended_ = at; at = end; end = ended_; ended_ = 0
    :: else
    fi;
    at = at & ~1; end = end & ~1
  };
  do
  :: CLOSE_UNTIL(at) && AT_END(at) ->
     atomic { INSIDE(); LIVE_SEGMENT(at); at = SUCCESSOR(next[SEGMENT(at)]) };
     atomic { INSIDE(); assert(at != NONE && !is_free[at]); at = CURSOR(OWNER(next[at]) * CELLS, at) }
  :: CLOSE_UNTIL(at) && !AT_END(at) ->
     atomic {
       INSIDE(); LIVE_SEGMENT(at); q = NOBODY;
       if
       :: cell[CELL(at)] == EMPTY -> cell[CELL(at)] = VACANT; ended_ = ONE_GONE /* [Q4] */
       :: cell[CELL(at)] == VACANT -> ended_ = ONE_ENDED - ONE_GONE
       :: else -> q = cell[CELL(at)]; assert(q > MET)
       fi
     };
     if
     :: q != NOBODY ->
        atomic {
          INSIDE();
          if
          :: cell[CELL(at)] == q -> /* [Q2] */
             cell[CELL(at)] = MET; q = PARTY(q); own(q, CLOSED_ON); IS_OUT(q); ended_ = ONE_ENDED
          :: else -> q = NOBODY; ended_ = ONE_ENDED - ONE_GONE
          fi
        }
     :: else
     fi;
     atomic { count(SEGMENT(at), ended_); ended_ = 0 };
     if :: q != NOBODY -> each(q); q = NOBODY :: else fi;
     at = AFTER(at)
  :: !CLOSE_UNTIL(at) -> break
  od;
  at = 0; end = 0
}

proctype party(byte p) { LIST_LOCALS PARTY_BODY }
proctype canceller(byte p) { CANCELLER_BODY }
proctype closer() { short at, end, ended_; CLOSER_BODY }
proctype destroyer() { short at, end, ended_; DESTROYER_BODY }

init {
  byte k;
  atomic {
    for (k : 2 .. SEGS) { is_free[k] = true };
    cursor[RED] = CURSOR(0, 1);
    cursor[BLUE] = CURSOR(0, 1);
    next[1] = LINK(0, NONE);
    RUN_ALL
  }
}
