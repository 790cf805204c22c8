/* SPDX-License-Identifier: MIT
 *
 * The dual stack and its pool: dual_stack.hpp, node_pool.hpp, below what two_colours.h has of the protocol. Labels
 * in brackets are the headers'. Sequentially consistent; a weak CAS fails only for a reason.
 *
 *   nodes   NODES in all; the pool is step by step, but for the blocks that they are allocated in
 *
 * Claimed, besides what two_colours.h asserts (I1, I3; each waiter is completed once, by its canceller, a closer or
 * a partner of the other colour; nobody waits for ever; nobody is inside after the end): no node is handed out,
 * given back, pushed or popped twice; one that is free is in no stack; who refills is of the stack's colour; and
 * each is in the pool when the exchanger ends.
 *
 * Options: -DNODES, -DVERSIONS=b: both heads count their changes by b bits, which wrap, for `--cycles`. */
#ifndef NODES
#define NODES 2
#endif
#ifndef VERSIONS
#define VERSIONS 8
#endif

#define is_shut() (head & 1)
#define AT_THE_END() for (i : 1 .. NODES) { assert(i >= fresh || pooled[i]) }
#include "two_colours.h"

/* The head: the count of its changes, the top node, its colour, closed or not. The pool's: count and node. */
#define VERSION_MASK ((1 << VERSIONS) - 1)
#define TOP(h) (((h) >> 2) & 7)
#define COLOUR_OF(h) (((h) >> 1) & 1)
#define FIRST(h) ((h) & 7)
#define NONE 0
#ifdef M_NOVERSION
#define CHANGED(h, n, of) (((n) << 2) | ((of) << 1))
#else
#define CHANGED(h, n, of) ((((((h) >> 5) + 1) & VERSION_MASK) << 5) | ((n) << 2) | ((of) << 1))
#endif
#ifdef M_NOVERSION_FREE
#define FREE_CHANGED(h, n) (n)
#else
#define FREE_CHANGED(h, n) ((((((h) >> 3) + 1) & VERSION_MASK) << 3) | (n))
#endif

/* What is in a node: one of these, or a party's number plus four. */
#define FREE 0
#define DISOWNED 3
#ifdef M_COLOUR_BLIND
#define VACANT(of) 1
#else
#define VACANT(of) (1 + (of))
#endif
#define IS_VACANT(word) ((word) == 1 || (word) == 2)
#define WORD(p) (p + 4)
#define PARTY(word) (word - 4)

short head, free_head;
byte fresh = 1;
byte content[NODES + 1], below[NODES + 1], link[NODES + 1];
bool pooled[NODES + 1], stacked[NODES + 1];
byte place[N];

/* A CAS is a step; a mutant splits one into a load and a store. Each sets ok. */
#define CAS(what, from, to) if :: what == from -> what = to; ok = true :: else -> ok = false fi
#define CHECK(what, from) atomic { INSIDE(); ok = (what == from) };
#define STORE(what, to) if :: ok -> what = to :: else fi
#ifdef M_SPLIT_PUSH
#define BEFORE_PUSH CHECK(head, h)
#define PUSH(to) STORE(head, to)
#else
#define BEFORE_PUSH
#define PUSH(to) CAS(head, h, to)
#endif
#ifdef M_SPLIT_POP
#define BEFORE_POP CHECK(head, h)
#define POP(to) STORE(head, to)
#else
#define BEFORE_POP
#define POP(to) CAS(head, h, to)
#endif
#ifdef M_SPLIT_REFILL
#define BEFORE_REFILL CHECK(content[n], VACANT(COLOUR(p)))
#define REFILL(p) STORE(content[n], WORD(p))
#else
#define BEFORE_REFILL
#define REFILL(p) CAS(content[n], VACANT(COLOUR(p)), WORD(p))
#endif
#ifdef M_SPLIT_DISOWN
#define BEFORE_DISOWN CHECK(content[n], VACANT(1 - COLOUR(p)))
#define DISOWN(p) STORE(content[n], DISOWNED)
#else
#define BEFORE_DISOWN
#define DISOWN(p) CAS(content[n], VACANT(1 - COLOUR(p)), DISOWNED)
#endif
#ifdef M_SPLIT_WITHDRAW
#define BEFORE_WITHDRAW(p) CHECK(content[place[p]], WORD(p))
#define WITHDRAW(p) STORE(content[place[p]], VACANT(COLOUR(p)))
#else
#define BEFORE_WITHDRAW(p)
#define WITHDRAW(p) CAS(content[place[p]], WORD(p), VACANT(COLOUR(p)))
#endif
#ifdef M_SPLIT_ALLOCATE
#define BEFORE_ALLOCATE CHECK(free_head, h)
#define ALLOCATE(to) STORE(free_head, to)
#else
#define BEFORE_ALLOCATE
#define ALLOCATE(to) CAS(free_head, h, to)
#endif
#ifdef M_SPLIT_RELEASE
#define BEFORE_RELEASE CHECK(free_head, f)
#define RELEASE(to) STORE(free_head, to)
#else
#define BEFORE_RELEASE
#define RELEASE(to) CAS(free_head, f, to)
#endif

