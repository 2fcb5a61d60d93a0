// The GGUF format, versions 2 and 3, little-endian (github.com/ggml-org/ggml, docs/gguf.md): "GGUF", u32 version, u64
// number of tensors, u64 number of metadata; the metadata; each tensor's name, dims, type and offset; the data.
#pragma once

#include "model/gguf_metadata.hpp"
#include "model/weights.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

namespace lamina::model {

struct Gguf {
    GgufMetadata metadata;
    // Shapes are row-major, as everywhere in Lamina; the format itself writes the innermost size first.
    Weights weights;
    uint64_t n_metadata = 0;
    std::span<const std::byte> metadata_bytes; // in the file, which `metadata` keeps mapped
};

// Maps the file and checks everything before the data. Throws Error(input) with the file, the place in it, what was
// expected and what was found.
[[nodiscard]] Gguf open_gguf(const std::filesystem::path &file);
// The same for bytes in memory, which `owner` keeps alive; messages begin with `file`.
[[nodiscard]] Gguf parse_gguf(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                              const std::filesystem::path &file);

// A GGUF file with the same metadata and no tensors.
[[nodiscard]] std::string metadata_file(const Gguf &gguf);

} // namespace lamina::model
