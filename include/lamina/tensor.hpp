// A dense, row-major tensor in host memory.
#pragma once

#include <lamina/error.hpp>
#include <lamina/plugin/dtype.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

namespace lamina {

// The values are those of the plugin ABI. The table in plugin/dtype.hpp describes each.
enum class DType : uint32_t {
    f32 = LAMINA_F32,
    f16 = LAMINA_F16,
    bf16 = LAMINA_BF16,
    i32 = LAMINA_I32,
    q8_0 = LAMINA_Q8_0,
    q4_0 = LAMINA_Q4_0,
    q4_1 = LAMINA_Q4_1,
    q5_0 = LAMINA_Q5_0,
    q5_1 = LAMINA_Q5_1,
    q4_k = LAMINA_Q4_K,
    q5_k = LAMINA_Q5_K,
    q6_k = LAMINA_Q6_K,
    q2_k = LAMINA_Q2_K,
    q3_k = LAMINA_Q3_K,
    iq4_nl = LAMINA_IQ4_NL,
    iq4_xs = LAMINA_IQ4_XS,
    i8_k = LAMINA_I8_K,
    i4_k = LAMINA_I4_K
};

[[nodiscard]] constexpr const plugin::StorageType &storage_of(DType d) {
    return plugin::storage_type(static_cast<uint32_t>(d));
}
[[nodiscard]] constexpr const char *name_of(DType d) { return storage_of(d).name; }

using Shape = std::vector<int64_t>;

[[nodiscard]] inline int64_t element_count(const Shape &shape) {
    int64_t n = 1;
    for (const int64_t d : shape) n *= d;
    return n;
}
// "(2, 37, 128)"
[[nodiscard]] inline std::string to_string(const Shape &shape) {
    std::string s = "(";
    for (size_t i = 0; i < shape.size(); ++i) s += (i != 0 ? ", " : "") + std::to_string(shape[i]);
    return s + ")";
}

struct TensorType {
    DType dtype = DType::f32;
    Shape shape;
    // A row must be a whole number of the dtype's blocks: fits() tells whether it is.
    [[nodiscard]] size_t bytes() const {
        return static_cast<size_t>(storage_of(dtype).row_bytes(element_count(shape)));
    }
    [[nodiscard]] bool fits() const { return (shape.empty() ? 1 : shape.back()) % storage_of(dtype).block_values == 0; }
    bool operator==(const TensorType &) const = default;
};

class Tensor {
  public:
    Tensor() = default;
    explicit Tensor(TensorType type) : type_(checked(std::move(type))), data_(type_.bytes()) {} // zeros
    static Tensor of(Shape shape, std::span<const float> values) { return make(DType::f32, std::move(shape), values); }
    static Tensor of(Shape shape, std::span<const int32_t> values) {
        return make(DType::i32, std::move(shape), values);
    }

    [[nodiscard]] const TensorType &type() const { return type_; }
    [[nodiscard]] DType dtype() const { return type_.dtype; }
    [[nodiscard]] const Shape &shape() const { return type_.shape; }
    [[nodiscard]] int64_t size() const { return element_count(type_.shape); }

    [[nodiscard]] std::span<std::byte> bytes() { return data_; }
    [[nodiscard]] std::span<const std::byte> bytes() const { return data_; }
    [[nodiscard]] std::span<float> f32() { return view<float>(DType::f32); }
    [[nodiscard]] std::span<const float> f32() const { return view<float>(DType::f32); }
    [[nodiscard]] std::span<int32_t> i32() { return view<int32_t>(DType::i32); }
    [[nodiscard]] std::span<const int32_t> i32() const { return view<int32_t>(DType::i32); }

  private:
    static TensorType checked(TensorType type) {
        int64_t elements = 1;
        for (const int64_t dim : type.shape)
            if (dim < 0 || __builtin_mul_overflow(elements, dim, &elements) || elements > INT64_MAX / 8)
                throw Error(ErrorCode::input, "no tensor can have the shape " + to_string(type.shape));
        if (type.fits()) return type;
        throw Error(ErrorCode::input, "a tensor of shape " + to_string(type.shape) + " cannot be " +
                                          name_of(type.dtype) + ": expected rows of a multiple of " +
                                          std::to_string(storage_of(type.dtype).block_values) + " values");
    }
    template <class T> static Tensor make(DType dtype, Shape shape, std::span<const T> values) {
        Tensor t(TensorType{dtype, std::move(shape)});
        if (t.data_.size() != values.size_bytes())
            throw Error(ErrorCode::input, "a tensor of shape " + to_string(t.shape()) + " has " +
                                              std::to_string(t.size()) + " elements; " + std::to_string(values.size()) +
                                              " values were given");
        if (!values.empty()) std::memcpy(t.data_.data(), values.data(), values.size_bytes());
        return t;
    }
    void expect(DType dtype) const {
        if (type_.dtype != dtype)
            throw Error(ErrorCode::input,
                        std::string("expected a tensor of ") + name_of(dtype) + ", found " + name_of(type_.dtype));
    }
    template <class T> std::span<T> view(DType dtype) {
        expect(dtype);
        return {reinterpret_cast<T *>(data_.data()), data_.size() / sizeof(T)};
    }
    template <class T> std::span<const T> view(DType dtype) const {
        expect(dtype);
        return {reinterpret_cast<const T *>(data_.data()), data_.size() / sizeof(T)};
    }

    TensorType type_;
    std::vector<std::byte> data_;
};

} // namespace lamina
