#include "meet.hpp"

#include <tryst/glib.hpp>

int main() {
    meeting all;
    GMainLoop* const loop = g_main_loop_new(nullptr, FALSE);
    tryst::glib::executor executor(nullptr);
    meet_on(executor, all, [loop] { g_main_loop_quit(loop); });
    g_main_loop_run(loop);
    g_main_loop_unref(loop);
    return all.good == 2 ? 0 : 1;
}
