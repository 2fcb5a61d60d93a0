// Translates the metadata of a GGUF file into the settings of a config.json, and the names of its tensors into those of
// a Hugging Face folder, so that one architecture serves both.
#include "architectures/gguf_model.hpp"

#include "architectures/adapters.hpp"
#include "architectures/assemble.hpp"
#include "architectures/gguf_ends.hpp"
#include "architectures/gguf_names.hpp"
#include "architectures/gguf_pooling.hpp"
#include "architectures/gguf_positions.hpp"
#include "architectures/gguf_projector.hpp"
#include "architectures/pair_text.hpp"
#include "architectures/text_settings.hpp"
#include "base/mapped_file.hpp"
#include "base/utf8.hpp"
#include "model/gguf_parts.hpp"

#include <algorithm>
#include <array>

namespace lamina::architectures {
namespace {

using model::GgufType;
using model::GgufValue;

// Keys that are read elsewhere, or that say nothing of numbers; deepstack is of images. Models without experts may have
// 0 of them.
constexpr std::array<std::string_view, 24> others{"attention.causal",
                                                  "attention.recurrent_layers",
                                                  "attention.sliding_window_pattern",
                                                  "attention.value_length",
                                                  "classifier.output_labels",
                                                  "classifier.pooling_type",
                                                  "deepstack_mapping",
                                                  "dense_2_feat_in",
                                                  "dense_2_feat_out",
                                                  "dense_3_feat_in",
                                                  "dense_3_feat_out",
                                                  "embedding_length_out",
                                                  "expert_count",
                                                  "expert_used_count",
                                                  "n_deepstack_layers",
                                                  "pooling_type",
                                                  "rope.dimension_count",
                                                  "rope.dimension_sections",
                                                  "rope.scale_linear",
                                                  "rope.scaling.attn_factor",
                                                  "rope.scaling.finetuned",
                                                  "rope.scaling.yarn_attn_factor",
                                                  "rope.scaling.yarn_ext_factor",
                                                  "tensor_data_layout"};

// Keys that every file has: their defaults in config.json are those of the first model of a kind.
constexpr std::array<std::string_view, 4> required{"attention.head_count", "block_count", "context_length",
                                                   "embedding_length"};

// Keys that may have a number for each layer, 0 where the layer has no such part; the setting, and where that is said.
struct ByLayer {
    std::string_view gguf;
    const char *setting, *flags;
};
constexpr std::array<ByLayer, 2> by_layer{{
    {"attention.head_count_kv", "num_key_value_heads", "attention_layers"},
    {"feed_forward_length", "intermediate_size", "feed_forward_layers"},
}};

class Reader {
  public:
    explicit Reader(const std::filesystem::path &file)
        : gguf_(model::open_gguf_in_parts(file)), type_(gguf_.metadata.at("general.architecture").string()),
          place_(file.string() + ": metadata") {
        if (gguf_.metadata.has("general.type") && gguf_.metadata.at("general.type").string() == "adapter")
            refuse("an adapter, which changes another model: give that model, and --lora with this file");
        if (type_ == "clip")
            refuse("a projector, which reads images for another model: give that model, and --mmproj with this file");
        const JsonText document(Json{{"model_type", type_}}.in_one_line(), place_);
        try {
            const auto has = [&](std::string_view key) {
                const GgufValue *value = find(key);
                return value != nullptr && value->integer() > 0;
            };
            architecture_ = &architecture_of_gguf(type_, has, Config(document.root()));
        } catch (const Error &error) {
            throw Error(error.code(), in_gguf_names(error.what(), {}));
        }
    }

    // Merges adapters into the tensors, and returns what they change.
    std::string change(const std::vector<Adapter> &adapters) {
        std::vector<AdapterContents> changes;
        for (const Adapter &adapter : adapters) changes.push_back(read_gguf_adapter(adapter, type_));
        Merged merged = with_adapters(gguf_.weights, changes);
        merged.untied.expect_taken(gguf_.weights); // llama.cpp changes a head with the table that it shares
        gguf_.weights = std::move(merged.weights);
        return merged.note;
    }

    [[nodiscard]] const Architecture &architecture() const { return *architecture_; }
    [[nodiscard]] const std::string &place() const { return place_; }
    [[nodiscard]] const model::GgufMetadata &metadata() const { return gguf_.metadata; }
    [[nodiscard]] std::span<const std::byte> metadata_bytes() const { return gguf_.metadata_bytes; }

