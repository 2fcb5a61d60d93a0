// Bytes as a file, for libraries that read only files. It is in memory, as far as the system can.
#pragma once

#include <filesystem>
#include <span>

namespace lamina {

class MemoryFile {
  public:
    explicit MemoryFile(std::span<const std::byte> bytes); // throws Error(memory)
    MemoryFile(const MemoryFile &) = delete;
    MemoryFile &operator=(const MemoryFile &) = delete;
    ~MemoryFile();

    // Where it can be opened as long as this object lives.
    [[nodiscard]] const std::filesystem::path &path() const { return path_; }

  private:
    std::filesystem::path path_;
    int number_ = -1;
};

} // namespace lamina
