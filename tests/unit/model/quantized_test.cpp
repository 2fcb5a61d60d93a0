// Matrices quantized by others. tests/architectures/make_quantized.py writes whole models in each of their formats.
#include "model/bitsandbytes.hpp"
#include "model/fp8.hpp"
#include "model/quantized_layouts.hpp"

#include "base/storage.hpp"
#include "catch.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

using namespace lamina;
using namespace lamina::model;
using matchers::contains;

namespace {

using Tensors = std::map<std::string, Tensor, std::less<>>;

Tensor halves(const Shape &shape, const std::vector<float> &numbers, DType dtype = DType::f16) {
    return narrowed(Tensor::of(shape, numbers), dtype);
}

// GPTQ: one row of 64 columns in two groups, all of whose integers and zeros are these.
Tensors gptq_of(uint32_t integer, uint32_t zero, const std::vector<float> &scales = {0.5F, 0.25F}) {
    const auto word = static_cast<int32_t>(integer * 0x11111111U), zeros = static_cast<int32_t>(zero * 0x11111111U);
    std::vector<float> all; // of 8 rows
    for (const float scale : scales) all.insert(all.end(), 8, scale);
    return {{"m.qweight", Tensor::of({8, 8}, std::vector<int32_t>(64, word))},
            {"m.qzeros", Tensor::of({2, 1}, std::vector<int32_t>{zeros, zeros})},
            {"m.scales", halves({2, 8}, all)}};
}

Weight made(const QuantizedMatrix &matrix) { return repacked(matrix, smallest_dtype(matrix)); }

std::vector<float> values_of(const Weight &weight) {
    Tensor copy(weight.type);
    std::ranges::copy(weight.bytes(), copy.bytes().begin());
    const Tensor wide = widened(copy);
    return {wide.f32().begin(), wide.f32().end()};
}

std::string gptq_refusal(const Tensors &tensors, const Gptq &settings = {.bits = 4, .group = 32}) {
    return message_of([&] { (void)gptq_matrix(Weights::of(tensors), "m", settings); });
}

OtherTensor other(const char *dtype, const Shape &shape, const std::vector<uint8_t> &bytes) {
    const auto owner = std::make_shared<const std::vector<uint8_t>>(bytes);
    return {dtype, shape, std::as_bytes(std::span(*owner)), owner};
}

} // namespace

TEST_CASE("quantized: the smallest dtype that has all values is taken") {
    const Gptq settings{.bits = 4, .group = 32};
    const auto dtype = [&](const Tensors &tensors) {
        return smallest_dtype(gptq_matrix(Weights::of(tensors), "m", settings));
    };
    CHECK(dtype(gptq_of(3, 7)) == DType::q4_0); // the file has zeros minus 1
    CHECK(dtype(gptq_of(3, 6)) == DType::q5_0);
    CHECK(dtype(gptq_of(3, 15)) == DType::q5_0);
    Tensors bfloat = gptq_of(3, 7);
    bfloat.at("m.scales") = halves({2, 8}, std::vector<float>(16, 0x1.fcp-10F), DType::bf16);
    CHECK(dtype(bfloat) == DType::q4_0); // a number of f16, too
    bfloat.at("m.scales") = halves({2, 8}, std::vector<float>(16, 0x1.fcp-20F), DType::bf16);
    CHECK(dtype(bfloat) == DType::bf16);
    bfloat.at("m.scales") = Tensor::of({2, 8}, std::vector<float>(16, 0.1F));
    CHECK(dtype(bfloat) == DType::f32);
    CHECK(smallest_dtype(gptq_matrix(Weights::of({{"m.qweight", Tensor({DType::i32, {8, 8}})},
                                                  {"m.qzeros", Tensor({DType::i32, {4, 1}})},
                                                  {"m.scales", Tensor({DType::f16, {4, 8}})}}),
                                     "m", {.bits = 4, .group = 16})) == DType::f16);
    CHECK(wider_dtype(DType::q4_0, DType::q5_0) == DType::q5_0);
    CHECK(wider_dtype(DType::q8_0, DType::bf16) == DType::bf16);
    CHECK(wider_dtype(DType::f16, DType::bf16) == DType::f32);
}

TEST_CASE("quantized: every integer of every format of blocks keeps its value") {
    for (const int bits : {2, 4, 8}) {
        const auto half = static_cast<float>(1 << (bits - 1));
        for (uint32_t q = 0; q < 1U << static_cast<unsigned>(bits); ++q) {
            uint32_t word = 0, zeros = 0;
            for (int at = 0; at < 32; at += bits) {
                word |= q << static_cast<unsigned>(at);
                zeros |= static_cast<uint32_t>(half) << static_cast<unsigned>(at);
            }
            const Weights weights = Weights::of(
                {{"m.qweight", Tensor::of({bits, 32}, std::vector<int32_t>(static_cast<size_t>(bits) * 32,
                                                                           static_cast<int32_t>(word)))},
                 {"m.qzeros",
                  Tensor::of({1, bits}, std::vector<int32_t>(static_cast<size_t>(bits), static_cast<int32_t>(zeros)))},
                 {"m.scales", halves({1, 32}, std::vector<float>(32, 0.125F))}});
            const Weight weight = made(gptq_matrix(weights, "m", {.bits = bits, .group = -1, .zeros_less_one = false}));
            CHECK(weight.type == TensorType{bits == 8 ? DType::q8_0 : DType::q4_0, {32, 32}});
            const std::vector<float> found = values_of(weight);
            CHECK(std::ranges::all_of(found, [&](float v) { return v == 0.125F * (static_cast<float>(q) - half); }));
        }
    }
}

