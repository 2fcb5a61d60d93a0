// The settings of a model, as config.json has them. What was read is remembered: a setting that nothing read and that
// may change what is computed is an error, never ignored.
#pragma once

#include "model/json.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace lamina::architectures {

// An object of config.json. A key that holds null counts as absent. All functions throw Error(input): file, key, what
// was expected and found.
class Config {
  public:
    explicit Config(const model::JsonValue &object);

    [[nodiscard]] bool has(std::string_view key) const;     // does not count as reading it
    [[nodiscard]] bool is_null(std::string_view key) const; // it is there, and null
    [[nodiscard]] int64_t integer(std::string_view key) const;
    [[nodiscard]] int64_t integer(std::string_view key, int64_t otherwise) const;
    [[nodiscard]] int64_t positive(std::string_view key) const;
    // A number of layers: not so many that their names alone would fill the memory.
    [[nodiscard]] int64_t layers(std::string_view key) const;
    [[nodiscard]] double real(std::string_view key) const;
    [[nodiscard]] double real(std::string_view key, double otherwise) const;
    [[nodiscard]] bool flag(std::string_view key, bool otherwise) const;
    [[nodiscard]] std::string text(std::string_view key) const;
    [[nodiscard]] std::string text(std::string_view key, std::string_view otherwise) const;
    [[nodiscard]] std::vector<std::string> texts(std::string_view key) const;
    [[nodiscard]] std::vector<double> reals(std::string_view key) const;
    [[nodiscard]] std::optional<Config> object(std::string_view key) const; // none: absent
    // One id, or a list of them; empty where the key is absent.
    [[nodiscard]] std::vector<int32_t> ids(std::string_view key) const;

    // "layer_types": full_attention or sliding_attention for each layer; empty where it is absent.
    [[nodiscard]] std::vector<std::string> layer_types(int64_t layers) const;
    // The key as one of the names that Lamina has for it: activation(config, "hidden_act") -> "gelu_tanh".
    [[nodiscard]] std::string activation(std::string_view key, std::string_view otherwise = "") const;

    // Absent, or just this: anything else is not supported.
    void expect(std::string_view key, bool value) const;
    void expect(std::string_view key, double value) const;
    void expect(std::string_view key, const char *value) const;

    // These keys change nothing that is computed.
    void ignore(std::initializer_list<const char *> keys) const;
    // Refuses a key that was neither read nor ignored, and that is none of those that every config.json may have.
    void finish() const;

    // The value itself, for a key of a form of its own.
    [[nodiscard]] std::optional<model::JsonValue> find(std::string_view key) const;

    [[noreturn]] void fail(std::string_view key, const std::string &message) const;

  private:
    model::JsonValue object_;
    std::shared_ptr<std::set<std::string, std::less<>>> read_;

    [[nodiscard]] model::JsonValue get(std::string_view key) const;
};

[[nodiscard]] bool has_file(const std::filesystem::path &file);
// The text of a JSON file of settings. Throws Error(input).
[[nodiscard]] std::string text_of(const std::filesystem::path &file);

} // namespace lamina::architectures
