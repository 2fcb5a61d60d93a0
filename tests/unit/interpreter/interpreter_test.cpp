// Kernels of the tests' own, without plans: all that GLSL compiles to, and the rules of memory.
#include "interpreter/workgroup.hpp"

#include "catch.hpp"
#include "interpreter.kernels.hpp"

#include <lamina/plugin/single_values.hpp>

#include <algorithm>
#include <bit>

using namespace lamina;
using namespace lamina::interpreter;

namespace {

struct Buffer {
    Memory memory;
    bool writes = false;
};

Buffer written(size_t words) { return {{std::vector<uint32_t>(words), std::vector<uint8_t>(words), {}}, true}; }
Buffer given(std::vector<uint32_t> words) { return {{std::move(words), {}, {}}, false}; }
uint32_t bits(float v) { return std::bit_cast<uint32_t>(v); }

Module module_of(uint32_t kernel, const std::vector<lamina_spec> &specs = {}) {
    const lamina_kernel &k = lamina_kernels::all[kernel];
    return {{k.spirv, k.words}, specs, 8};
}

// Runs one workgroup in subgroups of 8.
void run(const Module &module, std::vector<Buffer> &buffers, const std::vector<uint32_t> &push = {}) {
    Dispatch dispatch{module, {1, 1, 1}, {}, push, 8};
    for (Buffer &b : buffers)
        dispatch.bindings.push_back({&b.memory, 0, static_cast<uint32_t>(b.memory.words.size()), b.writes});
    uint32_t epoch = 0;
    Workgroup(dispatch, epoch).run_all();
}

std::string fault_of(uint32_t kernel, const std::vector<lamina_spec> &specs, size_t words) {
    std::vector<Buffer> buffers{written(words)};
    try {
        run(module_of(kernel, specs), buffers);
    } catch (const Fault &f) {
        return f.what();
    }
    return "";
}

} // namespace

TEST_CASE("every operation that kernels are made of computes what GLSL says") {
    const std::vector<lamina_spec> specs{{3, 3}, {4, 1}};
    const std::vector<uint32_t> floats{bits(3), 0, bits(10), bits(20), bits(30), bits(40)};
    std::vector<Buffer> buffers{given(floats), written(64)};
    run(module_of(lamina_kernels::operations, specs), buffers, {7, bits(2.5F)});
    size_t checks = 0;
    for (size_t i = 0; i < 64; ++i) {
        if (buffers[1].memory.is_written[i] == 0) continue;
        ++checks;
        INFO("line of operations.comp");
        CHECK(buffers[1].memory.words[i] == 0);
    }
    CHECK(checks > 40);
}

TEST_CASE("an instruction that is not known is refused by its number") {
    CHECK_THROWS_WITH(module_of(lamina_kernels::atomic), "SPIR-V instruction 234"); // OpAtomicIAdd
}

TEST_CASE("a barrier orders buffers only if it says so") {
    CHECK(fault_of(lamina_kernels::publish, {{0, 1}}, 65).empty());
    CHECK_THAT(fault_of(lamina_kernels::publish, {{0, 0}}, 65),
               matchers::contains("invocation 0 of workgroup (0, 0, 0), in 'main': it reads y[64], which invocation 5 "
                                  "writes, with no barrier in between"));
}

TEST_CASE("a barrier of a subgroup orders what its own invocations do") {
    CHECK(fault_of(lamina_kernels::subgroup_order, {}, 64).empty());
    CHECK_THAT(fault_of(lamina_kernels::subgroup_order, {{0, 8}}, 64),
               matchers::contains("with no barrier in between") || matchers::contains("which nothing has written"));
}

TEST_CASE("an index beyond a buffer is reported with its length") {
    CHECK_THAT(fault_of(lamina_kernels::publish, {}, 64),
               matchers::contains("it accesses y[64], but the array has length 64"));
}

TEST_CASE("a subgroup computes with cooperative matrices, or the message says what keeps it from that") {
    constexpr uint32_t rows = 32, cols = 16, depth = 8;
    if (lamina_kernels::all[lamina_kernels::matrix].words == 0) return; // left out: glslang cannot compile it
    const auto a = [](uint32_t r, uint32_t k) { return static_cast<float>(r) - 0.5F * static_cast<float>(k); };
    const auto b = [](uint32_t k, uint32_t col) { return static_cast<float>(3 * k + col) / 8; };
    const auto c = [](uint32_t r, uint32_t col) { return static_cast<float>(100 * col + r); };
    const auto run_with = [&](const std::vector<lamina_spec> &specs) {
        std::vector<Buffer> buffers{given({}), given({}), given({}), written(rows * cols)};
        const auto half = [](float v) { return uint32_t{plugin::narrow_f16(v)}; };
        for (uint32_t r = 0; r < rows; ++r)
            for (uint32_t k = 0; k < depth; k += 2)
                buffers[0].memory.words.push_back(half(a(r, k)) | half(a(r, k + 1)) << 16u);
        for (uint32_t col = 0; col < cols; ++col)
            for (uint32_t k = 0; k < depth; ++k) buffers[1].memory.words.push_back(bits(b(k, col)));
        for (uint32_t r = 0; r < rows; ++r)
            for (uint32_t col = 0; col < cols; ++col) buffers[2].memory.words.push_back(bits(c(r, col)));
        run(module_of(lamina_kernels::matrix, specs), buffers);
        return buffers[3].memory.words;
    };

    const std::vector<uint32_t> d = run_with({});
    for (uint32_t r = 0; r < rows; ++r)
        for (uint32_t col = 0; col < cols; ++col) {
            float sum = c(r, col);
            for (uint32_t k = 0; k < depth; ++k) sum += a(r, k) * b(k, col);
            CHECK(d[col * rows + r] == bits(2 * sum + 1));
        }

    CHECK_THROWS_WITH(run_with({{0, 8}}), matchers::contains("a cooperative matrix of 8 x 8 numbers of 16 bits, a "
                                                             "shape that this device does not offer"));
    CHECK_THROWS_WITH(run_with({{1, 5}}), matchers::contains("its subgroup accesses c[128], but the array has length"));
    CHECK_THROWS_WITH(run_with({{2, 5}}), matchers::contains("its subgroup has 7 of its 8 invocations left"));
    CHECK_THROWS_WITH(run_with({{3, 2}}), matchers::contains("its subgroup writes d[0], which subgroup 0 writes, too, "
                                                             "with no barrier in between"));
}

TEST_CASE("of many reads of a word, a write finds one by somebody else") {
    const auto access = [](uint32_t invocation, uint32_t subgroup, uint32_t step) {
        return Access{0, invocation, subgroup, 1, step};
    };
    Shadow shadow;
    CHECK(shadow.read(access(0, 0, 0), 1) == nullptr);
    CHECK(shadow.read(access(9, 1, 0), 1) == nullptr);
    CHECK(shadow.read(access(1, 0, 0), 1) == nullptr);
    // A barrier of subgroup 0 orders the reads by 0 and 1 before a write by 2, but not that by 9.
    const Access *earlier = shadow.write(access(2, 0, 1), 1);
    REQUIRE(earlier != nullptr);
    CHECK(earlier->invocation == 9);
}
