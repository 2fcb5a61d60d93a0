// Translates the metadata of a GGUF file into the settings of a config.json, and the names of its tensors into those of
// a Hugging Face folder, so that one architecture serves both.
#include "architectures/gguf_model.hpp"

#include "architectures/assemble.hpp"
#include "architectures/text_settings.hpp"
#include "base/mapped_file.hpp"
#include "base/utf8.hpp"
#include "model/gguf.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <functional>
#include <utility>

namespace lamina::architectures {
namespace {

using model::GgufType;
using model::GgufValue;

// Keys of the metadata, after "ARCHITECTURE.", and of config.json. (github.com/ggml-org/ggml, docs/gguf.md.)
constexpr std::array<std::pair<std::string_view, std::string_view>, 14> settings{{
    {"attention.head_count", "num_attention_heads"},
    {"attention.head_count_kv", "num_key_value_heads"},
    {"attention.key_length", "head_dim"},
    {"attention.layer_norm_epsilon", "layer_norm_eps"},
    {"attention.layer_norm_rms_epsilon", "rms_norm_eps"},
    {"attention.sliding_window", "sliding_window"},
    {"attn_logit_softcapping", "attn_logit_softcapping"},
    {"block_count", "num_hidden_layers"},
    {"context_length", "max_position_embeddings"},
    {"embedding_length", "hidden_size"},
    {"feed_forward_length", "intermediate_size"},
    {"final_logit_softcapping", "final_logit_softcapping"},
    {"rope.freq_base", "rope_theta"},
    {"vocab_size", "vocab_size"},
}};

// Keys that are read below, or that the shapes of tensors imply.
constexpr std::array<std::string_view, 6> known{"attention.value_length", "rope.dimension_count",
                                                "rope.scaling.factor",    "rope.scaling.original_context_length",
                                                "rope.scaling.type",      "rope.scaling.attn_factor"};

constexpr std::string_view frequency_factors = "rope_freqs.weight"; // divisors of the rotary frequencies

// Notes of converters and quantizers, and the tokenizer.
bool says_nothing_of_layers(std::string_view key) {
    return key.starts_with("general.") || key.starts_with("tokenizer.") || key.starts_with("quantize.");
}

class Reader {
  public:
    explicit Reader(const std::filesystem::path &file)
        : gguf_(model::open_gguf(file)), type_(gguf_.metadata.at("general.architecture").string()) {}

    [[nodiscard]] const std::string &model_type() const { return type_; }
    [[nodiscard]] const model::GgufMetadata &metadata() const { return gguf_.metadata; }
    [[nodiscard]] std::span<const std::byte> metadata_bytes() const { return gguf_.metadata_bytes; }

    // The equivalent config.json.
    [[nodiscard]] std::string config() const {
        Json out{{"model_type", type_}};
        for (const auto &[theirs, ours] : settings)
            if (const GgufValue *value = find(theirs)) out[ours] = json(*value);
        out["tie_word_embeddings"] = !gguf_.weights.entries().contains("output.weight");
        if (const std::vector<int64_t> ends = end_tokens(); !ends.empty()) out["eos_token_id"] = ends;
        add_rotary(out);
        refuse_unknown();
        return out.in_one_line();
    }

    [[nodiscard]] model::Weights weights(std::span<const TensorName> names) const {
        model::Weights out(gguf_.weights.file());
        for (const auto &[name, weight] : gguf_.weights.entries())
            if (name != frequency_factors) out.add(renamed(name, names), weight);
        for (const auto &[name, dtype] : gguf_.weights.others()) out.add_other(renamed(name, names), dtype);
        return out;
    }

  private:
    model::Gguf gguf_;
    std::string type_;

    [[nodiscard]] const GgufValue *find(std::string_view key) const {
        const std::string full = type_ + "." + std::string(key);
        return gguf_.metadata.has(full) ? &gguf_.metadata.at(full) : nullptr;
    }

    // The tokens that end a text, a turn or a message.
    [[nodiscard]] std::vector<int64_t> end_tokens() const {
        std::vector<int64_t> out;
        for (const char *key : {"eos_token_id", "eot_token_id", "eom_token_id"})
            if (const std::string full = std::string("tokenizer.ggml.") + key; gguf_.metadata.has(full))
                out.push_back(gguf_.metadata.at(full).integer());
        return out;
    }

