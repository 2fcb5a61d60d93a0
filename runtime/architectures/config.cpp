#include "architectures/config.hpp"

#include "base/file.hpp"
#include "base/utf8.hpp"

#include <lamina/error.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>
#include <utility>

namespace lamina::architectures {
namespace {

constexpr int64_t largest_setting = std::numeric_limits<int32_t>::max(); // of a size, a count or an id
constexpr int64_t most_layers = 1'000;

// Names of activations: in config.json (transformers, activations.py), and Lamina's.
constexpr std::array<std::pair<std::string_view, std::string_view>, 11> activations{{
    {"gelu", "gelu"},
    {"gelu_fast", "gelu_tanh"},
    {"gelu_new", "gelu_tanh"},
    {"gelu_python", "gelu"},
    {"gelu_pytorch_tanh", "gelu_tanh"},
    {"quick_gelu", "quick_gelu"},
    {"relu", "relu"},
    {"relu2", "relu2"},
    {"silu", "silu"},
    {"swish", "silu"},
    {"tanh", "tanh"},
}};

std::string shown(double value) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.15g", value);
    return text.data();
}

std::string shown(JsonView value) {
    if (value.is_null()) return "null";
    if (value.is_boolean()) return value.boolean() ? "true" : "false";
    if (value.is_number()) return shown(value.number());
    return value.is_string() ? in_quotes(std::string(value.string())) : value.description();
}

// Of values that defaults may have.
bool same(JsonView a, JsonView b) {
    if (a.is_null() || b.is_null()) return a.is_null() && b.is_null();
    if (a.is_boolean() && b.is_boolean()) return a.boolean() == b.boolean();
    if (a.is_number() && b.is_number()) return a.number() == b.number();
    return a.is_string() && b.is_string() && a.string() == b.string();
}

} // namespace

bool has_file(const std::filesystem::path &file) {
    std::error_code error;
    return std::filesystem::exists(std::filesystem::symlink_status(file, error));
}

