// SPDX-License-Identifier: MIT
// Java's rivals: meeting points of java.util.concurrent, and the lock that they replaced.
// ../README.md specifies the program and its workloads.
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;

public final class Rival {
    private static final class Implementation {
        final Supplier<Channel> make;
        final List<String> workloads;

        Implementation(Supplier<Channel> make, String... workloads) {
            this.make = make;
            this.workloads = List.of(workloads);
        }
    }

    private static final Map<String, Implementation> IMPLEMENTATIONS = new LinkedHashMap<>();

    static {
        IMPLEMENTATIONS.put("Exchanger",
            new Implementation(Channel::exchanger, "swap-threads", "timed-threads", "latency-threads"));
        IMPLEMENTATIONS.put("SynchronousQueue (fair)",
            new Implementation(() -> Channel.synchronousQueue(true),
                "handoff-threads", "timed-threads", "latency-threads"));
        IMPLEMENTATIONS.put("SynchronousQueue (unfair)",
            new Implementation(() -> Channel.synchronousQueue(false),
                "handoff-threads", "timed-threads", "latency-threads"));
        IMPLEMENTATIONS.put("mutex and condition (Java 5 style)",
            new Implementation(LockedExchanger::new, "swap-threads", "timed-threads"));
    }

    private final Supplier<Channel> make;
    private final String workload;
    private final Map<String, Double> options = new LinkedHashMap<>(Map.of("--threads", 2.0, "--patience-us", 100.0,
        "--pause-us", 20.0, "--seconds", 0.5, "--warmup", 0.1, "--loops", 1.0, "--tasks", 2.0));

    private Rival(String[] words) {
        if (words.length < 2) {
            throw new IllegalArgumentException("usage: rival IMPLEMENTATION WORKLOAD [--OPTION NUMBER]... | rival list");
        }
        Implementation implementation = IMPLEMENTATIONS.get(words[0]);
        if (implementation == null) {
            throw new IllegalArgumentException("no implementation '" + words[0] + "'; see: rival list");
        }
        make = implementation.make;
        workload = words[1];
        if (!implementation.workloads.contains(workload)) {
            throw new IllegalArgumentException("no workload '" + workload + "' of " + words[0] + "; see: rival list");
        }
        for (int i = 2; i < words.length; i += 2) {
            if (!options.containsKey(words[i])) {
                throw new IllegalArgumentException("unknown option '" + words[i] + "'");
            }
            options.put(words[i], number(words[i], i + 1 < words.length ? words[i + 1] : ""));
        }
        boolean pairs = !workload.equals("latency-threads") && make.get() instanceof Channel.HandOff;
        if (threads() < 2 || pairs && threads() % 2 != 0) {
            throw new IllegalArgumentException("--threads must be at least 2, and even for hand-offs");
        }
    }

    private static double number(String option, String word) {
        try {
            double value = Double.parseDouble(word);
            boolean whole = !option.equals("--seconds") && !option.equals("--warmup");
            boolean mayBeZero = option.equals("--warmup");
            if (value <= 1e9 && (mayBeZero ? value >= 0 : value > 0) && (!whole || value == Math.rint(value))) {
                return value;
            }
        } catch (NumberFormatException notANumber) {
            // the same error message
        }
        throw new IllegalArgumentException("bad number '" + word + "' after " + option);
    }

    private int threads() {
        return options.get("--threads").intValue();
    }

    private long nanoseconds(String option) {
        return options.get(option).longValue() * 1000;
    }

    private Result run(double seconds) throws InterruptedException {
        switch (workload) {
            case "latency-threads":
                return new Latency(make.get(), nanoseconds("--pause-us")).run(seconds);
            case "timed-threads":
                return new Meetings(make.get(), threads(), nanoseconds("--patience-us")).run(seconds);
            default:
                return new Meetings(make.get(), threads(), Channel.FOREVER).run(seconds);
        }
    }

    public static void main(String[] words) throws InterruptedException {
        if (words.length == 1 && words[0].equals("list")) {
            IMPLEMENTATIONS.forEach((name, each) ->
                each.workloads.forEach(workload -> System.out.println(name + " " + workload)));
            return;
        }
        Rival rival = null;
        try {
            rival = new Rival(words);
        } catch (IllegalArgumentException wrong) {
            System.err.println("rival: " + wrong.getMessage());
            System.exit(2);
        }
        double warmup = rival.options.get("--warmup");
        boolean conserved = warmup == 0 || rival.run(warmup).conserved;
        Result result = rival.run(rival.options.get("--seconds"));
        if (result.count == 0) {
            System.err.println("rival: no swap or hand-off was completed; try a longer --seconds");
            System.exit(1);
        }
        System.out.println(result);
        System.exit(conserved && result.conserved ? 0 : 1);
    }
}
