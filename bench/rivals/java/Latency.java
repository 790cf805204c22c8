// SPDX-License-Identifier: MIT
// Measures how long a waiting thread takes to resume after its partner arrives.
import java.util.Arrays;
import java.util.concurrent.locks.LockSupport;

final class Latency {
    private static final long LAST = Long.MIN_VALUE;

    private final Channel channel;
    private final long pause;
    private final Channel.Item nothing = new Channel.Item(0);
    private long[] samples = new long[1 << 16];
    private int count;
    private long sumGot;
    private Throwable failure;

    Latency(Channel channel, long pauseNanos) {
        this.channel = channel;
        this.pause = pauseNanos;
    }

    Result run(double seconds) throws InterruptedException {
        Thread waits = new Thread(this::sample);
        waits.setUncaughtExceptionHandler((thread, why) -> failure = why);
        waits.start();
        // Two items in turn, because the partner may still read one while the other is written.
        Channel.Item[] times = {new Channel.Item(0), new Channel.Item(0)};
        long sumGiven = 0;
        long begin = System.nanoTime();
        long end = begin + (long) (seconds * 1e9);
        int turn = 0;
        do {
            pause();
            Channel.Item now = times[turn++ & 1];
            now.value = System.nanoTime();
            sumGiven += now.value;
            give(now);
        } while (System.nanoTime() < end);
        long elapsed = System.nanoTime() - begin;
        give(new Channel.Item(LAST));
        waits.join();
        if (failure != null) {
            throw new IllegalStateException(failure);
        }
        long[] sorted = Arrays.copyOf(samples, count);
        Arrays.sort(sorted);
        Result result = new Result(count, elapsed, count == turn && sumGiven == sumGot);
        result.ns = Arrays.stream(sorted).average().orElse(0);
        result.add("p50", sorted[count / 2]);
        result.add("p99", sorted[(int) (count * 99L / 100)]);
        return result;
    }

    private void sample() {
        try {
            for (;;) {
                long sent = take().value;
                long now = System.nanoTime();
                if (sent == LAST) {
                    return;
                }
                if (count == samples.length) {
                    samples = Arrays.copyOf(samples, 2 * count);
                }
                samples[count++] = now - sent;
                sumGot += sent;
            }
        } catch (InterruptedException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    private void pause() {
        long end = System.nanoTime() + pause;
        while (System.nanoTime() < end) {
            if (pause < 50_000) {
                Thread.onSpinWait();
            } else {
                LockSupport.parkNanos(end - System.nanoTime());
            }
        }
    }

    private void give(Channel.Item item) throws InterruptedException {
        if (channel instanceof Channel.Swap) {
            ((Channel.Swap) channel).swap(item, Channel.FOREVER);
        } else {
            ((Channel.HandOff) channel).give(item, Channel.FOREVER);
        }
    }

    private Channel.Item take() throws InterruptedException {
        return channel instanceof Channel.Swap
            ? ((Channel.Swap) channel).swap(nothing, Channel.FOREVER)
            : ((Channel.HandOff) channel).take(Channel.FOREVER);
    }
}
