#include "architectures/config_keys.hpp"

#include <lamina/error.hpp>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace lamina::architectures {
namespace {

JsonView table() {
    static const JsonText text(config_keys_table, "config_keys.json");
    return text.root();
}

using ByName = std::map<std::string_view, ConfigKeys>;

const ConfigKeys *found(const ByName &all, std::string_view name) {
    const auto at = all.find(name);
    return at == all.end() ? nullptr : &at->second;
}

// "int" and "list[int]" of "int | list[int]".
std::vector<std::string_view> alternatives(std::string_view type) {
    constexpr std::string_view between = " | ";
    std::vector<std::string_view> out;
    for (size_t end = 0; end != std::string_view::npos;) {
        end = type.find(between);
        out.push_back(type.substr(0, end));
        if (end != std::string_view::npos) type.remove_prefix(end + between.size());
    }
    return out;
}

// A type that is not a list of another.
struct Plain {
    std::string_view name, description;
    bool (*takes)(JsonView);
};
constexpr std::array plain_types{
    Plain{"int", "an integer", [](JsonView v) { return v.is_integer(); }},
    Plain{"float", "a number with a decimal point", [](JsonView v) { return v.is_number() && !v.is_integer(); }},
    Plain{"bool", "true or false", [](JsonView v) { return v.is_boolean(); }},
    Plain{"str", "a string", [](JsonView v) { return v.is_string(); }},
    Plain{"null", "null", [](JsonView v) { return v.is_null(); }},
    Plain{"list", "a list", [](JsonView v) { return v.is_list(); }},
    Plain{"dict", "an object", [](JsonView v) { return v.is_object(); }},
};

const Plain &plain_type(std::string_view name) {
    const auto *const at = std::ranges::find(plain_types, name, &Plain::name);
    if (at == plain_types.end()) throw Error(ErrorCode::failure, "config_keys.json: unknown type " + std::string(name));
    return *at;
}

// "int" of "list[int]"; nothing of other types.
std::optional<std::string_view> item_type(std::string_view type) {
    constexpr std::string_view begin = "list[";
    if (!type.starts_with(begin)) return std::nullopt;
    return type.substr(begin.size(), type.size() - begin.size() - 1);
}

bool takes_one(std::string_view type, JsonView value) {
    const auto items = item_type(type);
    if (!items) return plain_type(type).takes(value);
    if (!value.is_list()) return false;
    const Plain &wanted = plain_type(*items);
    const JsonView::Range all = value.items();
    return std::all_of(all.begin(), all.end(), [&](JsonView item) { return wanted.takes(item); });
}

std::string description_of(std::string_view type) {
    if (const auto items = item_type(type)) return "a list, each entry " + std::string(plain_type(*items).description);
    return std::string(plain_type(type).description);
}

// Keys without effect, but those that only have none in the models of the table, for these reasons.
std::set<std::string_view> without_effect(std::initializer_list<std::string_view> reasons_of_models) {
    const JsonView reasons = table().at("no_effect");
    for (const std::string_view reason : reasons_of_models) (void)reasons.at(reason); // throws if there is none
    std::set<std::string_view> out;
    for (const JsonView reason : reasons.members())
        if (std::ranges::find(reasons_of_models, reason.key()) == reasons_of_models.end())
            for (const JsonView name : reason.items()) out.insert(name.string());
    return out;
}

} // namespace

bool ConfigKeys::Type::takes(JsonView value) const {
    return std::ranges::any_of(alternatives(text_), [&](std::string_view one) { return takes_one(one, value); });
}

std::optional<JsonView> ConfigKeys::Type::wrong_entry(JsonView value) const {
    for (const std::string_view one : alternatives(text_)) {
        const auto items = item_type(one);
        if (!items || !value.is_list()) continue;
        const Plain &wanted = plain_type(*items);
        for (const JsonView entry : value.items())
            if (!wanted.takes(entry)) return entry;
    }
    return std::nullopt;
}

std::string ConfigKeys::Type::description() const {
    std::string out;
    for (const std::string_view one : alternatives(text_)) out += (out.empty() ? "" : " or ") + description_of(one);
    return out;
}

const ConfigKeys *ConfigKeys::of_model(std::string_view model_type) {
    static const ByName all = [] {
        ByName out;
        for (const JsonView model : table().at("models").members())
            out.try_emplace(model.key(), model.at("keys"), model.at("aliases"), model.at("types"));
        return out;
    }();
    return found(all, model_type);
}

const ConfigKeys *ConfigKeys::of_rope(std::string_view rope_type) {
    static const ByName all = [] {
        ByName out;
        for (const JsonView type : table().at("rope_types").members()) out.try_emplace(type.key(), type);
        return out;
    }();
    return found(all, rope_type);
}

std::string_view ConfigKeys::release() { return table().at("release").string(); }

ConfigKeys::ConfigKeys(JsonView keys) {
    for (const JsonView value : keys.members()) { // "head_dim?": null
        const bool nullable = value.key().ends_with('?');
        keys_.try_emplace(std::string(value.key().substr(0, value.key().size() - (nullable ? 1 : 0))),
                          Key{value, nullable});
    }
}

ConfigKeys::ConfigKeys(JsonView keys, JsonView aliases, JsonView types) : ConfigKeys(keys) {
    for (const JsonView name : aliases.members()) aliases_.emplace(name.key(), name.string());
    for (const JsonView type : types.members())
        for (const JsonView key : type.items()) types_.emplace(key.string(), Type(type.key()));
}

const ConfigKeys::Key *ConfigKeys::find(std::string_view key) const {
    const auto at = keys_.find(key);
    return at == keys_.end() ? nullptr : &at->second;
}

const ConfigKeys::Type *ConfigKeys::type(std::string_view key) const {
    const auto at = types_.find(key);
    return at == types_.end() ? nullptr : &at->second;
}

std::string_view ConfigKeys::name(std::string_view key) const {
    const auto at = aliases_.find(key);
    return at == aliases_.end() ? key : at->second;
}

bool ConfigKeys::is_harmless(std::string_view key) {
    static const std::set<std::string_view> all = without_effect({});
    return all.contains(key);
}

bool ConfigKeys::is_harmless_anywhere(std::string_view key) {
    static const std::set<std::string_view> all = without_effect({"read, but not used", "for classes of other tasks"});
    return all.contains(key);
}

} // namespace lamina::architectures
