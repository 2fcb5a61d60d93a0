// What answers /v2: the Open Inference Protocol.
#include "open_inference.hpp"
#include "route.hpp"

#include "base/nearest.hpp"

namespace lamina::serve {

std::string graph_name(const Engine &engine, const std::string &graph) {
    return engine.contents().graphs.size() == 1 ? engine.name() : engine.name() + "." + graph;
}

Api::Graph Api::graph_called(const Call &call, const std::string &name) {
    std::vector<std::string> names;
    const auto find = [&]() -> std::optional<Graph> {
        names.clear();
        for (const std::shared_ptr<Engine> &engine : models_.loaded())
            for (const auto &[graph, contents] : engine->contents().graphs) {
                names.push_back(graph_name(*engine, graph));
                if (names.back() != name) continue;
                call.use->engine = engine;
                return Graph{engine.get(), graph, &contents};
            }
        return std::nullopt;
    };
    if (const auto found = find()) return *found;
    std::string unloaded; // the longest name of a model that it may be of; nobody holds another one meanwhile
    for (const Models::Listed &each : models_.list())
        if (each.engine == nullptr && (name == each.model->name || name.starts_with(each.model->name + ".")) &&
            each.model->name.size() > unloaded.size())
            unloaded = each.model->name;
    if (!unloaded.empty()) {
        (void)engine_called(call, unloaded);
        if (const auto found = find()) return *found;
    }
    throw Refusal(404, "there is no model '" + name + "'" + instead_of(name, names));
}

Response Api::server_metadata(const Call &) {
    return {
        .body =
            Json{{"name", "lamina"}, {"version", options_.version}, {"extensions", Json::array({"binary_tensor_data"})}}
                .in_one_line()};
}

Response Api::live(const Call &) { return {.body = "{\"live\":true}"}; }

Response Api::ready(const Call &) {
    const bool ready = !gate_.closed();
    return {.status = ready ? 200 : 503, .body = ready ? "{\"ready\":true}" : "{\"ready\":false}"};
}

Response Api::graph_ready(const Call &call) {
    (void)graph_called(call, call.part);
    return ready(call);
}

Response Api::graph_metadata_of(const Call &call) {
    return {.body = graph_metadata(call.part, *graph_called(call, call.part).graph).in_one_line()};
}

Response Api::infer(const Call &call) {
    const Graph graph = graph_called(call, call.part);
    const InferBody body = infer_body(call.request.body, call.request.header("inference-header-content-length"));
    const auto request = std::make_shared<InferRequest>(
        parsed(call.request, body.json, [&](std::string_view) { return infer_request(body, *graph.graph); }));
    const auto work = call.work<GraphCall>();
    work->graph = graph.name;
    work->inputs = std::move(request->inputs);
    work->expect_fair = [request, most = options_.bodies](const OutputTypes &types) {
        expect_fair_response(*request, types, most);
    };
    work->respond = [request, model = call.part](const TensorMap &outputs) {
        return infer_response(model, *request, outputs);
    };
    graph.engine->submit(work);
    await(*work, call.request);
    return std::move(work->response);
}

} // namespace lamina::serve
