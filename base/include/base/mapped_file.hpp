// A file's bytes, mapped: read from the disk when they are touched.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

namespace lamina {

struct MappedFile {
    std::span<const std::byte> bytes;
    std::shared_ptr<const void> owner; // unmaps them

    // Throws Error(input) with the system's reason: absent, not readable, not an ordinary file.
    static MappedFile open(const std::filesystem::path &file);
};

// These bytes of a mapped file are not needed for now: they leave memory, and are read again when they are touched.
void let_go(std::span<const std::byte> mapped);

} // namespace lamina
