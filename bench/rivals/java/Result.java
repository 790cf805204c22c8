// SPDX-License-Identifier: MIT
// The result of one run as a line of JSON.
import java.util.Locale;

final class Result {
    final long count;
    final boolean conserved;
    double ns;
    private final double seconds;
    private final StringBuilder more = new StringBuilder();

    Result(long count, long nanoseconds, boolean conserved) {
        this.count = count;
        this.conserved = conserved;
        seconds = nanoseconds / 1e9;
        ns = (double) nanoseconds / Math.max(count, 1);
    }

    void add(String name, double value) {
        more.append(String.format(Locale.ROOT, ", \"%s\": %.6g", name, value));
    }

    @Override
    public String toString() {
        return String.format(Locale.ROOT, "{\"count\": %d, \"seconds\": %.6f, \"ns\": %.3f, \"conserved\": %b%s}",
            count, seconds, ns, conserved, more);
    }
}
