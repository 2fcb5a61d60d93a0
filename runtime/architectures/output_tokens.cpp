#include "architectures/output_tokens.hpp"

#include "architectures/generation_settings.hpp"

#include <algorithm>

namespace lamina::architectures {
namespace {

// Of "bad_words_ids", the sequences of one token, as Marian's files use them to forbid the padding token. An end may
// always come, and what is forced comes after all (transformers, generation/logits_process.py).
void add_bad_words(const Config &generation, model::OutputTokens &tokens) {
    const auto sequences = generation.find("bad_words_ids");
    if (!sequences) return;
    const std::optional<int32_t> first = forced_first(generation);
    const std::vector<int32_t> last = generation.ids("forced_eos_token_id");
    for (const JsonView sequence : sequences->items()) {
        if (sequence.items().size() != 1) continue;
        const auto token = static_cast<int32_t>(sequence.at(0).integer(0, INT32_MAX));
        if (token != first && std::ranges::count(tokens.end, token) + std::ranges::count(last, token) == 0)
            tokens.suppress.push_back(token);
    }
}

// What an encoder's texts begin with.
std::vector<int32_t> start_of(const Config &generation) {
    const char *key = generation.has("decoder_start_token_id") ? "decoder_start_token_id" : "bos_token_id";
    std::vector<int32_t> out = generation.ids(key);
    if (out.size() > 1)
        generation.fail(key,
                        "expected one token, found " + std::to_string(out.size()) + ": a list has one for each text");
    return out;
}

} // namespace

model::OutputTokens output_tokens(const Config &generation) {
    model::OutputTokens out;
    for (const int32_t id : start_of(generation)) out.start.push_back({id});
    out.end = generation.ids("eos_token_id");
    out.suppress = generation.ids("suppress_tokens");
    out.begin_suppress = generation.ids("begin_suppress_tokens");
    add_bad_words(generation, out);
    return out;
}

Json json_of(const model::OutputTokens &tokens) {
    Json choices = Json::object();
    for (const auto &[name, choice] : tokens.choices) {
        Json ids = Json::object();
        for (const auto &[wanted, id] : choice.ids) ids[wanted] = id;
        using At = model::TokenChoice::At;
        choices[name]["ids"] = ids;
        if (choice.at == At::output)
            choices[name]["place"] = choice.place;
        else
            choices[name]["source"] = choice.at == At::source_begin ? "begin" : "end";
    }
    Json out{{"start", tokens.start},
             {"end", tokens.end},
             {"suppress", tokens.suppress},
             {"begin_suppress", tokens.begin_suppress}};
    if (!tokens.choices.empty()) out["choices"] = std::move(choices);
    if (const auto &times = tokens.timestamps) {
        out["timestamps"] = {{"none", times->none}, {"step", times->step}};
        if (times->latest) out["timestamps"]["latest"] = *times->latest;
    }
    return out;
}

} // namespace lamina::architectures
