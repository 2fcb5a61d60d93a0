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

// Another program may cut a file while it is mapped, and a disk may fail. What cannot be read then reads as zeros, and
// the process goes on; whoever used the bytes asks afterwards whether they were those of the file.
class Mapping;
// The mapping that these bytes lie in, which lives as long as its owner. Null: they are in ordinary memory, or the
// system does not let a mapped file be cut.
[[nodiscard]] const Mapping *mapping_of(std::span<const std::byte> bytes);
// All bytes of the file leave memory until they are touched.
void let_go(const Mapping &mapping);
// Throws Error(input) if a part of the file could not be read since it was mapped.
void expect_whole(const Mapping &mapping);

} // namespace lamina
