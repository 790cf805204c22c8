// SPDX-License-Identifier: MIT
// Threads that meet in one channel for a while: throughput, service and conservation. They are not pinned, because Java
// has no means to do so.
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

final class Meetings {
    /** The account of one thread, which writes it when it ends. */
    abstract class Party extends Thread {
        final Channel.Item[] items = new Channel.Item[16];
        long attempts;
        long meetings;
        long given;
        long got;
        boolean metItself;

        Party(int id, int parties) {
            for (int i = 0; i < items.length; ++i) {
                items[i] = new Channel.Item(1 + id + (long) i * parties); // so that all items differ
            }
        }

        abstract void meet() throws InterruptedException;

        @Override
        public void run() {
            try {
                start.await();
                meet();
            } catch (InterruptedException theEnd) {
                // from a wait without a partner to end it
            }
        }

        boolean gets() {
            return true;
        }
    }

    private final CountDownLatch start = new CountDownLatch(1);
    private final List<Party> parties = new ArrayList<>();
    private final long patience;
    private volatile boolean over;

    /** Threads that swap if the channel can; otherwise every other thread sends, and the others receive. */
    Meetings(Channel channel, int threads, long patience) {
        this.patience = patience;
        for (int id = 0; id < threads; ++id) {
            if (channel instanceof Channel.Swap) {
                parties.add(swapper((Channel.Swap) channel, id, threads));
            } else if (id % 2 == 0) {
                parties.add(giver((Channel.HandOff) channel, id, threads));
            } else {
                parties.add(taker((Channel.HandOff) channel, id, threads));
            }
        }
    }

    private Party swapper(Channel.Swap channel, int id, int threads) {
        return new Party(id, threads) {
            @Override
            void meet() throws InterruptedException {
                long tries = 0;
                long met = 0;
                long in = 0;
                long out = 0;
                boolean own = false;
                try {
                    while (!over) {
                        Channel.Item mine = items[(int) met & 15];
                        ++tries;
                        Channel.Item theirs = channel.swap(mine, patience);
                        if (theirs != null) {
                            ++met;
                            out += mine.value;
                            in += theirs.value;
                            own |= theirs == mine;
                        }
                    }
                } finally {
                    attempts = tries;
                    meetings = met;
                    given = out;
                    got = in;
                    metItself = own;
                }
            }
        };
    }

    private Party giver(Channel.HandOff channel, int id, int threads) {
        return new Party(id, threads) {
            @Override
            void meet() throws InterruptedException {
                long tries = 0;
                long met = 0;
                long out = 0;
                try {
                    while (!over) {
                        Channel.Item mine = items[(int) met & 15];
                        ++tries;
                        if (channel.give(mine, patience)) {
                            ++met;
                            out += mine.value;
                        }
                    }
                } finally {
                    attempts = tries;
                    meetings = met;
                    given = out;
                }
            }

            @Override
            boolean gets() {
                return false;
            }
        };
    }

    private Party taker(Channel.HandOff channel, int id, int threads) {
        return new Party(id, threads) {
            @Override
            void meet() throws InterruptedException {
                long tries = 0;
                long met = 0;
                long in = 0;
                try {
                    while (!over) {
                        ++tries;
                        Channel.Item theirs = channel.take(patience);
                        if (theirs != null) {
                            ++met;
                            in += theirs.value;
                        }
                    }
                } finally {
                    attempts = tries;
                    meetings = met;
                    got = in;
                }
            }
        };
    }

    Result run(double seconds) throws InterruptedException {
        parties.forEach(Thread::start);
        start.countDown();
        long begin = System.nanoTime();
        TimeUnit.NANOSECONDS.sleep((long) (seconds * 1e9));
        long elapsed = System.nanoTime() - begin;
        over = true;
        for (Party each : parties) {
            each.interrupt();
        }
        for (Party each : parties) {
            each.join();
        }
        long meetings = parties.stream().mapToLong(each -> each.meetings).sum();
        long attempts = parties.stream().mapToLong(each -> each.attempts).sum();
        boolean conserved = meetings % 2 == 0
            && parties.stream().mapToLong(each -> each.given - each.got).sum() == 0
            && parties.stream().noneMatch(each -> each.metItself);
        Result result = new Result(meetings / 2, elapsed, conserved);
        if (patience == Channel.FOREVER) {
            result.add("fairness", fairness());
        } else {
            result.add("success", (double) meetings / attempts);
        }
        return result;
    }

    private double fairness() {
        var service = parties.stream().filter(Party::gets).mapToLong(each -> each.meetings).summaryStatistics();
        return (double) service.getMin() / Math.max(service.getMax(), 1);
    }
}
