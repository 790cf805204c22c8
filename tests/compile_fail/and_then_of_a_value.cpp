// `transform` is meant.
// diagnostic: and_then needs a function that returns an exchange_result
#include <tryst/result.hpp>

auto refused(tryst::exchange_result<int> got) {
#if MISTAKE
    return std::move(got).and_then([](int item) { return item + 1; });
#else
    return std::move(got).transform([](int item) { return item + 1; });
#endif
}
