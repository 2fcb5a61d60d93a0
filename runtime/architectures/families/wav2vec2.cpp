// wav2vec 2.0 (Baevski et al., arXiv:2006.11477), HuBERT (Hsu et al., arXiv:2106.07447) and WavLM (Chen et al.,
// arXiv:2110.13900), with scores of characters for each frame, or without a head.
#include "architectures/architecture.hpp"
#include "architectures/gated_attention.hpp"
#include "architectures/weight_parts.hpp"
#include "base/utf8.hpp"

#include <array>
#include <optional>

namespace lamina::architectures {
namespace {

using Tensor = GraphWriter::Tensor;

constexpr double conv_eps = 1e-5; // of the norms among the convolutions, whatever "layer_norm_eps" says

class Wav2Vec2 {
  public:
    // `gated`: with the attention of WavLM.
    Wav2Vec2(Draft &draft, std::string_view base, bool gated)
        : draft_(draft), config_(draft.config), graph_(draft.graph("encode")), prefix_(std::string(base) + "."),
          eps_(config_.real("layer_norm_eps")), width_(config_.positive("hidden_size")),
          hears_(config_.activation("feat_extract_activation")) {
        if (gated)
            gated_.emplace(draft, graph_, prefix_ + "encoder.layers.0.attention", width_,
                           config_.positive("num_attention_heads"));
    }

    void build() {
        refuse_adapters();
        const std::string masked = prefix_ + "masked_spec_embed"; // for training
        if (draft_.weights.entries().contains(masked)) graph_.require(masked, {width_});
        draft_.unused.insert(masked);
        const Tensor x = transformer(projected(convolutions()));
        graph_.output("hidden", x);
        if (!draft_.task) draft_.task = draft_.weights.entries().contains("lm_head.weight") ? Task::speech : Task::none;
        if (draft_.task == Task::none) return config_.ignore({"vocab_size"});
        if (draft_.task != Task::speech)
            config_.fail("architectures", "this head is not supported; supported: those of the classes Wav2Vec2ForCTC, "
                                          "HubertForCTC and WavLMForCTC, and the models without a head");
        const int64_t vocabulary = config_.positive("vocab_size");
        graph_.output("logits", graph_.linear("lm_head", x, {.outputs = vocabulary}));
        speech_.characters = vocabulary;
        draft_.speech = speech_;
    }

  private:
    Draft &draft_;
    const Config &config_;
    GraphWriter &graph_;
    std::string prefix_;
    double eps_;
    int64_t width_;
    std::string hears_; // the activation of convolutions
    Tensor lengths_;    // frames of each sequence that count
    SpeechInput speech_;
    std::optional<GatedAttention> gated_;

    void refuse_adapters() const {
        config_.expect("add_adapter", false);
        // No weights are tied, whatever it says.
        config_.ignore({"tie_word_embeddings", "adapter_kernel_size", "adapter_stride", "num_adapter_layers",
                        "output_hidden_size"});
        if (config_.has("adapter_attn_dim"))
            config_.fail("adapter_attn_dim", "adapters in the layers, which such files have for each language, are not "
                                             "supported; expected null");
        if (config_.reads("conv_pos_batch_norm")) config_.expect("conv_pos_batch_norm", false);
    }

    // "conv_dim" and the like: a number for each convolution.
    [[nodiscard]] std::vector<int64_t> sizes(const char *key, size_t count) const {
        constexpr int64_t largest = 1 << 16;
        std::vector<int64_t> out;
        if (const auto value = config_.find(key))
            for (const JsonView item : value->items()) out.push_back(item.integer(1, largest));
        if (out.empty() || (count != 0 && out.size() != count))
            config_.fail(key,
                         "expected " +
                             (count == 0 ? std::string("at least one number") : std::to_string(count) + " numbers") +
                             ", one for each convolution as in \"conv_dim\", found " + std::to_string(out.size()));
        return out;
    }

