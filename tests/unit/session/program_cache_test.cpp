// How many programs a session keeps.
#include "catch.hpp"

#include "session/state.hpp"

#include <string>

using namespace lamina;
using detail::ProgramCache;

namespace {

// A program of nothing.
class Empty : public plan::Program {
  public:
    Empty() : Program(plan::GraphPlan(), plan::ProgramOptions()) {}
    std::string overrun() override { return ""; }
    [[nodiscard]] std::string variant(size_t) const override { return ""; }

  private:
    void set(int32_t, std::span<const std::byte>) override {}
    void execute() override {}
    void execute_timed(plan::RunTimes &) override {}
    void get(int32_t, uint64_t, std::span<std::byte>) override {}
    void copy_states(Program &, std::span<const plan::StateCopy>) override {}
};

struct Cache {
    ProgramCache programs;
    size_t made = 0;
    void get(size_t shape, uint64_t bytes) {
        (void)programs.get(std::to_string(shape), [&] {
            ++made;
            return ProgramCache::Made{std::make_shared<Empty>(), bytes};
        });
    }
};

constexpr uint64_t most_bytes = uint64_t{512} << 20;

} // namespace

TEST_CASE("a session keeps 64 programs, those that were used last") {
    Cache cache;
    for (size_t shape = 0; shape < 64; ++shape) cache.get(shape, 1000);
    cache.get(0, 1000);
    CHECK(cache.made == 64);
    cache.get(64, 1000); // in place of 1
    cache.get(0, 1000);
    CHECK(cache.made == 65);
    cache.get(1, 1000);
    CHECK(cache.made == 66);
}

TEST_CASE("the programs that a session keeps beside the last take at most 512 MiB") {
    Cache cache;
    for (size_t shape = 0; shape < 64; ++shape) {
        cache.get(shape, most_bytes / 4);
        CHECK(cache.programs.size() <= 5);
    }
    CHECK(cache.programs.size() == 5);
    cache.get(100, 10 * most_bytes); // is kept while it is the last
    CHECK(cache.programs.size() == 5);
    cache.get(100, 10 * most_bytes);
    CHECK(cache.made == 65);
    cache.get(101, 1);
    CHECK(cache.programs.size() == 1);
}
