// Models that write what an image says or shows: a vision transformer, and a decoder that attends to what it sees. That
// of TrOCR (Li et al., arXiv:2109.10282) has the shape of the original Transformer; captions are GPT-2's, and Japanese
// pages BERT's.
#include "architectures/architecture.hpp"
#include "architectures/bart_layers.hpp"
#include "architectures/bert_writer.hpp"
#include "architectures/gpt2_layers.hpp"
#include "architectures/vit_layers.hpp"
#include "base/utf8.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace lamina::architectures {
namespace {

using Tensor = GraphWriter::Tensor;

constexpr const char *encoder_key = "encoder", *decoder_key = "decoder";
constexpr const char *width_key = "cross_attention_hidden_size";

// The model_type of a part, which is one of these.
std::string type_of_part(const Config &whole, const char *key, std::initializer_list<std::string_view> supported) {
    const auto part = whole.object(key);
    if (!part) whole.fail(key, "is missing: expected the settings of this part");
    std::string type = part->text("model_type"), names;
    for (const std::string_view each : supported) {
        if (type == each) return type;
        names += (names.empty() ? "" : ", ") + std::string(each);
    }
    part->fail("model_type",
               in_quotes(type) + " is not supported as the " + key + " of such a model; supported: " + names);
}

// TrOCR's decoder, of what an encoder sees (B, N, C).
class Writer {
  public:
    Writer(Draft &draft, const Config &config)
        : draft_(draft), config_(config), encode_(draft.graph("encode")), decode_(draft.graph("decode")),
          layers_(draft, config, false), width_(layers_.width()), vocabulary_(config.positive("vocab_size")) {}

    Tensor scores(const Tensor &memory, int64_t seen) {
        const int64_t heads = config_.positive("decoder_attention_heads"), count = config_.layers("decoder_layers"),
                      hidden = config_.positive("decoder_ffn_dim");
        const Tensor position = decode_.input("position", DType::i32, "B");
        Tensor x = embedding(position);
        for (int64_t i = 0; i < count; ++i) {
            const std::string layer = stack + "layers." + std::to_string(i), across = layer + ".encoder_attn";
            x = layers_.self_attention(decode_, layer + ".self_attn", x,
                                       {.heads = heads, .kv_heads = heads, .causal = true, .position = position});
            const auto projected = [&](const char *part) {
                return pass_on(encode_, decode_, encode_.linear(across + part, memory, {.outputs = width_}),
                               "B " + std::to_string(seen));
            };
            const Tensor k = projected(".k_proj"), v = projected(".v_proj");
            x = layers_.source_attention(decode_, across, x, k, v, {.heads = heads, .kv_heads = heads});
            x = layers_.feed_forward(decode_, layer, x, hidden);
        }
        const std::string head = "decoder.output_projection", table = head + ".weight";
        return decode_.linear(head, x,
                              {.outputs = vocabulary_,
                               .biased = false,
                               .weight = config_.flag("tie_word_embeddings") ? draft_.tied(table, words()) : table});
    }

  private:
    static inline const std::string stack = "decoder.model.decoder.";

    Draft &draft_;
    const Config &config_;
    GraphWriter &encode_, &decode_;
    BartLayers layers_;
    int64_t width_, vocabulary_;

    // The table of embeddings; a file may have that of the head alone.
    [[nodiscard]] std::string words() const {
        const std::string own = stack + "embed_tokens.weight";
        return config_.flag("tie_word_embeddings") ? draft_.first_of({own, "decoder.output_projection.weight"}) : own;
    }

