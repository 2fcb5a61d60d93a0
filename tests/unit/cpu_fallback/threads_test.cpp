// The threads of `cpu`, and the memory that they keep.
#include "threads.hpp"

#include "catch.hpp"
#include "matrix.hpp"

#include <atomic>
#include <cstdint>
#include <new>
#include <stdexcept>
#include <thread>
#include <vector>

using namespace lamina::plugin::cpu_fallback;

TEST_CASE("cpu_fallback: each part of a task is done once, also if several threads have tasks") {
    const auto work = [] {
        for (const int64_t size : {0, 1, 2, 15, 16, 1000}) {
            std::vector<std::atomic<int>> parts(static_cast<size_t>(size)), values(static_cast<size_t>(size));
            in_parallel(size, [&](int64_t i) { ++parts[static_cast<size_t>(i)]; });
            in_ranges(size, 3, [&](int64_t first, int64_t end) {
                for (int64_t i = first; i < end; ++i) ++values[static_cast<size_t>(i)];
            });
            for (const auto *counts : {&parts, &values})
                for (const std::atomic<int> &count : *counts)
                    if (count != 1) throw std::logic_error("not once");
        }
    };
    std::atomic<int> wrong = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t)
        threads.emplace_back([&] {
            try {
                for (int i = 0; i < 200; ++i) work();
            } catch (const std::logic_error &) {
                ++wrong;
            }
        });
    for (std::thread &thread : threads) thread.join();
    CHECK(wrong == 0);
}

TEST_CASE("cpu_fallback: what a part of a task throws reaches the caller, and the next task is done") {
    for (const int64_t failing : {0, 7, 99})
        CHECK_THROWS_AS(in_parallel(100, [=](int64_t i) { return i == failing ? throw std::bad_alloc() : void(); }),
                        std::bad_alloc);
    std::atomic<int64_t> done = 0;
    in_parallel(100, [&](int64_t) { ++done; });
    CHECK(done == 100);
}

TEST_CASE("cpu_fallback: matrices that live at the same time have memory of their own") {
    for (int round = 0; round < 3; ++round) {
        const Matrix a(3, 5), b(3, 5), c(100, 100);
        for (const Matrix *m : {&a, &b, &c}) CHECK(reinterpret_cast<uintptr_t>(m->data()) % 64 == 0);
        std::fill_n(a.data(), 15, 1.0F);
        std::fill_n(b.data(), 15, 2.0F);
        std::fill_n(c.data(), 10000, 3.0F);
        CHECK(a.data()[14] == 1);
        CHECK(b.data()[0] == 2);
    }
}
