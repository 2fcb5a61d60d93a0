// The placement of barriers.
#include "plan/hazards.hpp"

#include "catch.hpp"

using namespace lamina::plan;

namespace {

Access reads(uint32_t memory, uint64_t begin = 0, uint64_t end = 256) { return {memory, begin, end, true, false}; }
Access writes(uint32_t memory, uint64_t begin = 0, uint64_t end = 256) { return {memory, begin, end, false, true}; }

std::vector<bool> barriers(const std::vector<std::vector<Access>> &dispatches) { return place_barriers(dispatches); }

} // namespace

TEST_CASE("a read after a write waits") { CHECK(barriers({{writes(0)}, {reads(0)}}) == std::vector{false, true}); }

TEST_CASE("a write after a read waits") { CHECK(barriers({{reads(0)}, {writes(0)}}) == std::vector{false, true}); }

TEST_CASE("a write after a write waits") { CHECK(barriers({{writes(0)}, {writes(0)}}) == std::vector{false, true}); }

TEST_CASE("reads of the same memory do not wait for each other") {
    CHECK(barriers({{reads(0), writes(1)}, {reads(0), writes(2)}}) == std::vector{false, false});
}

TEST_CASE("other memory and other bytes do not wait") {
    CHECK(barriers({{writes(0)}, {reads(1)}}) == std::vector{false, false});
    CHECK(barriers({{writes(0, 0, 256)}, {reads(0, 256, 512)}}) == std::vector{false, false});
    CHECK(barriers({{writes(0, 0, 257)}, {reads(0, 256, 512)}}) == std::vector{false, true});
}

TEST_CASE("tensors that share an arena's bytes wait for each other like one tensor") {
    // `a` is read last by dispatch 1; dispatch 2 writes `c`, which was placed over a's bytes.
    const Access a_written = writes(0, 0, 1024), a_read = reads(0, 0, 1024), b_written = writes(0, 1024, 2048);
    const Access c_written = writes(0, 512, 768);
    CHECK(barriers({{a_written}, {a_read, b_written}, {c_written}}) == std::vector{false, true, true});
}

TEST_CASE("one barrier orders everything before it: what it covered needs no other") {
    CHECK(barriers({{writes(0)}, {writes(1)}, {reads(0)}, {reads(1)}}) == std::vector{false, false, true, false});
}

TEST_CASE("a hazard is found across unrelated dispatches") {
    CHECK(barriers({{writes(0)}, {writes(1)}, {writes(2)}, {reads(0)}}) == std::vector{false, false, false, true});
}

TEST_CASE("a port that is left out takes part in no hazard") {
    CHECK(barriers({{writes(0, 0, 0)}, {reads(0, 0, 0)}}) == std::vector{false, false});
}
