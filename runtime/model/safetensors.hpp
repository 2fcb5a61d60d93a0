// The safetensors format: u64 length of a JSON header, the header, then the tensors' bytes back to back.
// Refuses what the format's reference implementation refuses (github.com/huggingface/safetensors), and duplicate names.
#pragma once

#include <lamina/tensor.hpp>

#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>

namespace lamina::model {

class Safetensors {
  public:
    struct Entry {
        TensorType type;
        std::span<const std::byte> bytes; // in the file's memory map, which lives as long as this object or a copy of it
    };

    Safetensors() = default; // no tensors
    // Maps the file and checks all of its header. Dtypes other than F32, F16, BF16 and I32 are listed but refused when
    // used by a layer. Throws Error(input).
    static Safetensors open(const std::filesystem::path &file);

    [[nodiscard]] const std::map<std::string, Entry, std::less<>> &entries() const { return entries_; }
    [[nodiscard]] const std::map<std::string, std::string, std::less<>> &metadata() const { return metadata_; }
    [[nodiscard]] const std::filesystem::path &file() const { return file_; }

    // Writes tensors (and __metadata__) to a temporary name and renames it. Throws Error(failure).
    static void write(const std::filesystem::path &file, const std::map<std::string, Tensor, std::less<>> &tensors,
                      const std::map<std::string, std::string, std::less<>> &metadata = {});

  private:
    std::filesystem::path file_;
    std::shared_ptr<const void> map_;
    std::map<std::string, Entry, std::less<>> entries_;
    std::map<std::string, std::string, std::less<>> metadata_;
};

} // namespace lamina::model
