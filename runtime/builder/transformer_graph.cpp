#include "builder/transformer_graph.hpp"

#include <cmath>

namespace lamina::builder {
namespace {

using Json = TransformerGraph::Json;
using Rule = InitialWeight::Rule;

constexpr const char *running = "x"; // the variable that holds the tokens from sublayer to sublayer

const char *name_of(Activation activation) {
    switch (activation) {
    case Activation::relu:
        return "relu";
    case Activation::gelu:
        return "gelu";
    case Activation::gelu_tanh:
        return "gelu_tanh";
    case Activation::silu:
        return "silu";
    }
    throw Error(ErrorCode::usage, "TransformerLayer: activation is not one of relu, gelu, gelu_tanh, silu");
}

// An entry of "layers"; what is empty is left out.
Json entry(const std::string &name, const char *type, const Json &inputs, const Json &params, bool rebinds) {
    Json out{{"name", name}, {"type", type}};
    if (!inputs.empty()) out["inputs"] = inputs;
    if (!params.empty()) out["params"] = params;
    if (rebinds) out["as"] = running;
    return out;
}

// Writes a TransformerLayer, or a part of one, into a list of layers.
class LayerWriter {
  public:
    LayerWriter(const TransformerLayer &layer, const AttentionInputs &inputs, std::string prefix, std::string x)
        : layer_(layer), inputs_(inputs), prefix_(std::move(prefix)), x_(std::move(x)) {}

    void write() {
        self_attention();
        if (layer_.source_attention) source_attention();
        feed_forward();
    }
    void norm(const std::string &name) {
        const std::string full = prefix_ + "." + name;
        const Json params = layer_.eps == TransformerLayer{}.eps ? Json() : Json{{"eps", layer_.eps}};
        layers.push_back(entry(full, "layer_norm", {{"x", x_}}, params, false));
        vector(full + ".weight", layer_.d_model, Rule::ones);
        vector(full + ".bias", layer_.d_model, Rule::zeros);
    }

    Json layers = Json::array();
    std::vector<InitialWeight> weights;

  private:
    const TransformerLayer &layer_;
    const AttentionInputs &inputs_;
    std::string prefix_, x_;

    // `inputs` and `params` are the layer's own; `port` is the one that takes the tokens. With a norm before it, or
    // dropout behind it, the tokens reach it, and the residual is added, at other places.
    void sublayer(const std::string &name, const char *type, const char *port, const Json &inputs, const Json &params) {
        const bool drops = layer_.dropout > 0;
        Json all = Json::object();
        if (layer_.norm_first)
            norm("norm_" + name);
        else
            all[port] = x_;
        if (!drops) all["residual"] = x_;
        all.update(inputs);
        layers.push_back(entry(prefix_ + "." + name, type, all, params, !drops));
        if (drops)
            layers.push_back(
                entry(prefix_ + ".dropout_" + name, "dropout", {{"residual", x_}}, {{"p", layer_.dropout}}, true));
        x_ = running;
        if (layer_.norm_first) return;
        norm("norm_" + name);
        layers.back()["as"] = running;
    }

    void self_attention() {
        Json inputs = Json::object();
        add_mask(inputs, inputs_.mask_kind, inputs_.mask);
        Json params = attention_params();
        if (inputs_.causal) params["causal"] = true;
        sublayer("attention", "attention", "query", inputs, params);
        attention_weights(prefix_ + ".attention", layer_.d_model);
    }
    void source_attention() {
        Json inputs{{"source", inputs_.memory}};
        add_mask(inputs, inputs_.source_mask_kind, inputs_.source_mask);
        sublayer("source_attention", "attention", "query", inputs, attention_params());
        attention_weights(prefix_ + ".source_attention", inputs_.memory_channels);
    }
    void feed_forward() {
        sublayer("feed_forward", "feed_forward", "x", Json::object(), {{"activation", name_of(layer_.activation)}});
        linear(prefix_ + ".feed_forward.up", layer_.ffn, layer_.d_model);
        linear(prefix_ + ".feed_forward.down", layer_.d_model, layer_.ffn);
    }

