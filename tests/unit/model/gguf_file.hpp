// Builds GGUF files byte by byte: well-formed ones, and ones with a single error.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace lamina::model {

class GgufFile {
  public:
    uint32_t version = 3;
    uint64_t alignment = 32;    // of the tensors that are added; the metadata key is not added automatically
    uint64_t more_metadata = 0; // counted, but missing
    uint64_t more_tensors = 0;

    template <class T> static std::string number(T value) {
        static_assert(std::is_arithmetic_v<T>);
        std::string out(sizeof value, '\0');
        std::memcpy(out.data(), &value, sizeof value);
        return out;
    }
    static std::string string(std::string_view text) { return number<uint64_t>(text.size()) + std::string(text); }
    // A list's type, count and elements.
    static std::string list(uint32_t type, uint64_t count, const std::string &elements) {
        return number<uint32_t>(type) + number(count) + elements;
    }

    // `value` is what follows the type in the file.
    GgufFile &metadata(std::string_view key, uint32_t type, const std::string &value) {
        metadata_ += string(key) + number(type) + value;
        ++n_metadata_;
        return *this;
    }
    GgufFile &metadata(std::string_view key, std::string_view text) { return metadata(key, 8, string(text)); }
    GgufFile &metadata(std::string_view key, uint32_t value) { return metadata(key, 4, number(value)); }

    // Sizes innermost first, as in the format.
    GgufFile &tensor(std::string_view name, const std::vector<uint64_t> &dims, uint32_t type,
                     const std::string &bytes) {
        data_.resize((data_.size() + alignment - 1) / alignment * alignment, '\0');
        const uint64_t offset = data_.size();
        data_ += bytes;
        return tensor_at(name, dims, type, offset);
    }
    // A tensor whose data is elsewhere.
    GgufFile &tensor_at(std::string_view name, const std::vector<uint64_t> &dims, uint32_t type, uint64_t offset) {
        tensors_ += string(name) + number(static_cast<uint32_t>(dims.size()));
        for (const uint64_t dim : dims) tensors_ += number(dim);
        tensors_ += number(type) + number(offset);
        ++n_tensors_;
        return *this;
    }

    [[nodiscard]] std::string bytes() const {
        std::string out = "GGUF" + number(version) + number(n_tensors_ + more_tensors) +
                          number(n_metadata_ + more_metadata) + metadata_ + tensors_;
        if (alignment != 0) out.resize((out.size() + alignment - 1) / alignment * alignment, '\0');
        return out + data_;
    }

  private:
    std::string metadata_, tensors_, data_;
    uint64_t n_metadata_ = 0, n_tensors_ = 0;
};

// The types of values and of tensors, as the format numbers them.
enum GgufNumber : uint32_t {
    gguf_u8 = 0,
    gguf_u32 = 4,
    gguf_f32 = 6,
    gguf_bool = 7,
    gguf_string = 8,
    gguf_list = 9,
    gguf_u64 = 10,
    gguf_f64 = 12
};
enum GgmlNumber : uint32_t { ggml_f32 = 0, ggml_f16 = 1, ggml_q8_0 = 8, ggml_q8_k = 15, ggml_i32 = 26, ggml_bf16 = 30 };

} // namespace lamina::model
