#include "catch.hpp"

#include "base/parallel.hpp"

#include <atomic>
#include <stdexcept>
#include <vector>

using namespace lamina;

TEST_CASE("every piece of work is done once, by a thread below the number of threads") {
    for (const size_t threads : {1, 2, 5}) {
        std::vector<std::atomic<int>> done(100);
        std::atomic<size_t> most{0};
        in_parallel(done.size(), threads, [&](size_t piece, size_t thread) {
            ++done[piece];
            for (size_t seen = most; thread > seen && !most.compare_exchange_weak(seen, thread);) {
            }
        });
        for (const auto &times : done) CHECK(times == 1);
        CHECK(most < threads);
    }
    in_parallel(0, 3, [](size_t, size_t) { FAIL("there is nothing to do"); });
}

TEST_CASE("after a piece of work has thrown, no other begins, and the first exception in order is thrown again") {
    std::atomic<size_t> begun{0};
    const auto work = [&](size_t piece, size_t) {
        ++begun;
        if (piece >= 3) throw std::runtime_error(std::to_string(piece));
    };
    for (const size_t threads : {1, 4}) {
        begun = 0;
        std::string what;
        try {
            in_parallel(1000, threads, work);
        } catch (const std::runtime_error &e) {
            what = e.what();
        }
        CHECK(what == "3");
        CHECK(begun <= 3 + threads);
    }
}
