// Whisper (Radford et al., arXiv:2212.04356).
#include "architectures/architecture.hpp"
#include "base/joined.hpp"
#include "base/nearest.hpp"
#include "base/utf8.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <set>

namespace lamina::architectures {
namespace {

using Tensor = GraphWriter::Tensor;

constexpr int64_t sample_rate = 16000, hop = 160; // samples per second, samples per frame
constexpr double eps = 1e-5;

// ---- What every output begins with ----

int32_t id_of(JsonView value) { return static_cast<int32_t>(value.integer(0, INT32_MAX)); }

// From "lang_to_id" ({"<|de|>": 50261, ...}) or "task_to_id" ({"translate": 50358, ...}).
model::TokenChoice choice_of(JsonView ids, size_t place) {
    model::TokenChoice out{.place = place};
    for (const JsonView id : ids.members()) {
        const std::string name(id.key());
        const bool marked = name.starts_with("<|") && name.ends_with("|>");
        out.ids.emplace(marked ? name.substr(2, name.size() - 4) : name, id_of(id));
    }
    return out;
}

// The id that the settings name ("de", "<|de|>", "transcribe"); all of them, if they name none.
std::vector<int32_t> chosen(const Config &generation, const char *key, const std::string &otherwise,
                            const model::TokenChoice &choice) {
    std::string wanted = generation.text(key, otherwise);
    if (wanted.starts_with("<|") && wanted.ends_with("|>")) wanted = wanted.substr(2, wanted.size() - 4);
    std::vector<int32_t> all;
    for (const auto &[name, id] : choice.ids) {
        if (name == wanted) return {id};
        all.push_back(id);
    }
    if (!wanted.empty())
        generation.fail(key, in_quotes(wanted) + " is not supported; supported: " + joined(names_of(choice.ids)));
    return all;
}

// Each is two frames: a position of the encoder. "max_initial_timestamp_index" says how late the first may be.
model::TimestampTokens timestamps_of(const Config &generation, int32_t none) {
    model::TimestampTokens out{.none = none, .step = static_cast<double>(2 * hop) / sample_rate};
    if (const auto latest = generation.find("max_initial_timestamp_index")) out.latest = id_of(*latest);
    return out;
}

// The tokens after the start token: language, task, no timestamps.
void add_start(const Config &generation, int64_t vocabulary, model::OutputTokens &tokens) {
    const auto add = [&](const char *name, JsonView ids, const char *otherwise) {
        const auto &choice = tokens.choices[name] = choice_of(ids, tokens.start.size());
        tokens.start.push_back(chosen(generation, name, otherwise, choice));
    };
    if (const auto languages = generation.find("lang_to_id")) {
        add("language", *languages, "");
        if (const auto tasks = generation.find("task_to_id")) add("task", *tasks, "transcribe");
    }
    // Older files list the tokens and their places, with null for a language that is to be found: [[1, null], [2,
    // 50359], [3, 50363]]. Newer settings take precedence (transformers, models/whisper/generation_whisper.py).
    const auto forced = generation.find("forced_decoder_ids");
    if (forced && !generation.has("language") && !generation.has("task"))
        for (const JsonView pair : forced->items()) {
            if (pair.at(1).is_null()) continue;
            const auto place = static_cast<size_t>(pair.at(0).integer(1, static_cast<int64_t>(tokens.start.size())));
            tokens.start.resize(std::max(tokens.start.size(), place + 1));
            tokens.start[place] = {id_of(pair.at(1))};
        }
    for (const int32_t id : generation.ids("no_timestamps_token_id")) {
        if (tokens.start.empty() || tokens.start.back() != std::vector{id}) tokens.start.push_back({id});
        if (id < vocabulary - 1 && !tokens.end.empty()) tokens.timestamps = timestamps_of(generation, id);
    }
}

// ---- The graphs ----

class Whisper {
  public:
    explicit Whisper(Draft &draft)
        : draft_(draft), config_(draft.config), encode_(draft.graph("encode")), decode_(draft.graph("decode")),
          activation_(config_.activation("activation_function")), steps_(config_.positive("max_source_positions")),
          width_(config_.positive("d_model")) {}

    void build() {
        add_start(draft_.generation, config_.positive("vocab_size"), draft_.tokens);
        draft_.sample_rate = sample_rate;
        const Tensor memory = encoder();
        encode_.output("hidden", memory);
        encode_sources(memory);
        decode_.output("logits", decoder());
        if (draft_.tokens.timestamps) align();
    }

