// Which keys of config.json transformers reads, their defaults, and which types of values it takes. config_keys.json
// has them for every model_type, and tools/config_keys.py makes it from the source of transformers.
#pragma once

#include "base/json_reader.hpp"

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace lamina::architectures {

extern const std::string_view config_keys_table; // config_keys.json

class ConfigKeys {
  public:
    struct Key {
        JsonView value; // the default; null: none
        bool nullable;  // whether the value may be null, which is then not the same as no value
    };

    // The type of a key's values, as transformers checks it when it reads a file: alternatives with "|" between them,
    // each of them int, float (a number with a point or an exponent), bool, str, null, a text in quotes, list[TYPE] or
    // dict[TYPE].
    class Type {
      public:
        explicit Type(std::string_view text) : text_(text) {}
        [[nodiscard]] bool takes(JsonView value) const;
        // The first entry of a list because of which it is not taken; nothing if there is none, or it is no list.
        [[nodiscard]] std::optional<JsonView> wrong_entry(JsonView value) const;
        [[nodiscard]] std::string description() const; // "an integer or null"

      private:
        std::string_view text_;
    };

    // Those of a model_type; null for one that the table does not have.
    [[nodiscard]] static const ConfigKeys *of_model(std::string_view model_type);
    // Those of the object "rope_parameters" with this "rope_type"; null likewise.
    [[nodiscard]] static const ConfigKeys *of_rope(std::string_view rope_type);
    // "transformers 5.23.0"
    [[nodiscard]] static std::string_view release();

    explicit ConfigKeys(JsonView keys);
    ConfigKeys(JsonView keys, JsonView aliases, JsonView types);

    [[nodiscard]] const Key *find(std::string_view key) const;       // null: the key is not read
    [[nodiscard]] const Type *type(std::string_view key) const;      // null: it may have any value, as aliases may
    [[nodiscard]] std::string_view name(std::string_view key) const; // without aliases
    [[nodiscard]] size_t size() const { return keys_.size(); }
    [[nodiscard]] static bool is_harmless(std::string_view key); // read, but changes no number
    [[nodiscard]] static bool
    is_harmless_anywhere(std::string_view key); // the same of a model that is not in the table

  private:
    std::map<std::string, Key, std::less<>> keys_;
    std::map<std::string_view, std::string_view> aliases_;
    std::map<std::string_view, Type> types_;
};

} // namespace lamina::architectures
