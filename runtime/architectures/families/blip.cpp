// BLIP (Li et al., arXiv:2201.12086) as it describes images: a vision transformer, and BERT with attention to what it
// sees, which continues a text.
#include "architectures/architecture.hpp"
#include "architectures/bert_writer.hpp"
#include "architectures/image_graph.hpp"
#include "architectures/weight_parts.hpp"
#include "base/utf8.hpp"

#include <array>

namespace lamina::architectures {
namespace {

using Tensor = GraphWriter::Tensor;

// The part that sees: (B, tokens, C).
class BlipVision {
  public:
    BlipVision(Draft &draft, const Config &config)
        : draft_(draft), config_(config), images_(draft, config, false, "encode"), graph_(images_.graph()),
          eps_(config.real("layer_norm_eps")), width_(config.positive("hidden_size")) {}

    [[nodiscard]] int64_t tokens() const { return images_.patches() + 1; }

    Tensor hidden() {
        const std::string embeddings = prefix + "embeddings.";
        const int64_t layers = config_.layers("num_hidden_layers");
        Tensor x = images_.embedded(embeddings + "patch_embedding", width_, true);
        x = images_.with_token(embeddings + "class_embedding", x, {1, 1, width_});
        x = images_.with_positions(embeddings + "position_embedding", x, 1);
        for (int64_t i = 0; i < layers; ++i) x = layer(prefix + "encoder.layers." + std::to_string(i), x);
        return norm(prefix + "post_layernorm", x);
    }

  private:
    static inline const std::string prefix = "vision_model.";

    Draft &draft_;
    const Config &config_;
    ImageGraph images_;
    GraphWriter &graph_;
    double eps_;
    int64_t width_;

    Tensor norm(const std::string &module, const Tensor &x) { return graph_.layer_norm(module, x, {.eps = eps_}); }

    Tensor layer(const std::string &name, const Tensor &x) {
        const Tensor attended = attention(name + ".self_attn", norm(name + ".layer_norm1", x), x);
        return graph_.feed_forward(name + ".mlp", norm(name + ".layer_norm2", attended),
                                   {.hidden = config_.positive("intermediate_size"),
                                    .activation = config_.activation("hidden_act"),
                                    .up = "fc1",
                                    .down = "fc2",
                                    .residual = attended});
    }

    // One matrix has the rows of queries, keys and values.
    Tensor attention(const std::string &module, const Tensor &x, const Tensor &residual) {
        const std::string joint = module + ".qkv";
        const int64_t heads = config_.positive("num_attention_heads");
        graph_.require(joint + ".weight", {3 * width_, width_});
        graph_.require(joint + ".bias", {3 * width_});
        for (const char *port : {".weight", ".bias"}) draft_.unused.insert(joint + port);
        const auto part = [&](const char *name, int64_t which) {
            for (const char *port : {".weight", ".bias"})
                draft_.weights.add(module + name + port, part_of(draft_.weights.at(joint + port), which, 3));
            return graph_.linear(module + name, x, {});
        };
        const Tensor q = part(".query", 0), k = part(".key", 1), v = part(".value", 2);
        return graph_.linear(module + ".projection",
                             graph_.attention(module + ".heads", q, k, v, {.heads = heads, .kv_heads = heads}),
                             {.residual = residual});
    }
};

void build(Draft &draft) {
    const Config &whole = draft.config;
    const std::vector<std::string> classes = whole.texts("architectures");
    for (const std::string &name : classes)
        if (name != "BlipForConditionalGeneration")
            whole.fail("architectures", in_quotes(name) + " is not supported; supported: BlipForConditionalGeneration");
    const Config texts = whole.part("text_config", "blip_text_model"),
                 images = whole.part("vision_config", "blip_vision_model");
    whole.ignore({"text_config", "vision_config"});
    // What models take that compare images with texts, what is for training alone, and what the other part says.
    whole.ignore({"projection_dim", "image_text_hidden_size", "label_smoothing"});
    images.ignore({"projection_dim", "max_position_embeddings", "tie_word_embeddings", "vision_config", "vocab_size"});
    texts.ignore({"projection_dim", "encoder_hidden_size", "label_smoothing"});
    texts.expect("is_decoder", true);

    BlipVision sees(draft, images);
    const Tensor memory = sees.hidden();
    draft.graph("encode").output("hidden", memory);
    const bool tied = whole.flag("tie_word_embeddings") || texts.flag("tie_word_embeddings");
    BertWriter writer(draft, texts, {.prefix = "text_decoder.", .tied = tied});
    draft.graph("decode").output("logits", writer.scores(memory, sees.tokens()));
    // Texts begin and end so, whatever generation_config.json says (transformers, modeling_blip.py).
    draft.tokens.start.clear();
    for (const int32_t id : texts.ids("bos_token_id")) draft.tokens.start.push_back({id});
    draft.tokens.end = texts.ids("sep_token_id");
    if (draft.texts) draft.texts->context = texts.positive("max_position_embeddings");
    texts.finish();
    images.finish();
}

} // namespace

namespace families {

std::span<const Architecture> blip() {
    static constexpr std::array<Architecture, 1> kinds{{{"blip", build}}};
    return kinds;
}

} // namespace families
} // namespace lamina::architectures
