// What answers /v1/rerank.
#include "rerank_request.hpp"
#include "route.hpp"
#include "tokens.hpp"

namespace lamina::serve {

Response Api::rerank(const Call &call) {
    RerankRequest request = parsed(call.request.body, rerank_request);
    Engine &engine = engine_called(request.model);
    if (!engine.ranks())
        throw Refusal(400,
                      request.model + " does not rank documents, since it does not give one score for two texts; "
                                      "/v1/models says what each model does",
                      "model");
    const size_t tokens = tokens_of_pairs(engine.model(), request.query, request.documents, "documents");
    const auto work = std::make_shared<Ranking>();
    work->owner = call.owner;
    work->query = request.query;
    work->documents = std::move(request.documents);
    engine.submit(work);
    await(*work, call.request);
    metrics_.tokens(engine.name(), tokens, 0);
    request.documents = std::move(work->documents);
    return {.body = rerank_json(request, work->scores, tokens)};
}

} // namespace lamina::serve
