// Schemas as sets of schemas that all hold, of which there may be several alternatives.
#pragma once

#include "base/json_reader.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lamina::grammar::schema {

// A member of an object, null or not.
[[nodiscard]] std::optional<JsonView> member(const JsonView &object, std::string_view key);

// Schemas, each of which holds; only keywords other than "$ref", "allOf", "anyOf" and "oneOf" count.
using All = std::vector<JsonView>;

// What a schema means, with these keywords resolved: one of the results holds. Fails where a reference leads nowhere,
// where schemas of "oneOf" may both hold, and where there are too many.
[[nodiscard]] std::vector<All> alternatives(const JsonView &root, const JsonView &schema);

// ---- Of keywords that all of the schemas have together ----
enum Type : unsigned {
    null = 1,
    boolean = 2,
    integer = 4,
    fraction = 8, // numbers that are no integers
    string = 16,
    array = 32,
    object = 64,
    every = 127
};
// The types that are allowed, and whether a schema says them.
[[nodiscard]] unsigned types_of(const All &all);
// The values of "enum" and "const" that are in all of them; none: there are no such keywords.
[[nodiscard]] std::optional<std::vector<JsonView>> values_of(const All &all);
[[nodiscard]] unsigned type_of(const JsonView &value);

// Whether no value can be of both.
[[nodiscard]] bool are_disjoint(const All &x, const All &y);

} // namespace lamina::grammar::schema
