// The header of a .npy file: a Python dictionary literal with the keys descr, fortran_order and shape.
#pragma once

#include <lamina/tensor.hpp>

#include <cstddef>
#include <span>
#include <string>

namespace lamina::model {

struct NpyHeader {
    char kind = 0; // 'f', 'i', 'u' or 'b'
    size_t item_bytes = 0;
    bool fortran_order = false;
    Shape shape;

    // Reads the header at the start of `bytes`; `data` becomes what follows it, which is as long as the header says.
    // Throws Error(input) for all that is not a plain little-endian array; `file` begins the message.
    static NpyHeader parse(std::span<const std::byte> bytes, std::span<const std::byte> &data, const std::string &file);
};

} // namespace lamina::model
