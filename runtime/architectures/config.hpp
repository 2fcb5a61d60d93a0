// The settings in a model's config.json. It keeps track of which keys have been read: transformers reads some that an
// architecture may not support, and these must not be ignored.
#pragma once

#include "architectures/config_keys.hpp"
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

// An object in config.json. The keys that transformers reads have names and defaults in the table: a key that is absent
// has its default, and aliases are other names for a key ("hidden_size" for "n_embd"). A null stands for no value where
// transformers accepts it. Without a table, a null counts as absent. All functions throw Error(input) with the file,
// the key, what was expected and what was found.
class Config {
  public:
    explicit Config(JsonView object,
                    const ConfigKeys *keys = nullptr); // keys: null: any key is read, without a default
    // A whole config.json. Its "model_type" says which keys it may have, and which types of values they take.
    [[nodiscard]] static Config of_model(JsonView root);
    // An object within this one.
    [[nodiscard]] Config within(JsonView object, const ConfigKeys *keys) const;

    // Whether transformers reads the key for this model_type; true without a table. If not, its value must not be used.
    [[nodiscard]] bool reads(std::string_view key) const;
    // "model_type", or Lamina's name for a type whose published files call themselves another: they bring code of their
    // own.
    [[nodiscard]] std::string model_type() const;
    [[nodiscard]] bool has(std::string_view key) const;     // in the file, and not null; does not count as reading it
    [[nodiscard]] bool is_null(std::string_view key) const; // in the file, with the value null
    [[nodiscard]] bool states(std::string_view key) const;  // in the file
    [[nodiscard]] int64_t integer(std::string_view key) const;
    [[nodiscard]] int64_t integer(std::string_view key, int64_t otherwise) const; // if there is no value, nor a default
    [[nodiscard]] std::optional<int64_t> optional_integer(std::string_view key) const;
    [[nodiscard]] int64_t positive(std::string_view key) const;
    // A number of layers, limited so that a bad file cannot exhaust memory.
    [[nodiscard]] int64_t layers(std::string_view key) const;
    [[nodiscard]] double real(std::string_view key) const;
    [[nodiscard]] double real(std::string_view key, double otherwise) const;
    [[nodiscard]] std::optional<double> optional_real(std::string_view key) const;
    [[nodiscard]] bool flag(std::string_view key) const; // null, as a value or a default: false
    [[nodiscard]] bool flag(std::string_view key, bool otherwise) const;
    [[nodiscard]] std::string text(std::string_view key) const;
    [[nodiscard]] std::string text(std::string_view key, std::string_view otherwise) const;
    [[nodiscard]] std::vector<std::string> texts(std::string_view key) const;
    [[nodiscard]] std::vector<double> reals(std::string_view key) const;
    [[nodiscard]] std::optional<Config> object(std::string_view key) const; // without a table
    // The settings of a part of the model, in an object of its own with the keys of this model_type.
    [[nodiscard]] Config part(std::string_view key, std::string_view model_type) const;
    [[nodiscard]] Config as(std::string_view model_type) const; // the same object with the keys of another
    // One id or a list of ids; empty if the key is absent.
    [[nodiscard]] std::vector<int32_t> ids(std::string_view key) const;

    // "layer_types": full_attention or sliding_attention for each layer; empty if the key is absent.
    [[nodiscard]] std::vector<std::string> layer_types(int64_t layers) const;
    // Lamina's name of the activation that the key gives: activation("hidden_act") -> "gelu_tanh".
    [[nodiscard]] std::string activation(std::string_view key) const;
    [[nodiscard]] std::string activation_named(std::string_view key, std::string_view name) const; // found at the key

    // Requires that the key is absent or has this value, the only one that is supported.
    void expect(std::string_view key, bool value) const;
    void expect(std::string_view key, double value) const;
    void expect(std::string_view key, const char *value) const;

    // Declares that these keys do not change what is computed.
    void ignore(std::initializer_list<const char *> keys) const;
    // The same for a key that transformers reads for other models of this type; ignored() lists it.
    void ignore_here(const char *key) const;
    // A key that was not read must have its default if transformers reads it. All other keys cannot change a number.
    // Without a table, throws for any key that was neither read nor ignored.
    void finish() const;
    // The places of keys that change nothing ("/directionality"), here and in all objects within. Without those about
    // training and the like, which every config.json has.
    [[nodiscard]] const std::vector<std::string> &ignored() const { return *ignored_; }

    // All of it, for readers that say themselves what they read.
    [[nodiscard]] JsonView view() const { return object_; }
    // The value itself, for keys that none of the functions above fits. None: null, or neither given nor a default.
    [[nodiscard]] std::optional<JsonView> find(std::string_view key) const;

    [[noreturn]] void fail(std::string_view key, const std::string &message) const;

  private:
    JsonView object_;
    const ConfigKeys *keys_;
    std::shared_ptr<std::set<std::string, std::less<>>> read_; // without aliases
    std::shared_ptr<std::vector<std::string>> ignored_;

    [[nodiscard]] std::string_view name(std::string_view key) const;
    [[nodiscard]] std::optional<JsonView> given(std::string_view key) const;
    [[nodiscard]] JsonView get(std::string_view key) const;
    void expect_types() const;
    [[noreturn]] void refuse_null(JsonView value) const;
    void expect_default(JsonView value, JsonView wanted) const;
};

[[nodiscard]] bool has_file(const std::filesystem::path &file);
// Reads a text file of at most 16 MiB. Throws Error(input).
[[nodiscard]] std::string text_of(const std::filesystem::path &file);
// The text with the greatest number for infinity, which JSON does not have: Python writes Infinity, and transformers 5
// writes {"__float__": "Infinity"}.
[[nodiscard]] std::string with_finite_numbers(std::string_view json);

} // namespace lamina::architectures
