// Writes one graph in the format of model.json. A layer has the name that its module has in the model's files, so most
// weights need no mapping: layer "model.norm" reads "model.norm.weight".
//
// Which weights a layer has, and their shapes, follow from the settings alone, and never from what a file happens to
// hold: a file that lacks one of them, or has it in another shape, is another model than its config.json says.
#pragma once

#include "base/json.hpp"
#include "base/json_reader.hpp"
#include "model/weights.hpp"

#include <lamina/tensor.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lamina::architectures {

class GraphWriter {
  public:
    using Names = std::set<std::string, std::less<>>;

    // `spare`: tensors that the file may have although no layer needs them. Both must outlive it.
    // `gguf`: the weights are from a GGUF file.
    GraphWriter(model::Weights &weights, const Names &spare, bool gguf)
        : weights_(&weights), spare_(&spare), gguf_(gguf) {}

    using Tensor = std::string; // its name in the graph; empty: none

    // Of a second graph with the same layers, because names of layers are unique in a model: those that are added from
    // now on begin with this, and their weights are those of the layers without it.
    void name_layers(std::string beginning) { beginning_ = std::move(beginning); }

    // `channels`: the last dim, if layers of this class take it.
    Tensor input(const std::string &name, DType dtype, const std::string &dims, int64_t channels = 0);
    void output(const std::string &name, const Tensor &tensor) { outputs_[name] = tensor; }
    [[nodiscard]] bool takes(std::string_view input) const;
    [[nodiscard]] Tensor output_named(std::string_view name) const; // empty: there is none
    [[nodiscard]] bool names(std::string_view weight) const;        // whether it is a layer's

    // Adds any layer. Empty inputs are left out. Weights that are not mapped are called NAME.PORT; the caller requires
    // them. The output has as many channels as the first input: set_channels() tells of others.
    Tensor layer(const std::string &name, const char *type, const std::vector<std::pair<const char *, Tensor>> &inputs,
                 const Json &params = {}, const Json &weights = {});
    void set_channels(const Tensor &tensor, int64_t count) { channels_[tensor] = count; }
    [[nodiscard]] int64_t channels(const Tensor &tensor) const;

    // Throws Error(input) unless the file has this tensor, in this shape. ggml leaves out leading sizes of 1 when it
    // writes files (ggml.c, ggml_n_dims): a tensor of a GGUF file that lacks them, or has more, gets this shape.
    void require(const std::string &weight, const Shape &shape) const;
    // The same, or the opposite where `wanted` is false: for biases, which some models have and others have not.
    void require(const std::string &weight, const Shape &shape, bool wanted) const;

    // ---- The common layers; `module` names both the layer and its weights ----

    struct Embedding {
        int64_t rows, channels; // of the table
        double scale = 1;
        Tensor residual = {};
        std::string table = {}; // the weight, if it is not MODULE.weight
    };
    Tensor embedding(const std::string &module, const Tensor &ids, const Embedding &options);
    // Adds rows `position`, position + 1, ... of MODULE.weight to x.
    Tensor learned_positions(const std::string &module, const Tensor &x, const Tensor &position, int64_t max_len);
    struct LayerNorm {
        double eps = 1e-5;
        bool biased = true;
        std::string module = {}; // whose weights it has, if they are another's
        Tensor residual = {};
    };
    Tensor layer_norm(const std::string &module, const Tensor &x, const LayerNorm &options);

    struct RmsNorm {
        double eps = 1e-6;
        double weight_offset = 0; // 1 if the file stores the weight minus 1
        int64_t groups = 1;       // heads, each normalized by itself
        bool own_weights = false; // each group has weights of its own; else all have the same
        Tensor residual = {};
    };
    Tensor rms_norm(const std::string &module, const Tensor &x, const RmsNorm &options);

    struct Linear {
        int64_t outputs = 0; // channels; 0: as the residual, or else the input
        Tensor residual = {};
        bool biased = true;
        std::string weight = {}, bias = {}; // if they are not MODULE.weight and MODULE.bias
    };
    Tensor linear(const std::string &module, const Tensor &x, const Linear &options);

    // up, down and gate are submodules of `module`, such as "gate_proj"; without a gate, it is empty.
    struct FeedForward {
        int64_t hidden; // channels
        std::string activation, up = "up_proj", down = "down_proj", gate = {};
        Tensor residual = {};
        bool biased = true, down_biased = biased;
        std::string name = {}; // of the layer, if it is not MODULE.feed_forward
    };
    Tensor feed_forward(const std::string &module, const Tensor &x, const FeedForward &options);

    // A mixture of feed-forward layers: the product MODULE.ROUTER, the choice NAME.router, and the layer NAME, of the
    // stacks NAME.up_proj, .gate_proj and .down_proj.
    struct Mixture {
        int64_t experts, chosen, hidden;
        std::string activation;
        std::string router = "gate";
        std::string router_bias = {}; // added to the scores for the choice; empty: nothing is
        Json choice = {};             // parameters of the layer `router` beside k
        bool gated = true;
        Tensor scored = {}; // what the router sees, if it is not x
        Tensor residual = {};
    };
    Tensor mixture(const std::string &module, const std::string &name, const Tensor &x, const Mixture &options);

    Tensor activated(const std::string &activation, const Tensor &x);

    struct Attention {
        int64_t heads = 1, kv_heads = 1;
        bool causal = false;
        double scale = 0; // 0: 1 / sqrt(channels per head)
        double softcap = 0;
        int64_t window = 0;     // keys that a query attends to, including its own position; 0: all
        bool two_sided = false; // as many after its position
        Tensor position = {}, ahead = {}, key_lengths = {}, first_keys = {}, query_lengths = {}, key_mask = {},
               score_bias = {}, distance_bias = {};
        std::string slopes = {}, sinks = {}; // weights, for each head; empty: none
    };
    Tensor attention(const std::string &name, const Tensor &q, const Tensor &k, const Tensor &v,
                     const Attention &options);

    // Makes it the graph that is written here, in the format of model.json.
    void replace(JsonView graph);

    [[nodiscard]] Json json() const { return {{"inputs", inputs_}, {"layers", layers_}, {"outputs", outputs_}}; }

  private:
    // Throws unless the file has weights of this shape and, exactly where the config says so, a bias.
    void require_linear(const std::string &weight, const std::string &bias, int64_t outputs, int64_t inputs,
                        bool biased) const;
    // The weights of a layer that are mapped, and those in the file that are named after the module.
    [[nodiscard]] Json with_own(const Json &mapped, const std::string &module) const;
    model::Weights *weights_;
    const Names *spare_;
    bool gguf_;
    std::map<Tensor, int64_t> channels_;
    std::set<std::string, std::less<>> named_; // layers, and weights that are not named after their layer
    std::string beginning_;                    // of the names of layers
    Json inputs_ = Json::object(), outputs_ = Json::object(), layers_ = Json::array();
};

// Makes an output of one graph an input of the other, under the same name; generation passes it on. `dims`: without the
// channels. This is how an
// encoder gives its decoder the keys and values of the source, which are computed only once.
GraphWriter::Tensor pass_on(GraphWriter &from, GraphWriter &to, const GraphWriter::Tensor &tensor,
                            const std::string &dims);

} // namespace lamina::architectures
