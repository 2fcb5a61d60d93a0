// texts.hpp: texts on their way into a model, and what a model that reads them gives.
#include <lamina/texts.hpp>

#include "api/access.hpp"
#include "generation/text_inputs.hpp"
#include "generation/texts.hpp"
#include "model/place.hpp"
#include "reading/answers.hpp"
#include "reading/masks.hpp"
#include "reading/token_vectors.hpp"
#include "reading/windows.hpp"
#include "tokenizer/token_bytes.hpp"

#include <lamina/sampling.hpp>

#include <algorithm>

namespace lamina {
namespace {

using Gives = model::Reading::Gives;

// The session, if its model gives that.
detail::SessionState &checked(Session &session, Gives expected, const char *what) {
    detail::SessionState &state = detail::Access::state(session);
    if (state.model->reading && state.model->reading->gives != expected &&
        state.model->reading->gives == Gives::token_vectors)
        throw Error(ErrorCode::usage, state.model->folder.string() + " does not give " + what +
                                          " but a vector for each token: embed_tokens() and classify_pairs(), or "
                                          "'lamina run' with --json or --pairs, take such models");
    if (state.model->reading && state.model->reading->gives != expected)
        throw Error(ErrorCode::usage, state.model->folder.string() + " does not give " + what + " but the output '" +
                                          state.model->reading->output + "'");
    return state;
}

std::vector<reading::Found> read(Session &session, const std::vector<reading::Text> &texts, const ReadOptions &options,
                                 Gives expected, const char *what) {
    detail::SessionState &state = checked(session, expected, what);
    const std::scoped_lock turn(state.turn);
    return reading::read(state, texts, options);
}

std::vector<LabelScore> labels_of(Session &session, std::span<const float> row, bool raw = false) {
    const model::Reading &model = *detail::Access::state(session).model->reading;
    return reading::labels_of(model.labels, raw ? model::Scores::values : model.scores, row);
}

std::vector<reading::Text> both(const std::vector<TextPair> &pairs) {
    std::vector<reading::Text> out;
    for (const TextPair &pair : pairs) out.push_back({pair.first, pair.second});
    return out;
}

std::vector<std::vector<LabelScore>> classes_of(Session &session, const std::vector<reading::Text> &texts,
                                                const ReadOptions &options) {
    std::vector<std::vector<LabelScore>> out;
    for (const reading::Found &each : read(session, texts, options, Gives::classes, "classes of texts"))
        out.push_back(labels_of(session, each.values, options.raw_scores));
    return out;
}

// (N, C)
Tensor vectors_of(Session &session, const std::vector<reading::Found> &found) {
    const detail::SessionState &state = detail::Access::state(session);
    const model::Reading &model = *state.model->reading;
    const int64_t width = found.empty() ? reading::shape_of_output(*state.model, model, *state.runtime->plugins,
                                                                   reading::shapes_of(model, 1, 1))
                                              .back()
                                        : static_cast<int64_t>(found.front().values.size());
    Tensor out(TensorType{DType::f32, {static_cast<int64_t>(found.size()), width}});
    for (size_t i = 0; i < found.size(); ++i)
        std::ranges::copy(found[i].values, out.f32().begin() + static_cast<std::ptrdiff_t>(i) * width);
    return out;
}

// Of a model that reads no texts: what it writes.
const model::Generation &writing_of(const model::Model &model) {
    if (model.generation) return *model.generation;
    throw Error(ErrorCode::usage, model.folder.string() + " has no tokens: it " + model::what_it_does(model));
}

// Of the texts that it takes; of audio and images there are none, so of those that it writes.
const model::TextCodec &codec_for(const model::Model &model, bool written) {
    const model::Generation &generation = writing_of(model);
    return written || !generation.takes_texts() ? *generation.target : generation.input();
}

// That of a model that reads texts, or the words of pages; null for others.
const Tokenizer *tokenizer_of(const model::Model &model) {
    if (model.reading) return &model.reading->tokenizer;
    return model.pages ? &model.pages->reading.tokenizer : nullptr;
}

// The class of a text that follows from another.
size_t entailment_of(const model::Model &model) {
    const std::vector<std::string> &labels = model.reading->labels;
    constexpr std::string_view start = "entail";
    const auto begins = [&](const std::string &label) {
        return std::ranges::equal(label.substr(0, start.size()), start, {},
                                  [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    };
    const auto found = std::ranges::find_if(labels, begins);
    if (found != labels.end() && labels.size() > 1) return static_cast<size_t>(found - labels.begin());
    std::string names;
    for (const std::string &label : labels) names += (names.empty() ? "'" : ", '") + label + "'";
    throw Error(ErrorCode::usage, model.folder.string() +
                                      " does not say whether a text follows from another: expected a class whose name "
                                      "begins with 'entail', and another one; found " +
                                      (names.empty() ? "no names of classes" : names));
}

Tensor embed_windows(Session &session, const std::vector<std::string> &texts, ReadOptions options) {
    if (options.truncate) throw Error(ErrorCode::usage, "truncate: expected false, because texts are read in windows");
    options.windows = false;
    const model::Model &model = *checked(session, Gives::embedding, "vectors of texts").model;
    const std::vector<TextWindow> windows = reading::windows_of(model, texts, options);
    std::vector<std::vector<int32_t>> ids;
    for (const TextWindow &each : windows) ids.push_back(each.ids);
    return mean_of_windows(windows, embed_ids(session, ids, options));
}

} // namespace

Tensor embed(Session &session, const std::vector<std::string> &texts, const ReadOptions &options) {
    if (options.windows) return embed_windows(session, texts, options);
    return vectors_of(session, read(session, reading::single(texts), options, Gives::embedding, "vectors of texts"));
}

std::vector<TextWindow> windows_of(const Model &model, const std::vector<std::string> &texts,
                                   const ReadOptions &options) {
    return reading::windows_of(*detail::Access::model(model), texts, options);
}

Tensor mean_of_windows(const std::vector<TextWindow> &windows, const Tensor &vectors) {
    return reading::mean_of(windows, vectors);
}

Tensor embed_ids(Session &session, const std::vector<std::vector<int32_t>> &texts, const ReadOptions &options) {
    detail::SessionState &state = checked(session, Gives::embedding, "vectors of texts");
    const std::scoped_lock turn(state.turn);
    return vectors_of(session, reading::read_ids(state, texts, options));
}

std::vector<std::vector<LabelScore>> classify(Session &session, const std::vector<std::string> &texts,
                                              const ReadOptions &options) {
    return classes_of(session, reading::single(texts), options);
}

std::vector<Tensor> embed_tokens(Session &session, const std::vector<std::string> &texts, const ReadOptions &options) {
    detail::SessionState &state = checked(session, Gives::token_vectors, "vectors of tokens");
    (void)reading::reading_of(*state.model);
    const std::scoped_lock turn(state.turn);
    return reading::token_vectors(state, texts, options);
}

std::vector<std::vector<LabelScore>> classify_pairs(Session &session, const std::vector<TextPair> &pairs,
                                                    const ReadOptions &options) {
    if (detail::SessionState &state = detail::Access::state(session);
        state.model->reading && state.model->reading->gives == Gives::token_vectors) {
        const std::scoped_lock turn(state.turn);
        std::vector<std::vector<LabelScore>> out;
        for (const double score : reading::scores_of_pairs(state, pairs, options)) out.push_back({{"maxsim", score}});
        return out;
    }
    return classes_of(session, both(pairs), options);
}

std::vector<std::vector<LabelScore>> match_texts(Session &session, const std::vector<std::string> &texts,
                                                 const std::vector<std::string> &labels, const MatchOptions &options) {
    const model::Model &model = *checked(session, Gives::classes, "classes of texts").model;
    (void)reading::reading_of(model);
    const size_t follows = entailment_of(model);
    const size_t contradicts = follows == 0 ? model.reading->labels.size() - 1 : 0; // as in transformers
    const std::vector<std::string> sentences = reading::sentences_of(labels, options.sentence);
    std::vector<reading::Text> pairs;
    for (const std::string &text : texts)
        for (const std::string &sentence : sentences) pairs.push_back({text, sentence});
    const auto found =
        read(session, pairs, {.batch = options.batch, .truncate = options.truncate, .progress = options.progress},
             Gives::classes, "classes of texts");
    std::vector<std::vector<LabelScore>> out(texts.size());
    for (size_t i = 0; i < out.size() && !labels.empty(); ++i) {
        std::vector<float> scores;
        for (size_t j = 0; j < labels.size(); ++j) {
            const std::vector<float> &values = found[i * labels.size() + j].values;
            const bool alone = options.multi_label || labels.size() == 1;
            scores.push_back(alone ? values.at(follows) - values.at(contradicts) : values.at(follows));
        }
        const auto kind = options.multi_label || labels.size() == 1 ? model::Scores::sigmoid : model::Scores::softmax;
        out[i] = reading::labels_of(labels, kind, scores);
    }
    return out;
}

std::vector<std::vector<TokenLabels>> label_tokens(Session &session, const std::vector<std::string> &texts,
                                                   const ReadOptions &options) {
    std::vector<std::vector<TokenLabels>> out;
    for (const reading::Found &each :
         read(session, reading::single(texts), options, Gives::token_classes, "classes of tokens")) {
        const size_t count = each.values.size() / each.encoding.size();
        std::vector<TokenLabels> &tokens = out.emplace_back();
        for (size_t i = 0; i < each.encoding.size(); ++i)
            if (!each.encoding.special[i])
                tokens.push_back({each.encoding.tokens[i], each.encoding.offsets[i],
                                  labels_of(session, std::span(each.values).subspan(i * count, count))});
    }
    return out;
}

std::vector<std::vector<Answer>> answer(Session &session, const std::vector<TextPair> &pairs,
                                        const AnswerOptions &options) {
    detail::SessionState &state = checked(session, Gives::answers, "answers to questions");
    const std::scoped_lock turn(state.turn);
    return reading::answer(state, pairs, options);
}

std::vector<std::vector<MaskedWord>> fill_masks(Session &session, const std::vector<std::string> &texts,
                                                const FillOptions &options) {
    detail::SessionState &state = checked(session, Gives::words, "words that are missing");
    const std::scoped_lock turn(state.turn);
    return reading::fill_masks(state, texts, options);
}

GenerateOptions suggested_options(const Model &model) {
    const model::Model &content = *detail::Access::model(model);
    if (!content.generation)
        throw Error(ErrorCode::usage,
                    content.folder.string() + " does not generate text: it " + model::what_it_does(content));
    GenerateOptions out;
    for (const SamplingOption &option : sampling_options)
        if (const auto found = content.generation->sampling.find(std::string(option.name));
            found != content.generation->sampling.end())
            option.set(out, found->second);
    if (!out.repetition_penalty) out.repetition_penalty = 1;
    return out;
}

TextIds tokenize(const Model &model, const std::vector<std::string> &texts, const ReadOptions &options) {
    const model::Model &content = *detail::Access::model(model);
    if (content.reading) return reading::tokenize(content, reading::single(texts), options);
    return prompt_ids(model, texts);
}

TextIds prompt_ids(const Model &model, const std::vector<std::string> &texts, bool special) {
    GenerateOptions options;
    options.special_tokens = special;
    return prompt_ids(model, texts, options);
}

TextIds prompt_ids(const Model &model, const std::vector<std::string> &texts, const GenerateOptions &options) {
    return generation::read_texts(*detail::Access::model(model), *detail::Access::plugins(model), texts, options);
}

TextIds tokenize_pairs(const Model &model, const std::vector<TextPair> &pairs, const ReadOptions &options) {
    return reading::tokenize(*detail::Access::model(model), both(pairs), options);
}

std::vector<int32_t> token_ids(const Model &model, const std::string &text, bool special) {
    const model::Model &content = *detail::Access::model(model);
    if (const Tokenizer *tokenizer = tokenizer_of(content))
        return tokenizer->encode(text, {.add_special_tokens = special}).ids;
    return codec_for(content, false).encode(text, special);
}

std::string detokenize(const Model &model, std::span<const int32_t> ids, bool skip_special) {
    const model::Model &content = *detail::Access::model(model);
    if (const Tokenizer *tokenizer = tokenizer_of(content)) return tokenizer->decode(ids, skip_special);
    return writing_of(content).target->decode(ids, !skip_special);
}

std::vector<TokenText> token_texts(const Model &model, bool written) {
    const model::Model &content = *detail::Access::model(model);
    const auto with = [](std::vector<std::string> bytes, const auto &entry) {
        std::vector<TokenText> out;
        for (std::string &each : bytes) out.push_back({entry(static_cast<int32_t>(out.size())), std::move(each)});
        return out;
    };
    if (const Tokenizer *tokenizer = tokenizer_of(content))
        return with(tokenizer::token_bytes(*tokenizer, false, true),
                    [&](int32_t id) { return tokenizer->token(id).value_or(""); });
    const model::TextCodec &codec = codec_for(content, written);
    return with(codec.bytes(false, true), [&](int32_t id) { return codec.token(id); });
}

std::vector<GraphRun> graph_runs(Session &session, const std::vector<std::string> &texts) {
    detail::SessionState &state = detail::Access::state(session);
    const std::scoped_lock turn(state.turn);
    if (state.model->reading) return {reading::inputs_of_texts(*state.model, texts)};
    return generation::inputs_of_texts(state, texts, generation::Rows::of_sources).graphs;
}

} // namespace lamina
