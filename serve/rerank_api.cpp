// What answers /v1/rerank and /v1/score.
#include "rerank_request.hpp"
#include "route.hpp"
#include "tokens.hpp"

namespace lamina::serve {

Api::Ranked Api::ranked(const Call &call, RerankRequest request, const std::string &field) {
    Engine &engine = engine_called(call, request.model);
    if (!engine.ranks())
        throw Refusal(400,
                      request.model + " does not rank documents, since it does not give one score for two texts; "
                                      "/v1/models says what each model does",
                      "model");
    const size_t tokens = with_texts(call.request, [&] {
        return tokens_of_pairs(engine.model(), request.query, request.documents, field, cuts(request.cut));
    });
    const auto work = call.work<Ranking>();
    work->query = request.query;
    work->documents = std::move(request.documents);
    engine.submit(work);
    await(*work, call.request);
    count(call, {.prompt = tokens});
    request.documents = std::move(work->documents);
    return {std::move(request), std::move(work->scores), tokens};
}

Response Api::rerank(const Call &call) {
    const Ranked found = ranked(call, parsed(call.request, rerank_request), "documents");
    return {.body = rerank_json(found.request, found.scores, found.tokens)};
}

Response Api::score(const Call &call) {
    const Ranked found = ranked(call, parsed(call.request, score_request), "text_2");
    return {.body = score_json(found.request, found.scores, found.tokens)};
}

} // namespace lamina::serve
