// SPDX-License-Identifier: MIT
// The paper's rival: one lock around everything, as in Java SE 5's Exchanger. Each waiter has a condition of its own,
// so that no wake-up goes to the wrong thread. The paper corrected that flaw, too.
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

final class LockedExchanger implements Channel.Swap {
    private static final class Waiter {
        Item item;
        boolean met;
        final Condition changed;

        Waiter(Item item, Condition changed) {
            this.item = item;
            this.changed = changed;
        }
    }

    private final ReentrantLock lock = new ReentrantLock();
    private Waiter waiting;

    @Override
    public Item swap(Item mine, long patience) throws InterruptedException {
        lock.lock();
        try {
            return waiting != null ? meet(mine) : await(new Waiter(mine, lock.newCondition()), patience);
        } finally {
            lock.unlock();
        }
    }

    private Item meet(Item mine) {
        Waiter partner = waiting;
        waiting = null;
        Item theirs = partner.item;
        partner.item = mine;
        partner.met = true;
        partner.changed.signal();
        return theirs;
    }

    private Item await(Waiter me, long patience) throws InterruptedException {
        waiting = me;
        try {
            if (patience == FOREVER) {
                while (!me.met) {
                    me.changed.await();
                }
            } else {
                for (long left = patience; !me.met && left > 0;) {
                    left = me.changed.awaitNanos(left);
                }
            }
        } catch (InterruptedException interrupted) {
            if (!me.met) {
                waiting = null;
                throw interrupted;
            }
            Thread.currentThread().interrupt(); // the swap is complete; the next wait will notice
        }
        if (me.met) {
            return me.item;
        }
        waiting = null;
        return null;
    }
}