    // The equivalent config.json. It has all settings whose defaults differ in llama.cpp (llama-model.cpp), which is
    // what such a file is meant for.
    // `sees`: with a projector.
    [[nodiscard]] std::string config(bool sees) const {
        const GgufKind &kind = architecture_->gguf;
        Json out{{"model_type", std::string(architecture_->model_type)}};
        for (const std::string_view key : required) require(key);
        const ConfigKeys *known = ConfigKeys::of_model(architecture_->model_type);
        const auto reads = [&](std::string_view theirs, const char *ours) {
            return known == nullptr || known->find(ours) != nullptr ||
                   std::ranges::find(kind.settings, theirs, &SettingName::gguf) != kind.settings.end();
        };
        constexpr std::string_view of_rms = "attention.layer_norm_rms_epsilon", hidden = "feed_forward_length";
        require(reads(of_rms, "rms_norm_eps") ? of_rms : "attention.layer_norm_epsilon");
        if (reads(hidden, "intermediate_size")) require(hidden); // some have experts alone
        for (const std::span<const SettingName> settings : {std::span<const SettingName>(gguf_settings), kind.settings})
            for (const auto &[theirs, ours] : settings) {
                const GgufValue *value = find(theirs);
                const bool replaced =
                    settings.data() != kind.settings.data() &&
                    std::ranges::find(kind.settings, theirs, &SettingName::gguf) != kind.settings.end();
                const bool of_layers = std::ranges::find(by_layer, theirs, &ByLayer::gguf) != by_layer.end();
                if (value != nullptr && !replaced && !(of_layers && value->is_list())) out[ours] = json(*value);
            }
        for (const auto &[ours, tensor] : kind.flags) out[ours] = has_tensor(tensor);
        if (find("vocab_size") == nullptr) add_rows(out, "vocab_size", "token_embd.weight");
        add_rows(out, "type_vocab_size", "token_types.weight");
        add_classifier(out);
        out["tie_word_embeddings"] = !gguf_.weights.entries().contains("output.weight");
        if (const std::vector<int64_t> ends = end_tokens_of(gguf_.metadata); !ends.empty()) out["eos_token_id"] = ends;
        constexpr const char *suppressed = "tokenizer.ggml.suppress_tokens"; // of Gemma 4, for generation
        if (gguf_.metadata.has(suppressed)) out["suppress_tokens"] = gguf_.metadata.at(suppressed).integers();
        if (const GgufValue *window = find("attention.sliding_window"); window == nullptr || window->number() == 0)
            out["sliding_window"] = nullptr;
        if (find("attention.head_count_kv") == nullptr)
            out["num_key_value_heads"] = json(*find("attention.head_count"));
        for (const ByLayer &key : by_layer)
            if (const GgufValue *value = find(key.gguf);
                value != nullptr && value->is_list() && kind.complete == nullptr)
                add(key, *value, out);
        out["head_dim"] = depth_of_heads("attention.key_length");
        if (const GgufValue *pattern = find("attention.sliding_window_pattern"))
            add_pattern(*pattern, reads("attention.sliding_window_pattern", "sliding_window_pattern"), out);
        if (const GgufValue *recurrent = find("attention.recurrent_layers"))
            out["layer_types"] = layer_types(*recurrent, "linear_attention");
        if (const int64_t values = depth_of_heads("attention.value_length"),
            keys = depth_of_heads("attention.key_length");
            values != keys && find("attention.key_length_mla") == nullptr)
            refuse("values of " + std::to_string(values) + " channels of a head beside keys of " +
                   std::to_string(keys) + " are not supported: see " + in_quotes(type_ + ".attention.key_length") +
                   " and " + in_quotes(type_ + ".attention.value_length"));
        add_direction(known, out);
        positions().add_to(out, known, sees);
        if (kind.complete != nullptr) kind.complete(facts(), out);
        refuse_unknown();
        return out.in_one_line();
    }

    [[nodiscard]] GgufPooling pooling() const { return {facts(), architecture_->gguf, place_}; }

    // What a model that is asked reads of two texts.
    [[nodiscard]] Json pair() const {
        constexpr const char *key = "tokenizer.chat_template.rerank";
        if (!gguf_.metadata.has(key))
            refuse("the metadata lack " + in_quotes(key) +
                   ", which says how the model is asked: take a file that a newer converter wrote");
        return pair_block(gguf_.metadata.at(key).string(), gguf_.weights.file().string() + ": " + key);
    }

    [[nodiscard]] GgufPositions positions() const {
        return {gguf_.weights, architecture_->gguf, [this](std::string_view key) { return find(key); }};
    }

    [[nodiscard]] model::Weights weights() const {
        const std::span<const TensorName> names = architecture_->gguf.tensors;
        model::Weights out(gguf_.weights.file());
        const GgufPositions read = positions();
        for (const auto &[name, weight] : gguf_.weights.entries())
            if (!read.takes(name)) out.add(hugging_face_name(name, names), weight);
        for (const auto &[name, tensor] : gguf_.weights.others()) out.add_other(hugging_face_name(name, names), tensor);
        return out;
    }

