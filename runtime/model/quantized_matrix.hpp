// Matrices of small integers that share scales in groups, as GPTQ, AWQ and compressed-tensors have them: a value is its
// integer times the scale of its group. They become blocks that layers take, without loss.
#pragma once

#include "model/weights.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace lamina::model {

struct QuantizedMatrix {
    int64_t rows = 0, columns = 0; // as layers have it: outputs and inputs
    int64_t group = 1;             // so many columns, one after the other, share a scale; 1: any may have its own
    int lowest = 0, highest = 0;   // that integers can be
    DType scale_dtype = DType::f16;
    bool half_scales = true;     // each scale is a number of f16
    std::vector<Weight> parts{}; // what it is made from
    // Of a row, from this column on: the integers, and the scales.
    std::function<void(int64_t row, int64_t column, std::span<int16_t> out)> integers{};
    std::function<void(int64_t row, int64_t column, std::span<float> out)> scales{};
};

// The smallest dtype that has all of its values: q4_0, q5_0 or q8_0. If its rows are no whole blocks of a scale, its
// integers have more than 8 bits, or its scales are not f16: the dtype of its scales, to which each value is rounded,
// as those rounds it who wrote such files.
[[nodiscard]] DType smallest_dtype(const QuantizedMatrix &matrix);

// The one of these dtypes that has the values of both.
[[nodiscard]] DType wider_dtype(DType a, DType b);

// Made when it is first read.
[[nodiscard]] Weight repacked(const QuantizedMatrix &matrix, DType dtype);

// ---- What such files hold ----

// A tensor of any dtype, which is called as safetensors calls it: "F8_E4M3".
struct StoredTensor {
    std::string dtype;
    Shape shape;
    Weight weight; // of which only the bytes count
};
[[nodiscard]] bool has_stored(const Weights &weights, const std::string &name);
// Throws Error(input) if there is no such tensor.
[[nodiscard]] StoredTensor stored_at(const Weights &weights, const std::string &name);
// The same; also throws if it is of another dtype, or of another shape.
[[nodiscard]] StoredTensor stored_at(const Weights &weights, const std::string &name,
                                     std::initializer_list<const char *> dtypes, const Shape &shape);
[[noreturn]] void refuse_stored(const Weights &weights, const std::string &name, const std::string &why);

// Scales in F16, BF16 or F32, by their place.
class Scales {
  public:
    explicit Scales(const StoredTensor &stored);
    [[nodiscard]] float operator[](int64_t i) const;
    [[nodiscard]] DType dtype() const { return dtype_; }
    [[nodiscard]] const Weight &weight() const { return weight_; }
    [[nodiscard]] bool all_half() const; // each is a number of f16

  private:
    Weight weight_;
    DType dtype_;
};

// Integer `i` of a sequence of so many bits each, in words of 32 bits from the lowest bit on. `stride`: between words.
[[nodiscard]] inline uint32_t packed_integer(std::span<const std::byte> words, size_t first, size_t stride, uint64_t i,
                                             int bits) {
    const auto word = [&](uint64_t number) {
        uint32_t out = 0;
        std::memcpy(&out, words.data() + (first + number * stride) * sizeof out, sizeof out);
        return out;
    };
    const uint64_t bit = i * static_cast<uint64_t>(bits);
    const auto shift = static_cast<uint32_t>(bit % 32);
    uint32_t out = word(bit / 32) >> shift;
    if (shift + static_cast<uint32_t>(bits) > 32) out |= word(bit / 32 + 1) << (32 - shift);
    return out & ((1U << static_cast<uint32_t>(bits)) - 1);
}

} // namespace lamina::model
