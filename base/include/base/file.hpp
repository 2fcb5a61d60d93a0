// Reads and writes whole files. No file is ever half written.
#pragma once

#include "base/temporary.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lamina {

// A file that is read from its start to its end.
class FileReader {
  public:
    // any: also pipes and devices, on which reading waits. ordinary: these are refused at once; for files whose names
    // come from data.
    enum class Kind { any, ordinary };

    // Throws Error(input) with the system's reason: absent, a folder, not readable.
    explicit FileReader(const std::filesystem::path &file, Kind kind = Kind::any);
    FileReader(const FileReader &) = delete;
    FileReader &operator=(const FileReader &) = delete;
    ~FileReader();

    // The next `most` bytes, or fewer at the end. Memory grows with the file's contents, not with `most`. Throws
    // Error(input), Error(memory).
    [[nodiscard]] std::vector<std::byte> read(uint64_t most);
    // The remaining bytes of an ordinary file, according to the system; 0 for a pipe or a device.
    [[nodiscard]] uint64_t rest() const { return rest_; }
    [[nodiscard]] const std::filesystem::path &file() const { return file_; }

  private:
    std::filesystem::path file_;
    int number_ = -1;
    uint64_t rest_ = 0;
};

// Throws what FileReader throws, and Error(input) for a file larger than `limit` bytes and for a pointer of Git LFS.
[[nodiscard]] std::vector<std::byte> read_file(const std::filesystem::path &file, uint64_t limit = UINT64_MAX,
                                               FileReader::Kind kind = FileReader::Kind::any);

// Writes a temporary file next to a file; commit() renames it. Until then an existing file is unchanged. All functions
// throw Error(failure) with the system's reason.
class FileWriter {
  public:
    // follow: a link stays, and what it points to is replaced; a pipe or a device is written to. replace: whatever has
    // the name is replaced, because only this program writes such files, and no other place should be written to.
    enum class Existing { follow, replace };

    explicit FileWriter(const std::filesystem::path &file, Existing existing = Existing::follow);
    FileWriter(const FileWriter &) = delete;
    FileWriter &operator=(const FileWriter &) = delete;
    ~FileWriter(); // without commit(), nothing is left

    void write(std::span<const std::byte> bytes);
    void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
    void commit();

  private:
    std::filesystem::path file_;
    std::optional<Temporary> temporary_;
    int direct_ = -1; // what is written directly has no temporary file
};

// Writes all at once, in the same way.
void write_file(const std::filesystem::path &file, std::span<const std::byte> bytes,
                FileWriter::Existing existing = FileWriter::Existing::follow);
void write_file(const std::filesystem::path &file, std::string_view text,
                FileWriter::Existing existing = FileWriter::Existing::follow);

} // namespace lamina
