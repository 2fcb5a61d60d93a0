#include "architectures/generation_settings.hpp"

#include <lamina/sampling.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace lamina::architectures {
namespace {

// Keys that no token depends on.
constexpr std::array inert{
    // How fast tokens come. Drafts by an assistant, by the prompt or by the model's own layers are only taken where the
    // model itself chooses the same.
    "assistant_confidence_threshold",
    "assistant_early_exit",
    "assistant_ensemble_weight",
    "assistant_lookbehind",
    "cache_config",
    "compile_config",
    "continuous_batching_config",
    "disable_compile",
    "max_cache_len",
    "max_matching_ngram_size",
    "num_assistant_tokens",
    "num_assistant_tokens_schedule",
    "prefill_chunk_size",
    "prompt_lookup_num_tokens",
    "speculation_type",
    "target_lookbehind",
    "use_cache",
    "use_mtp",
    // What generate() returns beside the best text.
    "num_return_sequences",
    "output_attentions",
    "output_hidden_states",
    "output_logits",
    "output_scores",
    "return_dict_in_generate",
    // What stands behind a text that ends before others.
    "pad_token_id",
};

// Keys that are read, here or by output_tokens().
constexpr std::array obeyed{
    "bad_words_ids",
    "begin_suppress_tokens",
    "bos_token_id",
    "decoder_start_token_id",
    "do_sample",
    "early_stopping",
    "encoder_no_repeat_ngram_size",
    "encoder_repetition_penalty",
    "eos_token_id",
    "epsilon_cutoff",
    "eta_cutoff",
    "exponential_decay_length_penalty",
    "force_bos_token_to_be_generated",
    "forced_bos_token_id",
    "forced_eos_token_id",
    "length_penalty",
    "max_length",
    "max_new_tokens",
    "min_length",
    "min_new_tokens",
    "min_p",
    "no_repeat_ngram_size",
    "num_beams",
    "remove_invalid_values",
    "renormalize_logits",
    "repetition_penalty",
    "sequence_bias",
    "stop_strings",
    "suppress_tokens",
    "temperature",
    "top_h",
    "top_k",
    "top_p",
    "typical_p",
};

// Keys that are refused where they would have an effect.
constexpr std::array refused{
    "cache_implementation", "constraints",   "diversity_penalty",   "dola_layers", "force_words_ids",
    "guidance_scale",       "is_assistant",  "low_memory",          "max_time",    "num_beam_groups",
    "penalty_alpha",        "token_healing", "watermarking_config",
};

bool is_set(const Config &generation, const char *key) {
    const auto value = generation.find(key);
    return value && !(value->is_boolean() && !value->boolean());
}

[[noreturn]] void refuse(const Config &generation, const char *key, const std::string &supported) {
    generation.fail(key, generation.find(key)->description() + " is not supported; supported: " + supported);
}

void refuse_unsupported(const Config &generation, int64_t beams) {
    for (const char *key : {"constraints", "force_words_ids", "watermarking_config", "max_time"})
        if (generation.has(key)) refuse(generation, key, "null");
    for (const char *key : {"token_healing", "is_assistant"})
        if (is_set(generation, key)) refuse(generation, key, "false");
    generation.expect("guidance_scale", 1.0);
    if (generation.text("cache_implementation", "") == "quantized")
        refuse(generation, "cache_implementation",
               "any other; 'lamina run --cache f16' stores keys and values in half");
    const bool samples = generation.flag("do_sample", false);
    if (beams > 1) {
        if (generation.integer("num_beam_groups", 1) > 1) refuse(generation, "num_beam_groups", "1");
        if (is_set(generation, "low_memory")) refuse(generation, "low_memory", "false");
    } else {
        if (generation.has("dola_layers")) refuse(generation, "dola_layers", "null");
        if (!samples && generation.real("penalty_alpha", 0) > 0 && generation.integer("top_k", 50) > 1)
            refuse(generation, "penalty_alpha", "0, or top_k 1 beside it");
    }
}

} // namespace

std::optional<int32_t> forced_first(const Config &generation) {
    const char *key = "forced_bos_token_id";
    const bool is_of_model = generation.states("model_type"); // not generation_config.json
    if (is_of_model && generation.flag("force_bos_token_to_be_generated", false) && generation.has("bos_token_id"))
        key = "bos_token_id";
    const auto token = generation.optional_integer(key);
    return token ? std::optional(static_cast<int32_t>(*token)) : std::nullopt;
}

