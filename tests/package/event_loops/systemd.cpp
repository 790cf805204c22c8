#include "meet.hpp"

#include <tryst/systemd.hpp>

int main() {
    meeting all;
    sd_event* loop = nullptr;
    sd_event_default(&loop);
    {
        tryst::systemd::executor executor(loop);
        meet_on(executor, all, [loop] { sd_event_exit(loop, 0); });
        sd_event_loop(loop);
    }
    sd_event_unref(loop);
    return all.good == 2 ? 0 : 1;
}
