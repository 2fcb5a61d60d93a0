#include "architectures/rotary.hpp"

#include "base/utf8.hpp"

#include <lamina/error.hpp>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace lamina::architectures {
namespace {

struct Setting {
    Config config; // the object that holds "factor" and the like
    bool apart;    // which is not config.json itself
    std::string type;
    double theta;
    int64_t pairs, trained, longest; // trained: the context length before scaling

    [[nodiscard]] double frequency(int64_t pair) const {
        return std::pow(theta, -static_cast<double>(pair) / static_cast<double>(pairs));
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

double yarn(const Setting &s, std::vector<double> &frequencies) {
    const double factor = s.config.real("factor");
    const double fast = s.config.real("beta_fast", 32), slow = s.config.real("beta_slow", 1);
    const bool truncate = s.config.flag("truncate", true);
    // The pair that makes this many turns over the trained context.
    const auto pair_of = [&](double turns) {
        return static_cast<double>(s.pairs) *
               std::log(static_cast<double>(s.trained) / (turns * 2 * std::numbers::pi)) / std::log(s.theta);
    };
    double low = pair_of(fast), high = pair_of(slow);
    if (truncate) low = std::floor(low), high = std::ceil(high);
    low = std::max(low, 0.0), high = std::min(high, static_cast<double>(2 * s.pairs - 1));
    if (low == high) high += 0.001;
    for (size_t i = 0; i < frequencies.size(); ++i) {
        const double stretched = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
        frequencies[i] *= stretched / factor + (1 - stretched);
    }
    s.config.ignore({"mscale", "mscale_all_dim"});
    if (s.config.has("attention_factor")) return s.config.real("attention_factor");
    const double scale = s.config.real("mscale", 0), all = s.config.real("mscale_all_dim", 0);
    return scale != 0 && all != 0 ? yarn_magnitude(factor, scale) / yarn_magnitude(factor, all)
                                  : yarn_magnitude(factor);
}

double longrope(const Setting &s, std::vector<double> &frequencies) {
    const std::vector<double> factors = s.config.reals("short_factor");
    (void)s.config.reals("long_factor"); // only for texts beyond the trained context
    if (factors.size() != frequencies.size())
        s.config.fail("short_factor", "expected " + std::to_string(frequencies.size()) +
                                          " numbers, one for each pair of channels, found " +
                                          std::to_string(factors.size()));
    for (size_t i = 0; i < frequencies.size(); ++i) frequencies[i] /= factors[i];
    const double factor = s.config.has("factor") ? s.config.real("factor")
                                                 : static_cast<double>(s.longest) / static_cast<double>(s.trained);
    const double otherwise =
        factor <= 1 ? 1 : std::sqrt(1 + std::log(factor) / std::log(static_cast<double>(s.trained)));
    return s.config.real("attention_factor", otherwise);
}

// Finds the settings: in rope_parameters, in its object for these layers, or in the older rope_scaling and rope_theta.
Setting setting_of(const Config &config, int64_t head_dim, double default_theta, const std::string &layers) {
    const auto parameters = config.object("rope_parameters"), scaling = config.object("rope_scaling");
    Config place = parameters ? *parameters : scaling ? *scaling : config;
    if (parameters && !layers.empty() && parameters->has(layers)) place = *parameters->object(layers);
    const bool apart = parameters.has_value() || scaling.has_value();
    const double outside = config.real("rope_theta", default_theta);
    const double theta = apart ? place.real("rope_theta", outside) : outside;
    const std::string older = apart ? place.text("type", "default") : "default";
    const std::string type = apart ? place.text("rope_type", older) : older;
    const double outer_part = config.real("partial_rotary_factor", 1);
    const double part = apart ? place.real("partial_rotary_factor", outer_part) : outer_part;
    if (!(part > 0 && part <= 1)) config.fail("partial_rotary_factor", "expected a number above 0, at most 1");
    const auto turned = static_cast<int64_t>(static_cast<double>(head_dim) * part);
    const int64_t longest = config.integer("max_position_embeddings", 2048);
    const int64_t outer = config.integer("original_max_position_embeddings", longest);
    const int64_t trained = apart ? place.integer("original_max_position_embeddings", outer) : outer;
    if (turned < 2 || turned % 2 != 0 || turned > head_dim)
        config.fail("partial_rotary_factor", "rotates " + std::to_string(turned) + " of " + std::to_string(head_dim) +
                                                 " channels of a head; expected an even number, 2 or more");
    if (!(theta > 0)) config.fail("rope_theta", "expected a number above 0");
    return {place, apart, type, theta, turned / 2, trained, longest};
}

} // namespace

Rotary rotary(const Config &config, int64_t head_dim, double default_theta, const std::string &layers) {
    const Setting s = setting_of(config, head_dim, default_theta, layers);
    std::vector<double> frequencies;
    for (int64_t i = 0; i < s.pairs; ++i) frequencies.push_back(s.frequency(i));
    Rotary out{{}, 1, s.longest};
    if (s.type == "default") {
    } else if (s.type == "linear") {
        linear(s, frequencies);
    } else if (s.type == "dynamic") {
        (void)s.config.real("factor"); // only for texts beyond the trained context
        out.positions = s.trained;
    } else if (s.type == "yarn") {
        out.magnitude = yarn(s, frequencies);
    } else if (s.type == "longrope" || s.type == "su") {
        out.magnitude = longrope(s, frequencies);
        out.positions = s.trained;
    } else if (s.type == "llama3") {
        llama3(s, frequencies);
    } else {
        s.config.fail("rope_type", in_quotes(s.type) + " is not supported; supported: default, linear, dynamic, " +
                                       "yarn, longrope and llama3");
    }
    const auto usable = [](double number) { return std::isfinite(number) && number >= 0; };
    if (!std::ranges::all_of(frequencies, usable) || !usable(out.magnitude))
        s.config.fail("rope_type", "these settings give frequencies that are not finite, or below 0");
    if (s.apart) s.config.finish();
    out.frequencies.assign(frequencies.begin(), frequencies.end());
    return out;
}

Rotary plain_rotary(int64_t head_dim, double theta, int64_t positions) {
    Rotary out{{}, 1, positions};
    for (int64_t i = 0; i < head_dim / 2; ++i)
        out.frequencies.push_back(
            static_cast<float>(std::pow(theta, -2 * static_cast<double>(i) / static_cast<double>(head_dim))));
    return out;
}

RotaryLayer::RotaryLayer(Draft &draft, const std::string &name, const Rotary &rotary, bool interleaved)
    : frequencies_(name), magnitude_(rotary.magnitude), interleaved_(interleaved) {
    const Shape pairs{static_cast<int64_t>(rotary.frequencies.size())};
    draft.weights.add(name, model::Weight::of(Tensor::of(pairs, rotary.frequencies)));
}

GraphWriter::Tensor RotaryLayer::operator()(GraphWriter &graph, const std::string &name, const GraphWriter::Tensor &x,
                                            int64_t heads, const GraphWriter::Tensor &position) const {
    Json params{{"heads", heads}};
    if (!interleaved_) params["layout"] = "halves";
    if (magnitude_ != 1) params["magnitude"] = magnitude_;
    return graph.layer(name, "rotary", {{"x", x}, {"position", position}}, params, {{"frequencies", frequencies_}});
}

} // namespace lamina::architectures
