#include "generation/choices.hpp"

#include "base/joined.hpp"
#include "base/nearest.hpp"
#include "base/utf8.hpp"

#include <algorithm>

namespace lamina::generation {
namespace {

const model::TokenChoice &choice_of(const model::Model &model, const std::string &name) {
    const auto &choices = model.tokens.choices;
    if (const auto found = choices.find(name); found != choices.end()) return found->second;
    throw Error(ErrorCode::usage,
                name + ": " + model.folder.string() + " has no such setting" +
                    (choices.empty() ? "; leave it out" : "; its settings are " + joined(names_of(choices))));
}

int32_t id_of(const model::TokenChoice &choice, const std::string &name, const std::string &wanted) {
    if (const auto id = choice.ids.find(wanted); id != choice.ids.end()) return id->second;
    throw Error(ErrorCode::usage, name + ": " + in_quotes(wanted) + " is not supported by the model" +
                                      did_you_mean(wanted, names_of(choice.ids)) +
                                      "; supported: " + joined(names_of(choice.ids)));
}

} // namespace

ChosenTokens chosen_tokens(const model::Model &model, const GenerateOptions &options) {
    using At = model::TokenChoice::At;
    ChosenTokens out{.start = model.tokens.start};
    for (const auto &[name, wanted] : options.choices) {
        const model::TokenChoice &choice = choice_of(model, name);
        const int32_t id = id_of(choice, name, wanted);
        if (choice.at != At::output)
            out.source.push_back({&choice, id});
        else if (choice.place < out.start.size())
            out.start[choice.place] = {id};
        else
            out.first = id;
    }
    const auto &times = model.tokens.timestamps;
    if (options.timestamps != Timestamps::none && times && !out.start.empty() && out.start.back() == Ids{times->none})
        out.start.pop_back();
    return out;
}

void ChosenTokens::put_into(Ids &source_ids) const {
    for (const auto &[choice, id] : source) {
        const bool begins = choice->at == model::TokenChoice::At::source_begin;
        const auto one = [&](int32_t token) {
            return std::ranges::any_of(choice->ids, [&](const auto &each) { return each.second == token; });
        };
        if (source_ids.empty() || !one(begins ? source_ids.front() : source_ids.back()))
            source_ids.insert(begins ? source_ids.begin() : source_ids.end(), id);
        else
            (begins ? source_ids.front() : source_ids.back()) = id;
    }
}

} // namespace lamina::generation
