// The settings in a model's config.json. It keeps track of which keys have been read, because an unread key may change
// what the model computes: it is an error and never ignored.
#pragma once

#include "base/json_reader.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace lamina::architectures {

// An object in config.json. A key whose value is null counts as absent. All functions throw Error(input) with the file,
// the key, what was expected and what was found.
class Config {
  public:
    explicit Config(JsonView object);

    [[nodiscard]] bool has(std::string_view key) const;     // does not count as reading it
    [[nodiscard]] bool is_null(std::string_view key) const; // present, with the value null
    [[nodiscard]] int64_t integer(std::string_view key) const;
    [[nodiscard]] int64_t integer(std::string_view key, int64_t otherwise) const;
    [[nodiscard]] int64_t positive(std::string_view key) const;
    // A number of layers, limited so that a bad file cannot exhaust memory.
    [[nodiscard]] int64_t layers(std::string_view key) const;
    [[nodiscard]] double real(std::string_view key) const;
    [[nodiscard]] double real(std::string_view key, double otherwise) const;
    [[nodiscard]] bool flag(std::string_view key, bool otherwise) const;
    [[nodiscard]] std::string text(std::string_view key) const;
    [[nodiscard]] std::string text(std::string_view key, std::string_view otherwise) const;
    [[nodiscard]] std::vector<std::string> texts(std::string_view key) const;
    [[nodiscard]] std::vector<double> reals(std::string_view key) const;
    [[nodiscard]] std::optional<Config> object(std::string_view key) const; // none: absent
    // One id or a list of ids; empty if the key is absent.
    [[nodiscard]] std::vector<int32_t> ids(std::string_view key) const;

    // "layer_types": full_attention or sliding_attention for each layer; empty if the key is absent.
    [[nodiscard]] std::vector<std::string> layer_types(int64_t layers) const;
    // Lamina's name of the activation that the key gives: activation("hidden_act") -> "gelu_tanh".
    [[nodiscard]] std::string activation(std::string_view key, std::string_view otherwise = "") const;

    // Requires that the key is absent or has this value, the only one that is supported.
    void expect(std::string_view key, bool value) const;
    void expect(std::string_view key, double value) const;
    void expect(std::string_view key, const char *value) const;

    // Declares that these keys do not change what is computed.
    void ignore(std::initializer_list<const char *> keys) const;
    // Throws for any key that was neither read nor ignored, except those that every config.json may have.
    void finish() const;

    // The value itself, for keys that none of the functions above fits.
    [[nodiscard]] std::optional<JsonView> find(std::string_view key) const;

    [[noreturn]] void fail(std::string_view key, const std::string &message) const;

  private:
    JsonView object_;
    std::shared_ptr<std::set<std::string, std::less<>>> read_;

    [[nodiscard]] JsonView get(std::string_view key) const;
};

[[nodiscard]] bool has_file(const std::filesystem::path &file);
// Reads a text file of at most 16 MiB. Throws Error(input).
[[nodiscard]] std::string text_of(const std::filesystem::path &file);

} // namespace lamina::architectures
