#include "model/gguf_metadata.hpp"

#include "base/nearest.hpp"
#include "base/utf8.hpp"

#include <lamina/error.hpp>

#include <array>
#include <cstring>

namespace lamina::model {
namespace {

constexpr std::array type_names{"u8",      "i8",     "u16",   "i16", "u32", "i32", "f32",
                                "boolean", "string", "array", "u64", "i64", "f64"};

template <class T> T value_at(std::span<const std::byte> bytes, size_t i) {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
    return value;
}

} // namespace

const char *name_of(GgufType type) { return type_names.at(static_cast<size_t>(type)); }

size_t size_of(GgufType type) {
    constexpr std::array<size_t, type_names.size()> sizes{1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    return sizes.at(static_cast<size_t>(type));
}

void GgufValue::fail(const std::string &message) const { throw Error(ErrorCode::input, place_ + message); }

void GgufValue::expect(bool right, const char *what) const {
    if (!right) fail("expected " + std::string(what) + ", found " + description());
}

size_t GgufValue::size() const { return type_ == GgufType::string ? strings_.size() : bytes_.size() / size_of(type_); }

bool GgufValue::is_integer() const {
    switch (type_) {
    case GgufType::f32:
    case GgufType::f64:
    case GgufType::boolean:
    case GgufType::string:
    case GgufType::array:
        return false;
    default:
        return true;
    }
}

bool GgufValue::is_number() const { return is_integer() || type_ == GgufType::f32 || type_ == GgufType::f64; }

int64_t GgufValue::integer_at(size_t i) const {
    switch (type_) {
    case GgufType::u8:
        return value_at<uint8_t>(bytes_, i);
    case GgufType::i8:
        return value_at<int8_t>(bytes_, i);
    case GgufType::u16:
        return value_at<uint16_t>(bytes_, i);
    case GgufType::i16:
        return value_at<int16_t>(bytes_, i);
    case GgufType::u32:
        return value_at<uint32_t>(bytes_, i);
    case GgufType::i32:
        return value_at<int32_t>(bytes_, i);
    case GgufType::i64:
        return value_at<int64_t>(bytes_, i);
    default:
        break;
    }
    const auto value = value_at<uint64_t>(bytes_, i);
    if (value > INT64_MAX) fail(std::to_string(value) + " is above " + std::to_string(INT64_MAX));
    return static_cast<int64_t>(value);
}

double GgufValue::number_at(size_t i) const {
    if (type_ == GgufType::f32) return value_at<float>(bytes_, i);
    if (type_ == GgufType::f64) return value_at<double>(bytes_, i);
    return static_cast<double>(integer_at(i));
}

int64_t GgufValue::integer(int64_t lowest, int64_t highest) const {
    expect(!list_ && is_integer(), "a whole number");
    const int64_t value = integer_at(0);
    if (value < lowest || value > highest)
        fail("expected a whole number from " + std::to_string(lowest) + " to " + std::to_string(highest) + ", found " +
             std::to_string(value));
    return value;
}

double GgufValue::number() const {
    expect(!list_ && is_number(), "a number");
    return number_at(0);
}

bool GgufValue::boolean() const {
    expect(!list_ && type_ == GgufType::boolean, "true or false");
    return bytes_[0] != std::byte{0};
}

std::string_view GgufValue::string() const {
    expect(!list_ && type_ == GgufType::string, "a string");
    return strings_[0];
}

std::vector<int64_t> GgufValue::integers() const {
    expect(list_ && is_integer(), "a list of whole numbers");
    std::vector<int64_t> out;
    out.reserve(size());
    for (size_t i = 0; i < size(); ++i) out.push_back(integer_at(i));
    return out;
}

std::vector<double> GgufValue::numbers() const {
    expect(list_ && is_number(), "a list of numbers");
    std::vector<double> out;
    out.reserve(size());
    for (size_t i = 0; i < size(); ++i) out.push_back(number_at(i));
    return out;
}

std::vector<bool> GgufValue::booleans() const {
    expect(list_ && type_ == GgufType::boolean, "a list of true and false");
    std::vector<bool> out;
    for (const std::byte b : bytes_) out.push_back(b != std::byte{0});
    return out;
}

std::span<const std::string_view> GgufValue::strings() const {
    expect(list_ && type_ == GgufType::string, "a list of strings");
    return strings_;
}

std::string GgufValue::description() const {
    if (list_) return "a list of " + std::to_string(size()) + " " + name_of(type_) + (size() == 1 ? "" : "s");
    if (type_ == GgufType::string) return in_quotes(strings_[0]);
    if (type_ == GgufType::boolean) return bytes_[0] != std::byte{0} ? "true" : "false";
    if (type_ == GgufType::u64) return std::to_string(value_at<uint64_t>(bytes_, 0)) + " (u64)";
    return (is_integer() ? std::to_string(integer_at(0)) : std::to_string(number_at(0))) + " (" + name_of(type_) + ")";
}

const GgufValue &GgufMetadata::at(std::string_view key) const {
    if (const auto found = values_.find(key); found != values_.end()) return found->second;
    throw Error(ErrorCode::input,
                file_ + ": the metadata has no key " + in_quotes(key) + instead_of(key, names_of(values_)));
}

} // namespace lamina::model
