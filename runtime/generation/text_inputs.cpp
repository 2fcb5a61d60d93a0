#include "generation/text_inputs.hpp"

#include "base/random.hpp"
#include "generation/audio_inputs.hpp"
#include "generation/generation.hpp"
#include "generation/generation_shapes.hpp"
#include "generation/texts.hpp"
#include "model/place.hpp"
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
Tensor padded(const std::vector<Ids> &rows, int32_t pad) {
    const size_t length = longest_of(rows);
    std::vector<int32_t> flat(rows.size() * length, pad);
    for (size_t b = 0; b < rows.size(); ++b)
        std::ranges::copy(rows[b], flat.begin() + static_cast<std::ptrdiff_t>(b * length));
    return Tensor::of({static_cast<int64_t>(rows.size()), static_cast<int64_t>(length)}, flat);
}

void expect_generation(const model::Model &model) {
    if (!model.generation)
        throw Error(ErrorCode::usage,
                    model.folder.string() + " does not generate text: it " + model::what_it_does(model));
}

// Noise of changing volume, so that no two frames are the same.
std::vector<float> sample_audio(const model::AudioInput &audio) {
    std::vector<float> out(static_cast<size_t>(audio.length) / 2);
    Random random(0);
    for (size_t i = 0; i < out.size(); ++i) {
        const double part = static_cast<double>(i) / static_cast<double>(out.size());
        out[i] = static_cast<float>(random.normal() * 0.2 * part * (1 - part));
    }
    return out;
}

// None where scores are no numbers: whoever runs the model on prompts alone then finds out why.
std::vector<std::vector<Hypothesis>> answers_to(detail::SessionState &session, const std::vector<Source> &sources,
                                                const GenerateOptions &options) {
    try {
        return generate_from(session, sources, options);
    } catch (const Error &e) {
        if (e.code() != ErrorCode::failure) throw;
        return {sources.size(), {Hypothesis()}};
    }
}

} // namespace

TextInputs inputs_of_sources(detail::SessionState &session, const std::vector<Source> &sources, Rows rows) {
    const model::Model &model = *session.model;
    const abi::Registry &plugins = *session.runtime->plugins;
    const model::Generation &g = *model.generation;
    const size_t positions = longest_target(model);
    size_t longest_prefix = 1;
    std::vector<Ids> targets;
    GenerateOptions options;
    options.beams = 1;
    options.max_length = std::min(g.max_length, longest_answer);
    for (const auto &found : answers_to(session, sources, options)) {
        Ids &ids = targets.emplace_back();
        for (const Ids &choice : model.tokens.start) ids.push_back(choice.front());
        if (g.encode.empty()) { // the prompt comes first
            const Ids &prompt = std::get<Ids>(sources[targets.size() - 1]);
            ids.insert(ids.end(), prompt.begin(), prompt.end());
        }
        longest_prefix = std::max(longest_prefix, ids.size());
        ids.insert(ids.end(), found.front().tokens.begin(), found.front().tokens.end());
        ids.resize(std::min(ids.size(), positions)); // the last token is never fed back
    }
    if (rows == Rows::of_programs) targets.resize(rounded_rows(sources.size()), {0}); // any token
    TextInputs out;
    out.prompt = longest_prefix;
    out.length = std::min(longest_prefix + static_cast<size_t>(options.max_length), positions);
    const Tensor whole = padded(targets, model.tokens.end.empty() ? 0 : model.tokens.end.front());
    TensorMap decode = tokens_of(g, {{g.target_ids, whole}}, 0, static_cast<size_t>(whole.shape()[1]));
    if (!g.encode.empty()) {
        TensorMap encode = encoder_inputs(model, plugins, sources, rows);
        const TensorMap encoded = session.surviving_loss([&] { return session.run(g.encode, encode); });
        for (const std::string &name : g.encoded) decode[name] = encoded.at(name);
        if (g.decode_takes_lengths) decode[g.source_lengths] = encode.at(g.source_lengths);
        out.graphs.push_back({g.encode, std::move(encode)});
    }
    out.graphs.push_back({g.decode, std::move(decode)});
    return out;
}

TextInputs inputs_of_texts(detail::SessionState &session, const std::vector<std::string> &texts, Rows rows) {
    expect_generation(*session.model);
    std::vector<Source> sources;
    for (Ids &ids : tokenize(*session.model, *session.runtime->plugins, texts))
        if (!ids.empty() || session.model->generation->encode.empty()) sources.emplace_back(std::move(ids));
    if (sources.empty())
        throw Error(ErrorCode::usage, "there is no text to run the model on: all given texts are empty");
    return inputs_of_sources(session, sources, rows);
}

TextInputs sample_inputs(detail::SessionState &session, Rows rows) {
    expect_generation(*session.model);
    const std::optional<model::AudioInput> &audio = session.model->generation->audio;
    if (!audio) return inputs_of_texts(session, sample_texts(*session.model, *session.runtime->plugins), rows);
    if (audio->frames) {
        const std::vector<std::vector<float>> tones = usual_tones(*audio);
        return inputs_of_sources(session, {tones.begin(), tones.end()}, rows);
    }
    const std::vector<float> samples = sample_audio(*audio);
    return inputs_of_sources(session, {Samples(samples)}, rows);
}

TensorMap tokens_of(const model::Generation &g, const TensorMap &whole, size_t first, size_t count) {
    const Tensor &ids = whole.at(g.target_ids);
    const auto batch = static_cast<size_t>(ids.shape()[0]), length = static_cast<size_t>(ids.shape()[1]);
    std::vector<int32_t> columns;
    for (size_t b = 0; b < batch; ++b) {
        const auto row = ids.i32().subspan(b * length + first, count);
        columns.insert(columns.end(), row.begin(), row.end());
    }
    const auto rows = static_cast<int64_t>(batch);
    const auto same = [&](size_t value) {
        return Tensor::of({rows}, std::vector<int32_t>(batch, static_cast<int32_t>(value)));
    };
    TensorMap out{{g.target_ids, Tensor::of({rows, static_cast<int64_t>(count)}, columns)}, {g.position, same(first)}};
    if (g.recurrent()) out[g.target_lengths] = same(count);
    if (g.sees()) { // these are words alone
        out[g.image_rows] = Tensor(TensorType{DType::f32, {rows, static_cast<int64_t>(count), g.image_channels}});
        out[g.image_mask] = Tensor(TensorType{DType::i32, {rows, static_cast<int64_t>(count)}});
    }
    if (g.sees_ahead()) out[g.image_ahead] = Tensor(TensorType{DType::i32, {rows, static_cast<int64_t>(count)}});
    if (!g.coordinates.empty()) {
        Tensor &places = out[g.coordinates] = Tensor(TensorType{DType::i32, {rows, static_cast<int64_t>(count), 3}});
        for (size_t i = 0; i < places.i32().size(); ++i)
            places.i32()[i] = static_cast<int32_t>(first + i / 3 % count); // as the words stand
    }
    return out;
}

} // namespace lamina::generation
