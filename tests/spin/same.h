/* SPDX-License-Identifier: MIT
 *
 * For scenes of exchange.pml with -DSAME=k: the parties from k on are interchangeable (same kind, same
 * limits; the model never asks for more than which party a word names). States that differ only in who of
 * them is who are then one state, visited once: each is stored with these parties sorted, by what they
 * are doing. Up to (N - k)! fewer states.
 *
 * `run` includes this in spin's pan.c and lets it store by `store_sorted`. The search itself goes on from
 * the state as it was, so a trail is an ordinary one. Sound whatever the order is, as long as the one
 * permutation is applied to everything that tells the parties apart: the arrays, their processes, and
 * every word. Whoever adds such a variable to the model adds it here. */
#include <string.h>

/* Spin's own processes, such as the search for cycles, come first (BASE), then init, then the parties. */
#define PARTY_AT(k) ((P0 *)pptr(BASE + 1 + (k)))
#define IS_WORD(word) ((word) != 0 && (word) <= PARTIES)

/* The arrays with an entry for each party; those of words are `item` and `mate`. */
#ifdef QUIET
#define THOSE_OF_QUIET(DO) DO(asleep) DO(returned)
#else
#define THOSE_OF_QUIET(DO) /* spin leaves out what nobody reads */
#endif
#define FOR_EACH_ARRAY(DO) \
    DO(state) DO(result) DO(limited) DO(live) DO(posted) DO(stoppable) DO(stopping) DO(armed) \
    DO(firing) DO(final) DO(mate_final) DO(arrived) THOSE_OF_QUIET(DO)

static unsigned long long blend(unsigned long long key, unsigned long long more) {
    return (key ^ more) * 0x9E3779B97F4A7C15ULL + (key >> 29);
}

/* What a word means to party k, but for who of the interchangeable it names. */
static unsigned long long kind(int word, int k) {
    return !IS_WORD(word) || word - 1 < SAME ? word : word - 1 == k ? 254 : 255;
}

static void sort_parties(int was[]) {
    unsigned long long key[PARTIES], refined[PARTIES];
    int i, k;
    for (k = 0; k != PARTIES; ++k) {
        P0 *const party = PARTY_AT(k);
        unsigned long long sum = party->_p;
        sum = sum << 5 | party->i << 2 | party->from;
        sum = sum << 7 | party->ok << 6 | party->suspended << 5 | party->counted << 4 | party->spread << 3 |
              party->moved << 2 | party->queued << 1 | party->late;
        sum = sum << 8 | party->s;
        sum = sum << 8 | kind(party->seen, k);
        sum = sum << 8 | kind(now.item[k], k);
        sum = sum << 8 | kind(now.mate[k], k);
        sum = sum << 2 | party->round;
        key[k] = blend(0, sum);
        for (i = 0; i != SLOTS; ++i) key[k] = blend(key[k], now.slot[i] == k + 1);
#define DO(array) key[k] = blend(key[k], now.array[k]);
        FOR_EACH_ARRAY(DO)
#undef DO
    }
    /* Those who do the same may be told apart by whom they know. */
    for (k = 0; k != PARTIES; ++k) {
        const int words[] = {PARTY_AT(k)->seen, now.item[k], now.mate[k]};
        refined[k] = key[k];
        for (i = 0; i != 3; ++i) refined[k] = blend(refined[k], IS_WORD(words[i]) ? key[words[i] - 1] : 0);
        for (i = 0; i != PARTIES; ++i) {
            if (PARTY_AT(i)->seen == k + 1) refined[k] += key[i];
        }
    }
    for (k = 0; k != PARTIES; ++k) {
        for (i = k; i > SAME && refined[was[i - 1]] > refined[k]; --i) was[i] = was[i - 1];
        if (k >= SAME) was[i] = k; else was[k] = k;
    }
}

static int store_sorted(int (*store)(char *, int)) {
    char before[sizeof(State)];
    P0 parties[PARTIES];
    int was[PARTIES], is[PARTIES], k, i, result, moved = 0;
    sort_parties(was); /* the party that was at was[k] goes to k */
    for (k = 0; k != PARTIES; ++k) {
        is[was[k]] = k;
        moved |= was[k] != k;
    }
    if (!moved) return store((char *)&now, vsize);

    memcpy(before, &now, vsize);
    for (k = 0; k != PARTIES; ++k) parties[k] = *PARTY_AT(k);
#define RENAME(word) if (IS_WORD(word)) (word) = is[(word) - 1] + 1
    for (k = 0; k != PARTIES; ++k) {
        P0 *const party = PARTY_AT(k);
        const int pid = party->_pid;
        *party = parties[was[k]];
        party->_pid = pid;
        party->p = k;
        RENAME(party->seen);
        RENAME(party->passed);
    }
#define DO(array) \
    { \
        unsigned char old[PARTIES]; \
        memcpy(old, now.array, PARTIES); \
        for (k = 0; k != PARTIES; ++k) now.array[k] = old[was[k]]; \
    }
    FOR_EACH_ARRAY(DO)
    DO(item)
    DO(mate)
#undef DO
    for (k = 0; k != PARTIES; ++k) {
        RENAME(now.item[k]);
        RENAME(now.mate[k]);
    }
    for (i = 0; i != SLOTS; ++i) RENAME(now.slot[i]);
    for (i = BASE + 1 + PARTIES; i < now._nr_pr; ++i) {
        switch (((P0 *)pptr(i))->_t) {
        case 1: { /* a canceller, under way */
            P1 *const canceller = (P1 *)pptr(i);
            if (((State *)before)->stopping[canceller->p]) canceller->p = is[canceller->p];
            break;
        }
        case 2:
            RENAME(((P2 *)pptr(i))->seen);
            RENAME(((P2 *)pptr(i))->first);
            break;
        case 3:
            RENAME(((P3 *)pptr(i))->seen);
            RENAME(((P3 *)pptr(i))->first);
            break;
        }
    }
    result = store((char *)&now, vsize);
    memcpy(&now, before, vsize);
    return result;
}
