// Files that Git LFS has not downloaded: a few lines stand in their place.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace lamina {

// Throws Error(input), with what to do, if these bytes of a file are such lines.
// (github.com/git-lfs/git-lfs, docs/spec.md.)
void refuse_lfs_pointer(const std::filesystem::path &file, std::span<const std::byte> bytes);

} // namespace lamina