    // Samples (B, N, 1) to frames. Each convolution must fit its input exactly, so N must be that of a whole number of
    // frames; what is behind a sequence's own frames does not count.
    Tensor convolutions() {
        const auto channels = sizes("conv_dim", 0), widths = sizes("conv_kernel", channels.size()),
                   strides = sizes("conv_stride", channels.size());
        if (constexpr const char *key = "num_feat_extract_layers"; config_.states(key))
            if (config_.is_null(key) || config_.integer(key) != static_cast<int64_t>(channels.size()))
                config_.fail(key, "expected " + std::to_string(channels.size()) +
                                      ", as many as \"conv_dim\" has numbers, or no such key");
        const std::string norm = config_.text("feat_extract_norm");
        if (norm != "group" && norm != "layer")
            config_.fail("feat_extract_norm", in_quotes(norm) + " is not supported; supported: group and layer");
        Tensor x = graph_.input("samples", DType::f32, "B N 1", 1);
        lengths_ = graph_.input("lengths", DType::i32, "B");
        for (size_t i = 0; i < channels.size(); ++i) {
            // A frame of this convolution: that many samples, and so many from one to the next.
            speech_.lengths.width += (widths[i] - 1) * speech_.lengths.step;
            speech_.lengths.step *= strides[i];
            if (i == 0 && norm == "group") speech_.norm_lengths = speech_.lengths;
            if (speech_.lengths.width > SpeechInput::longest_frame || speech_.lengths.step > SpeechInput::longest_frame)
                config_.fail("conv_stride", "with \"conv_kernel\", a frame is longer than " +
                                                std::to_string(SpeechInput::longest_frame) + " samples");
            const std::string layer = prefix_ + "feature_extractor.conv_layers." + std::to_string(i);
            x = norm == "layer" ? layer_normed(layer, x, channels[i], widths[i], strides[i])
                : i == 0        ? group_normed(layer, x, channels[i], widths[i], strides[i])
                                : convolution(layer, layer, x, channels[i], widths[i], strides[i], hears_);
        }
        return x;
    }

    // The layer `name`, with the weights of LAYER.conv.
    Tensor convolution(const std::string &name, const std::string &layer, const Tensor &x, int64_t channels,
                       int64_t width, int64_t stride, const std::string &activation) {
        const std::string weight = layer + ".conv.weight", bias = layer + ".conv.bias";
        const bool biased = config_.flag("conv_bias");
        graph_.require(weight, {channels, graph_.channels(x), width});
        graph_.require(bias, {channels}, biased);
        Json weights{{"weight", weight}};
        if (biased) weights["bias"] = bias;
        const Tensor out =
            graph_.layer(name, "conv1d", {{"x", x}}, {{"stride", stride}, {"activation", activation}}, weights);
        graph_.set_channels(out, channels);
        return out;
    }

    Tensor layer_normed(const std::string &layer, const Tensor &x, int64_t channels, int64_t width, int64_t stride) {
        const Tensor out = convolution(layer + ".conv", layer, x, channels, width, stride, "none");
        return graph_.layer(layer, "activation",
                            {{"x", graph_.layer_norm(layer + ".layer_norm", out, {.eps = conv_eps})}},
                            {{"activation", hears_}});
    }

    // As many groups as channels: each has a norm over time.
    Tensor group_normed(const std::string &layer, const Tensor &x, int64_t channels, int64_t width, int64_t stride) {
        const Tensor out = convolution(layer + ".conv", layer, x, channels, width, stride, "none");
        const std::string weight = layer + ".layer_norm.weight", bias = layer + ".layer_norm.bias";
        for (const std::string &each : {weight, bias}) graph_.require(each, {channels});
        return graph_.layer(layer, "instance_norm",
                            {{"x", out}, {"lengths", graph_.input("norm_lengths", DType::i32, "B")}},
                            {{"eps", conv_eps}, {"activation", hears_}}, {{"weight", weight}, {"bias", bias}});
    }

    Tensor projected(Tensor x) {
        const std::string module = prefix_ + "feature_projection";
        if (!config_.reads("feat_proj_layer_norm") || config_.flag("feat_proj_layer_norm"))
            x = graph_.layer_norm(module + ".layer_norm", x, {.eps = eps_});
        return graph_.linear(module + ".projection", x, {.outputs = width_});
    }