model::Decoding read_decoding(const Config &generation, bool audio) {
    model::Decoding out = model::read_decoding(generation.view(), {.early_stopping = model::EarlyStopping::estimated});
    const std::vector<int32_t> ends = generation.ids("eos_token_id");
    out.forced_bos_token_id = forced_first(generation);
    // An end may always come. Other single tokens are among those that are suppressed, unless they are forced.
    std::erase_if(out.bad_words_ids, [&](const model::Ids &sequence) {
        const auto is_it = [&](int32_t token) { return token == sequence.front(); };
        const bool forced = (out.forced_bos_token_id && is_it(*out.forced_bos_token_id)) ||
                            std::ranges::any_of(out.forced_eos_token_id, is_it);
        return sequence.size() == 1 && (!forced || std::ranges::any_of(ends, is_it));
    });
    if (out.exponential_decay_length_penalty && ends.empty())
        generation.fail("exponential_decay_length_penalty", "expected an eos_token_id beside it");
    // Of max_new_tokens and max_length, the first counts. Whisper's max_length does not count what a text begins with.
    if (generation.has("max_new_tokens") || audio) out.max_length.reset();
    refuse_unsupported(generation, out.num_beams);
    return out;
}

int64_t read_max_length(const Config &generation, bool audio) {
    constexpr int64_t most = 100000, otherwise = 256;
    const int64_t length = generation.integer("max_length", 0) - (audio ? 0 : 1); // without the start token
    const int64_t tokens = generation.has("max_new_tokens") ? generation.positive("max_new_tokens")
                           : length > 0                     ? length
                                                            : otherwise;
    return std::clamp<int64_t>(tokens, 1, most);
}

void suggest(Json &sampling, std::string_view key, double value) {
    const auto option = std::ranges::find(sampling_options, key, &SamplingOption::name);
    if (option->is_whole()) value = std::max(value, 0.0); // 0 or below: all
    if (!option->takes(value)) return;
    if (option->is_whole())
        sampling[key] = static_cast<int64_t>(value);
    else
        sampling[key] = value;
}

Json read_sampling(const Config &generation) {
    Json out = Json::object();
    if (generation.has("repetition_penalty")) suggest(out, "repetition_penalty", generation.real("repetition_penalty"));
    if (!generation.flag("do_sample", false)) return out;
    suggest(out, "temperature", generation.real("temperature", 1));
    suggest(out, "top_k", generation.real("top_k", 50)); // as transformers does
    for (const char *key : {"top_p", "min_p", "top_h", "typical_p", "epsilon_cutoff", "eta_cutoff"})
        if (generation.has(key)) suggest(out, key, generation.real(key));
    return out;
}

Json json_of(const model::Decoding &decoding) {
    using model::EarlyStopping;
    Json out = Json::object();
    if (decoding.num_beams != 1) out["num_beams"] = decoding.num_beams;
    if (decoding.early_stopping == EarlyStopping::never)
        out["early_stopping"] = "never";
    else
        out["early_stopping"] = decoding.early_stopping == EarlyStopping::at_once;
    if (decoding.length_penalty != 1) out["length_penalty"] = decoding.length_penalty;
    if (decoding.max_length) out["max_length"] = *decoding.max_length;
    if (!decoding.stop_strings.empty()) out["stop_strings"] = decoding.stop_strings;
    Json biases = Json::array();
    for (const auto &[tokens, bias] : decoding.sequence_bias) biases.push_back(Json::array({tokens, bias}));
    if (!biases.empty()) out["sequence_bias"] = std::move(biases);
    if (decoding.encoder_repetition_penalty != 1)
        out["encoder_repetition_penalty"] = decoding.encoder_repetition_penalty;
    for (const auto &[key, value] : {std::pair{"no_repeat_ngram_size", decoding.no_repeat_ngram_size},
                                     {"encoder_no_repeat_ngram_size", decoding.encoder_no_repeat_ngram_size},
                                     {"min_length", decoding.min_length}})
        if (value != 0) out[key] = value;
    if (!decoding.bad_words_ids.empty()) out["bad_words_ids"] = decoding.bad_words_ids;
    if (decoding.min_new_tokens) out["min_new_tokens"] = *decoding.min_new_tokens;
    if (decoding.forced_bos_token_id) out["forced_bos_token_id"] = *decoding.forced_bos_token_id;
    if (!decoding.forced_eos_token_id.empty()) out["forced_eos_token_id"] = decoding.forced_eos_token_id;
    if (decoding.remove_invalid_values) out["remove_invalid_values"] = true;
    if (const auto &bonus = decoding.exponential_decay_length_penalty)
        out["exponential_decay_length_penalty"] = Json::array({bonus->start, bonus->factor});
    if (decoding.renormalize_logits) out["renormalize_logits"] = true;
    return out;
}

std::string generation_of_parts(JsonView whole) {
    constexpr const char *part = "decoder";
    if (!whole.has(part) || !whole.at(part).is_object()) return "";
    std::string out;
    for (const std::string_view key : generation_keys())
        for (const JsonView object : {whole, whole.at(part)})
            if (object.has(key)) {
                out += (out.empty() ? "" : ",") + json_string(key) + ":" + object.at(key).written();
                break;
            }
    return "{" + out + "}";
}

std::vector<std::string_view> generation_keys() {
    std::vector<std::string_view> out(inert.begin(), inert.end());
    out.insert(out.end(), obeyed.begin(), obeyed.end());
    out.insert(out.end(), refused.begin(), refused.end());
    return out;
}

} // namespace lamina::architectures
