// Reads the part of a GGUF file before its data, value by value, and never beyond the end of the file.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace lamina::model {

class GgufReader {
  public:
    GgufReader(std::span<const std::byte> bytes, std::string file) : bytes_(bytes), file_(std::move(file)) {}

    // What is being read, for messages: "metadata 'general.name'".
    void place(std::string place) { place_ = std::move(place); }
    [[nodiscard]] std::string place() const { return file_ + ": " + place_ + (place_.empty() ? "" : ": "); }
    [[noreturn]] void fail(const std::string &message) const;

    // `what` is not, or not wholly, in the file.
    [[noreturn]] void cut_short(const char *what) const;

    [[nodiscard]] uint64_t at() const { return at_; }
    [[nodiscard]] uint64_t rest() const { return bytes_.size() - at_; }

    // `count` values of `size` bytes. Throws Error(input) if the file is too short; `what` names them in the message.
    std::span<const std::byte> take(uint64_t count, uint64_t size, const char *what);
    template <std::integral T> T integer(const char *what) {
        T value;
        std::memcpy(&value, take(1, sizeof value, what).data(), sizeof value);
        return value;
    }
    std::string_view string(const char *what); // u64 length, bytes
    // A name: not empty, at most `longest` bytes, valid UTF-8.
    std::string_view name(const char *what, uint64_t longest);

  private:
    std::span<const std::byte> bytes_;
    std::string file_, place_;
    uint64_t at_ = 0;
};

} // namespace lamina::model
