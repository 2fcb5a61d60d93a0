// Files by the number that they have while they are open. No function throws: what fails returns -1 or an errno.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

namespace lamina {

enum class FileKind { ordinary, folder, pipe, device };

struct OpenFile {
    int number = -1; // -1: it could not be opened, and errno says why
    FileKind kind = FileKind::ordinary;
    uint64_t size = 0; // of an ordinary file
};

// Without `wait`, opening a pipe does not wait for its writer. A folder may have no number.
[[nodiscard]] OpenFile open_to_read(const std::filesystem::path &file, bool wait);
// A pipe or a device, which exists. Returns -1 and sets errno if that fails.
[[nodiscard]] int open_to_write(const std::filesystem::path &file);
// At most as many bytes as there is room for, 0 at the end; -1 if that fails, also if a signal came first (EINTR).
[[nodiscard]] ptrdiff_t read_some(int file, std::span<std::byte> into);
// These return 0 or an errno.
int write_bytes(int file, std::span<const std::byte> bytes);
[[nodiscard]] int flush_to_disk(int file);
int close_file(int file);

} // namespace lamina
