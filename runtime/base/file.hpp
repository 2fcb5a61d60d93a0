// Whole files, read and written so that nothing is ever half there.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace lamina {

// Throws Error(input) with the system's reason: absent, a folder, not readable, larger than `limit` bytes.
[[nodiscard]] std::vector<std::byte> read_file(const std::filesystem::path &file, uint64_t limit = UINT64_MAX);

// Writes to a temporary name beside `file`, then renames. Throws Error(failure); the temporary is removed.
void write_file(const std::filesystem::path &file, std::span<const std::byte> bytes);
void write_file(const std::filesystem::path &file, std::string_view text);

} // namespace lamina
