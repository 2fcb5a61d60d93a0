#include "architectures/output_tokens.hpp"

namespace lamina::architectures {
namespace {

// "bad_words_ids" lists sequences of ids that must not occur. Marian's files use it to forbid the padding token.
void add_bad_words(const Config &generation, std::vector<int32_t> &suppress) {
    const auto sequences = generation.find("bad_words_ids");
    if (!sequences) return;
    for (const JsonView sequence : sequences->items()) {
        const size_t length = sequence.items().size();
        if (length != 1)
            sequence.fail("a sequence of " + std::to_string(length) +
                          " tokens that must not occur is not supported; only single tokens are");
        suppress.push_back(static_cast<int32_t>(sequence.at(0).integer(0, INT32_MAX)));
    }
}

} // namespace

model::OutputTokens output_tokens(const Config &generation, const Config &config) {
    const auto ids = [&](const char *key) {
        const std::vector<int32_t> out = generation.ids(key);
        return out.empty() ? config.ids(key) : out;
    };
    model::OutputTokens out;
    for (const int32_t id : ids("decoder_start_token_id")) out.start.push_back({id});
    out.end = ids("eos_token_id");
    out.suppress = ids("suppress_tokens");
    out.begin_suppress = ids("begin_suppress_tokens");
    add_bad_words(generation, out.suppress);
    return out;
}

Json json_of(const model::OutputTokens &tokens) {
    Json choices = Json::object();
    for (const auto &[name, choice] : tokens.choices) {
        Json ids = Json::object();
        for (const auto &[wanted, id] : choice.ids) ids[wanted] = id;
        choices[name] = {{"place", choice.place}, {"ids", ids}};
    }
    Json out{{"start", tokens.start},
             {"end", tokens.end},
             {"suppress", tokens.suppress},
             {"begin_suppress", tokens.begin_suppress}};
    if (!tokens.choices.empty()) out["choices"] = std::move(choices);
    return out;
}

} // namespace lamina::architectures
