#include "generation/text_inputs.hpp"

#include "generation/generation.hpp"
#include "generation/generation_shapes.hpp"
#include "session/state.hpp"

#include <algorithm>

namespace lamina::generation {
namespace {

// Tokens of an answer that are looked at: enough to see all steps of a kind.
constexpr int64_t longest_answer = 32;

size_t longest_of(const std::vector<Ids> &rows) {
    size_t longest = 1;
    for (const Ids &row : rows) longest = std::max(longest, row.size());
    return longest;
}

// (B, T) with the rows filled up by `pad`.
Tensor padded(const std::vector<Ids> &rows, int64_t length, int32_t pad) {
    std::vector<int32_t> flat(rows.size() * static_cast<size_t>(length), pad);
    for (size_t b = 0; b < rows.size(); ++b)
        std::copy(rows[b].begin(), rows[b].end(), flat.begin() + static_cast<std::ptrdiff_t>(b) * length);
    return Tensor::of({static_cast<int64_t>(rows.size()), length}, flat);
}

Tensor lengths_of(const std::vector<Ids> &rows) {
    std::vector<int32_t> lengths;
    for (const Ids &row : rows) lengths.push_back(static_cast<int32_t>(row.size()));
    return Tensor::of({static_cast<int64_t>(rows.size())}, lengths);
}

} // namespace

TextInputs inputs_of_texts(detail::SessionState &session, const std::vector<std::string> &texts, Rows rows) {
    const model::Model &model = *session.model;
    const abi::Registry &plugins = *session.runtime->plugins;
    if (!model.generation)
        throw Error(ErrorCode::usage,
                    model.folder.string() + " does not take text: give --input NAME=FILE.npy for its inputs");
    const model::Generation &g = *model.generation;
    std::vector<Ids> sources = tokenize(model, plugins, texts);
    if (!g.encode.empty()) std::erase_if(sources, [](const Ids &ids) { return ids.empty(); });
    if (sources.empty())
        throw Error(ErrorCode::usage, "there is no text to run the model on: all given texts are empty");

    const size_t positions = longest_target(model, plugins);
    size_t longest_prefix = 1;
    std::vector<Ids> targets;
    GenerateOptions options;
    options.max_length = std::min(g.max_length, longest_answer);
    for (const auto &found : generate(session, texts, options)) {
        if (found.empty()) continue;
        Ids &ids = targets.emplace_back();
        for (const Ids &choice : model.tokens.start) ids.push_back(choice.front());
        if (g.encode.empty()) // the prompt comes first
            ids.insert(ids.end(), sources[targets.size() - 1].begin(), sources[targets.size() - 1].end());
        longest_prefix = std::max(longest_prefix, ids.size());
        ids.insert(ids.end(), found.front().tokens.begin(), found.front().tokens.end());
        ids.resize(std::min(ids.size(), positions)); // the last token is never fed back
    }
    const bool as_programs = rows == Rows::of_programs;
    if (as_programs) {
        const Ids filler{0}; // any token
        sources.resize(rounded_rows(sources.size()), filler);
        targets.resize(sources.size(), filler);
    }
    TextInputs out;
    out.length = std::min(longest_prefix + static_cast<size_t>(options.max_length), positions);
    const auto batch = static_cast<int64_t>(sources.size());
    TensorMap decode{{g.target_ids, padded(targets, static_cast<int64_t>(longest_of(targets)),
                                           model.tokens.end.empty() ? 0 : model.tokens.end.front())},
                     {g.position, Tensor(TensorType{DType::i32, {batch}})}};
    if (!g.encode.empty()) {
        const size_t longest = longest_of(sources);
        const int64_t length = as_programs ? source_length(model, plugins, longest) : static_cast<int64_t>(longest);
        TensorMap encode{{g.source_ids, padded(sources, length, 0)}, {g.source_lengths, lengths_of(sources)}};
        const TensorMap encoded = session.surviving_loss([&] { return session.run(g.encode, encode); });
        for (const std::string &name : g.encoded) decode[name] = encoded.at(name);
        if (g.decode_takes_lengths) decode[g.source_lengths] = encode.at(g.source_lengths);
        out.graphs.push_back({g.encode, std::move(encode)});
    }
    out.graphs.push_back({g.decode, std::move(decode)});
    return out;
}

std::vector<TensorMap> token_by_token(const model::Generation &g, TensorMap whole) {
    const Tensor ids = whole.at(g.target_ids);
    const int64_t batch = ids.shape()[0], length = ids.shape()[1];
    std::vector<TensorMap> steps{std::move(whole)};
    steps.resize(static_cast<size_t>(length));
    for (int64_t t = 0; t < length; ++t) {
        std::vector<int32_t> column;
        for (int64_t b = 0; b < batch; ++b) column.push_back(ids.i32()[static_cast<size_t>(b * length + t)]);
        const std::vector<int32_t> positions(column.size(), static_cast<int32_t>(t));
        steps[static_cast<size_t>(t)][g.target_ids] = Tensor::of({batch, 1}, column);
        steps[static_cast<size_t>(t)][g.position] = Tensor::of({batch}, positions);
    }
    return steps;
}

} // namespace lamina::generation
