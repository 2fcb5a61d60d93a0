// The size of a kernel's shared memory, which may depend on a dispatch's specialization constants.
#include "plan/shared_memory.hpp"

#include "catch.hpp"
#include "shared_memory.kernels.hpp"

#include <limits>

using namespace lamina;
using namespace lamina::plan;

namespace {

SharedMemory shared_memory_of(uint32_t kernel) {
    const lamina_kernel &k = lamina_kernels::all[kernel];
    return SharedMemory({k.spirv, k.words});
}

uint64_t bytes_with(const std::vector<lamina_spec> &specs) {
    std::string why_not;
    const auto bytes = shared_memory_of(lamina_kernels::size_by_specs).bytes(specs, why_not);
    INFO(why_not);
    REQUIRE(bytes.has_value());
    return *bytes;
}

std::string refusal_with(uint32_t kernel, const std::vector<lamina_spec> &specs) {
    std::string why_not;
    CHECK_FALSE(shared_memory_of(kernel).bytes(specs, why_not).has_value());
    return why_not;
}

constexpr uint32_t n = 0, width = 1, local_x = 2, m = 3;

uint32_t bits(int32_t value) { return static_cast<uint32_t>(value); }

} // namespace

// In the order of size_by_specs.comp. Its arrays follow each other, except that vectors begin at multiples
// of 16.
TEST_CASE("shared memory is sized by default values unless a dispatch gives others") {
    CHECK(bytes_with({}) == 4 * 4 + 4 * 9 + 4 * 1 + 12 * 2 + 16 * 1);
}

TEST_CASE("shared memory is sized by a dispatch's own values, through expressions") {
    const auto rest = [](uint64_t floats) { return (4 * floats + 15) / 16 * 16; };
    CHECK(bytes_with({{n, 10}}) == rest(10 + 21 + 1 + 3 * 2) + 16 * 1);
    CHECK(bytes_with({{n, 10}, {width, 1}}) == rest(10 + 21 + 1 + 3 * 2) + 16 * 13);
    CHECK(bytes_with({{n, 10}, {width, 7}}) == rest(10 + 21 + 1 + 3 * 2) + 16 * 13); // any bits but 0 are true
    CHECK(bytes_with({{n, 10}, {local_x, 64}}) == rest(10 + 21 + 64 + 3 * 2) + 16 * 1);
    CHECK(bytes_with({{n, 10}, {m, 2}}) == rest(10 + 21 + 1 + 3 * 1) + 16 * 1);
    CHECK(bytes_with({{n, 10}, {m, 9}}) == rest(10 + 21 + 1 + 3 * 8) + 16 * 1);
    CHECK(bytes_with({{n, 10}, {m, bits(std::numeric_limits<int32_t>::min())}}) == bytes_with({{n, 10}}));
    // 2 n + 1 wraps to 1, as it does on the device; n floats are 8 GiB.
    CHECK(bytes_with({{n, 1u << 31u}}) == rest((uint64_t{1} << 31u) + 1 + 1 + 3 * 2) + 16 * 2);
}

TEST_CASE("an unknown size is refused and not treated as 0") {
    using namespace lamina_kernels;
    CHECK_THAT(refusal_with(size_by_specs, {{n, 3}}), matchers::contains("at least one element, found the size 0"));
    CHECK_THAT(refusal_with(size_by_vector, {}), matchers::contains("an element of a vector that is computed"));
}
