// The placement of temporary tensors.
#include "plan/arena.hpp"

#include "catch.hpp"

#include <algorithm>
#include <random>

using namespace lamina::plan;

namespace {

bool live_together(const Lifetime &a, const Lifetime &b) { return a.first <= b.last && b.first <= a.last; }

// The largest number of bytes alive in one step: no layout can use fewer.
uint64_t least_possible(const std::vector<Lifetime> &lifetimes, uint64_t align) {
    uint64_t most = 0;
    for (const Lifetime &at : lifetimes) {
        uint64_t sum = 0;
        for (const Lifetime &l : lifetimes)
            if (l.first <= at.first && at.first <= l.last) sum += (l.bytes + align - 1) / align * align;
        most = std::max(most, sum);
    }
    return most;
}

} // namespace

TEST_CASE("tensors that do not live at the same time share bytes") {
    const std::vector<Lifetime> lifetimes{{1024, 0, 1}, {1024, 2, 3}};
    const ArenaLayout layout = lay_out(lifetimes, 256);
    CHECK(layout.offsets == std::vector<uint64_t>{0, 0});
    CHECK(layout.bytes == 1024);
}

TEST_CASE("a tensor that a step reads and one that it writes do not share bytes") {
    const ArenaLayout layout = lay_out(std::vector<Lifetime>{{1000, 0, 1}, {1000, 1, 2}}, 256);
    CHECK(layout.bytes == 2048);
}

TEST_CASE("a chain of layers needs two tensors' memory, however long it is") {
    std::vector<Lifetime> chain;
    for (size_t step = 0; step < 100; ++step) chain.push_back({4096, step, step + 1});
    CHECK(lay_out(chain, 256).bytes == 2 * 4096);
}

TEST_CASE("no tensors need no memory") { CHECK(lay_out({}, 256).bytes == 0); }

TEST_CASE("tensors that live at the same time never overlap, whatever the lifetimes") {
    for (uint32_t seed = 0; seed < 300; ++seed) {
        std::mt19937 random(seed); // the engine is the same everywhere; distributions are not
        const auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
        const uint64_t align = uint64_t{1} << (4 + below(5));
        std::vector<Lifetime> lifetimes(1 + below(40));
        for (Lifetime &l : lifetimes) {
            l.bytes = below(8) == 0 ? 0 : 1 + below(100000);
            l.first = below(20);
            l.last = l.first + below(10);
        }
        const ArenaLayout layout = lay_out(lifetimes, align);
        INFO("seed " << seed);
        REQUIRE(layout.offsets.size() == lifetimes.size());
        size_t overlaps = 0, misplaced = 0;
        for (size_t i = 0; i < lifetimes.size(); ++i) {
            misplaced += layout.offsets[i] % align != 0 || layout.offsets[i] + lifetimes[i].bytes > layout.bytes;
            for (size_t j = 0; j < i; ++j)
                overlaps += live_together(lifetimes[i], lifetimes[j]) &&
                            layout.offsets[i] < layout.offsets[j] + lifetimes[j].bytes &&
                            layout.offsets[j] < layout.offsets[i] + lifetimes[i].bytes;
        }
        CHECK(overlaps == 0);
        CHECK(misplaced == 0);
        CHECK(layout.bytes >= least_possible(lifetimes, align));
        CHECK(layout.bytes <= 2 * least_possible(lifetimes, align)); // more would be a bug
    }
}
