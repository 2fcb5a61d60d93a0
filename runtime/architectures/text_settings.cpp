#include "architectures/text_settings.hpp"

#include "architectures/generation_settings.hpp"
#include "architectures/listed_tokens.hpp"
#include "architectures/made_tokenizer.hpp"
#include "architectures/numbered_pieces.hpp"
#include "architectures/pair_text.hpp"
#include "architectures/special_tokens.hpp"
#include "architectures/token_vectors.hpp"
#include "architectures/tokenizer_parts.hpp"
#include "base/utf8.hpp"
#include "model/gguf_tokenizer.hpp"
#include "tokenizer/parts.hpp"

#include <algorithm>
#include <charconv>

namespace lamina::architectures {
namespace {

namespace fs = std::filesystem;

// The longest text that the model was trained with, in tokens.
int64_t context_of(const Config &config) {
    int64_t out = INT32_MAX;
    for (const char *key : {"max_position_embeddings", "n_positions", "max_seq_len"})
        if (config.has(key)) out = config.positive(key);
    const std::string type = config.text("model_type", "");
    if (type == "rwkv7") return INT32_MAX; // it has no positions, and nothing reads the key
    if (type.ends_with("roberta") || type == "camembert" || type == "longformer" || type == "layoutlmv3")
        out -= config.integer("pad_token_id", 1) + 1;
    if (type == "mpnet") out -= 2;
    if (out < 1) config.fail("max_position_embeddings", "no position is left after those of padding");
    return out;
}

// What sentence-transformers says of texts: a lower limit, lower case, prompts.
void read_sentence_settings(const fs::path &folder, TextSettings &out) {
    out.prompts = read_prompts(folder);
    const fs::path file = folder / "sentence_bert_config.json";
    if (!has_file(file)) return;
    const JsonText document(text_of(file), file.string());
    const Config sentences(document.root());
    out.lowercase = sentences.flag("do_lower_case", false);
    if (const auto most = sentences.find("max_seq_length"))
        out.context = std::min(out.context, most->integer(1, INT32_MAX));
    // Of vectors, of classes, and of words that a decoder says.
    const std::string given = sentences.text("module_output_name", "token_embeddings");
    if (given != "token_embeddings" && given != "scores" && given != "causal_logits")
        sentences.fail("module_output_name", in_quotes(given) + " is not supported; supported: causal_logits, scores "
                                                                "and token_embeddings");
    // About inputs that are no texts, about queries and documents of several vectors, and about what a class gives.
    sentences.ignore({"document_length", "modality_config", "processing_kwargs", "query_expansion", "query_length",
                      "transformer_task", "unpad_inputs"});
    sentences.finish();
}

// "model_max_length" of tokenizer_config.json, which stands for no limit if it is huge.
int64_t tokenizer_limit_of(const fs::path &folder) {
    constexpr const char *key = "model_max_length";
    const fs::path file = folder / "tokenizer_config.json";
    if (!has_file(file)) return INT32_MAX;
    const JsonText document(text_of(file), file.string());
    const double limit = Config(document.root()).real(key, INT32_MAX);
    return limit >= 1 && limit < INT32_MAX ? static_cast<int64_t>(limit) : INT32_MAX;
}

// A side in tokenizer_config.json; else what tokenizer.json says (transformers, tokenization_utils_tokenizers.py).
bool is_left(const fs::path &folder, const char *key, bool otherwise) {
    if (const fs::path file = folder / "tokenizer_config.json"; has_file(file)) {
        const JsonText document(text_of(file), file.string());
        const Config config(document.root());
        if (config.has(key)) {
            const std::string side = config.text(key);
            if (side != "left" && side != "right") config.fail(key, "expected left or right, found " + in_quotes(side));
            return side == "left";
        }
    }
    return otherwise;
}

// Whether the tokenizer gives models this beside ids (transformers, tokenization_utils_base.py).
bool gives(const fs::path &folder, const char *name) {
    constexpr const char *key = "model_input_names";
    const TokenizerSettings settings(folder);
    const std::vector<std::string> names = settings->texts(key);
    return !settings->has(key) || std::ranges::find(names, name) != names.end();
}

// Whether decoded texts are cleaned up, which transformers does for BPE only if it is asked twice
// (tokenization_utils_tokenizers.py, _decode).
bool cleans_up(const fs::path &folder, const Tokenizer &tokenizer) {
    const TokenizerSettings settings(folder);
    constexpr const char *anyway = "clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output";
    return settings->flag("clean_up_tokenization_spaces", false) &&
           (!tokenizer.parts().model->is_bpe() || settings->flag(anyway, false));
}

// The token that stands for a missing word: the one that a file names, or else the usual one that the tokenizer has.
std::string mask_of(const fs::path &folder, const Tokenizer &tokenizer) {
    if (std::string token = named_token(folder, "mask_token"); !token.empty()) return token;
    for (const char *usual : {"[MASK]", "<mask>"})
        if (const auto id = tokenizer.id(usual); id && tokenizer.is_special(*id)) return usual;
    return "";
}

// A template for all conversations, and another for those with tools; empty: there is none.
struct Templates {
    std::string all, tools;
};

// One, or a list of named ones.
Templates templates_of(JsonView value) {
    if (value.is_string()) return {std::string(value.string()), ""};
    Templates out;
    for (const JsonView each : value.items()) {
        if (each.at("name").string() == "default") out.all = each.at("template").string();
        if (each.at("name").string() == "tool_use") out.tools = each.at("template").string();
    }
    return out;
}

// "chat_template" of a JSON file.
Templates templates_in(const fs::path &file) {
    if (!has_file(file)) return {};
    const JsonText document(text_of(file), file.string());
    const auto value = Config(document.root()).find("chat_template");
    return value ? templates_of(*value) : Templates();
}

// Those that transformers takes. The processor's of a model that sees come before the tokenizer's (processing_utils.py,
// get_processor_dict()); other models have none, whatever is in chat_template.json.
Templates chat_templates_of(const fs::path &folder) {
    if (has_file(folder / "preprocessor_config.json") || has_file(folder / "processor_config.json"))
        for (const char *name : {"processor_config.json", "chat_template.json"})
            if (Templates found = templates_in(folder / name); !found.all.empty()) return found;
    const fs::path file = folder / "chat_template.jinja", tools = folder / "additional_chat_templates/tool_use.jinja";
    if (has_file(file)) return {text_of(file), has_file(tools) ? text_of(tools) : ""};
    return templates_in(folder / "tokenizer_config.json");
}

std::optional<model::Chat> chat_of(const fs::path &folder) {
    Templates found = chat_templates_of(folder);
    if (found.all.empty()) return std::nullopt;
    return model::Chat{std::move(found.all), named_token(folder, "bos_token"), named_token(folder, "eos_token"),
                       std::move(found.tools)};
}

} // namespace

std::optional<TextSettings> read_text_settings(const Config &config, const Config &generation, const fs::path &folder) {
    TextSettings out;
    if (const auto made = made_tokenizer(folder, config.text("model_type", ""))) {
        out.file = "tokenizer.json";
        out.tokenizer = Tokenizer::parse(*made, folder.string() + ": its tokenizer");
        out.source = out.target = Json{{"tokenizer", out.file}};
    } else if (has_file(folder / "tokenizer.json")) {
        out.file = "tokenizer.json";
        const int64_t rows = config.find("vocab_size") ? config.positive("vocab_size") : INT32_MAX;
        out.tokenizer = with_listed_tokens(Tokenizer::load(folder / out.file), folder, rows);
        out.source = out.target = Json{{"tokenizer", out.file}};
    } else if (auto pieces = numbered_pieces(folder, TokenizerSettings(folder), config.text("model_type", ""))) {
        out.file = std::move(pieces->file);
        out.special = std::move(pieces->special);
        out.source = std::move(pieces->source), out.target = std::move(pieces->target);
    } else {
        return std::nullopt;
    }
    if (out.tokenizer) out.mask = mask_of(folder, *out.tokenizer);
    if (out.tokenizer && cleans_up(folder, *out.tokenizer)) out.source["clean_up"] = out.target["clean_up"] = true;
    out.bos = named_token(folder, "bos_token");
    out.pad = named_token(folder, "pad_token");
    out.masked = gives(folder, "attention_mask");
    out.context = out.positions = context_of(config);
    out.tokenizer_limit = tokenizer_limit_of(folder);
    out.cut_left = is_left(folder, "truncation_side", out.tokenizer && out.tokenizer->parts().cut_left);
    out.padded_left = is_left(folder, "padding_side", out.tokenizer && out.tokenizer->parts().padded_left);
    read_sentence_settings(folder, out);
    out.sampling = read_sampling(generation);
    out.chat = chat_of(folder);
    return out;
}

// ---- GGUF ----

namespace {

// general.sampling.*: keys of the metadata and of model.json.
Json sampling_of(const model::GgufMetadata &metadata) {
    Json out = Json::object();
    for (const auto &[theirs, ours] : {std::pair{"temp", "temperature"},
                                       {"top_k", "top_k"},
                                       {"top_p", "top_p"},
                                       {"min_p", "min_p"},
                                       {"xtc_probability", "xtc_probability"},
                                       {"xtc_threshold", "xtc_threshold"},
                                       {"penalty_repeat", "repetition_penalty"}})
        if (const std::string key = std::string("general.sampling.") + theirs; metadata.has(key)) {
            suggest(out, ours, metadata.at(key).number());
        }
    return out;
}

// llama.cpp has this template by its name (llama-chat.cpp), which older converters wrote.
std::string template_of(std::string_view written) {
    constexpr const char *rwkv_world =
        "{% for message in messages %}"
        "{% if message.role == 'system' %}System: {{ message.content | trim }}\n\n{% endif %}"
        "{% if message.role == 'user' %}User: {{ message.content | trim }}\n\n{% endif %}"
        "{% if message.role == 'assistant' %}Assistant: {{ message.content | trim }}\n\n{% endif %}"
        "{% endfor %}{% if add_generation_prompt %}Assistant:{% endif %}";
    return written == "rwkv-world" ? rwkv_world : std::string(written);
}

} // namespace

std::optional<TextSettings> read_text_settings(const model::GgufMetadata &metadata, const Config &config) {
    std::optional<Tokenizer> tokenizer = model::tokenizer_of(metadata);
    if (!tokenizer) return std::nullopt;
    TextSettings out{.tokenizer = tokenizer, .file = "tokenizer.gguf"};
    out.source = out.target = Json{{"tokenizer", out.file}};
    if (config.has("max_position_embeddings")) out.context = config.positive("max_position_embeddings");
    out.sampling = sampling_of(metadata);
    if (metadata.has("tokenizer.chat_template")) {
        const bool usual =
            metadata.has("tokenizer.ggml.model") && metadata.at("tokenizer.ggml.model").string() == "llama";
        const auto token = [&](const char *key, int32_t of_llama) -> std::string {
            if (!metadata.has(key)) return usual ? tokenizer->token(of_llama).value_or("") : "";
            return tokenizer->token(static_cast<int32_t>(metadata.at(key).integer(0, INT32_MAX))).value_or("");
        };
        constexpr const char *for_tools = "tokenizer.chat_template.tool_use";
        out.chat = {template_of(metadata.at("tokenizer.chat_template").string()),
                    token("tokenizer.ggml.bos_token_id", 1), token("tokenizer.ggml.eos_token_id", 2),
                    std::string(metadata.has(for_tools) ? metadata.at(for_tools).string() : "")};
    }
    return out;
}

// ---- model.json ----

// {"0": "negative", "1": "positive"} as a list.
std::vector<std::string> labels_of(const Config &config) {
    const auto value = config.find("id2label");
    if (!value) return {};
    std::vector<std::string> out(value->members().size());
    for (const JsonView label : value->members()) {
        const std::string_view key = label.key();
        size_t i = out.size();
        (void)std::from_chars(key.data(), key.data() + key.size(), i);
        if (i >= out.size() || std::to_string(i) != key)
            label.fail("expected keys from 0 to " + std::to_string(out.size() - 1));
        out[i] = label.string();
    }
    return out;
}

namespace {

constexpr const char *activation = "activation_fn";

// What the makers of a cross-encoder apply to its scores (sentence-transformers, cross_encoder/model.py).
const char *scores_of_activation(const Config &config, const char *key) {
    const std::string name = config.text(key);
    if (name.ends_with(".Identity")) return "values";
    if (name.ends_with(".Sigmoid")) return "sigmoid";
    config.fail(key, in_quotes(name) + " is not supported; supported: torch.nn.modules.linear.Identity and "
                                       "torch.nn.modules.activation.Sigmoid");
}

} // namespace

const char *scores_of(const Config &config) {
    constexpr const char *older = "sbert_ce_default_activation_function";
    if (const auto sentences = config.object("sentence_transformers"); sentences && sentences->has(activation))
        return scores_of_activation(*sentences, activation);
    if (config.has(older)) return scores_of_activation(config, older);
    const std::string type = config.text("problem_type", "single_label_classification");
    if (type == "single_label_classification") return "softmax";
    if (type == "multi_label_classification") return "sigmoid";
    if (type == "regression") return "values";
    config.fail("problem_type", in_quotes(type) + " is not supported; supported: single_label_classification, "
                                                  "multi_label_classification and regression");
}

// The longest part of a text that is searched for an answer, in tokens (transformers 4, question_answering.py).
constexpr int64_t answer_window = 384;

namespace {

// The same of a folder, whose file for sentence-transformers comes first.
const char *scores_of(const Draft &draft) {
    const fs::path file = draft.folder / "config_sentence_transformers.json";
    if (draft.gguf || !has_file(file)) return scores_of(draft.config);
    const JsonText document(text_of(file), file.string());
    const Config sentences(document.root());
    return sentences.has(activation) ? scores_of_activation(sentences, activation) : scores_of(draft.config);
}

void add_prompts(const Prompts &prompts, Json &reading) {
    for (const auto &[name, text] : prompts.texts) reading["prompts"][name] = text;
    if (!prompts.default_prompt.empty()) reading["default_prompt"] = prompts.default_prompt;
}

Json reading_of(const Draft &draft) {
    const auto encode = draft.graphs.find("encode");
    if (!draft.texts || !draft.texts->tokenizer || encode == draft.graphs.end() || draft.graphs.contains("decode"))
        return nullptr;
    Json out{{"graph", "encode"},
             {"ids", "ids"},
             {"lengths", "lengths"},
             {"tokenizer", draft.texts->file},
             {"longest", draft.texts->context}};
    if (encode->second.takes("token_types")) {
        out["token_types"] = "token_types";
        if (!draft.gguf && !gives(draft.folder, "token_type_ids")) out["one_type"] = true;
    }
    if (!draft.gguf && cleans_up(draft.folder, *draft.texts->tokenizer)) out["clean_up"] = true;
    if (draft.texts->lowercase) out["lowercase"] = true;
    if (draft.texts->cut_left) out["truncation_side"] = "left";
    if (!draft.texts->fill.empty()) out["fill"] = draft.texts->fill;
    if (draft.sentences && draft.sentences->of_tokens()) {
        out["token_vectors"] = "embedding";
        add_token_vector_roles(draft, out);
        return out;
    }
    if (draft.sentences) {
        add_prompts(draft.texts->prompts, out);
        if (encode->second.takes("starts")) out["starts"] = "starts";
        out["embedding"] = "embedding";
        if (draft.sentences->of_words()) out["sparse"] = true;
        return out;
    }
    if (draft.images && !draft.images->classes && !draft.reads_pages()) {
        out["embedding"] = "embedding";
        return out;
    }
    if (draft.texts->padding) out["padding"] = *draft.texts->padding;
    if (draft.task == Task::answers && !draft.causal) {
        if (draft.texts->padded_left)
            throw Error(ErrorCode::input,
                        "tokenizer_config.json: padding_side: 'left', with which a question comes after "
                        "the text, is not supported for models that find answers; expected 'right'");
        out["answers"] = "logits";
        out["longest"] = std::min({draft.texts->context, draft.texts->tokenizer_limit, answer_window});
        return out;
    }
    if (draft.task == Task::words && !draft.causal && !draft.texts->mask.empty()) {
        out["words"] = "logits";
        out["mask"] = draft.texts->mask;
        return out;
    }
    const bool of_texts = draft.task == Task::texts;
    if (!of_texts && draft.task != Task::tokens) return nullptr;
    out[of_texts ? "classes" : "token_classes"] = "logits";
    if (!draft.token_score) out["labels"] = labels_of(draft.config);
    out["scores"] = scores_of(draft);
    if (draft.token_score && !draft.texts->pair.empty()) out["pair"] = draft.texts->pair;
    if (!of_texts || draft.gguf) return out;
    add_prompts(draft.texts->prompts, out);
    if (draft.texts->chat && makes_conversations(draft.folder))
        out["pair"] = pair_block(*draft.texts->chat, draft.folder, !draft.texts->prompts.default_prompt.empty());
    return out;
}

} // namespace

Json reading_block(const Draft &draft) { return draft.reads_pages() ? Json() : reading_of(draft); }

Json reading_of_pages(const Draft &draft) {
    if (!draft.reads_pages()) return nullptr;
    Json out = reading_of(draft);
    if (!out.empty()) out["longest"] = std::min(draft.texts->context, draft.texts->tokenizer_limit);
    return out;
}

Json generation_block(const Draft &draft) {
    if (!draft.texts || !draft.graphs.contains("decode")) return nullptr;
    const bool images = draft.images && draft.images->of_encoder();
    if (images && draft.images->steps.empty()) return nullptr; // no file says how an image becomes a source
    const TextSettings &texts = *draft.texts;
    const bool audio = draft.sample_rate != 0; // of one length
    Json out{{"decode", "decode"},
             {"target_ids", "ids"},
             {"position", "position"},
             {"logits", "logits"},
             {"max_length", read_max_length(draft.generation, audio)},
             {"context", texts.context},
             {"target", texts.target}};
    if (draft.graphs.at("decode").takes("target_lengths")) out["target_lengths"] = "target_lengths";
    if (draft.graphs.at("decode").takes("image_rows"))
        out["image_rows"] = "image_rows", out["image_mask"] = "image_mask";
    if (draft.graphs.at("decode").takes("image_ahead")) out["image_ahead"] = "image_ahead";
    if (draft.graphs.at("decode").takes("coordinates")) out["coordinates"] = "coordinates";
    if (!texts.sampling.empty()) out["sampling"] = texts.sampling;
    out["decoding"] = json_of(read_decoding(draft.generation, audio));
    if (const auto encode = draft.graphs.find("encode"); encode != draft.graphs.end()) {
        out["encode"] = "encode";
        if (audio) {
            out["source_samples"] = "samples";
            out["sample_rate"] = draft.sample_rate;
            if (!draft.alignment.empty()) out["alignment"] = draft.alignment;
            return out;
        }
        if (images) {
            out["source_patches"] = "patches";
            return out;
        }
        if (draft.speech) return add_audio_source(draft, out) ? out : Json();
        out["source_ids"] = "ids";
        out["source_lengths"] = "lengths";
        out["source"] = texts.source;
    }
    return out;
}

} // namespace lamina::architectures