    void add_mask(Json &inputs, Mask kind, const std::string &name) const {
        if (kind == Mask::lengths) inputs["key_lengths"] = name;
        if (kind == Mask::keys) inputs["key_mask"] = name;
        if (kind == Mask::keep) inputs["keep_mask"] = name;
        if (!inputs_.position.empty()) inputs["position"] = inputs_.position;
    }
    [[nodiscard]] Json attention_params() const {
        Json params{{"heads", layer_.heads}};
        if (!layer_.batch_first) params["batch_first"] = false;
        return params;
    }
    void attention_weights(const std::string &name, int64_t source_channels) {
        linear(name + ".query", layer_.d_model, layer_.d_model);
        linear(name + ".key", layer_.d_model, source_channels);
        linear(name + ".value", layer_.d_model, source_channels);
        linear(name + ".out", layer_.d_model, layer_.d_model);
    }

    void linear(const std::string &name, int64_t rows, int64_t columns) {
        weights.push_back({name + "_weight", {rows, columns}, Rule::xavier_uniform});
        if (layer_.bias) vector(name + "_bias", rows, Rule::zeros);
    }
    void vector(const std::string &name, int64_t size, Rule rule) { weights.push_back({name, {size}, rule}); }
};

std::string with_index(std::string name, int64_t index) {
    const size_t at = name.find("{i}");
    return at == std::string::npos ? name : name.replace(at, 3, std::to_string(index));
}

} // namespace

std::string TransformerGraph::input(const std::string &name, DType dtype, const std::string &dims) {
    inputs_[name] = {{"dtype", lamina::name_of(dtype)}, {"dims", dims}};
    return name;
}

std::string TransformerGraph::embedding(const EmbeddingsWithPositionalEncoding &e, const std::string &prefix,
                                        const std::string &x, const std::string &position) {
    const std::string table = prefix + ".embedding";
    layers_.push_back(
        entry(table, "embedding", {{"ids", x}}, {{"scale", std::sqrt(static_cast<double>(e.d_model))}}, false));
    weights_.push_back({table + ".table", {e.vocabulary, e.d_model}, Rule::xavier_uniform});

    using Positions = EmbeddingsWithPositionalEncoding::Positions;
    Json params{{"max_len", e.max_len}};
    if (e.positions == Positions::halves) params["layout"] = "halves";
    if (e.positions == Positions::learned)
        weights_.push_back({prefix + ".positions.table", {e.max_len, e.d_model}, Rule::xavier_uniform});
    if (!e.batch_first) params["batch_first"] = false;
    layers_.push_back(entry(prefix + ".positions", "positional_encoding",
                            position.empty() ? Json() : Json{{"offset", position}}, params, e.dropout == 0));
    if (e.dropout > 0) layers_.push_back(entry(prefix + ".dropout", "dropout", {}, {{"p", e.dropout}}, true));
    return running;
}

std::string TransformerGraph::stack(const TransformerLayer &layer, int64_t layers, bool final_norm,
                                    const std::string &prefix, const std::string &x, const AttentionInputs &inputs) {
    if (x == running) { // every copy reads what the one before it gave: they differ in nothing but their number
        LayerWriter copy(layer, inputs, prefix + ".{i}", x);
        copy.write();
        layers_.push_back({{"repeat", layers}, {"layers", copy.layers}});
        for (int64_t i = 0; i < layers; ++i)
            for (const InitialWeight &w : copy.weights) weights_.push_back({with_index(w.name, i), w.shape, w.rule});
    } else {
        for (int64_t i = 0; i < layers; ++i) {
            LayerWriter one(layer, inputs, prefix + "." + std::to_string(i), i == 0 ? x : running);
            one.write();
            for (const Json &each : one.layers) layers_.push_back(each);
            weights_.insert(weights_.end(), one.weights.begin(), one.weights.end());
        }
    }
    if (!final_norm) return running;
    LayerWriter last(layer, inputs, prefix, running);
    last.norm("norm");
    layers_.push_back(last.layers.front());
    weights_.insert(weights_.end(), last.weights.begin(), last.weights.end());
    return prefix + ".norm";
}

std::string TransformerGraph::generator(const Generator &g, const std::string &x) {
    layers_.push_back(entry("generator", "linear", {{"x", x}}, {}, false));
    weights_.push_back({"generator.weight", {g.vocabulary, g.d_model}, Rule::xavier_uniform});
    weights_.push_back({"generator.bias", {g.vocabulary}, Rule::zeros});
    if (g.output == Generator::Output::logits) return "generator";
    const char *type = g.output == Generator::Output::probabilities ? "softmax" : "log_softmax";
    layers_.push_back(entry(std::string("generator.") + type, type, {}, {}, false));
    return std::string("generator.") + type;
}

} // namespace lamina::builder
