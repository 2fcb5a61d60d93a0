// A process that ends while a variant is proved in the background. What a driver makes for itself during the trial is
// newer than all other statics, so it would be destroyed first; it must not be before the trial is over.
#include "admission/background.hpp"
#include "catch.hpp"

#include <atomic>
#include <cstdlib>
#include <thread>

namespace {

std::atomic<bool> running = false, driver_is_gone = false;

void trial(const lamina::admission::Trial &) {
    (void)std::atexit([] { driver_is_gone = true; }); // as a static of the driver would be
    running = true;
    running.notify_all();
    std::this_thread::sleep_for(std::chrono::milliseconds(300)); // long enough for main() to end
    if (driver_is_gone) std::_Exit(EXIT_FAILURE);
}

} // namespace

TEST_CASE("a process does not end before the trial that runs in the background") {
    static lamina::admission::Background background(trial);
    background.add({{}});
    running.wait(false);
    CHECK(running);
}
