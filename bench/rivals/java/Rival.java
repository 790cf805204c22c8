// SPDX-License-Identifier: MIT
// java.util.concurrent.Exchanger, which came of the paper; see ../README.md. Java has no means to pin threads.
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Exchanger;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

public final class Rival {
    /** A thread that swaps until it is over, and its account. */
    private final class Party extends Thread {
        final long[][] items = new long[16][]; // each a value in a box
        long attempts;
        long swaps;
        long surplus; // values given, minus values received
        boolean metItself;

        Party(int id, int parties) {
            Arrays.setAll(items, i -> new long[] {1 + id + (long) i * parties}); // so that all items differ
        }

        @Override
        public void run() {
            try {
                while (!over) {
                    long[] mine = items[(int) swaps & 15];
                    ++attempts;
                    try {
                        long[] theirs = patience == 0 ? place.exchange(mine) : place.exchange(mine, patience, TimeUnit.NANOSECONDS);
                        ++swaps;
                        surplus += mine[0] - theirs[0];
                        metItself |= theirs == mine;
                    } catch (TimeoutException nobody) {
                        // and again
                    }
                }
            } catch (InterruptedException theEnd) {
                // of a wait without a partner to end it
            }
        }
    }

    private final Exchanger<long[]> place = new Exchanger<>();
    private final Map<String, Double> options = new TreeMap<>(Map.of("--threads", 2.0, "--patience-us", 100.0,
        "--pause-us", 20.0, "--seconds", 0.5, "--warmup", 0.1));
    private long patience; // in ns; 0: for ever
    private volatile boolean over;

    private String swaps(double seconds) throws InterruptedException {
        int count = options.get("--threads").intValue();
        List<Party> parties = IntStream.range(0, count).mapToObj(id -> new Party(id, count)).collect(Collectors.toList());
        over = false;
        long begin = System.nanoTime();
        parties.forEach(Thread::start);
        TimeUnit.NANOSECONDS.sleep((long) (seconds * 1e9));
        over = true;
        double elapsed = System.nanoTime() - begin;
        for (Party each : parties) {
            each.interrupt();
            each.join();
        }
        var all = parties.stream().mapToLong(each -> each.swaps).summaryStatistics();
        boolean conserved = all.getSum() % 2 == 0 && parties.stream().mapToLong(each -> each.surplus).sum() == 0
            && parties.stream().noneMatch(each -> each.metItself);
        long attempts = parties.stream().mapToLong(each -> each.attempts).sum();
        return result(all.getSum() / 2, elapsed, 2 * elapsed / Math.max(all.getSum(), 1), conserved, patience == 0
            ? String.format(Locale.ROOT, "\"fairness\": %.6g", (double) all.getMin() / Math.max(all.getMax(), 1))
            : String.format(Locale.ROOT, "\"success\": %.6g", (double) all.getSum() / Math.max(attempts, 1)));
    }

    private String latency(double seconds) throws InterruptedException {
        long pause = (long) (options.get("--pause-us") * 1000);
        long[] samples = new long[1 << 22];
        long[] received = {0, 0}; // the number of items, and the sum of their values
        Thread waits = new Thread(() -> {
            try {
                for (long[] mine = {0};;) {
                    long sent = place.exchange(mine)[0];
                    long now = System.nanoTime();
                    if (sent == 0) {
                        return;
                    }
                    samples[(int) received[0]++] = now - sent;
                    received[1] += sent;
                }
            } catch (InterruptedException impossible) {
                throw new IllegalStateException(impossible);
            }
        });
        waits.start();
        long[][] times = {{0}, {0}}; // in turn: the partner may still read one
        int turn = 0;
        long sum = 0;
        long begin = System.nanoTime();
        do {
            for (long end = System.nanoTime() + pause; System.nanoTime() < end;) {
                LockSupport.parkNanos(pause < 50_000 ? 0 : end - System.nanoTime()); // 0: it spins
            }
            long[] now = times[turn++ & 1];
            now[0] = System.nanoTime();
            sum += now[0];
            place.exchange(now);
        } while (System.nanoTime() - begin < seconds * 1e9 && turn < samples.length);
        double elapsed = System.nanoTime() - begin;
        place.exchange(new long[] {0}); // the end
        waits.join();
        long[] sorted = Arrays.copyOf(samples, (int) received[0]);
        Arrays.sort(sorted);
        return result(sorted.length, elapsed, Arrays.stream(sorted).average().orElse(0),
            sorted.length == turn && sum == received[1],
            String.format("\"p50\": %d, \"p99\": %d", sorted[sorted.length / 2], sorted[(int) (sorted.length * 99L / 100)]));
    }

    private static String result(long count, double elapsed, double ns, boolean conserved, String more) {
        return String.format(Locale.ROOT, "{\"count\": %d, \"seconds\": %.6f, \"ns\": %.3f, \"conserved\": %b, %s}",
            count, elapsed / 1e9, ns, conserved, more);
    }

    public static void main(String[] words) throws InterruptedException {
        String workloads = "Exchanger swap-threads\nExchanger timed-threads\nExchanger latency-threads";
        if (words.length == 1 && words[0].equals("list")) {
            System.out.println(workloads);
            return;
        }
        Rival rival = new Rival();
        boolean isRight = words.length > 1 && words.length % 2 == 0
            && List.of(workloads.split("\n")).contains(words[0] + " " + words[1]);
        for (int i = 2; isRight && i < words.length; i += 2) {
            isRight = words[i + 1].matches("[0-9.e+-]+") && rival.options.replace(words[i], Double.valueOf(words[i + 1])) != null;
        }
        if (!isRight || rival.options.get("--threads") < 2) {
            System.err.println("usage: rival list | rival Exchanger WORKLOAD [--OPTION NUMBER]...");
            System.exit(2);
        }
        rival.patience = words[1].equals("timed-threads") ? (long) (rival.options.get("--patience-us") * 1000) : 0;
        String last = "";
        for (String part : new String[] {"--warmup", "--seconds"}) {
            double seconds = rival.options.get(part);
            last = words[1].equals("latency-threads") ? rival.latency(seconds) : rival.swaps(seconds);
        }
        System.out.println(last);
        System.exit(last.contains("\"conserved\": true") ? 0 : 1);
    }
}