TEST_CASE("quantized: nothing is copied before it is needed") {
    const Weights weights = Weights::of(gptq_of(1, 6));
    const Weight weight = made(gptq_matrix(weights, "m", {.bits = 4, .group = 32}));
    CHECK(weight.bytes_to_copy() == 8 * 2 * 22);
    CHECK(values_of(weight)[0] == -3.0F);
    CHECK(values_of(weight)[32] == -1.5F);
    CHECK(weight.bytes_to_copy() == 0);
}

TEST_CASE("quantized: columns of groups in any order have the scales and zeros of their group") {
    Tensors tensors = gptq_of(1, 6);
    std::vector<int32_t> groups(64, 0);
    for (size_t i = 0; i < groups.size(); ++i) groups[i] = static_cast<int32_t>(i % 2);
    tensors.emplace("m.g_idx", Tensor::of({64}, groups));
    const Weight weight = made(gptq_matrix(Weights::of(tensors), "m", {.bits = 4, .group = 32}));
    CHECK(weight.type.dtype == DType::f16);
    CHECK(values_of(weight)[0] == -3.0F);
    CHECK(values_of(weight)[1] == -1.5F);
    groups[5] = 2;
    tensors.at("m.g_idx") = Tensor::of({64}, groups);
    CHECK_THAT(gptq_refusal(tensors), contains("'m.g_idx': column 5: expected a group from 0 to 1, found 2"));
    groups[5] = -1;
    tensors.at("m.g_idx") = Tensor::of({64}, groups);
    CHECK_THAT(gptq_refusal(tensors), contains("column 5: expected a group from 0 to 1, found -1"));
}

TEST_CASE("quantized: tensors that do not fit together are refused with what was expected") {
    Tensors tensors = gptq_of(1, 7);
    CHECK(gptq_refusal(tensors).empty());
    CHECK_THAT(gptq_refusal(tensors, {.bits = 4, .group = 64}),
               contains("tensor 'm.qzeros': expected I32 (1, 1), found I32 (2, 1)"));
    CHECK_THAT(gptq_refusal(tensors, {.bits = 8, .group = 32}), contains("'m.qzeros': expected I32 (1, 2)"));
    tensors.at("m.scales") = Tensor({DType::f16, {2, 7}});
    CHECK_THAT(gptq_refusal(tensors), contains("'m.scales': expected F16 or BF16 or F32 (2, 8), found F16 (2, 7)"));
    tensors = gptq_of(1, 7);
    tensors.erase("m.qzeros");
    CHECK_THAT(gptq_refusal(tensors), contains("m.qzeros"));
    tensors = gptq_of(1, 7);
    tensors.at("m.qweight") = Tensor({DType::i32, {8}});
    CHECK_THAT(gptq_refusal(tensors), contains("'m.qweight': expected a matrix, found the shape (8)"));
    tensors.at("m.qweight") = Tensor({DType::f16, {8, 8}});
    CHECK_THAT(gptq_refusal(tensors), contains("'m.qweight': expected I32 (8, 8), found F16 (8, 8)"));
}

TEST_CASE("quantized: packed matrices say their shape") {
    Weights weights = Weights::of(
        {{"m.weight_packed", Tensor({DType::i32, {2, 8}})}, {"m.weight_scale", Tensor({DType::f16, {2, 2}})}});
    const auto refusal = [&](const std::vector<int32_t> &shape) {
        Weights all = Weights::of({{"m.weight_packed", Tensor({DType::i32, {2, 8}})},
                                   {"m.weight_scale", Tensor({DType::f16, {2, 2}})},
                                   {"m.weight_shape", Tensor::of({2}, shape)}});
        return message_of([&] { (void)packed_matrix(all, "m", {.bits = {4, 8}, .groups = {32}}); });
    };
    CHECK(refusal({2, 64}).empty());
    CHECK_THAT(refusal({2, 65}), contains("8 words in a row are not 65 values"));
    CHECK_THAT(refusal({3, 64}), contains("'m.weight_packed': expected I32 (3, 8)"));
    CHECK_THAT(refusal({-2, 64}), contains("expected the sizes of a matrix, found (-2, 64)"));
    CHECK_THAT(refusal({2, 32}), contains("'m.weight_scale': expected F16 or BF16 or F32 (2, 1)"));
    CHECK_THAT(message_of([&] { (void)packed_matrix(weights, "m", {.bits = {4}, .groups = {32}}); }),
               contains("m.weight_shape"));
}