std::string text_of(const std::filesystem::path &file) {
    constexpr uint64_t largest = 16u << 20;
    const std::vector<std::byte> bytes = read_file(file, largest, FileReader::Kind::ordinary);
    return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

std::string with_finite_numbers(std::string_view json) {
    constexpr std::string_view infinity = "Infinity", greatest = "1.7976931348623157e308";
    std::string out;
    for (size_t at = 0; at < json.size();) {
        // The characters of {"__float__": "Infinity"}, with any space between them.
        size_t end = at;
        std::string sign;
        const auto passes = [&](std::string_view token) {
            while (end < json.size() && std::string_view(" \t\r\n").find(json[end]) != std::string_view::npos) ++end;
            const bool found = json.substr(end, token.size()) == token;
            if (found) end += token.size();
            return found;
        };
        if (json[at] == '{' && passes("{") && passes("\"__float__\"") && passes(":")) {
            sign = passes("\"-Infinity\"") ? "-" : "";
            if ((!sign.empty() || passes("\"Infinity\"")) && passes("}")) {
                out.append(sign).append(greatest);
                at = end;
                continue;
            }
        }
        if (json.substr(at, infinity.size()) == infinity) {
            out.append(greatest);
            at += infinity.size();
            continue;
        }
        const bool is_text = json[at] == '"';
        out += json[at++];
        for (bool escaped = false; is_text && at < json.size();) { // a string, to its end
            const char c = json[at++];
            out += c;
            if (c == '"' && !escaped) break;
            escaped = c == '\\' && !escaped;
        }
    }
    return out;
}

Config::Config(JsonView object, const ConfigKeys *keys)
    : object_(object), keys_(keys), read_(std::make_shared<std::set<std::string, std::less<>>>()),
      ignored_(std::make_shared<std::vector<std::string>>()) {
    (void)object.members(); // throws if it is not an object
}

Config Config::of_model(JsonView root) {
    const bool named = root.has("model_type") && root.at("model_type").is_string();
    Config out(root, named ? ConfigKeys::of_model(Config(root).model_type()) : nullptr);
    out.expect_types();
    return out;
}

std::string Config::model_type() const {
    const std::string type = text("model_type");
    const auto positions = type == "bert" ? given("position_embedding_type") : std::nullopt;
    return positions && positions->is_string() && positions->string() == "alibi" ? "jina_bert" : type;
}

// Also of keys that change nothing: transformers refuses the whole file.
void Config::expect_types() const {
    if (keys_ == nullptr) return;
    for (const JsonView value : object_.members()) {
        const ConfigKeys::Type *type = keys_->type(value.key());
        if (type == nullptr || type->takes(value)) continue;
        if (value.is_null()) refuse_null(value);
        const auto entry = type->wrong_entry(value);
        value.fail("expected " + type->description() + ", found " + value.description() +
                   (entry ? ", of which " + entry->place() + " is " + shown(*entry) : "") + " (" +
                   std::string(ConfigKeys::release()) + " takes no other type of value here)");
    }
}

void Config::refuse_null(JsonView value) const {
    const ConfigKeys::Key *known = keys_->find(name(value.key()));
    const bool has_default = known != nullptr && !known->value.is_null();
    value.fail("null is not a value of this key; leave the key out" +
               (has_default ? " for its default, " + shown(known->value) : ""));
}

Config Config::within(JsonView object, const ConfigKeys *keys) const {
    Config out(object, keys);
    out.ignored_ = ignored_;
    return out;
}

std::string_view Config::name(std::string_view key) const { return keys_ == nullptr ? key : keys_->name(key); }

// Where a file has a key under two names, the alias wins, as in transformers.
std::optional<JsonView> Config::given(std::string_view key) const {
    std::optional<JsonView> out;
    const std::string_view wanted = name(key);
    for (const JsonView value : object_.members())
        if (name(value.key()) == wanted && (!out || value.key() != wanted)) out = value;
    return out;
}

bool Config::reads(std::string_view key) const { return keys_ == nullptr || keys_->find(name(key)) != nullptr; }

bool Config::has(std::string_view key) const {
    const auto value = given(key);
    return value && !value->is_null();
}

bool Config::is_null(std::string_view key) const {
    const auto value = given(key);
    return value && value->is_null();
}

bool Config::states(std::string_view key) const { return given(key).has_value(); }

std::optional<JsonView> Config::find(std::string_view key) const {
    read_->emplace(name(key));
    const ConfigKeys::Key *known = keys_ == nullptr ? nullptr : keys_->find(name(key));
    const auto value = given(key);
    if (value && !value->is_null()) return value;
    if (value && known != nullptr && !known->nullable) refuse_null(*value);
    if (value || known == nullptr || known->value.is_null()) return std::nullopt;
    return known->value;
}

JsonView Config::get(std::string_view key) const {
    if (const auto value = find(key)) return *value;
    if (is_null(key)) fail(key, "null is not supported here; expected a value");
    object_.fail("the key " + in_quotes(std::string(key)) + " is missing");
}

int64_t Config::positive(std::string_view key) const { return get(key).integer(1, largest_setting); }
int64_t Config::layers(std::string_view key) const { return get(key).integer(0, most_layers); }
int64_t Config::integer(std::string_view key) const { return get(key).integer(0, largest_setting); }
int64_t Config::integer(std::string_view key, int64_t otherwise) const {
    return optional_integer(key).value_or(otherwise);
}
std::optional<int64_t> Config::optional_integer(std::string_view key) const {
    const auto value = find(key);
    return value ? std::optional(value->integer(0, largest_setting)) : std::nullopt;
}
double Config::real(std::string_view key) const { return get(key).number(); }
double Config::real(std::string_view key, double otherwise) const { return optional_real(key).value_or(otherwise); }
std::optional<double> Config::optional_real(std::string_view key) const {
    const auto value = find(key);
    return value ? std::optional(value->number()) : std::nullopt;
}
bool Config::flag(std::string_view key) const {
    const auto value = find(key);
    if (!value && !reads(key)) return get(key).boolean(); // fails: it is missing
    return value && value->boolean();
}
bool Config::flag(std::string_view key, bool otherwise) const {
    const auto value = find(key);
    return value ? value->boolean() : otherwise;
}
std::string Config::text(std::string_view key) const { return std::string(get(key).string()); }
std::string Config::text(std::string_view key, std::string_view otherwise) const {
    const auto value = find(key);
    return std::string(value ? value->string() : otherwise);
}

std::vector<std::string> Config::texts(std::string_view key) const {
    std::vector<std::string> out;
    if (const auto value = find(key))
        for (const JsonView item : value->items()) out.emplace_back(item.string());
    return out;
}

std::vector<double> Config::reals(std::string_view key) const {
    std::vector<double> out;
    for (const JsonView item : get(key).items()) out.push_back(item.number());
    return out;
}

std::optional<Config> Config::object(std::string_view key) const {
    const auto value = find(key);
    return value ? std::optional(within(*value, nullptr)) : std::nullopt;
}

Config Config::part(std::string_view key, std::string_view model_type) const {
    const Config out = within(get(key), ConfigKeys::of_model(model_type));
    out.expect_types();
    return out;
}

Config Config::as(std::string_view model_type) const {
    const Config out = within(object_, ConfigKeys::of_model(model_type));
    out.expect_types();
    return out;
}

std::vector<int32_t> Config::ids(std::string_view key) const {
    const auto value = find(key);
    if (!value) return {};
    const auto id = [](JsonView v) { return static_cast<int32_t>(v.integer(0, largest_setting)); };
    if (value->is_number()) return {id(*value)};
    std::vector<int32_t> out;
    for (const JsonView item : value->items()) out.push_back(id(item));
    return out;
}

std::vector<std::string> Config::layer_types(int64_t layers) const {
    std::vector<std::string> types = texts("layer_types");
    if (has("layer_types") && types.size() != static_cast<size_t>(layers))
        fail("layer_types", "expected " + std::to_string(layers) + " entries, one for each layer, found " +
                                std::to_string(types.size()));
    for (const std::string &type : types)
        if (type != "full_attention" && type != "sliding_attention")
            fail("layer_types", in_quotes(type) + " is not supported; supported: full_attention and sliding_attention");
    return types;
}

std::string Config::activation(std::string_view key) const { return activation_named(key, text(key)); }

std::string Config::activation_named(std::string_view key, std::string_view name) const {
    for (const auto &[theirs, ours] : activations)
        if (name == theirs) return std::string(ours);
    std::string known;
    for (const auto &[theirs, ours] : activations) known += (known.empty() ? "" : ", ") + std::string(theirs);
    fail(key, "the activation " + in_quotes(std::string(name)) + " is not supported; supported: " + known);
}

void Config::expect(std::string_view key, bool value) const {
    if (flag(key, value) != value)
        fail(key, std::string(value ? "false" : "true") + " is not supported; expected " + (value ? "true" : "false"));
}
void Config::expect(std::string_view key, double value) const {
    if (const double found = real(key, value); found != value)
        fail(key, shown(found) + " is not supported; expected " + shown(value));
}
void Config::expect(std::string_view key, const char *value) const {
    if (const std::string found = text(key, value); found != value)
        fail(key, in_quotes(found) + " is not supported; expected " + in_quotes(value));
}

void Config::ignore(std::initializer_list<const char *> keys) const {
    for (const char *key : keys) read_->emplace(name(key));
}

void Config::ignore_here(const char *key) const {
    read_->emplace(name(key));
    if (has(key)) ignored_->push_back(given(key)->place());
}

// The value of a key that transformers reads and that no function above was asked for.
void Config::expect_default(JsonView value, JsonView wanted) const {
    if (same(value, wanted)) return;
    const std::string remedy = wanted.is_null() ? "expected null, or no such key" : "expected " + shown(wanted);
    value.fail(shown(value) + " is not supported; " + remedy + " (" + std::string(ConfigKeys::release()) +
               " reads this key, so other values may change what the model computes)");
}

void Config::finish() const {
    for (const JsonView value : object_.members()) {
        if (read_->contains(name(value.key()))) continue;
        const ConfigKeys::Key *known = keys_ == nullptr ? nullptr : keys_->find(name(value.key()));
        if (known != nullptr)
            expect_default(value, known->value);
        else if (value.is_null())
            continue;
        else if (keys_ != nullptr && !ConfigKeys::is_harmless(value.key()))
            ignored_->push_back(value.place());
        else if (keys_ == nullptr)
            value.fail("unknown key (its value is " + value.description() +
                       "): Lamina cannot tell whether it changes what the model computes");
    }
}

void Config::fail(std::string_view key, const std::string &message) const {
    const auto value = given(key);
    if (!value) object_.fail(std::string(key) + ": " + message);
    const bool says = !message.starts_with("expected ") || message.find("found ") != std::string::npos;
    value->fail(says ? message : message + ", found " + shown(*value));
}

} // namespace lamina::architectures
