#include "builder/transformer_graph.hpp"

#include <cmath>

namespace lamina::builder {
namespace {

using Rule = InitialWeight::Rule;

constexpr const char *running = "x"; // the variable that carries the tokens from sublayer to sublayer

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

// An entry of "layers", without empty members.
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

    // The layers that compute the keys and values of a source.
    void project_source(const std::string &memory, int64_t channels) {
        for (const char *part : {".key", ".value"})
            project(prefix_ + ".source_attention" + part, memory, layer_.d_model, channels);
    }

    std::vector<Json> layers;
    std::vector<InitialWeight> weights;

  private:
    const TransformerLayer &layer_;
    const AttentionInputs &inputs_;
    std::string prefix_, x_;

    // The tensor that a sublayer reads: the tokens, normalized if the norm comes first.
    std::string enter(const std::string &sublayer) {
        if (!layer_.norm_first) return x_;
        norm("norm_" + sublayer);
        return prefix_ + ".norm_" + sublayer;
    }
    // A sublayer's last layer. It adds the residual, unless dropout comes between.
    void leave(const std::string &sublayer, const std::string &name, const char *type, Json inputs,
               const Json &params) {
        const bool drops = layer_.dropout > 0;
        if (!drops) inputs["residual"] = x_;
        layers.push_back(entry(name, type, inputs, params, !drops));
        if (drops)
            layers.push_back(
                entry(prefix_ + ".dropout_" + sublayer, "dropout", {{"residual", x_}}, {{"p", layer_.dropout}}, true));
        x_ = running;
        if (layer_.norm_first) return;
        norm("norm_" + sublayer);
        layers.back()["as"] = running;
    }
    // A layer's first input. It need not be written if it is the output of the layer before.
    Json first_input(const std::string &port, const std::string &tensor) {
        const bool said = layers.empty() || *layers.back()["name"].text() != tensor;
        return said ? Json{{port, tensor}} : Json::object();
    }

    void self_attention() {
        const std::string name = prefix_ + ".attention", tokens = enter("attention");
        project(name + ".query", tokens, layer_.d_model, layer_.d_model);
        project(name + ".key", tokens, layer_.d_model, layer_.d_model);
        project(name + ".value", tokens, layer_.d_model, layer_.d_model);
        Json inputs{{"q", name + ".query"}, {"k", name + ".key"}, {"v", name + ".value"}};
        add_mask(inputs, inputs_.mask_kind, inputs_.mask);
        if (!inputs_.position.empty()) inputs["position"] = inputs_.position;
        heads("attention", inputs, inputs_.causal);
    }
    // Keys and values are projected from the memory, or given already projected.
    void source_attention() {
        const std::string name = prefix_ + ".source_attention", tokens = enter("source_attention");
        project(name + ".query", tokens, layer_.d_model, layer_.d_model);
        if (!inputs_.memory.empty()) project_source(inputs_.memory, layer_.d_model);
        Json inputs = first_input("q", name + ".query");
        inputs["k"] = name + ".key";
        inputs["v"] = name + ".value";
        add_mask(inputs, inputs_.source_mask_kind, inputs_.source_mask);
        heads("source_attention", inputs, false);
    }
    // Attention itself, and the projection of its output.
    void heads(const std::string &sublayer, const Json &inputs, bool causal) {
        const std::string name = prefix_ + "." + sublayer;
        Json params{{"heads", layer_.heads}};
        if (!layer_.batch_first) params["batch_first"] = false;
        if (causal) params["causal"] = true;
        layers.push_back(entry(name + ".heads", "attention", inputs, params, false));
        leave(sublayer, name + ".out", "linear", Json::object(), {});
        linear(name + ".out.", layer_.d_model, layer_.d_model);
    }
    void feed_forward() {
        const std::string name = prefix_ + ".feed_forward", tokens = enter("feed_forward");
        leave("feed_forward", name, "feed_forward", first_input("x", tokens),
              {{"activation", name_of(layer_.activation)}});
        linear(name + ".up_", layer_.ffn, layer_.d_model);
        linear(name + ".down_", layer_.d_model, layer_.ffn);
    }

    static void add_mask(Json &inputs, Mask kind, const std::string &name) {
        if (kind == Mask::lengths) inputs["key_lengths"] = name;
        if (kind == Mask::keys) inputs["key_mask"] = name;
        if (kind == Mask::keep) inputs["keep_mask"] = name;
    }

    void project(const std::string &name, const std::string &x, int64_t rows, int64_t columns) {
        layers.push_back(entry(name, "linear", first_input("x", x), {}, false));
        linear(name + ".", rows, columns);
    }
    void linear(const std::string &name, int64_t rows, int64_t columns) {
        weights.push_back({name + "weight", {rows, columns}, Rule::xavier_uniform});
        if (layer_.bias) vector(name + "bias", rows, Rule::zeros);
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

void TransformerGraph::repeat(int64_t count, const Json &layers, const std::vector<InitialWeight> &weights) {
    layers_.push_back({{"repeat", count}, {"layers", layers}});
    for (int64_t i = 0; i < count; ++i)
        for (const InitialWeight &w : weights) weights_.push_back({with_index(w.name, i), w.shape, w.rule});
}

std::string TransformerGraph::stack(const TransformerLayer &layer, int64_t layers, bool final_norm,
                                    const std::string &prefix, const std::string &x, const AttentionInputs &inputs) {
    if (x == running) { // every copy reads the output of the one before it, so they differ only in their number
        LayerWriter copy(layer, inputs, prefix + ".{i}", x);
        copy.write();
        repeat(layers, copy.layers, copy.weights);
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

void TransformerGraph::project_source(const TransformerLayer &layer, int64_t layers, const std::string &prefix,
                                      const std::string &memory, int64_t channels) {
    const AttentionInputs none;
    LayerWriter copy(layer, none, prefix + ".{i}", memory);
    copy.project_source(memory, channels);
    repeat(layers, copy.layers, copy.weights);
    for (const std::string &name : source_tensors(prefix, layers)) output(name, name);
}

std::vector<std::string> TransformerGraph::source_tensors(const std::string &prefix, int64_t layers) {
    std::vector<std::string> names;
    for (int64_t i = 0; i < layers; ++i)
        for (const char *part : {".source_attention.key", ".source_attention.value"})
            names.push_back(prefix + "." + std::to_string(i) + part);
    return names;
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
