// The metadata of a GGUF file: typed values by key, read directly from the mapped file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lamina::model {

// Numbered as in the format.
enum class GgufType : uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, string, array, u64, i64, f64 };

[[nodiscard]] const char *name_of(GgufType type);
[[nodiscard]] size_t size_of(GgufType type); // in bytes; 0 for strings and arrays, whose sizes differ

// One value, or a list of values of one type. All functions throw Error(input): "FILE: metadata 'KEY': MESSAGE".
class GgufValue {
  public:
    // `bytes` holds a number, a boolean or a list of them; `strings` holds a string or a list of strings.
    GgufValue(std::string place, GgufType type, bool list, std::span<const std::byte> bytes,
              std::vector<std::string_view> strings)
        : place_(std::move(place)), type_(type), list_(list), bytes_(bytes), strings_(std::move(strings)) {}

    // Of a list: the type of its elements.
    [[nodiscard]] GgufType type() const { return type_; }
    [[nodiscard]] bool is_list() const { return list_; }
    [[nodiscard]] size_t size() const; // of a list: the number of its elements; otherwise 1

    [[nodiscard]] int64_t integer(int64_t lowest = INT64_MIN, int64_t highest = INT64_MAX) const; // both inclusive
    [[nodiscard]] double number() const; // integers are numbers, too
    [[nodiscard]] bool boolean() const;
    [[nodiscard]] std::string_view string() const; // any bytes; lives as long as the mapping

    [[nodiscard]] std::vector<int64_t> integers() const;
    [[nodiscard]] std::vector<double> numbers() const;
    [[nodiscard]] std::vector<bool> booleans() const;
    [[nodiscard]] std::span<const std::string_view> strings() const;

    // "30 (u32)", "a list of 49152 strings"
    [[nodiscard]] std::string description() const;
    [[noreturn]] void fail(const std::string &message) const;

  private:
    void expect(bool right, const char *what) const;
    [[nodiscard]] bool is_integer() const;
    [[nodiscard]] bool is_number() const;
    [[nodiscard]] int64_t integer_at(size_t i) const;
    [[nodiscard]] double number_at(size_t i) const;

    std::string place_;
    GgufType type_;
    bool list_;
    std::span<const std::byte> bytes_;
    std::vector<std::string_view> strings_;
};

class GgufMetadata {
  public:
    GgufMetadata() = default;
    GgufMetadata(std::string file, std::shared_ptr<const void> owner)
        : file_(std::move(file)), owner_(std::move(owner)) {}

    // Returns false if the key exists already.
    bool add(std::string_view key, GgufValue value) { return values_.emplace(key, std::move(value)).second; }

    [[nodiscard]] bool has(std::string_view key) const { return values_.contains(key); }
    [[nodiscard]] const GgufValue &at(std::string_view key) const;  // throws Error(input) if there is none
    [[nodiscard]] const std::string &file() const { return file_; } // for messages
    [[nodiscard]] const std::map<std::string, GgufValue, std::less<>> &values() const { return values_; }

  private:
    std::string file_;
    std::shared_ptr<const void> owner_; // of the bytes that the values refer to
    std::map<std::string, GgufValue, std::less<>> values_;
};

} // namespace lamina::model
