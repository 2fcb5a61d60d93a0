// GGML's formats that layers do not take, and what each is without loss: blocks of values of 1 to 3 bits, which a
// codebook turns into numbers (IQ1 to IQ3), or which are from -1 to 2 (TQ, Q1_0, Q2_0).
#pragma once

#include "model/weights.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

namespace lamina::model {

struct Codebook {
    std::string_view ggml; // "IQ2_XXS"
    DType dtype;           // that its values are in memory
    int64_t block_bytes;   // in a file
    void (*write)(const uint8_t *block, std::byte *out);
    int64_t block_values = 256;
};

// Nothing if layers take the format as it is, or if it is unknown.
[[nodiscard]] const Codebook *codebook_of(std::string_view ggml);

// A tensor of the dtype, made block by block when it is read. `shape`: in values.
[[nodiscard]] Weight by_codebook(const Codebook &codebook, const Shape &shape, std::span<const std::byte> stored,
                                 std::shared_ptr<const void> owner);

} // namespace lamina::model
