// The GGUF format, versions 2 and 3, little-endian (github.com/ggml-org/ggml, docs/gguf.md): "GGUF", u32 version, u64
// number of tensors, u64 number of metadata; the metadata; each tensor's name, dims, type and offset; the data.
#pragma once

#include "model/gguf_metadata.hpp"
#include "model/weights.hpp"

#include <filesystem>

namespace lamina::model {

struct Gguf {
    GgufMetadata metadata;
    // Shapes are row-major, as everywhere in Lamina; the format itself writes the innermost size first.
    Weights weights;
};

// Maps the file and checks all that stands before the data. Throws Error(input): file, place, what was expected and
// found.
[[nodiscard]] Gguf open_gguf(const std::filesystem::path &file);

} // namespace lamina::model
