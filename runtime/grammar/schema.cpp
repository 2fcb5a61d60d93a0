#include "grammar/schema.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

namespace lamina::grammar::schema {
namespace {

constexpr size_t most_alternatives = 1000;

constexpr std::array<std::pair<std::string_view, unsigned>, 7> types{{{"null", null},
                                                                      {"boolean", boolean},
                                                                      {"integer", integer},
                                                                      {"number", integer | fraction},
                                                                      {"string", string},
                                                                      {"array", array},
                                                                      {"object", object}}};

unsigned type_named(const JsonView &name) {
    for (const auto &[known, type] : types)
        if (name.string() == known) return type;
    name.fail("expected null, boolean, integer, number, string, array or object, found " + name.description());
}

// A part of a JSON pointer (RFC 6901).
std::string unescaped(const JsonView &reference, std::string_view part) {
    std::string out;
    for (size_t i = 0; i < part.size(); ++i) {
        const std::string_view two = part.substr(i, 2);
        if (part[i] == '%') reference.fail("'%' is not supported; expected the characters themselves");
        out += two == "~0" ? '~' : two == "~1" ? '/' : part[i];
        i += two == "~0" || two == "~1" ? 1 : 0;
    }
    return out;
}

JsonView target_of(const JsonView &root, const JsonView &reference) {
    const std::string_view text = reference.string();
    if (!text.starts_with('#') || (text.size() > 1 && text[1] != '/'))
        reference.fail("only places in the schema itself are supported, such as \"#/$defs/NAME\", found " +
                       reference.description());
    JsonView at = root;
    for (size_t from = 1; from < text.size();) {
        const size_t end = std::min(text.find('/', from + 1), text.size());
        const std::string part = unescaped(reference, text.substr(from + 1, end - from - 1));
        std::optional<JsonView> next;
        if (at.is_object()) {
            next = member(at, part);
        } else if (at.is_list() && !part.empty() && part.size() < 6 &&
                   part.find_first_not_of("0123456789") == std::string::npos) {
            const auto index = static_cast<size_t>(std::stoul(part));
            if (index < at.items().size()) next = at.at(index);
        }
        if (!next) reference.fail("there is no such place in the schema, found " + reference.description());
        at = *next;
        from = end;
    }
    return at;
}

class Resolver {
  public:
    explicit Resolver(const JsonView &root) : root_(root) {}

    std::vector<All> of(const JsonView &schema) {
        if (schema.is_boolean()) return {{schema}};
        if (!schema.is_object())
            schema.fail("expected a schema, an object or a boolean, found " + schema.description());
        std::vector<All> out{{schema}};
        for (const JsonView part : schema.members()) {
            const std::string_view key = part.key();
            if (key == "$ref") {
                const JsonView target = target_of(root_, part);
                if (!open_.insert(target.place()).second) part.fail("refers to itself without an end");
                out = product(part, out, of(target));
                open_.erase(target.place());
            } else if (key == "allOf") {
                for (const JsonView each : part.items()) out = product(each, out, of(each));
            } else if (key == "anyOf" || key == "oneOf") {
                std::vector<std::vector<All>> ways;
                for (const JsonView each : part.items()) ways.push_back(of(each));
                if (ways.empty()) part.fail("expected at least one schema");
                if (key == "oneOf") expect_disjoint(part, ways);
                std::vector<All> any;
                for (std::vector<All> &way : ways) std::ranges::move(way, std::back_inserter(any));
                out = product(part, out, any);
            }
        }
        return out;
    }

  private:
    static std::vector<All> product(const JsonView &place, const std::vector<All> &x, const std::vector<All> &y) {
        if (x.size() * y.size() > most_alternatives)
            place.fail("expected at most " + std::to_string(most_alternatives) + " combinations of schemas");
        std::vector<All> out;
        for (const All &a : x)
            for (const All &b : y) {
                out.push_back(a);
                for (const JsonView &each : b)
                    if (std::ranges::none_of(a, [&](const JsonView &o) { return o.place() == each.place(); }))
                        out.back().push_back(each);
            }
        return out;
    }

