// Reads strict JSON. Every value knows its file and its place (a JSON pointer, RFC 6901), so that every error can name
// them.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lamina::model {

// A view of one value; its document must outlive it. All functions throw Error(input): "FILE: PLACE: MESSAGE".
class JsonValue {
  public:
    JsonValue(const nlohmann::json &value, const std::string &file, std::string place)
        : value_(&value), file_(&file), place_(std::move(place)) {}

    [[nodiscard]] const std::string &place() const {
        return place_;
    } // "/graphs/encode/layers/2"; empty: the whole file
    [[noreturn]] void fail(const std::string &message) const;

    // ---- Objects ----
    // Fails on a key that is not in the list, and suggests the nearest.
    void allow_keys(std::initializer_list<const char *> keys) const;
    [[nodiscard]] bool has(const char *key) const;
    [[nodiscard]] JsonValue at(const char *key) const;                            // fails if it is absent
    [[nodiscard]] std::vector<std::pair<std::string, JsonValue>> members() const; // sorted by key

    // ---- Arrays ----
    [[nodiscard]] std::vector<JsonValue> items() const;

    // ---- Scalars ----
    [[nodiscard]] bool is_null() const;
    [[nodiscard]] bool is_boolean() const;
    [[nodiscard]] bool is_number() const;
    [[nodiscard]] bool is_string() const;
    [[nodiscard]] bool boolean() const;
    [[nodiscard]] double number() const;
    [[nodiscard]] const std::string &string() const;
    [[nodiscard]] int64_t integer(int64_t lowest, int64_t highest) const; // both inclusive

    // "a number", "an object with 3 entries"
    [[nodiscard]] std::string description() const;

  private:
    void expect(bool right, const char *what) const;
    [[nodiscard]] JsonValue child(const nlohmann::json &value, std::string_view key) const;

    const nlohmann::json *value_;
    const std::string *file_;
    std::string place_;
};

class JsonDocument {
  public:
    // Refuses invalid UTF-8, a duplicate key in an object, values nested more than 64 deep, numbers beyond double, and
    // anything after the value. Every message begins with `file`.
    JsonDocument(std::string_view text, std::string file);
    ~JsonDocument();
    JsonDocument(const JsonDocument &) = delete;
    JsonDocument &operator=(const JsonDocument &) = delete;

    [[nodiscard]] JsonValue root() const { return {*value_, file_, ""}; }

  private:
    std::string file_;
    std::unique_ptr<const nlohmann::json> value_;
};

} // namespace lamina::model
