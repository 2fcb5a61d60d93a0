#include "architectures/graph_writer.hpp"

#include <lamina/error.hpp>

#include <algorithm>

namespace lamina::architectures {
namespace {

Json json_of(JsonView value) {
    if (value.is_null()) return nullptr;
    if (value.is_boolean()) return value.boolean();
    if (value.is_integer()) return value.integer(INT64_MIN, INT64_MAX);
    if (value.is_number()) return value.number();
    if (value.is_string()) return std::string(value.string());
    Json out = value.is_list() ? Json::array() : Json::object();
    if (value.is_list())
        for (const JsonView item : value.items()) out.push_back(json_of(item));
    else
        for (const JsonView member : value.members()) out[member.key()] = json_of(member);
    return out;
}

Shape without_leading_ones(const Shape &shape) {
    return {std::ranges::find_if(shape, [](int64_t size) { return size != 1; }), shape.end()};
}

} // namespace

GraphWriter::Tensor GraphWriter::input(const std::string &name, DType dtype, const std::string &dims,
                                       int64_t channels) {
    inputs_[name] = {{"dtype", name_of(dtype)}, {"dims", dims}};
    if (channels != 0) channels_[name] = channels;
    return name;
}

bool GraphWriter::takes(std::string_view input) const {
    const auto *members = inputs_.members();
    return std::ranges::any_of(*members, [&](const Json::Member &member) { return member.key == input; });
}

GraphWriter::Tensor GraphWriter::output_named(std::string_view name) const {
    const auto found = std::ranges::find(*outputs_.members(), name, &Json::Member::key);
    return found == outputs_.members()->end() || found->value.text() == nullptr ? "" : *found->value.text();
}

bool GraphWriter::names(std::string_view weight) const {
    return named_.contains(weight) || named_.contains(weight.substr(0, weight.rfind('.')));
}

void GraphWriter::replace(JsonView graph) {
    graph.allow_keys({"inputs", "layers", "outputs"});
    inputs_ = json_of(graph.at("inputs")), layers_ = json_of(graph.at("layers"));
    outputs_ = json_of(graph.at("outputs"));
    for (const char *object : {"inputs", "outputs"}) (void)graph.at(object).members(); // throws unless it is one
    (void)graph.at("layers").items();
}

GraphWriter::Tensor GraphWriter::layer(const std::string &module, const char *type,
                                       const std::vector<std::pair<const char *, Tensor>> &inputs, const Json &params,
                                       const Json &mapped) {
    const std::string name = beginning_ + module;
    const Json weights = beginning_.empty() ? mapped : with_own(mapped, module);
    Json given = Json::object();
    for (const auto &[port, tensor] : inputs)
        if (!tensor.empty()) given[port] = tensor;
    if (!inputs.empty())
        if (const auto first = channels_.find(inputs.front().second); first != channels_.end())
            channels_[name] = first->second;
    Json out{{"name", name}, {"type", type}, {"inputs", given}};
    if (!params.empty()) out["params"] = params;
    if (!weights.empty()) out["weights"] = weights;
    layers_.push_back(out);
    named_.insert(name);
    if (const auto *members = weights.members())
        for (const Json::Member &weight : *members) named_.insert(*weight.value.text());
    return name;
}

Json GraphWriter::with_own(const Json &mapped, const std::string &module) const {
    Json out = mapped;
    std::set<std::string_view> taken; // weights that a port has
    if (const auto *members = mapped.members())
        for (const Json::Member &weight : *members) taken.insert(*weight.value.text());
    const std::string begin = module + ".";
    for (auto next = weights_->entries().lower_bound(begin);
         next != weights_->entries().end() && next->first.starts_with(begin); ++next) {
        const std::string port = next->first.substr(begin.size());
        if (port.find('.') == std::string::npos && !taken.contains(next->first)) out[port] = next->first;
    }
    return out;
}

int64_t GraphWriter::channels(const Tensor &tensor) const {
    const auto found = channels_.find(tensor);
    if (found != channels_.end()) return found->second;
    throw Error(ErrorCode::failure, "the channels of '" + tensor + "' are not known: call set_channels()");
}

void GraphWriter::require(const std::string &weight, const Shape &shape) const {
    const auto fail = [&](const std::string &message) {
        throw Error(ErrorCode::input, weights_->file().string() + ": " + message);
    };
    if (weights_->others().contains(weight)) (void)weights_->at(weight); // throws
    const auto found = weights_->entries().find(weight);
    if (found == weights_->entries().end())
        fail("there is no tensor '" + weight + "', but according to config.json the model has one of shape " +
             to_string(shape));
    const Shape &theirs = found->second.type.shape;
    if (theirs == shape) return;
    if (gguf_ && without_leading_ones(theirs) == without_leading_ones(shape))
        weights_->reshape(weight, shape);
    else
        fail("the tensor '" + weight + "' has the shape " + to_string(theirs) +
             ", but according to config.json it is " + to_string(shape));
}

GraphWriter::Tensor GraphWriter::embedding(const std::string &module, const Tensor &ids, const Embedding &options) {
    Json params;
    if (options.scale != 1) params["scale"] = options.scale;
    const std::string table = options.table.empty() ? module + ".weight" : options.table;
    require(table, {options.rows, options.channels});
    const Tensor out =
        layer(module, "embedding", {{"ids", ids}, {"residual", options.residual}}, params, {{"table", table}});
    set_channels(out, options.channels);
    return out;
}

GraphWriter::Tensor GraphWriter::learned_positions(const std::string &module, const Tensor &x, const Tensor &position,
                                                   int64_t max_len) {
    require(module + ".weight", {max_len, channels(x)});
    return layer(module, "positional_encoding", {{"x", x}, {"offset", position}}, {{"max_len", max_len}},
                 {{"table", module + ".weight"}});
}

GraphWriter::Tensor GraphWriter::layer_norm(const std::string &module, const Tensor &x, const LayerNorm &options) {
    const std::string &owner = options.module.empty() ? module : options.module;
    require(owner + ".weight", {channels(x)});
    require(owner + ".bias", {channels(x)}, options.biased);
    Json weights;
    if (owner != module) {
        weights["weight"] = owner + ".weight";
        if (options.biased) weights["bias"] = owner + ".bias";
    }
    return layer(module, "layer_norm", {{"x", x}, {"residual", options.residual}}, {{"eps", options.eps}}, weights);
}

GraphWriter::Tensor GraphWriter::rms_norm(const std::string &module, const Tensor &x, const RmsNorm &options) {
    Json params{{"eps", options.eps}};
    if (options.weight_offset != 0) params["weight_offset"] = options.weight_offset;
    if (options.groups != 1) params["groups"] = options.groups;
    if (options.own_weights && options.groups != 1) params["weight_groups"] = options.groups;
    require(module + ".weight", {options.own_weights ? channels(x) : channels(x) / options.groups});
    return layer(module, "rms_norm", {{"x", x}, {"residual", options.residual}}, params);
}

void GraphWriter::require(const std::string &weight, const Shape &shape, bool wanted) const {
    if (wanted) return require(weight, shape);
    if (weights_->entries().contains(weight) && !spare_->contains(weight))
        throw Error(ErrorCode::input, weights_->file().string() + ": there is a tensor '" + weight +
                                          "', but according to config.json the model has none there");
}

void GraphWriter::require_linear(const std::string &weight, const std::string &bias, int64_t outputs, int64_t inputs,
                                 bool biased) const {
    require(weight, {outputs, inputs});
    require(bias, {outputs}, biased);
}

GraphWriter::Tensor GraphWriter::linear(const std::string &module, const Tensor &x, const Linear &options) {
    const int64_t outputs =
        options.outputs != 0 ? options.outputs : channels(options.residual.empty() ? x : options.residual);
    const auto name = [&](const std::string &given, const char *port) { return given.empty() ? module + port : given; };
    require_linear(name(options.weight, ".weight"), name(options.bias, ".bias"), outputs, channels(x), options.biased);
    Json weights;
    if (!options.weight.empty()) weights["weight"] = options.weight;
    if (!options.bias.empty()) weights["bias"] = options.bias;
    const Tensor out = layer(module, "linear", {{"x", x}, {"residual", options.residual}}, {}, weights);
    set_channels(out, outputs);
    return out;
}

GraphWriter::Tensor GraphWriter::feed_forward(const std::string &module, const Tensor &x, const FeedForward &options) {
    Json weights = Json::object();
    const int64_t width = channels(x);
    const std::pair<std::string, std::string> parts[]{
        {"up", options.up}, {"gate", options.gate}, {"down", options.down}};
    for (const auto &[port, part] : parts) {
        if (part.empty()) continue;
        const std::string within = module + "." + part, weight = within + ".weight";
        const bool down = port == "down", biased = down ? options.down_biased : options.biased;
        require_linear(weight, within + ".bias", down ? width : options.hidden, down ? options.hidden : width, biased);
        weights[port + "_weight"] = weight;
        if (biased) weights[port + "_bias"] = within + ".bias";
    }
    return layer(options.name.empty() ? module + ".feed_forward" : options.name, "feed_forward",
                 {{"x", x}, {"residual", options.residual}}, {{"activation", options.activation}}, weights);
}

GraphWriter::Tensor GraphWriter::mixture(const std::string &module, const std::string &name, const Tensor &x,
                                         const Mixture &options) {
    const int64_t width = channels(x);
    Json weights;
    for (const char *part : {"up", "gate", "down"}) {
        if (!options.gated && std::string_view(part) == "gate") continue;
        const std::string weight = name + "." + part + "_proj.weight";
        const bool down = std::string_view(part) == "down";
        require(weight, {options.experts, down ? width : options.hidden, down ? options.hidden : width});
        weights[std::string(part) + "_weight"] = weight;
    }
    const Tensor scores = linear(module + "." + options.router, options.scored.empty() ? x : options.scored,
                                 {.outputs = options.experts, .biased = false});
    Json choice{{"k", options.chosen}};
    if (const auto *members = options.choice.members())
        for (const Json::Member &member : *members) choice[member.key] = member.value;
    Json biased;
    if (!options.router_bias.empty()) {
        require(options.router_bias, {options.experts});
        biased["bias"] = options.router_bias;
    }
    const Tensor chosen = layer(name + ".router", "router", {{"x", scores}}, choice, biased);
    return layer(name, "experts",
                 {{"x", x}, {"experts", chosen}, {"shares", chosen + ".weights"}, {"residual", options.residual}},
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
    if (options.window != 0 && options.two_sided) params["two_sided"] = true;
    Json weights;
    if (!options.slopes.empty()) weights["slopes"] = options.slopes;
    if (!options.sinks.empty()) weights["sinks"] = options.sinks;
    // Heads share keys and values, so the outputs are as wide as the queries.
    return layer(name, "attention",
                 {{"q", q},
                  {"k", k},
                  {"v", v},
                  {"position", options.position},
                  {"ahead", options.ahead},
                  {"key_lengths", options.key_lengths},
                  {"key_mask", options.key_mask},
                  {"first_keys", options.first_keys},
                  {"query_lengths", options.query_lengths},
                  {"score_bias", options.score_bias},
                  {"distance_bias", options.distance_bias}},
                 params, weights);
}

GraphWriter::Tensor pass_on(GraphWriter &from, GraphWriter &to, const GraphWriter::Tensor &tensor,
                            const std::string &dims) {
    const int64_t channels = from.channels(tensor);
    from.output(tensor, tensor);
    return to.input(tensor, DType::f32, dims + " " + std::to_string(channels), channels);
}

} // namespace lamina::architectures