  private:
    model::Gguf gguf_;
    std::string type_, place_;
    const Architecture *architecture_ = nullptr;

    void require(std::string_view key) const {
        if (find(key) == nullptr) refuse("the metadata lack the key " + in_quotes(type_ + "." + std::string(key)));
    }

    // Also within the one for queries, keys and values.
    [[nodiscard]] bool has_tensor(std::string_view name) const {
        constexpr std::string_view queries = ".attn_q.";
        if (gguf_.weights.entries().contains(name)) return true;
        const size_t at = name.find(queries);
        return at != std::string_view::npos &&
               gguf_.weights.entries().contains(std::string(name).replace(at, queries.size(), ".attn_qkv."));
    }

    // How many rows a matrix has; one without a size for them has one (ggml.c, ggml_n_dims).
    void add_rows(Json &config, const char *setting, std::string_view tensor) const {
        const auto found = gguf_.weights.entries().find(tensor);
        if (found == gguf_.weights.entries().end()) return;
        const Shape &shape = found->second.type.shape;
        config[setting] = shape.size() < 2 ? 1 : shape.front();
    }

    static void add(const ByLayer &key, const GgufValue &values, Json &config) {
        int64_t number = 0;
        Json flags = Json::array();
        for (const int64_t each : values.integers()) {
            if (each != 0 && number != 0 && each != number)
                values.fail("a setting that differs from layer to layer is not supported");
            number = std::max(number, each);
            flags.push_back(each != 0);
        }
        if (number != 0) config[key.setting] = number;
        config[key.flags] = flags;
    }

    // Whether tokens see those after them. Some decoders were trained to do so, for embeddings.
    void add_direction(const ConfigKeys *known, Json &config) const {
        const bool encoder = architecture_->gguf.encoder;
        const GgufValue *causal = find("attention.causal");
        if (causal != nullptr && causal->boolean() && encoder)
            causal->fail("expected false, as " + in_quotes(type_) + " is supported here");
        if (known != nullptr && known->find("use_bidirectional_attention") != nullptr)
            config["use_bidirectional_attention"] = encoder;
        if (causal == nullptr || causal->boolean() || encoder) return;
        if (known == nullptr || known->find("is_causal") == nullptr)
            causal->fail("expected true, as " + in_quotes(type_) + " is supported here");
        config["is_causal"] = false;
    }

    void add_classifier(Json &config) const {
        if (pooling().token_score()) return;
        add_rows(config, "num_labels", "cls.output.weight");
        if (const GgufValue *labels = find("classifier.output_labels")) {
            Json names = Json::object();
            size_t i = 0;
            for (const std::string_view name : labels->strings()) names[std::to_string(i++)] = std::string(name);
            config["id2label"] = names;
        }
        if (const GgufValue *pooling = find("classifier.pooling_type")) {
            if (pooling->integer() != 1 && pooling->integer() != 2)
                pooling->fail(std::to_string(pooling->integer()) +
                              " is not supported; supported: 1 (mean) and 2 (cls)");
            config["classifier_pooling"] = pooling->integer() == 1 ? "mean" : "cls";
        }
    }

    // Which layers have a window: a number, which `counted` says is a setting, or a list with a flag for each.
    void add_pattern(const GgufValue &pattern, bool counted, Json &config) const {
        if (pattern.is_list()) {
            config["layer_types"] = layer_types(pattern, "sliding_attention");
            return;
        }
        const int64_t number = pattern.integer(1, INT32_MAX);
        if (counted) {
            config["sliding_window_pattern"] = number;
            return;
        }
        config["layer_types"] = Json::array();
        for (int64_t i = 0; i < find("block_count")->integer(0, INT16_MAX); ++i)
            config["layer_types"].push_back((i + 1) % number != 0 ? "sliding_attention" : "full_attention");
    }

    // Of a list with a flag for each layer.
    static Json layer_types(const GgufValue &flags, const char *type) {
        Json out = Json::array();
        for (const bool flag : flags.booleans()) out.push_back(flag ? type : "full_attention");
        return out;
    }

    [[nodiscard]] GgufFacts facts() const {
        return {[this](std::string_view key) { return find(key); }, gguf_.weights};
    }

    [[nodiscard]] const GgufValue *find(std::string_view key) const {
        const std::string full = type_ + "." + std::string(key);
        return gguf_.metadata.has(full) ? &gguf_.metadata.at(full) : nullptr;
    }

    [[noreturn]] void refuse(const std::string &why) const {
        throw Error(ErrorCode::input, gguf_.weights.file().string() + ": " + why);
    }

