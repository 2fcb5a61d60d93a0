// Matrices that adapters change.
#include "model/low_rank.hpp"

#include "base/storage.hpp"
#include "catch.hpp"

#include <cstring>

using namespace lamina;
using namespace lamina::model;

namespace {

Weight matrix(const Shape &shape, const std::vector<float> &numbers, DType dtype = DType::f32) {
    return Weight::of(narrowed(Tensor::of(shape, numbers), dtype));
}
std::vector<float> numbers_of(const Weight &weight) {
    REQUIRE(weight.type.dtype == DType::f32);
    std::vector<float> out(weight.bytes().size() / sizeof(float));
    std::memcpy(out.data(), weight.bytes().data(), weight.bytes().size());
    return out;
}

} // namespace

TEST_CASE("low rank: the product of narrow matrices is added, times its scale") {
    const Weight base = matrix({2, 3}, {1, 2, 3, 4, 5, 6}, DType::f16);
    const LowRank change{{matrix({2, 1}, {1, 2})}, {matrix({1, 3}, {10, 20, 30}, DType::bf16)}, 0.5};
    const Weight both = with_low_ranks(base, {change});
    CHECK(both.bytes_to_copy() == 6 * sizeof(float));
    CHECK(numbers_of(both) == std::vector<float>{6, 12, 18, 14, 25, 36});
    CHECK(numbers_of(with_low_ranks(base, {change, change})) == std::vector<float>{11, 22, 33, 24, 45, 66});
    CHECK(numbers_of(with_low_ranks(base, {})) == std::vector<float>{1, 2, 3, 4, 5, 6});
}

TEST_CASE("low rank: either matrix may be stored transposed") {
    const Weight base = matrix({2, 3}, std::vector<float>(6, 0));
    const LowRank change{{matrix({2, 2}, {1, 2, 3, 4}), true}, {matrix({3, 2}, {1, 2, 3, 4, 5, 6}), true}};
    // (1 3; 2 4) * (1 3 5; 2 4 6)
    CHECK(numbers_of(with_low_ranks(base, {change})) == std::vector<float>{7, 15, 23, 10, 22, 34});
}

TEST_CASE("low rank: a matrix in blocks is widened, and sums are rounded once") {
    std::vector<float> numbers(64);
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i) - 20;
    const Weight blocks = matrix({2, 32}, numbers, DType::q8_0);
    const LowRank change{{matrix({2, 1}, {1, 1})}, {matrix({1, 32}, std::vector<float>(32, 0x1p-30F))}};
    const LowRank back{{matrix({2, 1}, {-1, -1})}, {matrix({1, 32}, std::vector<float>(32, 1.0F))}};
    const LowRank forth{{matrix({2, 1}, {1, 1})}, {matrix({1, 32}, std::vector<float>(32, 1.0F))}};
    const std::vector<float> wide = numbers_of(with_low_ranks(blocks, {}));
    Tensor expected = widened(narrowed(Tensor::of({2, 32}, numbers), DType::q8_0));
    CHECK(wide == std::vector<float>(expected.f32().begin(), expected.f32().end()));
    const std::vector<float> small =
        numbers_of(with_low_ranks(matrix({2, 32}, std::vector<float>(64, 0)), {forth, change, back}));
    CHECK(small == std::vector<float>(64, 0x1p-30F));
}

TEST_CASE("low rank: a change of a matrix that an adapter replaced has no factors beside the model's own") {
    const Weight base = matrix({2, 3}, {1, 2, 3, 4, 5, 6});
    const LowRank change{{matrix({2, 1}, {1, 2})}, {matrix({1, 3}, {10, 20, 30})}};
    CHECK(factors_of(with_low_ranks(base, {change})).size() == 1);
    Weight replaced = matrix({2, 3}, {6, 5, 4, 3, 2, 1});
    replaced.changed = std::make_shared<const LowRankSum>(LowRankSum{replaced, {}});
    CHECK(factors_of(with_low_ranks(replaced, {change})).empty());
}
