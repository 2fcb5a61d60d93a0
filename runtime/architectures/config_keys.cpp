#include "architectures/config_keys.hpp"

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

} // namespace

const ConfigKeys *ConfigKeys::of_model(std::string_view model_type) {
    static const ByName all = [] {
        ByName out;
        for (const JsonView model : table().at("models").members())
            out.try_emplace(model.key(), model.at("keys"), model.at("aliases"));
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

ConfigKeys::ConfigKeys(JsonView keys, JsonView aliases) : ConfigKeys(keys) {
    for (const JsonView name : aliases.members()) aliases_.emplace(name.key(), name.string());
}

const ConfigKeys::Key *ConfigKeys::find(std::string_view key) const {
    const auto at = keys_.find(key);
    return at == keys_.end() ? nullptr : &at->second;
}

std::string_view ConfigKeys::name(std::string_view key) const {
    const auto at = aliases_.find(key);
    return at == aliases_.end() ? key : at->second;
}

bool ConfigKeys::is_harmless(std::string_view key) {
    static const std::set<std::string_view> all = [] {
        std::set<std::string_view> out;
        for (const JsonView reason : table().at("no_effect").members())
            for (const JsonView name : reason.items()) out.insert(name.string());
        return out;
    }();
    return all.contains(key);
}

} // namespace lamina::architectures
