#include "model/decoding.hpp"

#include "base/utf8.hpp"

#include <algorithm>
#include <cmath>

namespace lamina::model {
namespace {

constexpr int64_t most_beams = 1024;

int32_t token_id_at(JsonView value) { return static_cast<int32_t>(value.integer(0, INT32_MAX)); }

// One id or a list of ids.
Ids token_ids_at(JsonView value) {
    if (value.is_number()) return {token_id_at(value)};
    Ids out;
    for (const JsonView item : value.items()) out.push_back(token_id_at(item));
    return out;
}

Ids sequence_at(JsonView value) {
    Ids out;
    for (const JsonView item : value.items()) out.push_back(token_id_at(item));
    if (out.empty()) value.fail("expected at least one token");
    return out;
}

double positive_at(JsonView value) {
    const double number = value.number();
    if (!(number > 0)) value.fail("expected a number above 0");
    return number;
}

EarlyStopping early_stopping_at(JsonView value) {
    if (value.is_boolean()) return value.boolean() ? EarlyStopping::at_once : EarlyStopping::estimated;
    if (!value.is_string() || value.string() != "never") value.fail("expected true, false or \"never\"");
    return EarlyStopping::never;
}

// [[[5, 6], -2.5], ...]; of several for the same tokens, the last counts.
std::vector<SequenceBias> sequence_bias_at(JsonView value) {
    if (!value.is_list()) value.fail("expected a list of pairs, each a list of tokens and a number");
    std::vector<SequenceBias> out;
    for (const JsonView pair : value.items()) {
        if (pair.items().size() != 2) pair.fail("expected a list of tokens and a number");
        SequenceBias found{sequence_at(pair.at(0)), pair.at(1).number()};
        const auto same = std::ranges::find(out, found.tokens, &SequenceBias::tokens);
        same == out.end() ? out.push_back(std::move(found)) : void(*same = std::move(found));
    }
    if (out.empty()) value.fail("expected at least one pair of tokens and a number");
    return out;
}

EndBonus end_bonus_at(JsonView value) {
    if (value.items().size() != 2) value.fail("expected two numbers: where it starts, and a factor");
    return {.start = value.at(0).integer(0, INT32_MAX), .factor = value.at(1).number()};
}

std::vector<std::string> texts_at(JsonView value) {
    std::vector<std::string> out;
    const auto add = [&](JsonView text) {
        out.emplace_back(text.string());
        if (out.back().empty()) text.fail("expected a text, found an empty one");
    };
    if (value.is_string())
        add(value);
    else
        for (const JsonView text : value.items()) add(text);
    return out;
}

} // namespace

Decoding read_decoding(JsonView object, Decoding otherwise) {
    Decoding out = std::move(otherwise);
    const auto read = [&](const char *key, const auto &how) {
        if (object.has(key)) how(object.at(key));
    };
    const auto count = [&](const char *key, auto &to) {
        read(key, [&](JsonView value) { to = value.integer(0, INT32_MAX); });
    };
    const auto flag = [&](const char *key, bool &to) { read(key, [&](JsonView value) { to = value.boolean(); }); };
    read("num_beams", [&](JsonView value) { out.num_beams = value.integer(1, most_beams); });
    read("early_stopping", [&](JsonView value) { out.early_stopping = early_stopping_at(value); });
    read("length_penalty", [&](JsonView value) { out.length_penalty = value.number(); });
    read("max_length", [&](JsonView value) { out.max_length = value.integer(1, INT32_MAX); });
    read("stop_strings", [&](JsonView value) { out.stop_strings = texts_at(value); });
    read("sequence_bias", [&](JsonView value) { out.sequence_bias = sequence_bias_at(value); });
    read("encoder_repetition_penalty", [&](JsonView value) { out.encoder_repetition_penalty = positive_at(value); });
    count("no_repeat_ngram_size", out.no_repeat_ngram_size);
    count("encoder_no_repeat_ngram_size", out.encoder_no_repeat_ngram_size);
    read("bad_words_ids", [&](JsonView value) {
        out.bad_words_ids.clear();
        for (const JsonView sequence : value.items()) out.bad_words_ids.push_back(sequence_at(sequence));
    });
    count("min_length", out.min_length);
    count("min_new_tokens", out.min_new_tokens);
    read("forced_bos_token_id", [&](JsonView value) { out.forced_bos_token_id = token_id_at(value); });
    read("forced_eos_token_id", [&](JsonView value) { out.forced_eos_token_id = token_ids_at(value); });
    flag("remove_invalid_values", out.remove_invalid_values);
    read("exponential_decay_length_penalty",
         [&](JsonView value) { out.exponential_decay_length_penalty = end_bonus_at(value); });
    flag("renormalize_logits", out.renormalize_logits);
    return out;
}

void expect_decoding_keys(JsonView object) {
    object.allow_keys({"num_beams", "early_stopping", "length_penalty", "max_length", "stop_strings", "sequence_bias",
                       "encoder_repetition_penalty", "no_repeat_ngram_size", "encoder_no_repeat_ngram_size",
                       "bad_words_ids", "min_length", "min_new_tokens", "forced_bos_token_id", "forced_eos_token_id",
                       "remove_invalid_values", "exponential_decay_length_penalty", "renormalize_logits"});
}

} // namespace lamina::model