    // x and a convolution of its neighbours, which takes the place of positions.
    Tensor with_positions(const Tensor &x) {
        const std::string module = prefix_ + "encoder.pos_conv_embed.conv", made = module + ".weight";
        const int64_t width = config_.positive("num_conv_pos_embeddings"),
                      groups = config_.positive("num_conv_pos_embedding_groups");
        if (width_ % groups != 0)
            config_.fail("num_conv_pos_embedding_groups", "expected a divisor of \"hidden_size\", " +
                                                              std::to_string(width_) + ", found " +
                                                              std::to_string(groups));
        const std::string lengths = module + ".parametrizations.weight.original0",
                          directions = module + ".parametrizations.weight.original1";
        graph_.require(lengths, {1, 1, width});
        graph_.require(directions, {width_, width_ / groups, width});
        graph_.require(module + ".bias", {width_});
        draft_.weights.add(made, weight_norm(draft_.weights.at(directions), draft_.weights.at(lengths)));
        for (const std::string &each : {lengths, directions}) draft_.unused.insert(each);
        return graph_.layer(prefix_ + "encoder.positions", "grouped_conv1d",
                            {{"x", x}, {"lengths", lengths_}, {"residual", x}},
                            {{"groups", groups},
                             {"padding", width / 2},
                             {"end_padding", width % 2 == 0 ? width / 2 - 1 : width / 2}, // the last step is cut off
                             {"activation", hears_}},
                            {{"weight", made}, {"bias", module + ".bias"}});
    }

    Tensor transformer(const Tensor &frames) {
        const bool before = config_.flag("do_stable_layer_norm"); // norms are before what they normalize for
        const int64_t layers = config_.layers("num_hidden_layers");
        const std::string norm = prefix_ + "encoder.layer_norm";
        Tensor x = with_positions(frames);
        if (!before) x = graph_.layer_norm(norm, x, {.eps = eps_});
        for (int64_t i = 0; i < layers; ++i) {
            const std::string layer = prefix_ + "encoder.layers." + std::to_string(i), first = layer + ".layer_norm",
                              second = layer + ".final_layer_norm";
            if (before) {
                x = attended(layer + ".attention", graph_.layer_norm(first, x, {.eps = eps_}), x);
                x = feed_forward(layer + ".feed_forward", graph_.layer_norm(second, x, {.eps = eps_}), x);
            } else {
                x = graph_.layer_norm(first, attended(layer + ".attention", x, x), {.eps = eps_});
                x = graph_.layer_norm(second, feed_forward(layer + ".feed_forward", x, x), {.eps = eps_});
            }
        }
        return before ? graph_.layer_norm(norm, x, {.eps = eps_}) : x;
    }

    Tensor attended(const std::string &module, const Tensor &x, const Tensor &residual) {
        if (gated_) return gated_->attended(module, x, lengths_, residual);
        const int64_t heads = config_.positive("num_attention_heads");
        const Tensor q = graph_.linear(module + ".q_proj", x, {}), k = graph_.linear(module + ".k_proj", x, {}),
                     v = graph_.linear(module + ".v_proj", x, {});
        const Tensor out =
            graph_.attention(module + ".heads", q, k, v, {.heads = heads, .kv_heads = heads, .key_lengths = lengths_});
        return graph_.linear(module + ".out_proj", out, {.residual = residual});
    }

    Tensor feed_forward(const std::string &module, const Tensor &x, const Tensor &residual) {
        return graph_.feed_forward(module, x,
                                   {.hidden = config_.positive("intermediate_size"),
                                    .activation = config_.activation("hidden_act"),
                                    .up = "intermediate_dense",
                                    .down = "output_dense",
                                    .residual = residual});
    }
};

// Names of transformers before release 5.
constexpr std::array<Renaming, 2> older{{
    {"pos_conv_embed.conv.weight_g", "pos_conv_embed.conv.parametrizations.weight.original0"},
    {"pos_conv_embed.conv.weight_v", "pos_conv_embed.conv.parametrizations.weight.original1"},
}};

constexpr std::string_view wav2vec2_base = "wav2vec2", hubert_base = "hubert", wavlm_base = "wavlm";

} // namespace

namespace families {

std::span<const Architecture> wav2vec2() {
    static constexpr std::array<Architecture, 3> kinds{{
        {"wav2vec2", [](Draft &draft) { Wav2Vec2(draft, wav2vec2_base, false).build(); }, {}, wav2vec2_base, older},
        {"hubert", [](Draft &draft) { Wav2Vec2(draft, hubert_base, false).build(); }, {}, hubert_base, older},
        {"wavlm", [](Draft &draft) { Wav2Vec2(draft, wavlm_base, true).build(); }, {}, wavlm_base, older},
    }};
    return kinds;
}

} // namespace families
} // namespace lamina::architectures
