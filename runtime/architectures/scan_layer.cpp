#include "architectures/scan_layer.hpp"

#include "architectures/made_modules.hpp"
#include "architectures/weight_parts.hpp"

#include <string_view>
#include <utility>
#include <vector>

namespace lamina::architectures {

void Scan::limit_steps(const Config &config) {
    if (config.is_null("time_step_limit") || !config.reads("time_step_limit")) return;
    const std::vector<double> limits = config.reals("time_step_limit");
    if (limits.size() != 2 || !(limits[0] >= 0 && limits[0] <= limits[1] && limits[1] > 0))
        config.fail("time_step_limit", "expected two numbers, the least from 0 on and the most");
    constexpr double none = 1e6; // steps come nowhere near it
    min_step = limits[0], max_step = limits[1] < none ? limits[1] : 0;
}

void Scan::check(const Config &config, const char *of_heads, const char *of_groups) const {
    if (heads > INT32_MAX / head_dim || groups > INT32_MAX / state_dim)
        config.fail(of_heads, "so many channels are not supported");
    if (heads % groups != 0)
        config.fail(of_groups,
                    "expected a divisor of the heads, " + std::to_string(heads) + ", found " + std::to_string(groups));
}

int64_t scan_head_dim(const Config &config, int64_t heads) {
    const int64_t all = config.positive("inner_size");
    if (all % heads != 0)
        config.fail("inner_size",
                    "expected a multiple of the heads, " + std::to_string(heads) + ", found " + std::to_string(all));
    return all / heads;
}

ScanLayer::ScanLayer(Draft &draft, const DecoderGraph &decoder, Scan scan)
    : draft_(draft), decoder_(decoder), graph_(decoder.graph()), scan_(std::move(scan)),
      values_(scan_.heads * scan_.head_dim), keys_(scan_.groups * scan_.state_dim) {}

GraphWriter::Tensor ScanLayer::operator()(const std::string &module, const GraphWriter::Tensor &x,
                                          const GraphWriter::Tensor &residual) const {
    const int64_t mixed = values_ + 2 * keys_;
    const std::string gate = module + ".in_gate", of_values = module + ".in_values", of_step = module + ".in_step";
    split(draft_, graph_, module + ".in_proj",
          {.inputs = graph_.channels(x),
           .parts = {{gate, values_}, {of_values, mixed}, {of_step, scan_.heads}},
           .biased = scan_.biased});
    const auto projected = [&](const std::string &name, int64_t outputs) {
        return graph_.linear(name, x, {.outputs = outputs, .biased = scan_.biased});
    };
    const GraphWriter::Tensor z = projected(gate, values_),
                              convolved = convolution(module, projected(of_values, mixed));
    Json params{{"heads", scan_.heads}, {"groups", scan_.groups}, {"state_dim", scan_.state_dim}};
    if (scan_.min_step != 0) params["min_step"] = scan_.min_step;
    if (scan_.max_step != 0) params["max_step"] = scan_.max_step;
    const GraphWriter::Tensor read = graph_.layer(module + ".scan", "selective_scan",
                                                  {{"x", convolved},
                                                   {"step", steps(of_step, x)},
                                                   {"position", decoder_.position()},
                                                   {"lengths", decoder_.target_lengths()}},
                                                  params, weights(module));
    return graph_.linear(module + ".out_proj", gated(module, z, read),
                         {.outputs = graph_.channels(residual), .residual = residual, .biased = scan_.result_biased});
}

// They are few, so that their rows can be copied.
GraphWriter::Tensor ScanLayer::steps(const std::string &module, const GraphWriter::Tensor &x) const {
    std::string name = module;
    if (scan_.factor.step != 1) {
        name += ".scaled";
        for (const char *port : {".weight", ".bias"}) {
            if (port == std::string_view(".bias") && !scan_.biased) continue;
            draft_.weights.add(name + port, scaled(draft_.weights.at(module + port), scan_.factor.step));
            draft_.unused.insert(module + port);
        }
    }
    return graph_.linear(name, x, {.outputs = scan_.heads, .biased = scan_.biased});
}

GraphWriter::Tensor ScanLayer::gated(const std::string &module, const GraphWriter::Tensor &z,
                                     const GraphWriter::Tensor &read) const {
    const bool normed_last = scan_.norm == ScanNorm::after_gate;
    const double of_gate = scan_.factor.gate, factor = of_gate * (normed_last ? 1 : scan_.factor.result);
    const auto normed = [&](const GraphWriter::Tensor &values) {
        return graph_.rms_norm(norm_of(module), values,
                               {.eps = scan_.eps, .groups = scan_.groups, .own_weights = true});
    };
    Json params{{"activation", "silu"}};
    if (of_gate != 1) params["scale"] = 1 / of_gate;
    if (factor != 1) params["factor"] = factor;
    graph_.set_channels(read, values_);
    const GraphWriter::Tensor times = scan_.norm == ScanNorm::before_gate ? normed(read) : read;
    const GraphWriter::Tensor out = graph_.layer(module + ".gated", "activation", {{"x", z}, {"times", times}}, params);
    graph_.set_channels(out, values_);
    return normed_last ? normed(out) : out;
}

GraphWriter::Tensor ScanLayer::convolution(const std::string &module, const GraphWriter::Tensor &x) const {
    const std::string stored = module + ".conv1d", name = module + ".conv";
    const int64_t channels = graph_.channels(x);
    graph_.require(stored + ".weight", draft_.gguf ? Shape{channels, scan_.width} : Shape{channels, 1, scan_.width});
    graph_.require(stored + ".bias", {channels}, scan_.convolution_biased);
    model::Weight weight = draft_.weights.at(stored + ".weight").shaped({channels, scan_.width});
    if (const ScanFactors &of = scan_.factor; of.values != 1 || of.keys != 1 || of.queries != 1) {
        std::vector<float> factors(static_cast<size_t>(values_), static_cast<float>(of.values));
        factors.resize(static_cast<size_t>(values_ + keys_), static_cast<float>(of.keys));
        factors.resize(static_cast<size_t>(channels), static_cast<float>(of.queries));
        weight = rows_scaled(weight, model::Weight::of(Tensor::of({channels}, factors)));
    }
    draft_.weights.add(name + ".weight", std::move(weight));
    draft_.unused.insert(stored + ".weight");
    Json weights;
    if (scan_.convolution_biased) weights["bias"] = stored + ".bias";
    return graph_.layer(name, "causal_conv1d",
                        {{"x", x}, {"position", decoder_.position()}, {"lengths", decoder_.target_lengths()}},
                        {{"activation", scan_.activation}}, weights);
}

// A GGUF file has a row for each group of the norm.
std::string ScanLayer::norm_of(const std::string &module) const {
    const std::string stored = module + ".norm", name = module + ".gated_norm";
    const double factor = scan_.norm == ScanNorm::after_gate ? scan_.factor.result : 1;
    if (!draft_.gguf && factor == 1) return stored;
    graph_.require(stored + ".weight", draft_.gguf ? Shape{scan_.groups, values_ / scan_.groups} : Shape{values_});
    const model::Weight weight = draft_.weights.at(stored + ".weight").shaped({values_});
    draft_.weights.add(name + ".weight", factor == 1 ? weight : scaled(weight, factor));
    draft_.unused.insert(stored + ".weight");
    return name;
}

// A GGUF file has -exp(A_log), and columns instead of vectors.
Json ScanLayer::weights(const std::string &module) const {
    std::string rate = module + ".A_log", offset = module + ".dt_bias", skip = module + ".D";
    if (draft_.gguf) {
        const std::string of_rate = module + ".ssm_a", of_skip = module + ".ssm_d";
        offset = module + ".dt.bias";
        graph_.require(of_rate, {scan_.heads, 1});
        graph_.require(of_skip, {scan_.heads, 1});
        draft_.weights.add(rate, logarithms(draft_.weights.at(of_rate).shaped({scan_.heads})));
        draft_.weights.add(skip, draft_.weights.at(of_skip).shaped({scan_.heads}));
        draft_.unused.insert({of_rate, of_skip});
    }
    for (const std::string &name : {rate, offset, skip}) graph_.require(name, {scan_.heads});
    return {{"log_rate", rate}, {"offset", offset}, {"skip", skip}};
}

} // namespace lamina::architectures
