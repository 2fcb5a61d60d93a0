// One graph while an architecture writes it, in the format of model.json. Layers are called what their modules are
// called in the files that people have, so that most weights need no mapping: layer "model.norm" reads
// "model.norm.weight".
#pragma once

#include "base/json.hpp"
#include "model/weights.hpp"

#include <lamina/tensor.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lamina::architectures {

class GraphWriter {
  public:
    // The weights must outlive it.
    explicit GraphWriter(const model::Weights &weights) : weights_(&weights) {}

    using Tensor = std::string; // the name of one in the graph; empty: none

    Tensor input(const std::string &name, DType dtype, const std::string &dims);
    void output(const std::string &name, const Tensor &tensor) { outputs_[name] = tensor; }
    [[nodiscard]] bool takes(std::string_view input) const;

    // Any layer. Inputs that are empty are left out. Weights that are not mapped are NAME.PORT.
    Tensor layer(const std::string &name, const char *type, const std::vector<std::pair<const char *, Tensor>> &inputs,
                 const Json &params = {}, const Json &weights = {});

    // ---- Layers that most models are made of; `module` names the layer and its weights ----

    struct Embedding {
        double scale = 1;
        Tensor residual = {};
        std::string table = {}; // the tensor, where it is not MODULE.weight
    };
    Tensor embedding(const std::string &module, const Tensor &ids, const Embedding &options);
    // x plus rows `position`, position + 1, ... of MODULE.weight.
    Tensor learned_positions(const std::string &module, const Tensor &x, const Tensor &position, int64_t max_len);
    Tensor layer_norm(const std::string &module, const Tensor &x, double eps);

    struct RmsNorm {
        double eps = 1e-6;
        double weight_offset = 0; // 1 where the file holds the weight less 1
        int64_t groups = 1;       // heads that are normalized each by itself
        Tensor residual = {};
    };
    Tensor rms_norm(const std::string &module, const Tensor &x, const RmsNorm &options);

    struct Linear {
        Tensor residual = {};
        bool biased = true;
        std::string weight = {}; // the tensor, where it is not MODULE.weight
    };
    Tensor linear(const std::string &module, const Tensor &x, const Linear &options);

    // Modules within `module`, without the dot: {.up = "up_proj", .down = "down_proj", .gate = "gate_proj"}.
    struct FeedForward {
        std::string activation, up, down, gate = {};
        Tensor residual = {};
        bool biased = true;
    };
    Tensor feed_forward(const std::string &module, const Tensor &x, const FeedForward &options);

    struct Attention {
        int64_t heads = 1, kv_heads = 1;
        bool causal = false;
        double scale = 0; // 0: 1 / sqrt(channels a head)
        double softcap = 0;
        int64_t window = 0; // keys that a query attends to, its own position included; 0: all
        Tensor position = {}, key_lengths = {}, score_bias = {}, distance_bias = {};
    };
    Tensor attention(const std::string &name, const Tensor &q, const Tensor &k, const Tensor &v,
                     const Attention &options);

    [[nodiscard]] Json json() const { return {{"inputs", inputs_}, {"layers", layers_}, {"outputs", outputs_}}; }

  private:
    // A file that has a bias which the model is not said to have, or lacks one, is not what it is taken for.
    void check_bias(const std::string &module, bool biased) const;

    const model::Weights *weights_;
    Json inputs_ = Json::object(), outputs_ = Json::object(), layers_ = Json::array();
};

// An output of one graph that is an input of the other, of the same name: so generation passes it on. An encoder gives
// its decoder the keys and values of the source like this, computed once.
GraphWriter::Tensor pass_on(GraphWriter &from, GraphWriter &to, const GraphWriter::Tensor &tensor,
                            const std::string &dims);

} // namespace lamina::architectures
