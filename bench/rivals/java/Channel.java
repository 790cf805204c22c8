// SPDX-License-Identifier: MIT
// A meeting point of threads: the common interface of the implementations. A patience is in nanoseconds. Without one
// (FOREVER), only an interrupt ends a wait, and then no item was passed on.
import java.util.concurrent.Exchanger;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

interface Channel {
    long FOREVER = 0;

    /** Boxed once, before the measurement, so that the measured loops allocate nothing. */
    final class Item {
        long value;

        Item(long value) {
            this.value = value;
        }
    }

    /** Both sides give and receive an item. */
    interface Swap extends Channel {
        /** Returns the partner's item, or null if the patience ran out. */
        Item swap(Item mine, long patience) throws InterruptedException;
    }

    /** One side sends, the other receives. */
    interface HandOff extends Channel {
        /** Returns whether someone took the item before the patience ran out. */
        boolean give(Item item, long patience) throws InterruptedException;

        /** Returns an item, or null if the patience ran out. */
        Item take(long patience) throws InterruptedException;
    }

    static Swap exchanger() {
        Exchanger<Item> exchanger = new Exchanger<>();
        return (mine, patience) -> {
            if (patience == FOREVER) {
                return exchanger.exchange(mine);
            }
            try {
                return exchanger.exchange(mine, patience, TimeUnit.NANOSECONDS);
            } catch (TimeoutException timedOut) {
                return null;
            }
        };
    }

    static HandOff synchronousQueue(boolean fair) {
        SynchronousQueue<Item> queue = new SynchronousQueue<>(fair);
        return new HandOff() {
            @Override
            public boolean give(Item item, long patience) throws InterruptedException {
                if (patience == FOREVER) {
                    queue.put(item);
                    return true;
                }
                return queue.offer(item, patience, TimeUnit.NANOSECONDS);
            }

            @Override
            public Item take(long patience) throws InterruptedException {
                return patience == FOREVER ? queue.take() : queue.poll(patience, TimeUnit.NANOSECONDS);
            }
        };
    }
}
