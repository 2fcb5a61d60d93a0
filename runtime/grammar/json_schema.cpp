// JSON Schema, draft 2020-12 (json-schema.org/draft/2020-12), as rules.
#include "grammar/json.hpp"
#include "grammar/languages.hpp"
#include "grammar/schema.hpp"
#include "grammar/schema_limits.hpp"
#include "grammar/string_formats.hpp"

#include "base/json_reader.hpp"

#include <lamina/error.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

namespace lamina::grammar {
namespace {

using schema::All;
using schema::bounds_of;
using schema::Lengths;
using schema::lengths_of;
using schema::member;

// Keywords that would need more than a grammar.
constexpr std::array<std::string_view, 19> unsupported{"not",
                                                       "if",
                                                       "then",
                                                       "else",
                                                       "dependentSchemas",
                                                       "dependentRequired",
                                                       "dependencies",
                                                       "contains",
                                                       "minContains",
                                                       "maxContains",
                                                       "patternProperties",
                                                       "multipleOf",
                                                       "propertyNames",
                                                       "$dynamicRef",
                                                       "$anchor",
                                                       "$recursiveRef",
                                                       "unevaluatedProperties",
                                                       "unevaluatedItems",
                                                       "additionalItems"};

class Schema {
  public:
    Schema(std::string_view text, const std::string &name, Rules &rules)
        : text_(text, name), root_(text_.root()), rules_(rules), any_(json::add_any_value(rules)) {}

    Expression read() { return of(root_); }

  private:
    Expression of(const JsonView &schema) {
        Expressions ways;
        for (const All &all : schema::alternatives(root_, schema)) ways.push_back(once(all));
        return choice(std::move(ways));
    }

    // What holds other values becomes a rule, so that a schema may contain itself.
    Expression once(const All &all) {
        if ((schema::types_of(all) & (schema::object | schema::array)) == 0) return of_all(all);
        std::string places;
        for (const JsonView &schema : all) places += schema.place() + '\n';
        const auto [known, added] = numbers_.try_emplace(places, static_cast<uint32_t>(rules_.expressions.size()));
        const uint32_t number = known->second;
        if (added) {
            (void)rules_.add("schema " + all.front().place());
            Expression body = of_all(all); // adds rules
            rules_.expressions[number] = std::move(body);
        }
        return rule(number);
    }

    static void expect_supported(const JsonView &schema) {
        if (schema.is_boolean()) return;
        for (const JsonView part : schema.members()) {
            if (std::ranges::count(unsupported, part.key()) != 0) part.fail("this keyword is not supported");
            if (part.key() == "uniqueItems" && part.boolean()) part.fail("this keyword is not supported");
        }
    }

    Expression of_all(const All &all) {
        for (const JsonView &schema : all) expect_supported(schema);
        const unsigned types = schema::types_of(all);
        if (const auto values = schema::values_of(all)) return of_values(all, *values, types);
        if (types == schema::every && std::ranges::all_of(all, says_nothing)) return rule(any_.value);
        Expressions ways;
        if ((types & schema::object) != 0) ways.push_back(object_of(all));
        if ((types & schema::array) != 0) ways.push_back(list_of(all));
        if ((types & schema::string) != 0) ways.push_back(string_of(all));
        if ((types & schema::fraction) != 0)
            ways.push_back(json::number(bounds_of(all)));
        else if ((types & schema::integer) != 0)
            ways.push_back(json::integer(bounds_of(all)));
        if ((types & schema::boolean) != 0) ways.push_back(choice({text("true"), text("false")}));
        if ((types & schema::null) != 0) ways.push_back(text("null"));
        return choice(std::move(ways));
    }

    // Keywords that hold for some type.
    static constexpr std::array<std::string_view, 18> asserting{"type",
                                                                "properties",
                                                                "required",
                                                                "additionalProperties",
                                                                "minProperties",
                                                                "maxProperties",
                                                                "items",
                                                                "prefixItems",
                                                                "minItems",
                                                                "maxItems",
                                                                "minLength",
                                                                "maxLength",
                                                                "pattern",
                                                                "format",
                                                                "minimum",
                                                                "maximum",
                                                                "exclusiveMinimum",
                                                                "exclusiveMaximum"};
    static bool says_nothing(const JsonView &schema) {
        return schema.is_boolean() ||
               std::ranges::none_of(asserting, [&](std::string_view key) { return member(schema, key).has_value(); });
    }

    static Expression of_values(const All &all, const std::vector<JsonView> &values, unsigned types) {
        for (const JsonView &schema : all)
            for (const std::string_view key : asserting)
                if (const auto beside = schema.is_boolean() || key == "type" ? std::nullopt : member(schema, key))
                    beside->fail("beside \"const\" and \"enum\", this keyword is not supported");
        Expressions ways;
        for (const JsonView &value : values)
            if ((schema::type_of(value) & types) != 0) ways.push_back(text(value.written()));
        return choice(std::move(ways));
    }

