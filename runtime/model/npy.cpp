#include <lamina/npy.hpp>

#include "base/file.hpp"
#include "model/npy_header.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <sstream>
#include <type_traits>
#include <utility>

namespace lamina {
namespace {

using model::NpyHeader;

static_assert(std::endian::native == std::endian::little, "elements are copied as they stand in the file");

[[noreturn]] void does_not_fit(const std::string &file, size_t element, const std::string &value, const char *dtype) {
    throw Error(ErrorCode::input,
                file + ": element " + std::to_string(element) + " is " + value + ", which does not fit " + dtype);
}

std::string scientific(double value) {
    std::ostringstream out;
    out << value;
    return out.str();
}

// IEEE 754 binary16 to binary32, exact.
float from_half(uint16_t half) {
    const int exponent = half >> 10 & 31, mantissa = half & 1023;
    float value = 0;
    if (exponent == 31)
        value = mantissa == 0 ? std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
    else if (exponent == 0)
        value = std::ldexp(static_cast<float>(mantissa), -24); // subnormal
    else
        value = std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25);
    return std::copysign(value, half & 0x8000 ? -1.0f : 1.0f);
}

template <class From>
Tensor convert(const NpyHeader &header, std::span<const std::byte> data, const std::string &file) {
    constexpr bool real = std::is_floating_point_v<From>;
    using To = std::conditional_t<real, float, int32_t>;
    Tensor out({real ? DType::f32 : DType::i32, header.shape});
    To *to = reinterpret_cast<To *>(out.bytes().data());
    for (size_t i = 0; i < data.size() / sizeof(From); ++i) {
        From value;
        std::memcpy(&value, data.data() + i * sizeof(From), sizeof value);
        if constexpr (real) {
            if (std::isfinite(value) && std::abs(value) > std::numeric_limits<float>::max())
                does_not_fit(file, i, scientific(value), "F32");
        } else if (!std::in_range<int32_t>(value)) {
            does_not_fit(file, i, std::to_string(value), "I32");
        }
        to[i] = static_cast<To>(value); // NOLINT(bugprone-signed-char-misuse): int8 is a number here
    }
    return out;
}

Tensor convert_halves(const NpyHeader &header, std::span<const std::byte> data) {
    Tensor out({DType::f32, header.shape});
    for (size_t i = 0; i < data.size() / 2; ++i) {
        uint16_t half = 0;
        std::memcpy(&half, data.data() + i * 2, 2);
        out.f32()[i] = from_half(half);
    }
    return out;
}

Tensor convert_booleans(const NpyHeader &header, std::span<const std::byte> data) {
    Tensor out({DType::i32, header.shape});
    for (size_t i = 0; i < data.size(); ++i) out.i32()[i] = data[i] != std::byte{0};
    return out;
}

Tensor convert_any(const NpyHeader &header, std::span<const std::byte> data, const std::string &file) {
    if (header.kind == 'b') return convert_booleans(header, data);
    if (header.kind == 'f')
        return header.item_bytes == 2   ? convert_halves(header, data)
               : header.item_bytes == 4 ? convert<float>(header, data, file)
                                        : convert<double>(header, data, file);
    const bool is_signed = header.kind == 'i';
    switch (header.item_bytes) {
    case 1:
        return is_signed ? convert<int8_t>(header, data, file) : convert<uint8_t>(header, data, file);
    case 2:
        return is_signed ? convert<int16_t>(header, data, file) : convert<uint16_t>(header, data, file);
    case 4:
        return is_signed ? convert<int32_t>(header, data, file) : convert<uint32_t>(header, data, file);
    default:
        return is_signed ? convert<int64_t>(header, data, file) : convert<uint64_t>(header, data, file);
    }
}

// Fortran order: the first axis varies fastest in the file. Both dtypes have 4 bytes here.
Tensor to_row_major(const Tensor &columns) {
    Tensor rows(columns.type());
    const Shape &shape = rows.shape();
    Shape index(shape.size(), 0);
    for (size_t to = 0; to < rows.bytes().size(); to += 4) {
        size_t from = 0;
        for (size_t axis = shape.size(); axis-- > 0;)
            from = from * static_cast<size_t>(shape[axis]) + static_cast<size_t>(index[axis]);
        std::memcpy(rows.bytes().data() + to, columns.bytes().data() + from * 4, 4);
        for (size_t axis = shape.size(); axis-- > 0;) { // the next index, last axis first
            if (++index[axis] < shape[axis]) break;
            index[axis] = 0;
        }
    }
    return rows;
}

} // namespace

Tensor read_npy(const std::filesystem::path &file) {
    FileReader in(file);
    const NpyHeader header = NpyHeader::read(in);
    // Reads at most one byte too many, so that an endless file does not fill memory.
    const std::vector<std::byte> data = in.read(header.data_bytes + 1);
    if (data.size() != header.data_bytes)
        throw Error(ErrorCode::input,
                    file.string() + ": expected " + std::to_string(header.data_bytes) +
                        " bytes of data for the shape " + to_string(header.shape) + ", found " +
                        (data.size() > header.data_bytes ? "more" : std::to_string(data.size()) + " (cut short?)"));
    const Tensor tensor = convert_any(header, data, file.string());
    return header.fortran_order ? to_row_major(tensor) : tensor;
}

void write_npy(const std::filesystem::path &file, const Tensor &tensor) {
    if (tensor.dtype() != DType::f32 && tensor.dtype() != DType::i32)
        throw Error(ErrorCode::failure,
                    file.string() + ": a tensor of " + name_of(tensor.dtype()) + "; f32 and i32 are written");
    std::string shape;
    for (const int64_t dim : tensor.shape()) shape += std::to_string(dim) + ", ";
    std::string text = std::string("{'descr': '") + (tensor.dtype() == DType::f32 ? "<f4" : "<i4") +
                       "', 'fortran_order': False, 'shape': (" + shape + "), }";
    constexpr size_t before = 10;                       // magic, version, length
    text.append(63 - (before + text.size()) % 64, ' '); // with the newline, data begins at a multiple of 64
    text += '\n';

    std::string head = "\x93NUMPY";
    head += {'\1', '\0', static_cast<char>(text.size() & 255), static_cast<char>(text.size() >> 8)};
    head += text;
    std::vector<std::byte> bytes(head.size() + tensor.bytes().size());
    std::memcpy(bytes.data(), head.data(), head.size());
    if (!tensor.bytes().empty()) std::memcpy(bytes.data() + head.size(), tensor.bytes().data(), tensor.bytes().size());
    write_file(file, bytes);
}

} // namespace lamina
