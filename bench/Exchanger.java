// SPDX-License-Identifier: MIT
// Java's Exchanger, the measure of the paper behind tryst. `java Exchanger.java WHAT THREADS MICROSECONDS` takes one sample
// of "swap", "timed" (with that patience) or "latency" (after that pause), and prints nanoseconds, the share of attempts that
// succeeded, and the 99th percentile. The exit status is 1 if items were not conserved. Threads are not pinned, because Java
// has no means to do so.
import java.util.Arrays;
import java.util.Locale;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;

final class Exchanger {
    private static final class Item {
        long value;

        Item(long value) {
            this.value = value;
        }
    }

    private static final java.util.concurrent.Exchanger<Item> AT = new java.util.concurrent.Exchanger<>();
    private static final double WARM_UP = 0.3;
    private static volatile boolean over;

    /** The account of one thread, which writes it when it ends. Items are boxed before the measurement. */
    private static final class Party extends Thread {
        final Item[] items = new Item[16];
        final CountDownLatch start;
        final long patience;
        long attempts;
        long met;
        long balance;
        boolean metItself;

        Party(int id, int parties, long patience, CountDownLatch start) {
            for (int i = 0; i < items.length; ++i) {
                items[i] = new Item(1 + id + (long) i * parties); // so that all items differ
            }
            this.patience = patience;
            this.start = start;
        }

        @Override
        public void run() {
            long tries = 0;
            long swaps = 0;
            long surplus = 0;
            boolean own = false;
            try {
                start.await();
                while (!over) {
                    Item mine = items[(int) swaps & 15];
                    ++tries;
                    try {
                        Item theirs = patience == 0 ? AT.exchange(mine) : AT.exchange(mine, patience, TimeUnit.MICROSECONDS);
                        ++swaps;
                        surplus += mine.value - theirs.value;
                        own |= theirs == mine;
                    } catch (TimeoutException timedOut) {
                        continue;
                    }
                }
            } catch (InterruptedException theEnd) {
                // from a wait without a partner to end it
            }
            attempts = tries;
            met = swaps;
            balance = surplus;
            metItself = own;
        }
    }

    /** Returns nanoseconds of one swap, and the share of attempts that succeeded; null if items were not conserved. */
    private static double[] swap(int threads, long patience, double seconds) throws InterruptedException {
        over = false;
        CountDownLatch start = new CountDownLatch(1);
        Party[] parties = new Party[threads];
        for (int id = 0; id < threads; ++id) {
            parties[id] = new Party(id, threads, patience, start);
            parties[id].start();
        }
        long begin = System.nanoTime();
        start.countDown();
        TimeUnit.NANOSECONDS.sleep((long) (seconds * 1e9));
        double elapsed = System.nanoTime() - begin;
        over = true;
        for (Party each : parties) {
            each.interrupt();
        }
        for (Party each : parties) {
            each.join();
        }
        long met = Arrays.stream(parties).mapToLong(each -> each.met).sum();
        long attempts = Arrays.stream(parties).mapToLong(each -> each.attempts).sum();
        boolean conserved = met != 0 && met % 2 == 0 && Arrays.stream(parties).mapToLong(each -> each.balance).sum() == 0
            && Arrays.stream(parties).noneMatch(each -> each.metItself);
        return conserved ? new double[] {elapsed * 2 / met, (double) met / attempts, 0} : null;
    }

    /** Returns the median time until a waiting thread runs after its partner arrived, 1, and the 99th percentile. */
    private static double[] latency(long pause, double seconds) throws InterruptedException {
        long[] samples = new long[1 << 20];
        long[] received = new long[2]; // count, sum
        Item nothing = new Item(0);
        Thread waits = new Thread(() -> {
            try {
                for (long sent; (sent = AT.exchange(nothing).value) != Long.MIN_VALUE; received[1] += sent) {
                    samples[(int) received[0]++] = System.nanoTime() - sent;
                }
            } catch (InterruptedException never) {
                throw new IllegalStateException(never);
            }
        });
        waits.start();
        Item[] times = {new Item(0), new Item(0)}; // in turn, because the partner may still read one
        long sum = 0;
        int count = 0;
        for (long end = System.nanoTime() + (long) (seconds * 1e9); System.nanoTime() < end; ++count) {
            for (long until = System.nanoTime() + 1000 * pause; System.nanoTime() < until;) {
                if (pause < 50) {
                    Thread.onSpinWait();
                } else {
                    LockSupport.parkNanos(until - System.nanoTime());
                }
            }
            Item now = times[count & 1];
            now.value = System.nanoTime();
            sum += now.value;
            AT.exchange(now);
        }
        AT.exchange(new Item(Long.MIN_VALUE));
        waits.join();
        Arrays.sort(samples, 0, count);
        return count == received[0] && sum == received[1] ? new double[] {samples[count / 2], 1, samples[count * 99 / 100]} : null;
    }

    public static void main(String[] words) throws InterruptedException {
        int threads = Integer.parseInt(words[1]);
        long time = Long.parseLong(words[2]);
        boolean latency = words[0].equals("latency");
        long patience = words[0].equals("timed") ? time : 0;
        double[] first = latency ? latency(time, WARM_UP) : swap(threads, patience, WARM_UP);
        double[] found = latency ? latency(time, 0.5) : swap(threads, patience, 0.2);
        if (first == null || found == null) {
            System.exit(1);
        }
        System.out.printf(Locale.ROOT, "%f %f %f%n", found[0], found[1], found[2]);
    }
}
