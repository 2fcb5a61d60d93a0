#include "architectures/rotary.hpp"

#include "base/utf8.hpp"

#include <lamina/error.hpp>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>

namespace lamina::architectures {
namespace {

constexpr int64_t most_channels = 65536; // of a head, limited so that a bad file cannot exhaust memory

struct Setting {
    Config config; // the object that holds "factor" and the like; config.json itself if there is none
    std::string type;
    double theta, part;        // part: how much of a head is turned, at most 1
    int64_t channels;          // of a head that are turned
    int64_t trained, longest;  // context lengths before and after scaling
    bool apart;                // there is an object with the settings
    bool layered;              // there are others for other kinds of layers
    bool truncate;             // as RotaryKind has it
    std::vector<int64_t> axes; // of pairs; empty: they have one

    [[nodiscard]] double frequency(size_t pair) const {
        return std::pow(theta, -2 * static_cast<double>(pair) / static_cast<double>(channels));
    }
};

void linear(const Setting &s, std::vector<double> &frequencies) {
    for (double &f : frequencies) f /= s.config.real("factor");
}

void llama3(const Setting &s, std::vector<double> &frequencies) {
    const double factor = s.config.real("factor"), low = s.config.real("low_freq_factor"),
                 high = s.config.real("high_freq_factor");
    if (low >= high) s.config.fail("low_freq_factor", "expected less than high_freq_factor");
    for (double &f : frequencies) {
        const double turns = static_cast<double>(s.trained) * f / (2 * std::numbers::pi); // over the trained context
        const double smooth = std::clamp((turns - low) / (high - low), 0.0, 1.0);
        f = (1 - smooth) * f / factor + smooth * f;
    }
}

// YaRN, equation 22.
double yarn_magnitude(double factor, double scale = 1) { return factor <= 1 ? 1 : 0.1 * scale * std::log(factor) + 1; }

// "factor", which must be there but may be null.
double stretch(const Setting &s) {
    if (const auto factor = s.config.optional_real("factor")) return *factor;
    if (s.type == "yarn" && !s.config.is_null("factor")) return s.config.real("factor"); // fails: it is missing
    return static_cast<double>(s.longest) / static_cast<double>(s.trained);
}

double yarn(const Setting &s, std::vector<double> &frequencies) {
    const auto number = [&](const char *key, double otherwise) { // 0 counts as absent
        const double found = s.config.real(key, 0);
        return found != 0 ? found : otherwise;
    };
    if (s.theta == 1) s.config.fail("rope_theta", "expected another number than 1 with yarn");
    const double factor = stretch(s), fast = number("beta_fast", 32), slow = number("beta_slow", 1);
    const bool stated = s.truncate || s.config.has("truncate");
    const bool truncate =
        (stated && s.config.flag("truncate")) || s.layered; // transformers finds it in the outer object only
    // The pair that makes this many turns over the trained context.
    const auto pair_of = [&](double turns) {
        return static_cast<double>(s.channels) / 2 *
               std::log(static_cast<double>(s.trained) / (turns * 2 * std::numbers::pi)) / std::log(s.theta);
    };
    double low = pair_of(fast), high = pair_of(slow);
    if (truncate) low = std::floor(low), high = std::ceil(high);
    low = std::max(low, 0.0), high = std::min(high, static_cast<double>(s.channels - 1));
    if (low == high) high += 0.001;
    for (size_t i = 0; i < frequencies.size(); ++i) {
        const double stretched = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
        frequencies[i] *= stretched / factor + (1 - stretched);
    }
    const double scale = s.config.real("mscale", 0), all = s.config.real("mscale_all_dim", 0);
    return s.config.real("attention_factor", scale != 0 && all != 0
                                                 ? yarn_magnitude(factor, scale) / yarn_magnitude(factor, all)
                                                 : yarn_magnitude(factor));
}

// As attention of DeepSeek-V2 and V3 takes it, whatever the type (transformers, modeling_deepseek_v3.py,
// yarn_apply_mscale()).
double score_factor(const Setting &s) {
    const char *const key = "mscale_all_dim";
    if (s.type == "default" || !s.config.view().has(key)) return 1;
    if (s.type != "yarn") s.config.fail(key, "is supported with the rope_type yarn only, found " + in_quotes(s.type));
    const double all = s.config.real(key);
    if (all == 0) return 1;
    if (s.config.is_null("factor")) s.config.fail("factor", "expected a number, which mscale_all_dim needs");
    return std::pow(yarn_magnitude(stretch(s), all), 2);
}

double longrope(const Setting &s, std::vector<double> &frequencies, bool &depends_on_length) {
    const std::vector<double> factors = s.config.reals("short_factor"), beyond = s.config.reals("long_factor");
    for (const auto &[key, list] : {std::pair{"short_factor", &factors}, {"long_factor", &beyond}})
        if (list->size() != frequencies.size())
            s.config.fail(key, "expected " + std::to_string(frequencies.size()) +
                                   " numbers, one for each pair of channels, found " + std::to_string(list->size()));
    for (size_t i = 0; i < frequencies.size(); ++i) frequencies[i] /= factors[i];
    depends_on_length = factors != beyond;
    const double factor = stretch(s);
    const double otherwise =
        factor <= 1 ? 1 : std::sqrt(1 + std::log(factor) / std::log(static_cast<double>(s.trained)));
    return s.config.real("attention_factor", otherwise);
}

// As the code beside the weights of GTE does it (github.com/huggingface/text-embeddings-inference, layers/rotary.rs).
void ntk(const Setting &s, std::vector<double> &frequencies) {
    const double factor = s.config.real("factor");
    if (!(factor > 0)) s.config.fail("factor", "expected a number above 0");
    for (size_t i = 0; i < frequencies.size(); ++i)
        frequencies[i] *= std::pow(factor, -2 * (static_cast<double>(i) + 1) / static_cast<double>(s.channels));
}

// Turns only some of the pairs.
void proportional(const Setting &s, std::vector<double> &frequencies) {
    const double turned = std::floor(s.part * static_cast<double>(s.channels) / 2);
    for (size_t i = 0; i < frequencies.size(); ++i)
        frequencies[i] = static_cast<double>(i) < turned ? frequencies[i] / s.config.real("factor") : 0;
}

// The object with the settings: rope_scaling, which release 4 wrote, or else rope_parameters, or its part for these
// layers.
std::optional<JsonView> object_of(const Config &config, const std::string &layers) {
    const auto parameters = config.find("rope_parameters"), scaling = config.find("rope_scaling");
    const bool has_scaling = scaling && scaling->members().size() != 0,
               has_parameters = parameters && parameters->members().size() != 0;
    if (layers.empty()) return has_scaling ? scaling : has_parameters ? parameters : std::nullopt;
    if (has_scaling && has_parameters)
        scaling->fail("beside rope_parameters, this key is not supported for this model_type; write its settings into "
                      "/rope_parameters/full_attention");
    if (has_scaling) return layers == "full_attention" ? scaling : std::nullopt;
    return has_parameters && parameters->has(layers) ? std::optional(parameters->at(layers)) : std::nullopt;
}

std::string type_of(const std::optional<JsonView> &object, bool layered) {
    if (!object) return "default";
    for (const char *key : {"rope_type", "type"}) {
        if (object->has(key)) return std::string(object->at(key).string());
        if (layered) break; // transformers fills in "rope_type": "default" there
    }
    for (const JsonView value : object->members())
        if (value.is_object())
            value.fail("settings for one kind of layer are not supported for this model_type; expected the settings "
                       "themselves, as in {\"rope_type\": \"default\"}");
    return "default";
}

// The part of a head's channels that is turned. Most models support less than all with one type only, and without a
// type ignore the setting.
double part_of(const Config &config, const Config &rope, const std::string &type, const RotaryKind &kind) {
    const char *const key = "partial_rotary_factor";
    if (kind.part != 0) {
        if (rope.is_null(key)) rope.fail(key, "expected a number, found null; leave the key out instead");
        const double outside = config.real(kind.part_key, kind.part), part = rope.has(key) ? rope.real(key) : outside;
        if (!(part > 0 && part <= 1)) (rope.has(key) ? rope : config).fail(key, "expected a number above 0, at most 1");
        return part;
    }
    if (type == "default") {
        config.ignore_here(key);
        return 1;
    }
    const double outside = config.real(key, 1), part = rope.has(key) ? rope.real(key) : outside;
    const Config &place = rope.has(key) ? rope : config;
    if (type == "proportional" ? !(part > 0 && part <= 1) : part != 1)
        place.fail(key, type == "proportional" ? "expected a number above 0, at most 1"
                                               : "only 1 is supported with the rope_type " + in_quotes(type) +
                                                     " (transformers cannot run such a model, either)");
    return part;
}

int64_t trained_length(const Config &config, const Config &rope, int64_t longest) {
    const char *const key = "original_max_position_embeddings";
    const int64_t inside = rope.integer(key, longest), out = config.integer(key, inside);
    if (out < 1) (config.has(key) ? config : rope).fail(key, "expected 1 or more");
    return out;
}

// The axis of each pair of channels: "mrope_section" says how many follow each other that have the same, in turn time,
// rows and columns.
std::vector<int64_t> axes_of(const Config &rope, int64_t channels) {
    std::vector<int64_t> out;
    double pairs = 0;
    int64_t axis = 0;
    for (const double section : rope.reals("mrope_section")) {
        pairs += section;
        if (section < 0 || section != std::floor(section) || pairs > static_cast<double>(most_channels))
            rope.fail("mrope_section", "expected whole numbers");
        out.insert(out.end(), static_cast<size_t>(section), axis++ % 3);
    }
    const int64_t all = channels / 2;
    if (pairs != static_cast<double>(all))
        rope.fail("mrope_section", "expected numbers of pairs of channels, " + std::to_string(all) + " in all");
    return out;
}

// The same where axes take turns: of every three pairs, the second turns with rows and the third with columns, as long
// as their sections last; all others turn with time (transformers, modeling_qwen3_vl.py).
std::vector<int64_t> interleaved_axes_of(const Config &rope, int64_t channels, std::span<const double> usual) {
    const char *const key = "mrope_section";
    const std::vector<double> sections =
        rope.view().has(key) ? rope.reals(key) : std::vector<double>(usual.begin(), usual.end());
    if (sections.size() < 3) rope.fail(key, "expected three numbers, for time, rows and columns");
    std::vector<int64_t> out(static_cast<size_t>(channels / 2));
    for (size_t axis = 1; axis < 3; ++axis) {
        if (sections[axis] < 0 || sections[axis] != std::floor(sections[axis]))
            rope.fail(key, "expected whole numbers");
        for (size_t i = axis; i < out.size() && static_cast<double>(i) < 3 * sections[axis]; i += 3)
            out[i] = static_cast<int64_t>(axis);
    }
    return out;
}

Setting setting_of(const Config &config, int64_t head_dim, const RotaryKind &kind) {
    const std::string &layers = kind.layers;
    const std::optional<JsonView> object = object_of(config, layers);
    std::string type = type_of(object, !layers.empty());
    if (kind.sections && type == "mrope") type = "default";
    if (kind.old_longrope && (type == "su" || type == "yarn")) type = "longrope";
    if (kind.old_longrope && type != "default" && type != "longrope")
        object->at(object->has("rope_type") ? "rope_type" : "type")
            .fail(in_quotes(type) + " is not supported for this model_type; supported: default and longrope");
    const ConfigKeys *keys = ConfigKeys::of_rope(type);
    if (keys == nullptr || (type == "ntk" && !kind.ntk))
        object->at(object->has("rope_type") ? "rope_type" : "type")
            .fail(in_quotes(type) + " is not supported; supported: default, linear, proportional, dynamic, yarn, " +
                  "longrope and llama3");
    const Config rope = object ? config.within(*object, keys) : config;
    for (const char *key : {"rope_type", "type", "rope_theta", "original_max_position_embeddings"})
        if (object && rope.is_null(key)) rope.fail(key, "expected a value, found null; leave the key out instead");
    rope.ignore({"rope_type", "type"});
    if (kind.axes) rope.ignore({"mrope_interleaved", "mrope_section"});
    const double part = part_of(config, rope, type, kind);
    const double outside = config.real(kind.theta_key, 10000); // transformers's, of a type that the table does not have
    const double theta = object ? rope.real("rope_theta", outside) : outside;
    if (!(theta > 0))
        (object && rope.has("rope_theta") ? rope : config).fail("rope_theta", "expected a number above 0");
    if (head_dim > most_channels)
        config.fail("head_dim", "expected at most " + std::to_string(most_channels) + " channels of a head, found " +
                                    std::to_string(head_dim));
    const auto turned = kind.part != 0 ? static_cast<int64_t>(static_cast<double>(head_dim) * part) : head_dim;
    if (turned % 2 != 0 || turned < 2 || (turned == 2 && type == "dynamic"))
        config.fail(kind.part != 0 ? "partial_rotary_factor" : "head_dim",
                    "rotary positions turn pairs of channels; expected an even number of channels of a head, found " +
                        std::to_string(turned));
    std::vector<int64_t> axes;
    if (kind.sections) axes = axes_of(rope, turned);
    if (kind.turns[0] != 0) axes = interleaved_axes_of(rope, turned, kind.turns);
    const int64_t longest = config.positive("max_position_embeddings");
    const bool scales = type == "llama3" || type == "yarn" || type == "longrope";
    if (!scales) config.ignore_here("original_max_position_embeddings");
    const int64_t trained = scales ? trained_length(config, rope, longest) : longest;
    return {rope,          type,           theta, part, turned, trained, longest, object.has_value(), !layers.empty(),
            kind.truncate, std::move(axes)};
}

// A GGUF file may divide frequencies and change the magnitude, whatever their type.
void adjust(Rotary &rotary, const Draft &draft) {
    const std::vector<float> &divisors = draft.rotary.divisors;
    if (!divisors.empty() && divisors.size() != rotary.frequencies.size())
        throw Error(ErrorCode::input, draft.weights.file().string() + ": rope_freqs.weight: expected " +
                                          std::to_string(rotary.frequencies.size()) +
                                          " values, one for each pair of channels of a head, found " +
                                          std::to_string(divisors.size()));
    for (size_t i = 0; i < divisors.size(); ++i) rotary.frequencies[i] /= divisors[i];
    rotary.magnitude *= draft.rotary.magnitude;
}

} // namespace

Rotary rotary(const Draft &draft, int64_t head_dim, const RotaryKind &kind) {
    RotaryKind known = kind;
    if (draft.rotary.channels != 0) known.part = 0; // of the channels that a GGUF file says, all are turned
    const Setting s = setting_of(draft.config, draft.rotary.channels != 0 ? draft.rotary.channels : head_dim, known);
    std::vector<double> frequencies;
    for (size_t i = 0; i < static_cast<size_t>(s.channels / 2); ++i) frequencies.push_back(s.frequency(i));
    Rotary out;
    if (s.type == "linear") {
        linear(s, frequencies);
    } else if (s.type == "ntk") {
        ntk(s, frequencies);
    } else if (s.type == "proportional") {
        proportional(s, frequencies);
    } else if (s.type == "dynamic") {
        if (s.config.real("factor") != 1) out.positions = s.longest;
    } else if (s.type == "yarn") {
        out.magnitude = yarn(s, frequencies);
    } else if (s.type == "longrope") {
        bool depends_on_length = false;
        out.magnitude = longrope(s, frequencies, depends_on_length);
        if (depends_on_length) out.positions = s.trained;
    } else if (s.type == "llama3") {
        llama3(s, frequencies);
    }
    if (kind.scales_scores) out.score_factor = score_factor(s);
    if (kind.scales_queries && !s.apart && !draft.gguf)
        draft.config.fail("rope_parameters", "is missing, which this model_type needs");
    if (kind.scales_queries && s.apart) {
        s.config.ignore({"max_position_embeddings"});
        if (s.config.real("llama_4_scaling_beta", 0) != 0) out.positions = s.trained;
    }
    if (!s.axes.empty() && draft.images && draft.images->of_prompts()) // of words alone, all axes are the same
        out.coordinates = 3, out.axes = s.axes;
    if (s.apart) s.config.finish();
    out.frequencies.assign(frequencies.begin(), frequencies.end());
    adjust(out, draft);
    const auto usable = [](double number) { return std::isfinite(number) && number >= 0; };
    if (!std::ranges::all_of(out.frequencies, usable) || !usable(out.magnitude))
        s.config.fail("rope_type", "these settings give frequencies that are not finite, or below 0");
    return out;
}

RotaryLayer::RotaryLayer(Draft &draft, const std::string &name, const Rotary &rotary, bool interleaved)
    : frequencies_(name), magnitude_(rotary.magnitude), positions_(rotary.positions), interleaved_(interleaved) {
    const size_t pairs = rotary.frequencies.size();
    axes_ = rotary.coordinates;
    std::vector<float> all(pairs * static_cast<size_t>(std::max<int64_t>(axes_, 1))); // of one axis after the other
    for (size_t i = 0; i < pairs; ++i)
        all[(axes_ == 0 ? 0 : static_cast<size_t>(rotary.axes[i]) * pairs) + i] = rotary.frequencies[i];
    draft.weights.add(name, model::Weight::of(Tensor::of({static_cast<int64_t>(all.size())}, all)));
}

GraphWriter::Tensor RotaryLayer::operator()(GraphWriter &graph, const std::string &name, const GraphWriter::Tensor &x,
                                            int64_t heads, const GraphWriter::Tensor &position) const {
    Json params{{"heads", heads}};
    if (!interleaved_) params["layout"] = "halves";
    if (magnitude_ != 1) params["magnitude"] = magnitude_;
    if (positions_ != 0) params["max_len"] = positions_;
    GraphWriter::Tensor coordinates;
    if (axes_ != 0) {
        coordinates = "coordinates";
        if (!graph.takes(coordinates)) graph.input(coordinates, DType::i32, "B T " + std::to_string(axes_));
    }
    return graph.layer(name, "rotary", {{"x", x}, {"position", position}, {"coordinates", coordinates}}, params,
                       {{"frequencies", frequencies_}});
}

} // namespace lamina::architectures