    void expect_disjoint(const JsonView &place, const std::vector<std::vector<All>> &ways) const {
        for (size_t i = 0; i < ways.size(); ++i)
            for (size_t k = i + 1; k < ways.size(); ++k)
                for (const All &x : ways[i])
                    for (const All &y : ways[k])
                        if (!are_disjoint(x, y))
                            place.fail("a value may be of its schemas " + std::to_string(i) + " and " +
                                       std::to_string(k) + " both; expected schemas that differ in their types, " +
                                       "in \"const\", or in that of a required property; or \"anyOf\"");
    }

    JsonView root_;
    std::set<std::string> open_; // references that are being resolved
};

bool is_required(const All &all, std::string_view name) {
    return std::ranges::any_of(all, [&](const JsonView &schema) {
        if (!schema.is_object()) return false;
        const auto required = member(schema, "required");
        if (!required) return false;
        for (const JsonView each : required->items())
            if (each.string() == name) return true;
        return false;
    });
}

} // namespace

std::optional<JsonView> member(const JsonView &object, std::string_view key) {
    for (const JsonView each : object.members())
        if (each.key() == key) return each;
    return std::nullopt;
}

std::vector<All> alternatives(const JsonView &root, const JsonView &schema) { return Resolver(root).of(schema); }

unsigned types_of(const All &all) {
    unsigned out = every;
    for (const JsonView &schema : all) {
        if (schema.is_boolean()) {
            out &= schema.boolean() ? every : 0u;
            continue;
        }
        const auto said = member(schema, "type");
        if (!said) continue;
        unsigned here = 0;
        if (said->is_list())
            for (const JsonView each : said->items()) here |= type_named(each);
        else
            here = type_named(*said);
        out &= here;
    }
    return out;
}

std::optional<std::vector<JsonView>> values_of(const All &all) {
    std::optional<std::vector<JsonView>> out;
    for (const JsonView &schema : all) {
        if (schema.is_boolean()) continue;
        for (const JsonView part : schema.members()) {
            if (part.key() != "enum" && part.key() != "const") continue;
            std::vector<JsonView> values;
            if (part.key() == "const")
                values.push_back(part);
            else
                for (const JsonView each : part.items()) values.push_back(each);
            if (out)
                std::erase_if(values, [&](const JsonView &v) {
                    return std::ranges::none_of(*out, [&](const JsonView &o) { return o.written() == v.written(); });
                });
            out = std::move(values);
        }
    }
    return out;
}

unsigned type_of(const JsonView &value) {
    if (value.is_null()) return null;
    if (value.is_boolean()) return boolean;
    if (value.is_string()) return string;
    if (value.is_list()) return array;
    if (value.is_object()) return object;
    return value.number() == std::floor(value.number()) ? integer : fraction;
}

bool are_disjoint(const All &x, const All &y) {
    if ((types_of(x) & types_of(y)) == 0) return true;
    All both = x;
    both.insert(both.end(), y.begin(), y.end());
    if (values_of(x) && values_of(y)) return values_of(both)->empty();
    if ((types_of(x) & types_of(y)) != object) return false;
    // A property that both require, of different values: what discriminated unions have.
    for (const JsonView &schema : x) {
        const auto properties = schema.is_object() ? member(schema, "properties") : std::nullopt;
        if (!properties) continue;
        for (const JsonView mine : properties->members()) {
            if (!is_required(x, mine.key()) || !is_required(y, mine.key())) continue;
            for (const JsonView &other : y) {
                const auto theirs = other.is_object() ? member(other, "properties") : std::nullopt;
                const auto property = theirs ? member(*theirs, mine.key()) : std::nullopt;
                if (!property || mine.is_boolean() || property->is_boolean()) continue;
                const All a{mine}, b{*property};
                const bool plain = !mine.has("$ref") && !property->has("$ref");
                if (plain && (member(mine, "const") || member(mine, "enum")) &&
                    (member(*property, "const") || member(*property, "enum")) && are_disjoint(a, b))
                    return true;
            }
        }
    }
    return false;
}

} // namespace lamina::grammar::schema