inline release(n) { /* [N4] */
  do
  :: atomic { INSIDE(); assert(!pooled[n]); f = free_head };
     atomic { INSIDE(); link[n] = FIRST(f) };
     BEFORE_RELEASE
     atomic {
       INSIDE(); RELEASE(FREE_CHANGED(f, n)); f = 0;
       if :: ok -> assert(!pooled[n]); pooled[n] = true; break :: else fi
     }
  od
}

/* The exchange [D4] by whoever has popped t; was is what they find. */
#ifdef M_POPPED_BLIND
#define RELEASES(was) true
#elif defined(M_KEEPS_DISOWNED)
#define RELEASES(was) (!IS_VACANT(was) && was != DISOWNED)
#else
#define RELEASES(was) (!IS_VACANT(was))
#endif
#ifdef M_SPLIT_EMPTY
#define EMPTY(t) atomic { INSIDE(); was = content[t] }; atomic { INSIDE(); content[t] = FREE; EMPTIED(t) }
#else
#define EMPTY(t) atomic { INSIDE(); was = content[t]; content[t] = FREE; EMPTIED(t) }
#endif
#define EMPTIED(t) assert(was != FREE); if :: was > DISOWNED -> OWNED(PARTY(was)) :: else fi

inline withdraw(p) {
  BEFORE_WITHDRAW(p)
  atomic { INSIDE(); ALIVE(p); WITHDRAW(p); if :: ok -> own(p, CANCELLED) :: else fi }; /* [D6] */
  if :: ok -> release(place[p]) :: else fi
}

#define LIST_LOCALS short h, f; byte t, n, was;
#define forget_list(p) h = 0; f = 0; t = 0; n = 0; was = 0

#ifdef M_NODISOWN
#define WHAT_IS_FREE(p, word) ((word) == FREE || (word) == VACANT(1 - COLOUR(p)))
#else
#define WHAT_IS_FREE(p, word) ((word) == FREE)
#endif
#ifdef M_PUSH_CLOSED
#define MAY_PUSH(p, h) (TOP(h) == NONE || COLOUR_OF(h) == COLOUR(p))
#elif defined(M_PUSH_BLIND)
#define MAY_PUSH(p, h) (!((h) & 1))
#else
#define MAY_PUSH(p, h) (!((h) & 1) && (TOP(h) == NONE || COLOUR_OF(h) == COLOUR(p)))
#endif

#define arrive_in_list(p) \
look: \
    atomic { INSIDE(); h = head }; /* [D1] */ \
look_further: \
    if \
    :: h & 1 -> goto shut \
    :: !(h & 1) && (TOP(h) == NONE || COLOUR_OF(h) == COLOUR(p)) -> \
       h = 0; \
       if :: IN(TAKERS, p) -> goto nobody :: else -> goto enqueue_or_match fi \
    :: else \
    fi; \
    atomic { INSIDE(); t = below[TOP(h)] }; \
    BEFORE_POP \
    atomic { \
      INSIDE(); was = TOP(h); POP(CHANGED(h, t, COLOUR_OF(h))); /* [D9] */ \
      if \
      :: ok -> assert(stacked[was]); stacked[was] = false; h = CHANGED(h, t, COLOUR_OF(h)); t = was; was = 0 \
      :: else -> h = 0; t = 0; was = 0; goto look /* collided */ \
      fi \
    }; \
    EMPTY(t); \
    if :: RELEASES(was) -> release(t) :: else fi; \
    if \
    :: atomic { was > DISOWNED -> h = 0; t = 0; was = 0; goto met } \
    :: atomic { was <= DISOWNED -> t = 0; was = 0; goto look_further } \
    fi; \
