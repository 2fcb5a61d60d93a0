#include "grammar/schema_limits.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace lamina::grammar::schema {
namespace {

constexpr size_t most_length = 1 << 16; // of texts and lists that have a length

} // namespace

Lengths lengths_of(const All &all, std::string_view least, std::string_view most) {
    Lengths out;
    for (const JsonView &schema : all) {
        if (schema.is_boolean()) continue;
        const auto read = [&](std::string_view key) {
            const auto value = member(schema, key);
            return value ? std::optional(static_cast<uint32_t>(value->integer(0, most_length))) : std::nullopt;
        };
        out.least = std::max(out.least, read(least).value_or(0));
        out.most = std::min(out.most, read(most).value_or(any_number));
    }
    return out;
}

json::Bounds bounds_of(const All &all) {
    json::Bounds out;
    const auto read = [](const JsonView &schema, const char *key, bool included, auto &&take) {
        const auto value = member(schema, key);
        if (!value) return;
        const double number = value->number();
        if (std::abs(number) > json::largest_bound) value->fail("expected at most 1e15, found " + value->description());
        take(json::Bound{number, included});
    };
    const auto narrow = [](std::optional<json::Bound> &known, const json::Bound &bound, double sign) {
        const bool closer =
            !known || sign * bound.value > sign * known->value || (bound.value == known->value && !bound.included);
        if (closer) known = bound;
    };
    for (const JsonView &schema : all) {
        if (schema.is_boolean()) continue;
        const auto least = [&](const json::Bound &b) { narrow(out.least, b, 1); };
        const auto most = [&](const json::Bound &b) { narrow(out.most, b, -1); };
        read(schema, "minimum", true, least);
        read(schema, "exclusiveMinimum", false, least);
        read(schema, "maximum", true, most);
        read(schema, "exclusiveMaximum", false, most);
    }
    return out;
}

} // namespace lamina::grammar::schema
