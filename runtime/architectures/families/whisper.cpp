// Whisper (Radford et al., arXiv:2212.04356).
#include "architectures/architecture.hpp"
#include "base/utf8.hpp"

#include <array>

namespace lamina::architectures {
namespace {

using Tensor = GraphWriter::Tensor;

constexpr int64_t hop = 160; // samples per frame, at 16 kHz
constexpr double eps = 1e-5;

// ---- What every output begins with ----

int32_t id_of(JsonView value) { return static_cast<int32_t>(value.integer(0, INT32_MAX)); }

// The ids in "lang_to_id" ({"<|de|>": 50261, ...}): all of them, for the model to choose from, or only the one that
// "language" names ("de" or "<|de|>").
std::vector<int32_t> languages(const Config &generation, JsonView ids) {
    const std::string wanted = generation.text("language", "");
    std::vector<int32_t> all;
    for (const JsonView id : ids.members()) {
        if (id.key() == wanted || id.key() == "<|" + wanted + "|>") return {id_of(id)};
        all.push_back(id_of(id));
    }
    if (!wanted.empty())
        generation.fail("language", in_quotes(wanted) +
                                        " is not supported; supported: the names in lang_to_id, "
                                        "such as " +
                                        in_quotes("<|en|>") + " or " + in_quotes("en"));
    return all;
}

// The tokens after the start token: language, task, no timestamps. Each entry lists the alternatives.
std::vector<std::vector<int32_t>> prompt(const Config &generation) {
    std::vector<std::vector<int32_t>> out;
    if (const auto ids = generation.find("lang_to_id")) {
        out.push_back(languages(generation, *ids));
        if (const auto tasks = generation.find("task_to_id"))
            out.push_back({id_of(tasks->at(generation.text("task", "transcribe")))});
    } else if (const auto forced = generation.find("forced_decoder_ids")) { // older: [[1, 50259],
                                                                            // [2, 50359], ...]
        for (const JsonView pair : forced->items()) out.push_back({id_of(pair.at(1))});
        return out;
    }
    for (const int32_t id : generation.ids("no_timestamps_token_id")) out.push_back({id});
    return out;
}

// ---- The graphs ----

class Whisper {
  public:
    explicit Whisper(Draft &draft)
        : draft_(draft), config_(draft.config), encode_(draft.graph("encode")), decode_(draft.graph("decode")),
          activation_(config_.activation("activation_function", "gelu")),
          steps_(config_.positive("max_source_positions")),
          source_("B " + std::to_string(steps_) + " " + std::to_string(config_.positive("d_model"))) {}

    void build() {
        config_.expect("is_encoder_decoder", true);
        config_.expect("scale_embedding", false);
        config_.expect("use_weighted_layer_sum", false);
        config_.ignore({"activation_dropout", "apply_spec_augment", "classifier_proj_size", "decoder_ffn_dim",
                        "decoder_layerdrop", "encoder_ffn_dim", "encoder_layerdrop", "forced_decoder_ids", "init_std",
                        "mask_feature_length", "mask_feature_min_masks", "mask_feature_prob", "mask_time_length",
                        "mask_time_min_masks", "mask_time_prob", "median_filter_width", "num_hidden_layers"});
        for (const auto &choice : prompt(draft_.generation)) draft_.tokens.start.push_back(choice);
        const Tensor memory = encoder();
        encode_.output("hidden", memory);
        decode_.output("logits", decoder(memory));
    }

  private:
    Draft &draft_;
    const Config &config_;
    GraphWriter &encode_, &decode_;
    std::string activation_;
    int64_t steps_;      // positions of the encoder, two frames each
    std::string source_; // dims of its keys and values