enqueue_or_match: \
    atomic { INSIDE(); h = free_head; if :: FIRST(h) == NONE -> goto grow :: else fi }; /* [N3] */ \
    atomic { INSIDE(); t = link[FIRST(h)] }; \
    BEFORE_ALLOCATE \
    atomic { \
      INSIDE(); n = FIRST(h); ALLOCATE(FREE_CHANGED(h, t)); t = 0; h = 0; /* [N5] */ \
      if :: ok -> assert(pooled[n]); pooled[n] = false; goto have_node :: else -> n = 0; goto enqueue_or_match fi \
    }; \
grow: \
    atomic { \
      INSIDE(); h = 0; \
      if :: fresh <= NODES -> n = fresh; fresh++ :: else -> goto no_memory fi \
    }; \
have_node: \
    atomic { \
      INSIDE(); ALIVE(p); place[p] = n; was = content[n]; \
      assert(was == FREE || IS_VACANT(was)); assert(was != FREE || !stacked[n]); \
      if \
      :: WHAT_IS_FREE(p, was) -> goto push \
      :: !WHAT_IS_FREE(p, was) && was == VACANT(COLOUR(p)) -> was = 0; goto refill \
      :: else -> was = 0 \
      fi \
    }; \
    BEFORE_DISOWN \
    atomic { \
      INSIDE(); DISOWN(p); /* [D5] */ \
      if :: ok -> n = 0; goto enqueue_or_match :: else -> assert(content[n] == FREE); goto push fi \
    }; \
refill: \
    BEFORE_REFILL \
    atomic { \
      INSIDE(); REFILL(p); /* [D3] */ \
      if \
      :: ok -> \
         assert(!stacked[n] || is_shut() || COLOUR_OF(head) == COLOUR(p)); \
         forget_list(p); offer_in_list(p); goto offered \
      :: else -> assert(content[n] == FREE) \
      fi \
    }; \
push: \
    atomic { INSIDE(); was = 0; content[n] = WORD(p) }; \
    do \
    :: atomic { INSIDE(); h = head }; \
       if :: !MAY_PUSH(p, h) -> break :: else fi; \
       atomic { INSIDE(); below[n] = TOP(h) }; \
       BEFORE_PUSH \
       atomic { \
         INSIDE(); PUSH(CHANGED(h, n, COLOUR(p))); /* [D2] */ \
         if \
         :: ok -> \
            assert(!stacked[n] && !(h & 1)); stacked[n] = true; forget_list(p); offer_in_list(p); goto offered \
         :: else \
         fi \
       } \
    od; \
    atomic { INSIDE(); h = 0; content[n] = FREE }; \
    release(n); \
    atomic { n = 0; goto look }

#ifdef M_SPLIT_CLOSE
#define BEFORE_CLOSE atomic { INSIDE(); h = head };
#define CLOSE head = 1
#else
#define BEFORE_CLOSE
#define CLOSE h = head; head = 1
#endif
#define OWNED(w) q = w; own(q, CLOSED_ON)
#ifdef M_CLOSE_BLIND
#define UNCHANGED(t, was) true
#else
#define UNCHANGED(t, was) (content[t] == was)
#endif
inline close_list() {
  BEFORE_CLOSE
  atomic { INSIDE(); CLOSE; n = TOP(h); h = 0 }; /* [D7] */
  do
  :: n != NONE ->
     atomic { INSIDE(); t = n; n = below[n]; assert(stacked[t]); stacked[t] = false };
     do
     :: atomic { INSIDE(); was = content[t] };
        if :: was > DISOWNED -> complete_last() :: else fi;
        atomic { /* [D11] */
          INSIDE();
          if :: UNCHANGED(t, was) -> was = content[t]; content[t] = FREE; EMPTIED(t); break :: else -> was = 0 fi
        }
     od;
     if :: RELEASES(was) -> release(t) :: else fi;
     if :: was > DISOWNED -> q = PARTY(was); was = 0; t = 0; each(q); q = NOBODY :: else -> was = 0; t = 0 fi
  :: else -> break
  od
}

#undef OWNED
#define OWNED(w) q = w; swap(p, q)
#define NOTHING
proctype party(byte p) { LIST_LOCALS PARTY_BODY(NOTHING, NOTHING) }
proctype canceller(byte p) { short f; CANCELLER_BODY }
proctype closer() { LIST_LOCALS CLOSER_BODY }
proctype destroyer() { LIST_LOCALS DESTROYER_BODY }

init { byte k; atomic { RUN_ALL } }
