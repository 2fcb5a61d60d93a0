// What answers /v1: OpenAI's API.
#include "openai_request.hpp"
#include "openai_result.hpp"
#include "route.hpp"
#include "tokens.hpp"

#include <cmath>
#include <span>
#include <vector>

namespace lamina::serve {
namespace {

// The first values of each vector, for models that are trained so that these are enough (Matryoshka: Kusupati et al.,
// arXiv:2205.13147). Vectors of length 1 have it again.
Tensor shortened(const Tensor &vectors, int64_t width) {
    const auto count = static_cast<size_t>(vectors.shape()[0]), all = static_cast<size_t>(vectors.shape()[1]);
    if (static_cast<size_t>(width) > all)
        throw Refusal(400,
                      "request: /dimensions: expected at most " + std::to_string(all) +
                          ", which this model gives, found " + std::to_string(width),
                      "dimensions");
    Tensor out({DType::f32, {vectors.shape()[0], width}});
    const auto length = [](std::span<const float> vector) {
        double sum = 0;
        for (const float v : vector) sum += double{v} * v;
        return std::sqrt(sum);
    };
    for (size_t i = 0; i < count; ++i) {
        const std::span<const float> from = vectors.f32().subspan(i * all, all);
        const std::span<const float> first = from.first(static_cast<size_t>(width));
        const double kept = length(first);
        const double factor = std::abs(length(from) - 1) < 1e-3 && kept > 0 ? 1 / kept : 1;
        for (size_t k = 0; k < first.size(); ++k)
            out.f32()[i * first.size() + k] = static_cast<float>(first[k] * factor);
    }
    return out;
}

} // namespace

Tensor Api::vectors_of(const Call &call, Engine &engine, const std::shared_ptr<Embedding> &work, size_t tokens,
                       const std::string &field) {
    constexpr size_t most = size_t{1} << 23; // 2048 vectors of 4096 numbers
    const size_t values = work->size() * engine.width();
    if (values > most)
        throw Refusal(400,
                      "request: " + std::to_string(work->size()) + " vectors of " + std::to_string(engine.width()) +
                          " numbers are more than one answer may have, " + std::to_string(most) +
                          " numbers in all; send fewer texts at once, or shorter ones if they are read in windows",
                      field);
    work->memory = take(vector_memory_, values * sizeof(float), call.request);
    engine.submit(work);
    await(*work, call.request);
    count(call, {.prompt = tokens});
    return std::move(work->vectors);
}

std::shared_ptr<void> Api::memory_for_json(const Tensor &vectors, const Request &request) {
    constexpr size_t of_value = 64; // bytes: as a number, and as the text that the number becomes
    return take(json_memory_, of_value * vectors.bytes().size() / sizeof(float), request);
}

Response Api::embeddings(const Call &call) {
    EmbeddingRequest request = parsed(call.request, embedding_request);
    Engine &engine = engine_called(call, request.model);
    if (!engine.embeds())
        throw Refusal(400, request.model + " does not turn texts into vectors; /v1/models says what each model does",
                      "model");
    if (request.windows) return embeddings_of_windows(call, engine, request);
    const bool cut = cuts(request.cut);
    const auto longest = static_cast<size_t>(engine.longest());
    const size_t tokens = with_texts(call.request, [&] {
        return request.ids.empty() ? tokens_in(engine.model(), request.texts, "input", cut)
                                   : tokens_in(request.ids, "input", cut, engine.tokens(false).size(), longest);
    });
    const auto work = call.work<Embedding>();
    work->texts = std::move(request.texts);
    work->ids = std::move(request.ids);
    return told_vectors(call, request, vectors_of(call, engine, work, tokens, "input"), tokens);
}

Response Api::told_vectors(const Call &call, const EmbeddingRequest &request, Tensor vectors, size_t tokens) {
    if (request.width) vectors = shortened(vectors, *request.width);
    const auto memory = memory_for_json(vectors, call.request);
    return {.body = embeddings_json(request.model, vectors, request.base64, tokens)};
}

// Each window waits for its turn as a text of its own does.
Response Api::embeddings_of_windows(const Call &call, Engine &engine, const EmbeddingRequest &request) {
    std::vector<TextWindow> windows =
        with_texts(call.request, [&] { return windows_in(engine.model(), request.texts, "input"); });
    const auto work = call.work<Embedding>();
    size_t tokens = 0;
    for (TextWindow &each : windows) {
        tokens += each.ids.size();
        work->ids.push_back(std::move(each.ids));
    }
    const Tensor vectors = vectors_of(call, engine, work, tokens, "input");
    return told_vectors(call, request, mean_of_windows(windows, vectors), tokens);
}

} // namespace lamina::serve
