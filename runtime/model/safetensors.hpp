// The safetensors format: u64 length of a JSON header, the header, then the tensors' bytes back to back.
// Refuses what the format's reference implementation refuses (github.com/huggingface/safetensors), and duplicate names.
#pragma once

#include <lamina/tensor.hpp>

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>

namespace lamina::model {

class Safetensors {
  public:
    struct Entry {
        TensorType type;
        std::span<const std::byte> bytes; // of the mapped file, valid as long as this object or a copy of it
    };

    Safetensors() = default; // no tensors
    // Maps the file and checks all of its header. Throws Error(input): file, tensor, what was expected and found.
    static Safetensors open(const std::filesystem::path &file);

    // Tensors from memory, as if they had been read from a file.
    static Safetensors of(std::map<std::string, Tensor, std::less<>> tensors);

    // The bytes may be unaligned: the format allows any offset for any dtype.
    [[nodiscard]] const std::map<std::string, Entry, std::less<>> &entries() const { return entries_; }
    // Tensors of dtypes that no layer takes, which may be in the file unused: name -> dtype ("F64").
    [[nodiscard]] const std::map<std::string, std::string, std::less<>> &others() const { return others_; }
    [[nodiscard]] const std::map<std::string, std::string, std::less<>> &metadata() const { return metadata_; }
    // Empty if there is none.
    [[nodiscard]] const std::filesystem::path &file() const { return file_; }

    // Writes tensors (and __metadata__) to a temporary file and renames it. `progress` is called after every tensor and
    // may throw. Throws Error(failure), or Error(input) for a name that the format cannot hold.
    static void write(const std::filesystem::path &file, const std::map<std::string, Tensor, std::less<>> &tensors,
                      const std::map<std::string, std::string, std::less<>> &metadata = {},
                      const std::function<void(size_t done, size_t all)> &progress = {});

  private:
    std::filesystem::path file_;
    std::shared_ptr<const void> memory_;
    std::map<std::string, Entry, std::less<>> entries_;
    std::map<std::string, std::string, std::less<>> others_, metadata_;
};

} // namespace lamina::model
