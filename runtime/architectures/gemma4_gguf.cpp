#include "architectures/gemma4_gguf.hpp"

#include "architectures/weight_parts.hpp"
#include "model/gguf_metadata.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace lamina::architectures {
namespace {

constexpr const char *rotary_divisors = "rope_freqs.weight";

const model::GgufValue &value_at(const GgufFacts &file, const char *key) {
    if (const model::GgufValue *value = file.find(key)) return *value;
    throw Error(ErrorCode::input,
                file.weights.file().string() + ": the metadata lack the key 'gemma4." + std::string(key) + "'");
}

// A number for each layer, or one for all.
std::vector<int64_t> numbers_of_layers(const model::GgufValue &value, size_t layers) {
    if (!value.is_list()) return std::vector<int64_t>(layers, value.integer(1, INT32_MAX));
    std::vector<int64_t> out = value.integers();
    if (out.size() != layers)
        value.fail("expected " + std::to_string(layers) + " numbers, one for each layer, found " +
                   std::to_string(out.size()));
    if (std::ranges::any_of(out, [](int64_t each) { return each < 1 || each > INT32_MAX; }))
        value.fail("expected numbers above 0");
    return out;
}

// The part of a head's pairs that is turned: frequencies of the others are divided by a huge number.
double turned_part(const GgufFacts &file, int64_t head_dim) {
    const model::Weight &divisors = file.weights.at(rotary_divisors);
    const auto refuse = [&] {
        throw Error(ErrorCode::input, file.weights.file().string() + ": the tensor '" + rotary_divisors +
                                          "': expected " + std::to_string(head_dim / 2) +
                                          " numbers in f32, first ones and then 1e30");
    };
    if (divisors.type.dtype != DType::f32 || divisors.type.shape != Shape{head_dim / 2}) refuse();
    const std::vector<float> values = numbers_of(divisors);
    constexpr float huge = 1e20F;
    const auto still = std::ranges::find_if(values, [](float each) { return each != 1; });
    if (!std::ranges::all_of(still, values.end(), [](float each) { return each >= huge; })) refuse();
    // Half a pair more, so that no rounding takes one.
    const auto pairs = static_cast<double>(still - values.begin());
    return std::min(1.0, (pairs + 0.5) / static_cast<double>(values.size()));
}

void expect_turned(const GgufFacts &file, const char *key, int64_t head_dim) {
    if (const model::GgufValue *turned = file.find(key); turned != nullptr && turned->integer() != head_dim)
        turned->fail("expected all channels of a head, " + std::to_string(head_dim));
}

} // namespace

void complete_gemma4(const GgufFacts &file, Json &config) {
    const model::GgufValue &pattern = value_at(file, "attention.sliding_window_pattern");
    if (!pattern.is_list()) pattern.fail("expected a flag for each layer");
    const std::vector<bool> slides = pattern.booleans();
    const auto layers = static_cast<int64_t>(slides.size());
    if (value_at(file, "block_count").integer() != layers)
        pattern.fail("expected a flag for each of the layers, found " + std::to_string(layers));
    if (layers != 0 && slides.back()) pattern.fail("expected a last layer without a window, as transformers has it");
    const int64_t narrow = value_at(file, "attention.key_length_swa").integer(1, INT32_MAX),
                  wide = value_at(file, "attention.key_length").integer(1, INT32_MAX);
    if (const model::GgufValue &values = value_at(file, "attention.value_length_swa"); values.integer() != narrow)
        values.fail("expected " + std::to_string(narrow) + ", as keys have them");
    expect_turned(file, "rope.dimension_count", wide);
    expect_turned(file, "rope.dimension_count_swa", narrow);

    // The heads of layers without a window are said one by one.
    const std::vector<int64_t> kv_heads = numbers_of_layers(value_at(file, "attention.head_count_kv"), slides.size());
    Json heads = Json::object();
    int64_t usual = kv_heads.empty() ? 1 : kv_heads.back();
    for (size_t i = 0; i < slides.size(); ++i) {
        if (slides[i]) usual = kv_heads[i];
        heads[std::to_string(i)] = Json{{"head_dim", slides[i] ? narrow : wide}, {"num_key_value_heads", kv_heads[i]}};
    }
    config["head_dim"] = narrow;
    config["num_key_value_heads"] = usual;
    config["per_layer_config"] = std::move(heads);

    // Layers that share keys and values may have feed-forward layers of twice the width.
    const model::GgufValue &lengths = value_at(file, "feed_forward_length");
    const std::vector<int64_t> hidden = numbers_of_layers(lengths, slides.size());
    const model::GgufValue *sharing = file.find("attention.shared_kv_layers");
    const int64_t shared = sharing != nullptr ? sharing->integer(0, INT32_MAX) : 0;
    const bool doubled = !hidden.empty() && hidden.back() != hidden.front();
    for (int64_t i = 0; i < layers; ++i)
        if (hidden[static_cast<size_t>(i)] != hidden.front() * (doubled && i >= layers - shared ? 2 : 1))
            lengths.fail("expected the same number for all layers, or twice as much for those that share keys and "
                         "values with others");
    if (!hidden.empty()) config["intermediate_size"] = hidden.front();
    config["use_double_wide_mlp"] = doubled;

    config["rope_parameters"] =
        Json{{"sliding_attention",
              Json{{"rope_type", "default"}, {"rope_theta", value_at(file, "rope.freq_base_swa").number()}}},
             {"full_attention", Json{{"rope_type", "proportional"},
                                     {"rope_theta", value_at(file, "rope.freq_base").number()},
                                     {"partial_rotary_factor", turned_part(file, wide)}}}};
    const auto full = std::ranges::find(slides, false);
    const auto has = [&](const char *tensor) {
        return file.weights.entries().contains("blk." + std::to_string(full - slides.begin()) + tensor);
    };
    config["attention_k_eq_v"] = full != slides.end() && !has(".attn_v.weight") && !has(".attn_qkv.weight");
    // Of the small models, an image's tokens see no later ones; no key says it (tools/mtmd/mtmd.cpp).
    constexpr std::array<int64_t, 2> small_widths{1536, 2560};
    const int64_t width = value_at(file, "embedding_length").integer(1, INT32_MAX);
    const bool small = std::ranges::find(small_widths, width) != small_widths.end();
    config["use_bidirectional_attention"] = small ? Json() : Json("vision");
    if (const auto table = file.weights.entries().find("per_layer_token_embd.weight");
        table != file.weights.entries().end() && !table->second.type.shape.empty())
        config["vocab_size_per_layer_input"] = table->second.type.shape.front();
}

void rename_gemma4(Draft &draft, int64_t layers) {
    draft.unused.insert(rotary_divisors); // read above
    const auto rename = [&](const std::string &from, const std::string &to) {
        const auto found = draft.weights.entries().find(from);
        if (found == draft.weights.entries().end()) return;
        const model::Weight weight = found->second;
        draft.weights.add(to, weight);
        draft.unused.insert(from);
    };
    for (int64_t i = 0; i < layers; ++i) {
        const std::string layer = "model.layers." + std::to_string(i) + ".";
        rename("blk." + std::to_string(i) + ".layer_output_scale.weight", layer + "layer_scalar");
        rename(layer + "router.proj.scale", layer + "router.scale");
        rename(layer + "experts.down_proj.scale", layer + "router.per_expert_scale");
    }
}

} // namespace lamina::architectures