    static Json json(const GgufValue &value) {
        if (value.is_list()) value.fail("a setting that differs from layer to layer is not supported");
        if (value.type() == GgufType::f32 || value.type() == GgufType::f64) return value.number();
        if (value.type() == GgufType::boolean) return value.boolean();
        if (value.type() != GgufType::string) return value.integer();
        if (first_invalid_utf8(value.string()) != value.string().size())
            value.fail("expected UTF-8, found " + in_quotes(value.string()));
        return std::string(value.string());
    }

    // The channels of a head's keys or values.
    [[nodiscard]] int64_t depth_of_heads(std::string_view key) const {
        if (const GgufValue *depth = find(key)) return depth->integer(1, INT32_MAX);
        const GgufValue *heads = find("attention.head_count");
        const int64_t count = heads->is_list() ? 1 : heads->integer(0, INT32_MAX); // 0: no layer has attention
        return count == 0 ? 0 : find("embedding_length")->integer(1, INT32_MAX) / count;
    }

    // What layers compute is said by keys that begin with the architecture. Others are of the tokenizer, or notes.
    void refuse_unknown() const {
        for (const auto &[key, value] : gguf_.metadata.values()) {
            if (!key.starts_with(type_ + ".")) continue;
            const std::string_view setting = std::string_view(key).substr(type_.size() + 1);
            const auto is_it = [&](const SettingName &name) { return name.gguf == setting; };
            if (std::ranges::none_of(gguf_settings, is_it) && std::ranges::none_of(gguf_scaling, is_it) &&
                std::ranges::none_of(architecture_->gguf.settings, is_it) &&
                std::ranges::find(others, setting) == others.end())
                value.fail("unknown key (its value is " + value.description() +
                           "): Lamina cannot tell whether it changes what the model computes");
        }
    }
};

// Here, where tensors can still be called what the file calls them.
void refuse_unused(const Draft &draft) {
    for (const auto &entry : draft.weights.entries()) {
        const std::string &name = entry.first;
        if (!draft.unused.contains(name) &&
            std::ranges::none_of(draft.graphs, [&](const auto &graph) { return graph.second.names(name); }))
            throw Error(ErrorCode::input, draft.weights.file().string() + ": no layer of the model uses the tensor " +
                                              in_quotes(name) + "; is the file of another architecture or version?");
    }
}

// `projector`: its file; empty: none.
std::shared_ptr<model::Model> read(const std::filesystem::path &file, const std::vector<Adapter> &adapters,
                                   const std::filesystem::path &projector) {
    Reader reader(file);
    const std::string note = reader.change(adapters);
    const Architecture &architecture = reader.architecture();
    try {
        std::optional<SentenceModules> sentences = reader.pooling().sentences();
        const JsonText document(reader.config(!projector.empty()), reader.place());
        const Config config = Config::of_model(document.root());
        model::Weights weights = reader.weights();
        Draft draft{.config = config,
                    .weights = weights,
                    .generation = config,
                    .gguf = true,
                    .rotary = reader.positions().rotary(),
                    .sentences = std::move(sentences),
                    .token_score = reader.pooling().token_score(),
                    .texts = read_text_settings(reader.metadata(), config)};
        if (draft.token_score) {
            draft.task = Task::texts;
            if (draft.texts) draft.texts->pair = reader.pair();
        }
        if (!projector.empty()) add_projector(projector, draft, architecture.gguf.architecture);
        auto model = assemble(draft, std::string(architecture.model_type), file);
        refuse_unused(draft);
        let_go(reader.metadata_bytes()); // the vocabulary, most of all
        model->adapted = !adapters.empty();
        model->projector = projector;
        if (!note.empty()) model->notes.push_back(note);
        if (!projector.empty()) model->notes.push_back("images are read by " + projector.string());
        return model;
    } catch (const Error &error) {
        throw Error(error.code(), in_gguf_names(error.what(), architecture.gguf));
    }
}

} // namespace

std::shared_ptr<model::Model> read_gguf(const std::filesystem::path &file, const LoadOptions &options) {
    if (!options.mmproj.empty()) return read(file, options.adapters, options.mmproj);
    const std::vector<std::filesystem::path> beside = projectors_beside(file);
    std::string why = "give its projector, a file mmproj-*.gguf, with --mmproj, or put it beside the model";
    if (beside.size() == 1) {
        try {
            return read(file, options.adapters, beside.front());
        } catch (const Error &error) { // texts do not need it, and it may belong to another model
            if (error.code() != ErrorCode::input) throw;
            why = "the projector beside it is not read: " + std::string(error.what());
        }
    } else if (beside.size() > 1) {
        why = "there are several projectors beside it, so name one with --mmproj:";
        for (const std::filesystem::path &each : beside) why += " " + each.filename().string();
    }
    auto model = read(file, options.adapters, {});
    model->no_images = why;
    if (!beside.empty()) model->notes.push_back("without images: " + why);
    return model;
}

} // namespace lamina::architectures
