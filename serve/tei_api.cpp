// What answers /embed and /rerank in the form of Text Embeddings Inference, whose requests name no model: the only one
// that can.
#include "fields.hpp"
#include "rerank_request.hpp"
#include "route.hpp"
#include "tokens.hpp"

#include "base/json.hpp"

#include <cmath>
#include <optional>

namespace lamina::serve {
namespace {

constexpr size_t most_inputs = 2048; // as many as texts of other requests

struct EmbedRequest {
    std::vector<std::string> texts;
    bool normalize = true;
    std::optional<bool> cut; // texts that are too long
};

EmbedRequest embed_request(std::string_view body) {
    const JsonText json(body, "request");
    const JsonView request = json.root();
    expect_fields(request, "TeiEmbedRequest");
    EmbedRequest out;
    out.texts = texts_of(request.at("inputs"), most_inputs);
    if (out.texts.empty()) request.at("inputs").fail("expected at least one text");
    out.cut = truncation_of(request);
    if (request.has("normalize")) out.normalize = request.at("normalize").boolean();
    return out;
}

struct TeiRerankRequest {
    RerankRequest request;
    bool with_texts = false;
};

TeiRerankRequest tei_rerank_request(std::string_view body) {
    const JsonText json(body, "request");
    const JsonView request = json.root();
    expect_fields(request, "TeiRerankRequest");
    TeiRerankRequest out;
    out.request.cut = truncation_of(request);
    out.request.query = query_of(request.at("query"));
    out.request.documents = texts_of(request.at("texts"), most_inputs);
    if (out.request.documents.empty()) request.at("texts").fail("expected at least one text");
    if (request.has("return_text")) out.with_texts = request.at("return_text").boolean();
    return out;
}

Json numbers_of(std::span<const float> vector, bool normalize) {
    double sum = 0;
    for (const float v : vector) sum += double{v} * v;
    const double factor = normalize && sum > 0 ? 1 / std::sqrt(sum) : 1;
    Json out = Json::array();
    for (const float v : vector) out.push_back(static_cast<float>(v * factor));
    return out;
}

} // namespace

Engine &Api::only_engine(const Call &call, bool (Engine::*can)() const, const std::string &what) {
    std::shared_ptr<Engine> &found = call.use->engine;
    for (const std::shared_ptr<Engine> &engine : models_.loaded()) {
        if (!(*engine.*can)()) continue;
        if (found != nullptr)
            throw Refusal(400, "several models " + what + "; the paths that begin with /v1/ take the name of one", "");
        found = engine;
    }
    if (found == nullptr) throw Refusal(400, "no model here can " + what + "; /v1/models says what each does", "");
    return *found;
}

Response Api::tei_embed(const Call &call) {
    EmbedRequest request = parsed(call.request, embed_request);
    Engine &engine = only_engine(call, &Engine::embeds, "turn texts into vectors");
    const size_t tokens =
        with_texts(call.request, [&] { return tokens_in(engine.model(), request.texts, "inputs", cuts(request.cut)); });
    const auto work = call.work<Embedding>();
    work->texts = std::move(request.texts);
    const Tensor vectors = vectors_of(call, engine, work, tokens, "inputs");
    const auto memory = memory_for_json(vectors, call.request);
    const auto width = static_cast<size_t>(vectors.shape()[1]);
    Json out = Json::array();
    for (std::span<const float> rest = vectors.f32(); !rest.empty(); rest = rest.subspan(width))
        out.push_back(numbers_of(rest.first(width), request.normalize));
    return {.body = out.in_one_line()};
}

Response Api::tei_rerank(const Call &call) {
    TeiRerankRequest request = parsed(call.request, tei_rerank_request);
    request.request.model = only_engine(call, &Engine::ranks, "rank documents").name();
    const Ranked found = ranked(call, std::move(request.request), "texts");
    Json out = Json::array();
    for (const size_t i : best_first(found.scores)) {
        Json one{{"index", i}, {"score", found.scores[i]}};
        if (request.with_texts) one["text"] = found.request.documents[i];
        out.push_back(std::move(one));
    }
    return {.body = out.in_one_line()};
}

} // namespace lamina::serve