    Tensor embedding(const Tensor &position) {
        const double scale = config_.flag("scale_embedding") ? std::sqrt(static_cast<double>(width_)) : 1;
        const Tensor ids = decode_.input("ids", DType::i32, "B T");
        const Tensor x = decode_.embedding(stack + "embed_tokens", ids,
                                           {.rows = vocabulary_, .channels = width_, .scale = scale, .table = words()});
        const std::string positions = stack + "embed_positions";
        const bool learned = config_.flag("use_learned_position_embeddings");
        draft_.unused.insert(positions + "._float_tensor"); // of older files, without values
        if (learned) config_.ignore({"pad_token_id"});
        const std::string rows = learned ? layers_.learned_rows(decode_, positions) : layers_.fairseq_rows(positions);
        const Tensor placed = decode_.learned_positions(rows, x, position, layers_.positions());
        if (!config_.flag("layernorm_embedding")) return placed;
        return decode_.layer_norm(stack + "layernorm_embedding", placed, {.eps = BartLayers::eps});
    }
};

struct Seen {
    Tensor memory;  // (B, N, C)
    int64_t length; // N
};

Tensor scores_of_trocr(Draft &draft, const Config &decoder, const Seen &seen) {
    decoder.ignore({"is_decoder", "is_encoder_decoder"}); // it always is one
    return Writer(draft, decoder).scores(seen.memory, seen.length);
}

Tensor scores_of_gpt2(Draft &draft, const Config &decoder, const Seen &seen) {
    decoder.ignore({"is_decoder"});
    decoder.expect("add_cross_attention", true);
    GraphWriter &graph = draft.graph("decode");
    Gpt2Layers layers(draft, decoder, graph, "decoder.transformer.");
    const Gpt2Layers::Memory memory{draft.graph("encode"), seen.memory, seen.length};
    const Tensor ids = graph.input("ids", DType::i32, "B T"), position = graph.input("position", DType::i32, "B"),
                 x = layers.hidden({ids, position, ""}, &memory);
    const std::string head = "decoder.lm_head", table = head + ".weight";
    return graph.linear(head, x,
                        {.outputs = layers.vocabulary(),
                         .biased = false,
                         .weight = decoder.flag("tie_word_embeddings") ? draft.tied(table, layers.table()) : table});
}

Tensor scores_of_bert(Draft &draft, const Config &decoder, const Seen &seen) {
    decoder.expect("is_decoder", true);
    decoder.expect("add_cross_attention", true);
    BertWriter writer(draft, decoder,
                      {.prefix = "decoder.", .tied = decoder.flag("tie_word_embeddings"), .typed = true});
    return writer.scores(seen.memory, seen.length);
}

// A decoder, whose keys for its width and its positions are its own.
struct Decoder {
    std::string_view type;
    const char *width, *positions;
    Tensor (*scores)(Draft &draft, const Config &decoder, const Seen &seen);
};
constexpr std::array<Decoder, 3> decoders{{{"trocr", "d_model", "max_position_embeddings", scores_of_trocr},
                                           {"gpt2", "n_embd", "n_positions", scores_of_gpt2},
                                           {"bert", "hidden_size", "max_position_embeddings", scores_of_bert}}};

// A file need not have the pooler of the encoder: nothing takes what it gives.
void leave_out_pooler(Draft &draft, const Config &encoder, const GraphWriter &graph) {
    const std::string weight = "encoder.pooler.dense.weight", bias = "encoder.pooler.dense.bias";
    const int64_t width = encoder.positive("hidden_size"), outputs = encoder.integer("pooler_output_size", width);
    encoder.ignore({"pooler_act"});
    if (!draft.weights.entries().contains(weight) && !draft.weights.entries().contains(bias)) return;
    graph.require(weight, {outputs, width});
    graph.require(bias, {outputs});
    draft.unused.insert(weight), draft.unused.insert(bias);
}

void build(Draft &draft) {
    const Config &whole = draft.config;
    const std::string kind = type_of_part(whole, encoder_key, {"vit", "deit"});
    const std::string type = type_of_part(whole, decoder_key, {"trocr", "gpt2", "bert"});
    const Decoder &writer = *std::ranges::find(decoders, type, &Decoder::type);
    const Config encoder = whole.part(encoder_key, kind), decoder = whole.part(decoder_key, type);
    // What the whole says beside its parts, these say themselves.
    whole.ignore({encoder_key, decoder_key, "tie_word_embeddings", "add_cross_attention", width_key, "hidden_size",
                  "is_decoder", "vocab_size"});
    if (draft.task && *draft.task != Task::none)
        whole.fail("architectures", "this head is not supported; supported: VisionEncoderDecoderModel");

    const VitLayers layers(draft, encoder, "encoder.", kind == "deit", "encode");
    GraphWriter &graph = layers.images().graph();
    leave_out_pooler(draft, encoder, graph);
    encoder.ignore({"tie_word_embeddings"}); // there are no words
    Seen seen{layers.hidden(), layers.tokens()};
    graph.output("hidden", seen.memory);
    const int64_t width = decoder.positive(writer.width);
    if (decoder.has(width_key)) {
        if (decoder.integer(width_key) != layers.width())
            decoder.fail(width_key, "expected " + std::to_string(layers.width()) + ", the encoder's hidden_size");
    } else if (layers.width() != width) {
        seen.memory = graph.linear("enc_to_dec_proj", seen.memory, {.outputs = width});
    }
    draft.graph("decode").output("logits", writer.scores(draft, decoder, seen));
    if (draft.texts) draft.texts->context = draft.texts->positions = decoder.positive(writer.positions);
    encoder.finish();
    decoder.finish();
}

} // namespace

namespace families {

std::span<const Architecture> vision_encoder_decoder() {
    static constexpr std::array<Architecture, 1> kinds{{{"vision-encoder-decoder", build}}};
    return kinds;
}

} // namespace families
} // namespace lamina::architectures
