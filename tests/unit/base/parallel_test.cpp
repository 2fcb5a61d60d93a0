#include "catch.hpp"

#include "base/parallel.hpp"

#include <atomic>
#include <fstream>
#include <pthread.h>
#include <stdexcept>
#include <sys/resource.h>
#include <unistd.h>
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

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) // which need terabytes of addresses
TEST_CASE("where there is no memory for threads, one does all the work") {
    pthread_attr_t before, large;
    pthread_getattr_default_np(&before);
    pthread_getattr_default_np(&large);
    pthread_attr_setstacksize(&large, size_t{256} << 20); // larger than any stack that could be used again
    pthread_setattr_default_np(&large);
    uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    rlimit unlimited{};
    getrlimit(RLIMIT_AS, &unlimited);
    const rlimit little{pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) + (64 << 20), unlimited.rlim_max};
    setrlimit(RLIMIT_AS, &little);

    std::vector<int> done(100);
    size_t others = 0;
    std::string failure;
    try {
        in_parallel(done.size(), 4, [&](size_t piece, size_t thread) {
            ++done[piece];
            if (thread != 0) ++others;
        });
    } catch (const std::exception &e) {
        failure = e.what();
    }
    setrlimit(RLIMIT_AS, &unlimited);
    pthread_setattr_default_np(&before);
    CHECK(failure.empty());
    CHECK(others == 0);
    CHECK(done == std::vector<int>(100, 1));
}
#endif