    // The number of samples is fixed. Shorter sound is padded with silence.
    Tensor encoder() {
        const int64_t heads = config_.positive("encoder_attention_heads"), layers = config_.layers("encoder_layers");
        const std::string stack = "model.encoder";
        const Tensor samples = encode_.input("samples", DType::f32, "B " + std::to_string(2 * steps_ * hop));
        Tensor x = encode_.layer(stack + ".log_mel", "log_mel", {{"samples", samples}},
                                 {{"mels", config_.positive("num_mel_bins")}});
        x = encode_.layer(stack + ".conv1", "conv1d", {{"x", x}}, {{"padding", 1}, {"activation", "gelu"}});
        x = encode_.layer(stack + ".conv2", "conv1d", {{"x", x}},
                          {{"stride", 2}, {"padding", 1}, {"end_padding", 0}, {"activation", "gelu"}});
        x = encode_.learned_positions(stack + ".embed_positions", x, "", steps_);
        for (int64_t i = 0; i < layers; ++i) {
            const std::string layer = stack + ".layers." + std::to_string(i);
            x = self_attention(encode_, layer + ".self_attn", x, {.heads = heads, .kv_heads = heads});
            x = feed_forward(encode_, layer, x);
        }
        return encode_.layer_norm(stack + ".layer_norm", x, eps);
    }

    Tensor decoder(const Tensor &memory) {
        const int64_t heads = config_.positive("decoder_attention_heads"), layers = config_.layers("decoder_layers");
        const std::string stack = "model.decoder", table = stack + ".embed_tokens.weight";
        const Tensor ids = decode_.input("ids", DType::i32, "B T"),
                     position = decode_.input("position", DType::i32, "B");
        Tensor x = decode_.embedding(stack + ".embed_tokens", ids, {});
        x = decode_.learned_positions(stack + ".embed_positions", x, position,
                                      config_.positive("max_target_positions"));
        for (int64_t i = 0; i < layers; ++i) {
            const std::string layer = stack + ".layers." + std::to_string(i);
            x = self_attention(decode_, layer + ".self_attn", x,
                               {.heads = heads, .kv_heads = heads, .causal = true, .position = position});
            x = source_attention(layer + ".encoder_attn", x, memory, heads);
            x = feed_forward(decode_, layer, x);
        }
        const bool tied = config_.flag("tie_word_embeddings", true);
        if (tied) draft_.unused.insert("proj_out.weight");
        return decode_.linear("proj_out", decode_.layer_norm(stack + ".layer_norm", x, eps),
                              {.biased = false, .weight = tied ? table : ""});
    }

    static Tensor self_attention(GraphWriter &graph, const std::string &module, const Tensor &x,
                                 const GraphWriter::Attention &options) {
        const Tensor tokens = graph.layer_norm(module + "_layer_norm", x, eps);
        const Tensor k = graph.linear(module + ".k_proj", tokens, {.biased = false}),
                     v = graph.linear(module + ".v_proj", tokens, {});
        return attended(graph, module, tokens, k, v, x, options);
    }

    Tensor source_attention(const std::string &module, const Tensor &x, const Tensor &memory, int64_t heads) {
        const Tensor k = pass_on(encode_, decode_, encode_.linear(module + ".k_proj", memory, {.biased = false}),
                                 source_),
                     v = pass_on(encode_, decode_, encode_.linear(module + ".v_proj", memory, {}), source_);
        const Tensor tokens = decode_.layer_norm(module + "_layer_norm", x, eps);
        return attended(decode_, module, tokens, k, v, x, {.heads = heads, .kv_heads = heads});
    }

    static Tensor attended(GraphWriter &graph, const std::string &module, const Tensor &tokens, const Tensor &k,
                           const Tensor &v, const Tensor &residual, const GraphWriter::Attention &options) {
        const Tensor q = graph.linear(module + ".q_proj", tokens, {});
        return graph.linear(module + ".out_proj", graph.attention(module + ".heads", q, k, v, options),
                            {.residual = residual});
    }

    Tensor feed_forward(GraphWriter &graph, const std::string &layer, const Tensor &x) const {
        return graph.feed_forward(layer, graph.layer_norm(layer + ".final_layer_norm", x, eps),
                                  {.activation = activation_, .up = "fc1", .down = "fc2", .residual = x});
    }
};

} // namespace

namespace families {

std::span<const Architecture> whisper() {
    static constexpr std::array<Architecture, 1> kinds{{{"whisper", [](Draft &draft) { Whisper(draft).build(); }}}};
    return kinds;
}

} // namespace families
} // namespace lamina::architectures
