// How much is had at a time.
#include "catch.hpp"

#include "serve/budget.hpp"

#include <algorithm>
#include <chrono>
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
            const auto mine = budget.take(amount);
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
    const Had found = had(100, std::vector<size_t>(16, 40));
    CHECK(found.most == 80);
    CHECK(found.now == 0);
}

TEST_CASE("who needs little does not wait for those who need much, and nobody waits who has given up") {
    const auto impatient = [] { return true; };
    Budget budget(80);
    auto most = budget.take(75);
    CHECK(budget.take(5) != nullptr);
    CHECK(budget.take(6, impatient) == nullptr);
    CHECK(budget.take(11, impatient) == nullptr);
    std::shared_ptr<void> large;
    std::thread waits([&] { large = budget.take(71); });
    for (int i = 0; i < 20; ++i) CHECK(budget.take(5) != nullptr);
    most.reset();
    waits.join();
    CHECK(large != nullptr);
    CHECK(budget.take(11, impatient) == nullptr);
    CHECK(budget.take(9) != nullptr);
}

TEST_CASE("more than there is at all is had alone") {
    const Had found = had(100, {500, 30, 300, 30, 101, 30});
    CHECK(found.most == 500);
    CHECK(had(100, {500, 300, 101}).most_at_once == 1);
}
