#include "schemas.hpp"

#include "fields.hpp"
#include "openapi_files.hpp" // made from openapi/

#include <algorithm>
#include <deque>
#include <stdexcept>
#include <utility>

namespace lamina::serve {
namespace {

// The value of a member, or null: JsonView::has() does not see members that are null.
const JsonView *member_called(const std::vector<JsonView> &members, std::string_view key) {
    const auto found = std::ranges::find_if(members, [&](const JsonView &each) { return each.key() == key; });
    return found == members.end() ? nullptr : &*found;
}

std::vector<JsonView> members_of(const JsonView &object) {
    std::vector<JsonView> out;
    for (const JsonView each : object.members()) out.push_back(each);
    return out;
}

bool is_closed(const JsonView &schema) {
    return schema.has("additionalProperties") && schema.at("additionalProperties").is_boolean() &&
           !schema.at("additionalProperties").boolean();
}

Json *find(Json &object, std::string_view key) {
    const auto *members = object.members();
    if (members == nullptr || std::ranges::count(*members, key, &Json::Member::key) == 0) return nullptr;
    return &object[key];
}

// As `schema`, or null.
Json or_null(Json schema) {
    if (find(schema, "$ref") != nullptr) return {{"anyOf", Json::array({std::move(schema), {{"type", "null"}}})}};
    if (Json *all = find(schema, "anyOf")) {
        all->push_back({{"type", "null"}});
        return schema;
    }
    if (Json *type = find(schema, "type"))
        if (type->items() == nullptr) *type = Json::array({Json(*type), Json("null")});
    if (Json *values = find(schema, "enum")) values->push_back(nullptr);
    return schema;
}

Json schema_of(const SamplingOption &option) {
    const auto number = [&](double value) {
        return option.is_whole() ? Json(static_cast<int64_t>(value)) : Json(value);
    };
    Json out{{"type", option.is_whole() ? "integer" : "number"}};
    if (option.ends_only) {
        out["enum"] = Json::array({number(option.least), number(option.most)});
        out["description"] = std::string(option.meaning);
        return out;
    }
    out[option.above ? "exclusiveMinimum" : "minimum"] = number(least_in_request(option));
    out["maximum"] = number(option.most);
    out["description"] = std::string(option.meaning);
    return out;
}

// What the files say, read once.
class Description {
  public:
    Description() {
        for (const TextFile &file : openapi_files) texts_.emplace_back(file.text, "openapi/" + std::string(file.name));
        for (const JsonText &text : texts_) {
            const JsonView root = text.root();
            if (root.has("groups"))
                for (const JsonView each : root.at("groups").members()) groups_.emplace(each.key(), each);
            if (root.has("operations"))
                for (const JsonView each : root.at("operations").members()) operations.emplace(each.key(), each);
        }
        for (const JsonText &text : texts_)
            for (const JsonView each : text.root().at("schemas").members())
                schemas[each.key()] = is_closed(each) ? closed(each) : copied(each);
    }

    Json schemas = Json::object();
    std::map<std::string, Fields, std::less<>> fields;
    std::map<std::string, JsonView, std::less<>> operations;

  private:
    // With the properties of its groups. What it requires has a name of its own, and is never null.
    Json closed(const JsonView &schema) {
        Fields &names = fields[std::string(schema.key())];
        std::vector<std::string> required;
        if (schema.has("required"))
            for (const JsonView each : schema.at("required").items()) required.emplace_back(each.string());
        Json properties = Json::object();
        const auto add = [&](const JsonView &property) {
            const bool nullable = !schema.has("x-form") && std::ranges::count(required, property.key()) == 0;
            properties[property.key()] = property_of(property, nullable, names);
        };
        for (const JsonView each : schema.at("properties").members()) add(each);
        if (schema.has("x-groups"))
            for (const JsonView group : schema.at("x-groups").items()) {
                if (group.string() != "Sampling") {
                    for (const JsonView each : groups_.at(std::string(group.string())).members()) add(each);
                    continue;
                }
                for (const SamplingOption &option : sampling_options) {
                    names.supported.emplace_back(option.name);
                    properties[option.name] = or_null(schema_of(option));
                }
            }
        Json out = Json::object();
        for (const JsonView each : schema.members())
            if (each.key() != "x-groups" && each.key() != "x-form" && each.key() != "properties")
                out[each.key()] = copied(each);
        out["properties"] = std::move(properties);
        return out;
    }

    static Json property_of(const JsonView &property, bool nullable, Fields &names) {
        const std::vector<JsonView> members = members_of(property);
        const std::string name(property.key());
        if (member_called(members, "x-ignored") != nullptr) {
            names.ignored.push_back(name);
            return {{"description", "Ignored: it never changes an answer."}};
        }
        if (const JsonView *only = member_called(members, "x-only")) {
            names.only.push_back({name, only->written()});
            Json values = Json::array({copied(*only)});
            if (!only->is_null() && nullable) values.push_back(nullptr);
            return {{"enum", std::move(values)}, {"description", "Supported only as it is by default."}};
        }
        names.supported.push_back(name);
        return nullable ? or_null(copied(property)) : copied(property);
    }

    std::deque<JsonText> texts_; // where the views look
    std::map<std::string, JsonView, std::less<>> groups_;
};

const Description &description() {
    static const Description out;
    return out;
}

} // namespace

const Fields &fields_of(std::string_view schema) {
    const auto found = description().fields.find(schema);
    if (found == description().fields.end())
        throw std::logic_error("no file in openapi/ has a closed schema " + std::string(schema));
    return found->second;
}

const Json &schemas() { return description().schemas; }

const std::map<std::string, JsonView, std::less<>> &operations() { return description().operations; }

} // namespace lamina::serve
