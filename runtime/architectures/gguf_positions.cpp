#include "architectures/gguf_positions.hpp"

#include "architectures/config_keys.hpp"
#include "base/utf8.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace lamina::architectures {
namespace {

using model::GgufValue;

constexpr std::string_view frequency_factors = "rope_freqs.weight"; // divisors of the rotary frequencies
// The same for texts within the trained context, and for longer ones; "longrope".
constexpr std::string_view short_factors = "rope_factors_short.weight", long_factors = "rope_factors_long.weight";

std::vector<float> values(const model::Weight &weight) {
    if (weight.type.dtype != DType::f32)
        throw Error(ErrorCode::input, std::string(frequency_factors) + ": expected f32");
    std::vector<float> out(weight.bytes().size() / sizeof(float));
    std::memcpy(out.data(), weight.bytes().data(), weight.bytes().size());
    return out;
}

// llama.cpp leaves this factor of YaRN out, and transformers does not. Converters also write 1 for settings that
// transformers leaves out, too.
void expect_usual_factor(const GgufValue *said, double usual) {
    constexpr double rounding = 1e-3;
    if (said == nullptr || said->number() == 1 || std::abs(said->number() - usual) < rounding) return;
    said->fail("expected " + Json(usual).in_one_line() +
               ", which llama.cpp takes in any case; take the model's Hugging Face folder");
}

} // namespace

bool GgufPositions::takes(std::string_view tensor) const {
    return (tensor == frequency_factors && kind_.divided_frequencies) ||
           (has_longrope() && (tensor == short_factors || tensor == long_factors));
}

void GgufPositions::add_to(Json &config, const ConfigKeys *known, bool sees) const {
    add_bases(config, known);
    add_scaling(config);
    add_longrope(config);
    if (sees) add_axes(config);
}

GgufRotary GgufPositions::rotary() const {
    GgufRotary out;
    const auto divisors = weights_.entries().find(frequency_factors);
    if (kind_.divided_frequencies && divisors != weights_.entries().end()) out.divisors = values(divisors->second);
    if (const GgufValue *factor = find_("rope.scaling.attn_factor"); factor != nullptr && !has_longrope())
        out.magnitude = factor->number();
    if (const GgufValue *turned = find_("rope.dimension_count");
        turned != nullptr && find_("rope.dimension_count_swa") == nullptr) // else layers differ
        out.channels = turned->integer(1, INT32_MAX);
    if (const GgufValue *sections = find_("rope.dimension_sections")) {
        const std::vector<int64_t> pairs = sections->integers();
        out.axes = pairs.size() > 1 && pairs[0] > 0 && pairs[1] > 0; // llama-hparams.cpp, use_mrope()
    }
    return out;
}

bool GgufPositions::has_longrope() const {
    const auto &entries = weights_.entries();
    return entries.contains(short_factors) && entries.contains(long_factors);
}

// One that the file leaves out is llama.cpp's. Layers with a window may have another one only where the architecture
// has a setting for it.
void GgufPositions::add_bases(Json &config, const ConfigKeys *known) const {
    constexpr std::string_view key = "rope.freq_base", of_windows = "rope.freq_base_swa";
    constexpr double usual = 10000;
    const auto own = [&](std::string_view theirs) {
        const auto found = std::ranges::find(kind_.settings, theirs, &SettingName::gguf);
        return found == kind_.settings.end() ? "" : std::string(found->hugging_face);
    };
    const auto reads = [&](const char *ours) { return known == nullptr || known->find(ours) != nullptr; };
    const GgufValue *base = find_(key), *other = find_(of_windows);
    const std::string name = own(key).empty() ? "rope_theta" : own(key);
    if (base == nullptr && reads(name.c_str())) config[name] = usual;
    const double number = base != nullptr ? base->number() : usual;
    if (other != nullptr && own(of_windows).empty() && !reads("rope_local_base_freq") && other->number() != number)
        other->fail("expected " + Json(number).in_one_line() + ", as other layers have it");
}

void GgufPositions::add_longrope(Json &config) const {
    if (!has_longrope()) return;
    const auto &entries = weights_.entries();
    const GgufValue *factor = find_("rope.scaling.attn_factor");
    Json scaling{{"rope_type", "longrope"}, {"attention_factor", factor != nullptr ? factor->number() : 1.0}};
    if (const GgufValue *length = find_("rope.scaling.original_context_length"))
        scaling["original_max_position_embeddings"] = length->integer();
    for (const auto &[key, tensor] : {std::pair{"short_factor", short_factors}, {"long_factor", long_factors}}) {
        scaling[key] = Json::array();
        for (const float value : values(entries.find(tensor)->second)) scaling[key].push_back(value);
    }
    config["rope_scaling"] = scaling;
}

// How many pairs of channels turn with time, rows and columns, which are the same for words alone.
void GgufPositions::add_axes(Json &config) const {
    const GgufValue *sections = find_("rope.dimension_sections");
    if (sections == nullptr) return;
    Json &scaling = config["rope_scaling"];
    if (scaling.empty()) scaling["rope_type"] = "default";
    scaling["mrope_section"] = sections->integers();
}

// Without a type it is linear, and without a factor nothing is scaled. YaRN's factor on the rotated channels is the
// one that transformers infers: 0.1 ln(factor) + 1.
void GgufPositions::add_scaling(Json &config) const {
    if (const GgufValue *extrapolated = find_("rope.scaling.yarn_ext_factor"); extrapolated != nullptr)
        if (extrapolated->number() != 1) extrapolated->fail("expected 1, as YaRN has it");
    const GgufValue *type = find_("rope.scaling.type"), *factor = find_("rope.scaling.factor");
    if (factor == nullptr) factor = find_("rope.scale_linear"); // its older name
    const std::string name = type != nullptr ? std::string(type->string()) : "linear";
    if (name != "none" && name != "linear" && name != "yarn")
        type->fail(in_quotes(name) + " is not supported; supported: none, linear and yarn");
    if (name == "none" || (factor == nullptr && name == "linear")) return;
    const double times = factor != nullptr ? factor->number() : 1;
    Json scaling{{"rope_type", name}, {"factor", times != 0 ? times : 1}};
    if (const GgufValue *length = find_("rope.scaling.original_context_length"))
        scaling["original_max_position_embeddings"] = length->integer();
    for (const char *beta : {"beta_fast", "beta_slow"})
        if (const GgufValue *turns = find_(std::string("rope.scaling.yarn_") + beta)) scaling[beta] = turns->number();
    // A tenth of both settings, which are the same in published models (conversion/deepseek.py).
    constexpr std::string_view tenth = "rope.scaling.yarn_log_multiplier";
    const std::span<const SettingName> own = kind_.settings;
    const bool known = std::ranges::find(own, tenth, &SettingName::gguf) != own.end();
    if (const GgufValue *multiplier = known ? find_(tenth) : nullptr)
        scaling["mscale"] = scaling["mscale_all_dim"] = multiplier->number() * 10;
    else if (name == "yarn")
        expect_usual_factor(find_("rope.scaling.yarn_attn_factor"), times > 1 ? 0.1 * std::log(times) + 1 : 1);
    if (const GgufValue *beta = find_("attention.temperature_scale")) scaling["llama_4_scaling_beta"] = beta->number();
    config["rope_scaling"] = scaling;
}

} // namespace lamina::architectures
