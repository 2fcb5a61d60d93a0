// A dense, row-major tensor in host memory.
#pragma once

#include <lamina/error.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

namespace lamina {

// The values are those of the plugin ABI (LAMINA_F32, ...).
enum class DType : uint32_t { f32 = 1, f16 = 2, bf16 = 4, i32 = 8 };

[[nodiscard]] constexpr size_t size_of(DType d) { return d == DType::f16 || d == DType::bf16 ? 2 : 4; }
[[nodiscard]] constexpr const char *name_of(DType d) {
    return d == DType::f32 ? "f32" : d == DType::f16 ? "f16" : d == DType::bf16 ? "bf16" : "i32";
}

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
    [[nodiscard]] size_t bytes() const { return static_cast<size_t>(element_count(shape)) * size_of(dtype); }
    bool operator==(const TensorType &) const = default;
};

class Tensor {
  public:
    Tensor() = default;
    explicit Tensor(TensorType type) : type_(std::move(type)), data_(type_.bytes()) {} // zeros
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
