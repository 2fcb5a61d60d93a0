// How much is had at a time.
#include "catch.hpp"

#include "serve/budget.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

using lamina::serve::Budget;

namespace {

struct Had {
    size_t most = 0, now = 0, most_at_once = 0; // amounts, and how many have one
};

// What is had when many ask for these amounts at the same time.
Had had(size_t most, const std::vector<size_t> &amounts) {
    Budget budget(most);
    std::mutex mutex;
    Had out;
    size_t count = 0;
    std::vector<std::thread> threads;
    threads.reserve(amounts.size());
    for (const size_t amount : amounts)
        threads.emplace_back([&, amount] {
            const auto mine = budget.take(amount, [] {});
            const auto change = [&](bool more) {
                const std::scoped_lock lock(mutex);
                out.now = more ? out.now + amount : out.now - amount;
                count = more ? count + 1 : count - 1;
                out.most = std::max(out.most, out.now);
                out.most_at_once = std::max(out.most_at_once, count);
            };
            change(true);
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
            change(false);
        });
    for (std::thread &each : threads) each.join();
    return out;
}

} // namespace

TEST_CASE("no more is had at a time than there is, by as many as it is enough for") {
    const Had little = had(100, std::vector<size_t>(40, 10));
    CHECK(little.most == 100);
    CHECK(little.now == 0);
    CHECK(had(100, std::vector<size_t>(16, 30)).most == 60); // of three quarters
}

TEST_CASE("who needs little does not wait for those who need much, who needs nothing for nobody") {
    const auto impatient = [] { throw std::runtime_error("given up"); };
    Budget budget(80);
    auto most = budget.take(1000, impatient), rest = budget.take(10, impatient); // three quarters, half of the others
    std::atomic<bool> waits = false;
    std::shared_ptr<void> large;
    std::thread other([&] { large = budget.take(60, [&] { waits = true; }); });
    while (!waits) std::this_thread::yield();
    for (int i = 0; i < 3; ++i) CHECK(budget.take(10, impatient) != nullptr);
    const auto last = budget.take(10, impatient);
    CHECK_THROWS(budget.take(1, impatient));
    CHECK(budget.take(0, impatient) != nullptr);
    CHECK_THROWS(budget.take(11, impatient)); // behind the other one
    most.reset();
    other.join();
    CHECK(large != nullptr);
    rest.reset();
    CHECK(budget.take(10, impatient) != nullptr);
    CHECK_THROWS(budget.take(11, impatient));
}

TEST_CASE("one that needs more than there is has it beside no other large one") {
    const Had found = had(100, {500, 30, 300, 30, 101, 30});
    CHECK(found.most == 500);
    CHECK(had(100, {500, 300, 101}).most_at_once == 1);
}