  private:
    Draft &draft_;
    const Config &config_;
    GraphWriter &encode_, &decode_;
    std::string activation_;
    int64_t steps_; // positions of the encoder, two frames each
    int64_t width_;
    const int64_t heads_ = config_.positive("decoder_attention_heads"), layers_ = config_.layers("decoder_layers");

    // The number of samples is fixed. Shorter sound is padded with silence.
    Tensor encoder() {
        const int64_t heads = config_.positive("encoder_attention_heads"), layers = config_.layers("encoder_layers");
        const std::string stack = "model.encoder";
        const Tensor samples = encode_.input("samples", DType::f32, "B " + std::to_string(2 * steps_ * hop));
        const int64_t mels = config_.positive("num_mel_bins"), hidden = config_.positive("encoder_ffn_dim");
        Tensor x = encode_.layer(stack + ".log_mel", "log_mel", {{"samples", samples}}, {{"mels", mels}});
        x = convolution(stack + ".conv1", x, mels, {{"padding", 1}, {"activation", "gelu"}});
        x = convolution(stack + ".conv2", x, width_,
                        {{"stride", 2}, {"padding", 1}, {"end_padding", 0}, {"activation", "gelu"}});
        x = encode_.learned_positions(stack + ".embed_positions", x, "", steps_);
        for (int64_t i = 0; i < layers; ++i) {
            const std::string layer = stack + ".layers." + std::to_string(i);
            x = self_attention(encode_, layer + ".self_attn", x, {.heads = heads, .kv_heads = heads});
            x = feed_forward(encode_, layer, x, hidden);
        }
        return encode_.layer_norm(stack + ".layer_norm", x, {.eps = eps});
    }

    Tensor convolution(const std::string &module, const Tensor &x, int64_t inputs, const Json &params) {
        encode_.require(module + ".weight", {width_, inputs, 3});
        encode_.require(module + ".bias", {width_});
        const Tensor out = encode_.layer(module, "conv1d", {{"x", x}}, params);
        encode_.set_channels(out, width_);
        return out;
    }

    static std::string layer(int64_t i) { return "model.decoder.layers." + std::to_string(i); }
    static std::string source_module(int64_t i) { return layer(i) + ".encoder_attn"; }

    // What the layers of the decoder attend to.
    void encode_sources(const Tensor &memory) {
        for (int64_t i = 0; i < layers_; ++i) {
            const Tensor k = encode_.linear(source_module(i) + ".k_proj", memory, {.biased = false}),
                         v = encode_.linear(source_module(i) + ".v_proj", memory, {});
            encode_.output(k, k);
            encode_.output(v, v);
        }
    }

    struct Embedded {
        Tensor x, position;
    };
    Embedded embedded(GraphWriter &graph) const {
        const std::string stack = "model.decoder";
        const Tensor ids = graph.input("ids", DType::i32, "B T"), position = graph.input("position", DType::i32, "B");
        const Tensor x =
            graph.embedding(stack + ".embed_tokens", ids, {.rows = config_.positive("vocab_size"), .channels = width_});
        return {
            graph.learned_positions(stack + ".embed_positions", x, position, config_.positive("max_target_positions")),
            position};
    }

    Tensor decoder() {
        auto [x, position] = embedded(decode_);
        for (int64_t i = 0; i < layers_; ++i) {
            x = attended_target(decode_, i, x, position);
            x = attended_source(decode_, i, x, queries(decode_, i, x));
        }
        const std::string table = "model.decoder.embed_tokens.weight";
        const std::string head =
            config_.flag("tie_word_embeddings") ? draft_.tied("proj_out.weight", table) : "proj_out.weight";
        return decode_.linear("proj_out", decode_.layer_norm("model.decoder.layer_norm", x, {.eps = eps}),
                              {.outputs = config_.positive("vocab_size"), .biased = false, .weight = head});
    }

