#include "tensors.hpp"

#include <cstring>
#include <utility>

namespace lamina::python {
namespace {

// Numbers that NumPy knows as well.
struct Shared {
    DType dtype;
    nb::dlpack::dtype numpy;
};
const std::array shared{Shared{DType::f32, nb::dtype<float>()}, Shared{DType::i32, nb::dtype<int32_t>()},
                        Shared{DType::f16, {static_cast<uint8_t>(nb::dlpack::dtype_code::Float), 16, 1}}};

Tensor widened(const Tensor &tensor) {
    Tensor out({DType::f32, tensor.shape()});
    const plugin::StorageType &storage = storage_of(tensor.dtype());
    storage.widen(tensor.bytes().data(), tensor.size() / storage.block_values, out.f32().data());
    return out;
}

} // namespace

DType dtype_named(const std::string &name) {
    for (const plugin::StorageType &type : plugin::storage_types)
        if (name == type.name) return static_cast<DType>(type.dtype);
    throw Error(ErrorCode::usage, "no dtype '" + name + "'");
}

Tensor tensor_of(const Array &array, const std::string &name) {
    const bool floats = array.dtype() == nb::dtype<float>();
    if (!floats && array.dtype() != nb::dtype<int32_t>())
        throw Error(ErrorCode::input, "'" + name + "': expected an array of float32 or int32");
    Shape shape;
    for (size_t i = 0; i < array.ndim(); ++i) shape.push_back(array.shape(i));
    Tensor out({floats ? DType::f32 : DType::i32, std::move(shape)});
    if (!out.bytes().empty()) std::memcpy(out.bytes().data(), array.data(), out.bytes().size());
    return out;
}

TensorMap tensors_of(const Arrays &arrays) {
    TensorMap out;
    for (const auto &[name, array] : arrays) out[name] = tensor_of(array, name);
    return out;
}

OwnArray array_of(Tensor tensor) {
    for (const auto &[dtype, numpy] : shared) {
        if (tensor.dtype() != dtype) continue;
        auto *kept = new Tensor(std::move(tensor));
        const nb::capsule owner(kept, [](void *p) noexcept { delete static_cast<Tensor *>(p); });
        const std::vector<size_t> shape(kept->shape().begin(), kept->shape().end());
        return {kept->bytes().data(), shape.size(), shape.data(), owner, nullptr, numpy};
    }
    return array_of(widened(tensor));
}

std::map<std::string, OwnArray> arrays_of(TensorMap tensors) {
    std::map<std::string, OwnArray> out;
    for (auto &[name, tensor] : tensors) out[name] = array_of(std::move(tensor));
    return out;
}

} // namespace lamina::python
