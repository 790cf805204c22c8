// SPDX-License-Identifier: MIT
#include "model/kernel.hpp"

#include "model/checker.hpp"

namespace tryst::model {

void kernel::sleep(const unsigned* atomic, word seen, instant deadline, site where) {
    checker& c = the_checker();
    c.use(futexes_, true, "goes to sleep", where);
    c.see_latest(atomic);
    if (c.latest(atomic) != seen || c.fails_spuriously()) {
        return;
    }
    struct wait {
        sleeper& me;
        instant deadline;
    } waiting{sleepers_[c.current()], deadline};
    waiting.me = {atomic, false};
    c.use_when(
        futexes_,
        [](void* context) {
            const auto& w = *static_cast<wait*>(context);
            return w.me.woken || the_checker().os().time() >= w.deadline;
        },
        &waiting, "wakes up", where);
    waiting.me = {};
}

void kernel::wake(const unsigned* atomic, site where) {
    the_checker().use(futexes_, true, "wakes a sleeper", where);
    for (sleeper& each : sleepers_) {
        if (each.atomic == atomic && !each.woken) {
            each.woken = true;
            return;
        }
    }
}

instant kernel::now(site where) {
    the_checker().use(clock_, false, "looks at the clock", where);
    return time_;
}

void kernel::advance(instant to, site where) {
    the_checker().use(clock_, true, "the time goes on", where);
    time_ = to;
}

} // namespace tryst::model
