#include "architectures/graph_writer.hpp"

#include <lamina/error.hpp>

#include <algorithm>

namespace lamina::architectures {

GraphWriter::Tensor GraphWriter::input(const std::string &name, DType dtype, const std::string &dims) {
    inputs_[name] = {{"dtype", name_of(dtype)}, {"dims", dims}};
    return name;
}

bool GraphWriter::takes(std::string_view input) const {
    const auto *members = inputs_.members();
    return std::ranges::any_of(*members, [&](const Json::Member &member) { return member.key == input; });
}

bool GraphWriter::names(std::string_view weight) const {
    return named_.contains(weight) || named_.contains(weight.substr(0, weight.rfind('.')));
}

GraphWriter::Tensor GraphWriter::layer(const std::string &name, const char *type,
                                       const std::vector<std::pair<const char *, Tensor>> &inputs, const Json &params,
                                       const Json &weights) {
    Json given = Json::object();
    for (const auto &[port, tensor] : inputs)
        if (!tensor.empty()) given[port] = tensor;
    Json out{{"name", name}, {"type", type}, {"inputs", given}};
    if (!params.empty()) out["params"] = params;
    if (!weights.empty()) out["weights"] = weights;
    layers_.push_back(out);
    named_.insert(name);
    if (const auto *members = weights.members())
        for (const Json::Member &weight : *members) named_.insert(*weight.value.text());
    return name;
}

GraphWriter::Tensor GraphWriter::embedding(const std::string &module, const Tensor &ids, const Embedding &options) {
    Json params;
    if (options.scale != 1) params["scale"] = options.scale;
    return layer(module, "embedding", {{"ids", ids}, {"residual", options.residual}}, params,
                 {{"table", options.table.empty() ? module + ".weight" : options.table}});
}

GraphWriter::Tensor GraphWriter::learned_positions(const std::string &module, const Tensor &x, const Tensor &position,
                                                   int64_t max_len) {
    return layer(module, "positional_encoding", {{"x", x}, {"offset", position}}, {{"max_len", max_len}},
                 {{"table", module + ".weight"}});
}

GraphWriter::Tensor GraphWriter::layer_norm(const std::string &module, const Tensor &x, double eps) {
    return layer(module, "layer_norm", {{"x", x}}, {{"eps", eps}});
}

GraphWriter::Tensor GraphWriter::rms_norm(const std::string &module, const Tensor &x, const RmsNorm &options) {
    Json params{{"eps", options.eps}};
    if (options.weight_offset != 0) params["weight_offset"] = options.weight_offset;
    if (options.groups != 1) params["groups"] = options.groups;
    return layer(module, "rms_norm", {{"x", x}, {"residual", options.residual}}, params);
}

void GraphWriter::check_bias(const std::string &module, bool biased) const {
    if (const bool found = weights_->entries().contains(module + ".bias"); found != biased)
        throw Error(ErrorCode::input, weights_->file().string() + ": " +
                                          (found ? "there is a tensor '" : "there is no tensor '") + module +
                                          ".bias', but according to config.json the model has " +
                                          (biased ? "a" : "no") + " bias there");
}

GraphWriter::Tensor GraphWriter::linear(const std::string &module, const Tensor &x, const Linear &options) {
    check_bias(module, options.biased);
    Json weights;
    if (!options.weight.empty()) weights["weight"] = options.weight;
    return layer(module, "linear", {{"x", x}, {"residual", options.residual}}, {}, weights);
}

GraphWriter::Tensor GraphWriter::feed_forward(const std::string &module, const Tensor &x, const FeedForward &options) {
    Json weights = Json::object();
    const std::pair<std::string, std::string> parts[]{
        {"up", options.up}, {"gate", options.gate}, {"down", options.down}};
    for (const auto &[port, part] : parts) {
        if (part.empty()) continue;
        const std::string within = module + "." + part;
        check_bias(within, options.biased);
        weights[port + "_weight"] = within + ".weight";
        if (options.biased) weights[port + "_bias"] = within + ".bias";
    }
    return layer(module + ".feed_forward", "feed_forward", {{"x", x}, {"residual", options.residual}},
                 {{"activation", options.activation}}, weights);
}

GraphWriter::Tensor GraphWriter::activated(const std::string &activation, const Tensor &x) {
    return layer(x + ".activation", "activation", {{"x", x}}, {{"activation", activation}});
}

GraphWriter::Tensor GraphWriter::attention(const std::string &name, const Tensor &q, const Tensor &k, const Tensor &v,
                                           const Attention &options) {
    Json params{{"heads", options.heads}};
    if (options.kv_heads != options.heads) params["kv_heads"] = options.kv_heads;
    if (options.causal) params["causal"] = true;
    if (options.scale != 0) params["scale"] = options.scale;
    if (options.softcap != 0) params["softcap"] = options.softcap;
    if (options.window != 0) params["window"] = options.window;
    return layer(name, "attention",
                 {{"q", q},
                  {"k", k},
                  {"v", v},
                  {"position", options.position},
                  {"key_lengths", options.key_lengths},
                  {"score_bias", options.score_bias},
                  {"distance_bias", options.distance_bias}},
                 params);
}

GraphWriter::Tensor pass_on(GraphWriter &from, GraphWriter &to, const GraphWriter::Tensor &tensor,
                            const std::string &dims) {
    from.output(tensor, tensor);
    return to.input(tensor, DType::f32, dims);
}

} // namespace lamina::architectures