    // Heads that attend to where each token is spoken, by layer. If the settings do not list them, those of the upper
    // half (github.com/openai/whisper, model.py). Empty if they list heads that the decoder does not have: smaller
    // models that were made from a larger one often keep its list.
    [[nodiscard]] std::set<std::pair<int64_t, int64_t>> alignment_heads() const {
        std::set<std::pair<int64_t, int64_t>> out;
        if (const auto listed = draft_.generation.find("alignment_heads"))
            for (const JsonView pair : listed->items()) {
                constexpr int64_t any = std::numeric_limits<int64_t>::max();
                const int64_t i = pair.at(0).integer(0, any), head = pair.at(1).integer(0, any);
                if (i >= layers_ || head >= heads_) return {};
                out.emplace(i, head);
            }
        else
            for (int64_t i = layers_ / 2; i < layers_; ++i)
                for (int64_t head = 0; head < heads_; ++head) out.emplace(i, head);
        return out;
    }

    // A graph gives the queries of these heads. Without any, and with a median of no middle, the model writes texts as
    // it does in transformers, but tells no words.
    void align() {
        constexpr int64_t widest_median = 1023;
        const int64_t median = config_.integer("median_filter_width", 7); // the default of transformers
        if (median < 1 || median > widest_median || median % 2 == 0) return;
        std::set<int64_t> aligned; // layers
        Json heads = Json::array();
        for (const auto &[i, head] : alignment_heads()) {
            aligned.insert(i);
            heads.push_back({{"queries", source_module(i) + ".q_proj"},
                             {"keys", source_module(i) + ".k_proj"},
                             {"heads", heads_},
                             {"head", head}});
        }
        if (aligned.empty()) return;
        GraphWriter &graph = draft_.graph("align");
        graph.name_layers("align.");
        auto [x, position] = embedded(graph);
        for (int64_t i = 0;; ++i) {
            x = attended_target(graph, i, x, position);
            const Tensor q = queries(graph, i, x);
            if (aligned.contains(i)) graph.output(source_module(i) + ".q_proj", q);
            if (i == *aligned.rbegin()) break;
            x = attended_source(graph, i, x, q);
        }
        draft_.alignment = {{"graph", "align"}, {"median", median}, {"heads", std::move(heads)}};
    }

    Tensor attended_target(GraphWriter &graph, int64_t i, const Tensor &x, const Tensor &position) const {
        return self_attention(graph, layer(i) + ".self_attn", x,
                              {.heads = heads_, .kv_heads = heads_, .causal = true, .position = position});
    }

    static Tensor queries(GraphWriter &graph, int64_t i, const Tensor &x) {
        const Tensor tokens = graph.layer_norm(source_module(i) + "_layer_norm", x, {.eps = eps});
        return graph.linear(source_module(i) + ".q_proj", tokens, {});
    }

    Tensor attended_source(GraphWriter &graph, int64_t i, const Tensor &x, const Tensor &q) {
        const std::string module = source_module(i),
                          dims = "B " + std::to_string(steps_) + " " + std::to_string(width_);
        const Tensor k = graph.input(module + ".k_proj", DType::f32, dims, width_),
                     v = graph.input(module + ".v_proj", DType::f32, dims, width_);
        const Tensor out = attended(graph, module, q, k, v, x, {.heads = heads_, .kv_heads = heads_});
        return feed_forward(graph, layer(i), out, config_.positive("decoder_ffn_dim"));
    }

    static Tensor self_attention(GraphWriter &graph, const std::string &module, const Tensor &x,
                                 const GraphWriter::Attention &options) {
        const Tensor tokens = graph.layer_norm(module + "_layer_norm", x, {.eps = eps});
        const Tensor k = graph.linear(module + ".k_proj", tokens, {.biased = false}),
                     v = graph.linear(module + ".v_proj", tokens, {});
        return attended(graph, module, graph.linear(module + ".q_proj", tokens, {}), k, v, x, options);
    }

    static Tensor attended(GraphWriter &graph, const std::string &module, const Tensor &q, const Tensor &k,
                           const Tensor &v, const Tensor &residual, const GraphWriter::Attention &options) {
        return graph.linear(module + ".out_proj", graph.attention(module + ".heads", q, k, v, options),
                            {.residual = residual});
    }

    Tensor feed_forward(GraphWriter &graph, const std::string &layer, const Tensor &x, int64_t hidden) const {
        return graph.feed_forward(
            layer, graph.layer_norm(layer + ".final_layer_norm", x, {.eps = eps}),
            {.hidden = hidden, .activation = activation_, .up = "fc1", .down = "fc2", .residual = x});
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
