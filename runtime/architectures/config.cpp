#include "architectures/config.hpp"

#include "base/file.hpp"
#include "base/utf8.hpp"

#include <lamina/error.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace lamina::architectures {
namespace {

constexpr int64_t largest_setting = std::numeric_limits<int32_t>::max(); // of a size, a count or an id
constexpr int64_t most_layers = 1'000;

// Keys about training, generation and the library that wrote the file. (transformers, configuration_utils.py: the
// attributes of PretrainedConfig.)
constexpr std::array harmless{
    "architectures",
    "attention_dropout",
    "attention_probs_dropout_prob",
    "bad_words_ids",
    "begin_suppress_tokens",
    "bos_token_id",
    "chunk_size_feed_forward",
    "classifier_dropout",
    "decoder_start_token_id",
    "diversity_penalty",
    "do_sample",
    "dropout",
    "dtype",
    "early_stopping",
    "encoder_no_repeat_ngram_size",
    "eos_token_id",
    "exponential_decay_length_penalty",
    "finetuning_task",
    "forced_bos_token_id",
    "forced_eos_token_id",
    "gradient_checkpointing",
    "hidden_dropout",
    "hidden_dropout_prob",
    "id2label",
    "initializer_factor",
    "initializer_range",
    "label2id",
    "length_penalty",
    "max_length",
    "min_length",
    "model_type",
    "no_repeat_ngram_size",
    "num_beam_groups",
    "num_beams",
    "num_return_sequences",
    "output_attentions",
    "output_hidden_states",
    "output_past",
    "output_scores",
    "pad_token_id",
    "prefix",
    "problem_type",
    "remove_invalid_values",
    "repetition_penalty",
    "return_dict",
    "return_dict_in_generate",
    "sbert_ce_default_activation_function",
    "sentence_transformers",
    "sep_token_id",
    "suppress_tokens",
    "task_specific_params",
    "temperature",
    "tf_legacy_loss",
    "tokenizer_class",
    "top_k",
    "top_p",
    "torch_dtype",
    "torchscript",
    "transformers.js_config",
    "transformers_version",
    "typical_p",
    "unk_token_id",
    "use_bfloat16",
    "use_cache",
    "vocab_size",
};

// Names of activations: in config.json (transformers, activations.py), and Lamina's.
constexpr std::array<std::pair<std::string_view, std::string_view>, 9> activations{{
    {"gelu", "gelu"},
    {"gelu_fast", "gelu_tanh"},
    {"gelu_new", "gelu_tanh"},
    {"gelu_python", "gelu"},
    {"gelu_pytorch_tanh", "gelu_tanh"},
    {"relu", "relu"},
    {"silu", "silu"},
    {"swish", "silu"},
    {"tanh", "tanh"},
}};

bool is_harmless(std::string_view key) {
    return key.starts_with('_') || std::ranges::find(harmless, key) != harmless.end(); // "_name_or_path" and the like
}

std::string shown(double value) {
    std::string text = std::to_string(value);
    text.erase(text.find_last_not_of('0') + 1);
    return text.ends_with('.') ? text.substr(0, text.size() - 1) : text;
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

Config::Config(JsonView object) : object_(object), read_(std::make_shared<std::set<std::string, std::less<>>>()) {
    (void)object.members(); // throws if it is not an object
}

bool Config::has(std::string_view key) const { return object_.has(key); }

std::optional<JsonView> Config::find(std::string_view key) const {
    read_->emplace(key);
    if (!has(key)) return std::nullopt;
    return object_.at(key);
}

JsonView Config::get(std::string_view key) const {
    if (const auto value = find(key)) return *value;
    object_.fail("the key " + in_quotes(std::string(key)) + " is missing");
}

bool Config::is_null(std::string_view key) const {
    for (const JsonView value : object_.members())
        if (value.key() == key) return value.is_null();
    return false;
}

int64_t Config::positive(std::string_view key) const { return get(key).integer(1, largest_setting); }
int64_t Config::layers(std::string_view key) const { return get(key).integer(0, most_layers); }
int64_t Config::integer(std::string_view key) const { return get(key).integer(0, largest_setting); }
int64_t Config::integer(std::string_view key, int64_t otherwise) const {
    const auto value = find(key);
    return value ? value->integer(0, largest_setting) : otherwise;
}
double Config::real(std::string_view key) const { return get(key).number(); }
double Config::real(std::string_view key, double otherwise) const {
    const auto value = find(key);
    return value ? value->number() : otherwise;
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
    return value ? std::optional<Config>(*value) : std::nullopt;
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
    if (!types.empty() && types.size() != static_cast<size_t>(layers))
        fail("layer_types", "expected " + std::to_string(layers) + " entries, one for each layer, found " +
                                std::to_string(types.size()));
    for (const std::string &type : types)
        if (type != "full_attention" && type != "sliding_attention")
            fail("layer_types", in_quotes(type) + " is not supported; supported: full_attention and sliding_attention");
    return types;
}

std::string Config::activation(std::string_view key, std::string_view otherwise) const {
    const std::string name = otherwise.empty() ? text(key) : text(key, otherwise);
    for (const auto &[theirs, ours] : activations)
        if (name == theirs) return std::string(ours);
    std::string known;
    for (const auto &[theirs, ours] : activations) known += (known.empty() ? "" : ", ") + std::string(theirs);
    fail(key, "the activation " + in_quotes(name) + " is not supported; supported: " + known);
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

void Config::ignore(std::initializer_list<const char *> keys) const { read_->insert(keys.begin(), keys.end()); }

void Config::finish() const {
    for (const JsonView value : object_.members())
        if (!value.is_null() && !read_->contains(value.key()) && !is_harmless(value.key()))
            value.fail("unknown key (its value is " + value.description() +
                       "): Lamina cannot tell whether it changes what the model computes");
}

void Config::fail(std::string_view key, const std::string &message) const {
    object_.has(key) ? object_.at(key).fail(message) : object_.fail(std::string(key) + ": " + message);
}

} // namespace lamina::architectures