    static Expression string_of(const All &all) {
        const Lengths lengths = lengths_of(all, "minLength", "maxLength");
        std::optional<Expression> said;
        for (const JsonView &schema : all) {
            if (schema.is_boolean()) continue;
            for (const JsonView part : schema.members()) {
                std::optional<Expression> here;
                if (part.key() == "pattern") {
                    try {
                        here = json::escaped(read_regex(part.string(), "", Match::part));
                    } catch (const Error &e) {
                        part.fail(std::string(e.what()).substr(2));
                    }
                } else if (part.key() == "format") {
                    here = string_format(part.string());
                }
                if (!here) continue;
                if (said) part.fail("beside another \"pattern\" or \"format\", this keyword is not supported");
                if (!lengths.any()) part.fail("beside \"minLength\" or \"maxLength\", this keyword is not supported");
                said = std::move(here);
            }
        }
        if (said) return json::quoted(std::move(*said));
        if (lengths.most < lengths.least) return choice({});
        return json::quoted(repeat(json::any_character(), lengths.least, lengths.most));
    }

    // Of the item at a place: what all schemas say of it. Nothing: there is none.
    std::optional<Expression> item_of(const All &all, size_t place) {
        std::vector<JsonView> these;
        for (const JsonView &schema : all) {
            if (schema.is_boolean()) continue;
            const auto first = member(schema, "prefixItems");
            const auto rest = member(schema, "items");
            if (rest && rest->is_list())
                rest->fail("expected one schema, found " + rest->description() + "; \"prefixItems\" has several");
            if (first && place < first->items().size())
                these.push_back(first->at(place));
            else if (rest)
                these.push_back(*rest);
        }
        return of_both(these);
    }

    // What all of these say of a value; nothing: no value is so.
    std::optional<Expression> of_both(const std::vector<JsonView> &these) {
        if (these.empty()) return rule(any_.value);
        if (these.size() > 1)
            these[1].fail("said in two schemas that both hold, which is not supported; write one schema");
        if (these.front().is_boolean() && !these.front().boolean()) return std::nullopt;
        return of(these.front());
    }

    Expression list_of(const All &all) {
        const Lengths lengths = lengths_of(all, "minItems", "maxItems");
        size_t first = 0; // items with schemas of their own
        for (const JsonView &schema : all)
            if (const auto items = schema.is_boolean() ? std::nullopt : member(schema, "prefixItems"))
                first = std::max(first, items->items().size());
        const std::optional<Expression> rest = item_of(all, first);
        const size_t most = rest ? lengths.most : std::min<size_t>(lengths.most, first);
        if (most < lengths.least) return choice({});
        // From the last item to the first: the items that follow so many.
        Expression after = text("");
        if (rest && most > first) {
            const uint32_t least = lengths.least > first ? lengths.least - static_cast<uint32_t>(first) : 0;
            const uint32_t left = most == any_number ? any_number : static_cast<uint32_t>(most - first);
            if (first > 0) {
                after = repeat(sequence({json::comma(), *rest}), least, left);
            } else {
                after = sequence({*rest, repeat(sequence({json::comma(), *rest}), std::max<uint32_t>(least, 1) - 1,
                                                left == any_number ? any_number : left - 1)});
            }
        }
        for (size_t i = std::min(first, most); i-- > 0;) {
            const std::optional<Expression> item = item_of(all, i);
            if (!item) {
                after = choice({});
            } else {
                after = sequence({i > 0 ? json::comma() : text(""), *item, std::move(after)});
            }
            if (i >= lengths.least && i > 0) after = optional(std::move(after));
        }
        Expressions ways;
        if (lengths.least == 0) ways.push_back(text("[]"));
        if (most > 0) ways.push_back(json::enclosed("[", std::move(after), "]"));
        return choice(std::move(ways));
    }

    // ---- Objects ----
    struct Property {
        std::string name;
        std::vector<JsonView> schemas{};
        bool required = false;
    };

    // In the order in which schemas name them.
    static std::vector<Property> properties_of(const All &all) {
        std::vector<Property> out;
        const auto named = [&](std::string_view name) -> Property & {
            const auto known = std::ranges::find(out, name, &Property::name);
            return known != out.end() ? *known : out.emplace_back(Property{std::string(name)});
        };
        for (const JsonView &schema : all)
            if (const auto properties = schema.is_boolean() ? std::nullopt : member(schema, "properties"))
                for (const JsonView each : properties->members()) named(each.key()).schemas.push_back(each);
        for (const JsonView &schema : all)
            if (const auto required = schema.is_boolean() ? std::nullopt : member(schema, "required"))
                for (const JsonView each : required->items()) named(each.string()).required = true;
        return out;
    }

