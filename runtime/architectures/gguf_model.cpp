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

// Keys that are read below, that the shapes of tensors imply, or that say nothing of numbers.
constexpr std::array<std::string_view, 10> known{"attention.value_length",
                                                 "rope.dimension_count",
                                                 "rope.scale_linear",
                                                 "rope.scaling.attn_factor",
                                                 "rope.scaling.factor",
                                                 "rope.scaling.finetuned",
                                                 "rope.scaling.original_context_length",
                                                 "rope.scaling.type",
                                                 "rope.scaling.yarn_beta_fast",
                                                 "rope.scaling.yarn_beta_slow"};

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

    // The equivalent config.json. It has all settings whose defaults differ in llama.cpp (llama-model.cpp), which is
    // what such a file is meant for.
    [[nodiscard]] std::string config() const {
        Json out{{"model_type", type_}};
        for (const auto &[theirs, ours] : settings)
            if (const GgufValue *value = find(theirs)) out[ours] = json(*value);
        if (const auto table = gguf_.weights.entries().find("token_embd.weight");
            table != gguf_.weights.entries().end() && !table->second.type.shape.empty())
            out["vocab_size"] = table->second.type.shape.front(); // which the metadata need not have
        out["tie_word_embeddings"] = !gguf_.weights.entries().contains("output.weight");
        if (const std::vector<int64_t> ends = end_tokens(); !ends.empty()) out["eos_token_id"] = ends;
        if (find("attention.sliding_window") == nullptr) out["sliding_window"] = nullptr;
        if (const GgufValue *heads = find("attention.head_count"); heads && find("attention.head_count_kv") == nullptr)
            out["num_key_value_heads"] = json(*heads);
        if (const int64_t depth = head_dim(); depth != 0) out["head_dim"] = depth;
        add_rope_scaling(out);
        refuse_unknown();
        return out.in_one_line();
    }

    // What the equivalent config.json cannot say.
    [[nodiscard]] GgufRotary rotary() const {
        GgufRotary out;
        const auto divisors = gguf_.weights.entries().find(frequency_factors);
        if (divisors != gguf_.weights.entries().end()) out.divisors = values(divisors->second);
        if (const GgufValue *factor = find("rope.scaling.attn_factor")) out.magnitude = factor->number();
        if (const GgufValue *turned = find("rope.dimension_count")) out.channels = turned->integer(1, INT32_MAX);
        return out;
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

    // The channels of a head; 0: the file does not say.
    [[nodiscard]] int64_t head_dim() const {
        if (const GgufValue *depth = find("attention.key_length")) return depth->integer();
        const GgufValue *width = find("embedding_length"), *heads = find("attention.head_count");
        if (width == nullptr || heads == nullptr || heads->is_list() || heads->integer() < 1) return 0;
        return width->integer() / heads->integer();
    }

    // Without a type it is linear, and without a factor nothing is scaled. YaRN's factor on the rotated channels is the
    // one that transformers infers: 0.1 ln(factor) + 1.
    void add_rope_scaling(Json &config) const {
        const GgufValue *type = find("rope.scaling.type"), *factor = find("rope.scaling.factor");
        if (factor == nullptr) factor = find("rope.scale_linear"); // its older name
        const std::string name = type != nullptr ? std::string(type->string()) : "linear";
        if (name == "none" || (factor == nullptr && name == "linear")) return;
        const double times = factor != nullptr ? factor->number() : 1;
        Json scaling{{"rope_type", name}, {"factor", times != 0 ? times : 1}};
        if (const GgufValue *length = find("rope.scaling.original_context_length"))
            scaling["original_max_position_embeddings"] = length->integer();
        for (const char *beta : {"beta_fast", "beta_slow"})
            if (const GgufValue *turns = find(std::string("rope.scaling.yarn_") + beta))
                scaling[beta] = turns->number();
        config["rope_scaling"] = scaling;
    }

    static std::vector<float> values(const model::Weight &weight) {
        if (weight.type.dtype != DType::f32)
            throw Error(ErrorCode::input, std::string(frequency_factors) + ": expected f32");
        std::vector<float> out(weight.bytes.size() / sizeof(float));
        std::memcpy(out.data(), weight.bytes.data(), weight.bytes.size());
        return out;
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
    const Config config = Config::of_model(document.root());
    (void)config.text("model_type");
    model::Weights weights = reader.weights(tensor_names(reader.model_type(), config));
    Draft draft{.config = config,
                .weights = weights,
                .generation = config,
                .gguf = true,
                .rotary = reader.rotary(),
                .texts = read_text_settings(reader.metadata(), config)};
    auto model = assemble(draft, reader.model_type(), file);
    let_go(reader.metadata_bytes()); // the vocabulary, most of all
    return model;
}

} // namespace lamina::architectures
