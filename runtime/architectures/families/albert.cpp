// ALBERT (Lan et al., arXiv:1909.11942): a BERT whose layers share their weights, with narrow embeddings.
#include "architectures/architecture.hpp"
#include "architectures/encoder_graph.hpp"

#include <array>

namespace lamina::architectures {
namespace {

using Tensor = GraphWriter::Tensor;

constexpr std::string_view base = "albert";

class Albert {
  public:
    explicit Albert(Draft &draft)
        : config_(draft.config), encoder_(draft, base), graph_(encoder_.graph()),
          activation_(config_.activation("hidden_act")), eps_(config_.real("layer_norm_eps")),
          heads_(config_.positive("num_attention_heads")), width_(config_.positive("hidden_size")),
          embedded_(config_.positive("embedding_size")), hidden_(config_.positive("intermediate_size")) {}

    void build() {
        const int64_t layers = config_.layers("num_hidden_layers"), groups = config_.positive("num_hidden_groups"),
                      inner = config_.positive("inner_group_num");
        Tensor x = graph_.linear("albert.encoder.embedding_hidden_mapping_in", embeddings(), {.outputs = width_});
        for (int64_t i = 0; i < layers; ++i) {
            const auto group = static_cast<int64_t>(static_cast<double>(i) /
                                                    (static_cast<double>(layers) / static_cast<double>(groups)));
            for (int64_t j = 0; j < inner; ++j)
                x = layer("albert.layer." + std::to_string(i) + "." + std::to_string(j),
                          "albert.encoder.albert_layer_groups." + std::to_string(group) + ".albert_layers." +
                              std::to_string(j),
                          x);
        }
        encoder_.add_outputs(x, {.table = "albert.embeddings.word_embeddings.weight",
                                 .words = {.dense = "predictions.dense",
                                           .norm = "predictions.LayerNorm",
                                           .activation = activation_,
                                           .channels = embedded_,
                                           .weight = "predictions.decoder.weight",
                                           .bias = "predictions.bias",
                                           .other_bias = "predictions.decoder.bias"},
                                 .eps = eps_,
                                 .pooler = "albert.pooler",
                                 .texts_by_pooler = true});
    }

  private:
    const Config &config_;
    EncoderGraph encoder_;
    GraphWriter &graph_;
    std::string activation_;
    double eps_;
    int64_t heads_, width_, embedded_, hidden_;

    Tensor embeddings() {
        const std::string name = "albert.embeddings.";
        const Tensor words = graph_.embedding(name + "word_embeddings", encoder_.ids(),
                                              {.rows = config_.positive("vocab_size"), .channels = embedded_});
        const Tensor placed = graph_.learned_positions(name + "position_embeddings", words, "",
                                                       config_.positive("max_position_embeddings"));
        const Tensor typed =
            graph_.embedding(name + "token_type_embeddings", encoder_.token_types(),
                             {.rows = config_.positive("type_vocab_size"), .channels = embedded_, .residual = placed});
        return graph_.layer_norm(name + "LayerNorm", typed, {.eps = eps_});
    }

    // `name`: of this layer; `module`: of the weights, which others have, too.
    Tensor layer(const std::string &name, const std::string &module, const Tensor &x) {
        const auto product = [&](const char *part, const Tensor &of, const Tensor &residual = {}) {
            const std::string weights = module + ".attention." + part;
            return graph_.linear(name + ".attention." + part, of,
                                 {.residual = residual, .weight = weights + ".weight", .bias = weights + ".bias"});
        };
        const Tensor attended =
            graph_.attention(name + ".attention.heads", product("query", x), product("key", x), product("value", x),
                             {.heads = heads_, .kv_heads = heads_, .key_lengths = encoder_.lengths()});
        const Tensor tokens = graph_.layer_norm(name + ".attention.LayerNorm", product("dense", attended, x),
                                                {.eps = eps_, .module = module + ".attention.LayerNorm"});
        const Tensor fed = graph_.feed_forward(module, tokens,
                                               {.hidden = hidden_,
                                                .activation = activation_,
                                                .up = "ffn",
                                                .down = "ffn_output",
                                                .residual = tokens,
                                                .name = name + ".feed_forward"});
        return graph_.layer_norm(name + ".full_layer_layer_norm", fed,
                                 {.eps = eps_, .module = module + ".full_layer_layer_norm"});
    }
};

} // namespace

namespace families {

std::span<const Architecture> albert() {
    static constexpr std::array<Architecture, 1> kinds{
        {{"albert", [](Draft &draft) { Albert(draft).build(); }, {}, base}}};
    return kinds;
}

} // namespace families
} // namespace lamina::architectures
