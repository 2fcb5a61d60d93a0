// What answers /v1/models, and what loads and unloads models, as llama.cpp's server for several models has it.
#include "fields.hpp"
#include "route.hpp"

#include "base/json.hpp"
#include "base/json_reader.hpp"

#include <string>

namespace lamina::serve {
namespace {

std::string model_in(const Request &request) {
    const JsonText json(request.body, "request");
    expect_fields(json.root(), "ModelRequest");
    return std::string(json.root().at("model").string());
}

Response done() { return {.body = R"({"success":true})"}; }

} // namespace

Json endpoints_of(const Engine &engine) {
    Json out = Json::array();
    if (engine.converses())
        for (const char *each : {"/v1/chat/completions", "/v1/responses", "/v1/messages"}) out.push_back(each);
    if (engine.writes()) out.push_back("/v1/completions");
    if (engine.embeds()) out.push_back("/v1/embeddings");
    if (engine.ranks()) out.push_back("/v1/rerank"), out.push_back("/v1/score");
    if (engine.transcribes()) out.push_back("/v1/audio/transcriptions");
    return out;
}

// An alias has the fields of its model, whose name is its root.
Json Api::as_json(const Models::Listed &listed, const std::string &name) const {
    Json status{{"value", std::string(name_of(listed.state))}};
    if (!listed.failure.empty()) {
        const std::string why = without_paths(listed.failure);
        status["failed"] = true;
        status["why"] = why.find_first_of("/\\") == std::string::npos ? why : "the server's log says why";
    }
    return {{"id", name},
            {"object", "model"},
            {"created", static_cast<int64_t>(began_)},
            {"owned_by", "lamina"},
            {"root", listed.model->name},
            {"parent", listed.model->parent.empty() ? Json(nullptr) : Json(listed.model->parent)},
            {"aliases", listed.model->aliases},
            {"status", std::move(status)},
            {"endpoints", listed.engine == nullptr ? Json::array() : endpoints_of(*listed.engine)}};
}

Response Api::list_models(const Call &) {
    Json list = Json::array();
    for (const Models::Listed &each : models_.list()) {
        list.push_back(as_json(each, each.model->name));
        for (const std::string &alias : each.model->aliases) list.push_back(as_json(each, alias));
    }
    return {.body = Json{{"object", "list"}, {"data", std::move(list)}}.in_one_line()};
}

Response Api::show_model(const Call &call) {
    const std::string &name = models_.name_of(call.part);
    for (const Models::Listed &each : models_.list())
        if (each.model->name == name) return {.body = as_json(each, call.part).in_one_line()};
    return {}; // there is one
}

Response Api::load_model(const Call &call) {
    models_.load(model_in(call.request));
    return done();
}

Response Api::unload_model(const Call &call) {
    models_.unload(model_in(call.request));
    return done();
}

} // namespace lamina::serve
