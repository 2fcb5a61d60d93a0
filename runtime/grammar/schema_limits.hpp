// Keywords of schemas that hold a length or a bound.
#pragma once

#include "grammar/json.hpp"
#include "grammar/schema.hpp"

#include <cstdint>
#include <string_view>

namespace lamina::grammar::schema {

// Two keywords such as "minLength" and "maxLength": of all schemas, the narrowest.
struct Lengths {
    uint32_t least = 0, most = any_number;
    [[nodiscard]] bool any() const { return least == 0 && most == any_number; }
};
[[nodiscard]] Lengths lengths_of(const All &all, std::string_view least, std::string_view most);

// "minimum", "maximum", "exclusiveMinimum" and "exclusiveMaximum": likewise.
[[nodiscard]] json::Bounds bounds_of(const All &all);

} // namespace lamina::grammar::schema
