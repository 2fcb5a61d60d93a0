// The header of a .npy file: a Python dictionary literal with the keys descr, fortran_order and shape.
#pragma once

#include "base/file.hpp"

#include <lamina/tensor.hpp>

#include <cstddef>
#include <cstdint>

namespace lamina::model {

struct NpyHeader {
    char kind = 0; // 'f', 'i', 'u' or 'b'
    size_t item_bytes = 0;
    bool fortran_order = false;
    Shape shape;

    uint64_t data_bytes = 0; // after the header

    // Reads the header and nothing after it. Throws Error(input) for anything but a plain little-endian array.
    static NpyHeader read(FileReader &in);
};

} // namespace lamina::model