    static Json json(const GgufValue &value) {
        if (value.is_list()) value.fail("a setting that differs from layer to layer is not supported");
        if (value.type() == GgufType::f32 || value.type() == GgufType::f64) return value.number();
        if (value.type() == GgufType::boolean) return value.boolean();
        return value.integer();
    }

    void add_rotary(Json &config) const {
        const auto factors = gguf_.weights.entries().find(frequency_factors);
        const GgufValue *type = find("rope.scaling.type");
        Json rotary = Json::object();
        if (factors != gguf_.weights.entries().end()) {
            rotary = {{"rope_type", "longrope"},
                      {"short_factor", values(factors->second)},
                      {"long_factor", values(factors->second)},
                      {"attention_factor", 1}};
        } else if (type != nullptr && type->string() != "none") {
            rotary["rope_type"] = std::string(type->string());
            if (const GgufValue *factor = find("rope.scaling.factor")) rotary["factor"] = factor->number();
            if (const GgufValue *length = find("rope.scaling.original_context_length"))
                rotary["original_max_position_embeddings"] = length->integer();
            if (const GgufValue *magnitude = find("rope.scaling.attn_factor"))
                rotary["attention_factor"] = magnitude->number();
        }
        if (!rotary.empty()) config["rope_scaling"] = rotary;
        const GgufValue *turned = find("rope.dimension_count"), *width = find("embedding_length"),
                        *heads = find("attention.head_count"), *depth = find("attention.key_length");
        if (turned == nullptr || width == nullptr || heads == nullptr || heads->integer() < 1) return;
        const int64_t head_dim = depth != nullptr ? depth->integer() : width->integer() / heads->integer();
        if (turned->integer() != head_dim)
            config["partial_rotary_factor"] =
                static_cast<double>(turned->integer()) / static_cast<double>(std::max<int64_t>(head_dim, 1));
    }

    static std::vector<double> values(const model::Weight &weight) {
        if (weight.type.dtype != DType::f32)
            throw Error(ErrorCode::input, std::string(frequency_factors) + ": expected f32");
        std::vector<float> out(weight.bytes.size() / sizeof(float));
        std::memcpy(out.data(), weight.bytes.data(), weight.bytes.size());
        return {out.begin(), out.end()};
    }

    void refuse_unknown() const {
        for (const auto &[key, value] : gguf_.metadata.values()) {
            if (says_nothing_of_layers(key)) continue;
            const std::string_view setting =
                key.starts_with(type_ + ".") ? std::string_view(key).substr(type_.size() + 1) : "";
            const bool read = std::ranges::any_of(settings, [&](const auto &s) { return s.first == setting; }) ||
                              std::ranges::find(known, setting) != known.end();
            if (!read)
                value.fail("unknown key (its value is " + value.description() +
                           "): Lamina cannot tell whether it changes what the model computes");
        }
    }

    // "blk.3.attn_q.weight" -> "model.layers.3.self_attn.q_proj.weight"; a name that is not in the list stays
    // unchanged.
    static std::string renamed(const std::string &name, std::span<const TensorName> names) {
        std::string index, pattern;
        const size_t dot = name.find('.', 4);
        if (name.starts_with("blk.") && dot != std::string::npos) {
            index = name.substr(4, dot - 4);
            pattern = "blk.{i}" + name.substr(dot);
        } else {
            pattern = name;
        }
        const size_t suffix = pattern.rfind('.');
        if (suffix == std::string::npos) return name;
        for (const TensorName &known_name : names) {
            if (known_name.gguf != std::string_view(pattern).substr(0, suffix)) continue;
            std::string out = std::string(known_name.hugging_face) + pattern.substr(suffix);
            if (const size_t at = out.find("{i}"); at != std::string::npos) out.replace(at, 3, index);
            return out;
        }
        return name;
    }
};

} // namespace

std::shared_ptr<const model::Model> read_gguf(const std::filesystem::path &file) {
    const Reader reader(file);
    const JsonText document(reader.config(), file.string() + ": metadata");
    const Config config(document.root());
    (void)config.text("model_type");
    model::Weights weights = reader.weights(tensor_names(reader.model_type(), config));
    Draft draft{.config = config,
                .weights = weights,
                .generation = config,
                .gguf = true,
                .texts = read_text_settings(reader.metadata(), config)};
    auto model = assemble(draft, reader.model_type(), file);
    let_go(reader.metadata_bytes()); // the vocabulary, most of all
    return model;
}

} // namespace lamina::architectures