    // What "additionalProperties" says. Where properties are named and nothing is said of others, there are none.
    std::optional<Expression> additional_of(const All &all, bool named) {
        std::vector<JsonView> said;
        for (const JsonView &schema : all)
            if (const auto others = schema.is_boolean() ? std::nullopt : member(schema, "additionalProperties")) {
                const auto here = member(schema, "properties");
                const bool all_here = std::ranges::all_of(all, [&](const JsonView &other) {
                    return other.is_boolean() || other.place() == schema.place() || !member(other, "properties");
                });
                if (named && !all_here && !(others->is_boolean() && others->boolean()))
                    others->fail("with properties of other schemas that hold, too, this keyword is not supported" +
                                 std::string(here ? "" : "; name them here"));
                said.push_back(*others);
            }
        if (said.empty() && named) return std::nullopt;
        return of_both(said);
    }

    Expression object_of(const All &all) {
        const std::vector<Property> properties = properties_of(all);
        const Lengths lengths = lengths_of(all, "minProperties", "maxProperties");
        const std::optional<Expression> additional = additional_of(all, !properties.empty());
        if (properties.empty()) return object_of_any(additional, lengths);
        expect_lengths(all, properties, additional.has_value(), lengths);
        std::vector<std::string> names;
        for (const Property &p : properties) names.push_back(p.name);
        const auto pair = [&](const Expression &key, const Expression &value) {
            return sequence({json::quoted(key), text(":"), optional(text(" ")), value});
        };
        // From the last to the first: what follows a property, and what follows the brace.
        Expression after = text(""), first = choice({});
        bool may_be_empty = true;
        if (additional) {
            const uint32_t other = rules_.add("additional property", pair(json::none_of(names), *additional));
            const uint32_t more =
                rules_.add("additional properties", repeat(sequence({json::comma(), rule(other)}), 0));
            after = rule(more);
            first = sequence({rule(other), rule(more)});
        }
        for (size_t i = properties.size(); i-- > 0;) {
            const Property &p = properties[i];
            const std::optional<Expression> value = p.schemas.empty() ? undeclared(additional) : of_both(p.schemas);
            if (!value) { // it must be absent
                if (p.required) return choice({});
                continue;
            }
            const uint32_t here = rules_.add("property " + p.name, pair(json::escaped(text(p.name)), *value));
            Expression with = sequence({rule(here), after});
            const uint32_t next = rules_.add("properties after " + p.name,
                                             sequence({p.required ? sequence({json::comma(), rule(here)})
                                                                  : optional(sequence({json::comma(), rule(here)})),
                                                       after}));
            first = p.required ? std::move(with) : choice({std::move(with), std::move(first)});
            after = rule(next);
            may_be_empty = may_be_empty && !p.required;
            const uint32_t begun = rules_.add("properties from " + p.name, std::move(first));
            first = rule(begun);
        }
        Expressions ways{json::enclosed("{", std::move(first), "}")};
        if (may_be_empty) ways.push_back(text("{}"));
        return choice(std::move(ways));
    }

    // Of a property that is required and that no schema describes.
    [[nodiscard]] std::optional<Expression> undeclared(const std::optional<Expression> &additional) const {
        return additional ? additional : std::optional(rule(any_.value));
    }

    Expression object_of_any(const std::optional<Expression> &value, const Lengths &lengths) {
        if (!value || lengths.most == 0) return lengths.least == 0 ? text("{}") : choice({});
        if (lengths.least > 1)
            root_.fail("\"minProperties\" above 1 is supported where the properties are named alone");
        const Expression pair =
            sequence({json::quoted(repeat(json::any_character(), 0)), text(":"), optional(text(" ")), *value});
        const uint32_t more = lengths.most == any_number ? any_number : lengths.most - 1;
        Expressions ways{json::enclosed("{", sequence({pair, repeat(sequence({json::comma(), pair}), 0, more)}), "}")};
        if (lengths.least == 0) ways.push_back(text("{}"));
        return choice(std::move(ways));
    }

    // Supported where they follow from what is required and named.
    static void expect_lengths(const All &all, const std::vector<Property> &properties, bool additional,
                               const Lengths &lengths) {
        const auto required = static_cast<uint32_t>(std::ranges::count(properties, true, &Property::required));
        for (const JsonView &schema : all) {
            if (schema.is_boolean()) continue;
            const auto least = member(schema, "minProperties"), most = member(schema, "maxProperties");
            if (least && lengths.least > required)
                least->fail("above the number of required properties, this is not supported");
            if (most && (additional || lengths.most < properties.size()))
                most->fail("below the number of properties, this is not supported");
        }
    }

    JsonText text_;
    JsonView root_;
    Rules &rules_;
    json::AnyValue any_;
    std::map<std::string, uint32_t> numbers_; // of rules, by the places of their schemas
};

} // namespace

Expression add_json_schema(Rules &rules, std::string_view schema, const std::string &name) {
    return Schema(schema, name, rules).read();
}

Expression add_json_object(Rules &rules) { return rule(json::add_any_value(rules).object); }

} // namespace lamina::grammar