TEST_CASE("quantized: the numbers of e4m3 are those of its definition") {
    CHECK(widen_e4m3(0x00) == 0.0F);
    CHECK(widen_e4m3(0x01) == 0x1p-9F);
    CHECK(widen_e4m3(0x07) == 7 * 0x1p-9F);
    CHECK(widen_e4m3(0x08) == 0x1p-6F);
    CHECK(widen_e4m3(0x38) == 1.0F);
    CHECK(widen_e4m3(0xb9) == -1.125F);
    CHECK(widen_e4m3(0x7e) == 448.0F);
    CHECK(std::isnan(widen_e4m3(0x7f)));
    CHECK(std::isnan(widen_e4m3(0xff)));
}

TEST_CASE("quantized: what bitsandbytes says of a matrix must be what is there") {
    const auto refusal = [](const std::string &state, int64_t bytes, const Shape &absmax) {
        Weights weights("f");
        const auto text = [](const std::string &json) { return std::vector<uint8_t>(json.begin(), json.end()); };
        weights.add_other("m.weight", other("U8", {bytes, 1}, std::vector<uint8_t>(static_cast<size_t>(bytes), 0x7f)));
        weights.add_other("m.weight.quant_state.bitsandbytes__nf4",
                          other("U8", {static_cast<int64_t>(state.size())}, text(state)));
        weights.add("m.weight.quant_map", Weight::of(Tensor({DType::f32, {16}})));
        weights.add("m.weight.absmax", Weight::of(Tensor({DType::f32, absmax})));
        return message_of([&] { (void)four_bit_matrix(weights, "m").bytes(); });
    };
    const std::string state = R"({"quant_type": "nf4", "blocksize": 64, "dtype": "bfloat16", "shape": [3, 32]})";
    CHECK(refusal(state, 48, {2}).empty());
    CHECK_THAT(refusal(state, 47, {2}),
               contains("'m.weight': expected 48 bytes for a matrix of (3, 32), found (47, 1)"));
    CHECK_THAT(refusal(state, 48, {1}), contains("'m.weight.absmax': expected F32 (2), found F32 (1)"));
    CHECK_THAT(refusal("{", 48, {2}), contains("quant_state.bitsandbytes__nf4"));
    CHECK_THAT(refusal(R"({"blocksize": 0, "dtype": "bfloat16", "shape": [3, 32]})", 48, {2}), contains("/blocksize"));
    CHECK_THAT(refusal(R"({"blocksize": 64, "dtype": "int8", "shape": [3, 32]})", 48, {2}),
               contains("'int8' is not supported"));
    CHECK_THAT(refusal(R"({"blocksize": 64, "dtype": "float32", "shape": [96]})", 48, {2}), contains("/shape"));
    CHECK_THAT(
        refusal(
            R"({"blocksize": 64, "dtype": "float32", "shape": [3, 32], "nested_blocksize": 256, "nested_offset": 0})",
            48, {2}),
        contains("'m.weight.absmax': expected U8 (2), found F32 (2)"));
}

TEST_CASE("quantized: FP8 has one scale, one for each row or one for each block") {
    const auto read = [](const Shape &scales, const Fp8 &settings) {
        Weights weights("f");
        weights.add_other("m", other("F8_E4M3", {3, 4}, std::vector<uint8_t>(12, 0x38)));
        std::vector<float> numbers;
        for (int64_t i = 0; i < element_count(scales); ++i) numbers.push_back(static_cast<float>(i + 1));
        weights.add("s", Weight::of(Tensor::of(scales, numbers)));
        return values_of(fp8_matrix(weights, "m", settings));
    };
    const auto refusal = [&](const Shape &scales, const Fp8 &settings) {
        return message_of([&] { (void)read(scales, settings); });
    };
    CHECK(read({}, {.scale = "s"}) == std::vector<float>(12, 1));
    CHECK(read({3}, {.scale = "s"})[8] == 3);
    CHECK(read({3, 1}, {.scale = "s", .block = Fp8::Block{2, 2}})[11] == 3);
    CHECK(read({3, 2}, {.scale = "s"})[11] == 6);
    // The last block may be cut.
    CHECK(read({2, 2}, {.scale = "s", .block = Fp8::Block{2, 2}}) ==
          std::vector<float>{1, 1, 2, 2, 1, 1, 2, 2, 3, 3, 4, 4});
    CHECK_THAT(refusal({2, 2}, {.scale = "s"}),
               contains("expected one scale, one for each of 3 rows, or one for each block"));
    CHECK_THAT(refusal({2, 2}, {.scale = "s", .block = Fp8::Block{1, 1}}), contains("found (2, 2)"));
    CHECK_THAT(refusal({4}, {.scale = "s"}), contains("found (4)"));
    CHECK_THAT(refusal({3}, {.scale = "t"}), contains("t"));
}
