#include "meet.hpp"

#include <tryst/libuv.hpp>

int main() {
    meeting all;
    tryst::libuv::executor executor(uv_default_loop());
    meet_on(executor, all, [] {});
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);
    return all.good == 2 ? 0 : 1;
}
