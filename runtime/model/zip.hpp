// Zip files whose entries are stored as they are: the container of PyTorch's files. (PKWARE: APPNOTE.TXT, version 6.3.)
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>

namespace lamina::model {

// Whether the bytes begin as a zip file with entries does.
[[nodiscard]] bool is_zip(std::span<const std::byte> bytes);

// The entries by name, as parts of these bytes. Throws Error(input) with the file, the place in it, what was expected
// and found: for a file that is cut short or damaged, and for entries that are compressed or encrypted. Checksums are
// not compared, because that would read the whole file.
[[nodiscard]] std::map<std::string, std::span<const std::byte>, std::less<>>
stored_entries(std::span<const std::byte> bytes, const std::filesystem::path &file);

} // namespace lamina::model
