// What answers /openapi.json: all routes, as the files in openapi/ describe them. A route without a description, and a
// description without a route, make it fail.
#include "route.hpp"
#include "schemas.hpp"

#include "base/json.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>
#include <string>

namespace lamina::serve {
namespace {

// What the document needs to know of a route.
struct Path {
    std::string_view method, pattern;
    bool key, work; // whether it needs a key, and has a place in the queue
};

Json reference(const std::string &kind, std::string_view name) {
    return {{"$ref", "#/components/" + kind + "/" + std::string(name)}};
}

Json content(std::string_view type, Json schema) {
    Json out = Json::object();
    out[type] = Json{{"schema", std::move(schema)}};
    return out;
}

// The schema of errors, as refusal() makes them.
std::string error_of(std::string_view pattern) {
    if (pattern.starts_with("/v2")) return "InferenceError";
    return pattern.starts_with("/v1/messages") ? "AnthropicError" : "OpenAiError";
}

Json parameters_of(std::string_view pattern, const JsonView &how) {
    Json out = Json::array();
    if (const size_t begin = pattern.find('{'); begin != std::string_view::npos) {
        const std::string_view name = pattern.substr(begin + 1, pattern.find('}') - begin - 1);
        out.push_back({{"name", std::string(name)},
                       {"in", "path"},
                       {"required", true},
                       {"schema", Json{{"type", "string"}, {"minLength", 1}}}});
    }
    if (!how.has("query")) return out;
    for (const JsonView each : how.at("query").members()) {
        Json one{{"name", std::string(each.key())}, {"in", "query"}};
        for (const JsonView part : each.members()) one[part.key()] = copied(part);
        out.push_back(std::move(one));
    }
    return out;
}

Json body_of(const JsonView &how) {
    const Json schema = reference("schemas", how.at("request").string());
    Json types = content(how.has("form") ? "multipart/form-data" : "application/json", schema);
    if (how.has("binary")) // JSON with the bytes of tensors behind it
        types["application/octet-stream"] = Json{{"schema", Json{{"contentMediaType", "application/octet-stream"}}}};
    return {{"required", true}, {"content", std::move(types)}};
}

Json success_of(const JsonView &how) {
    Json types = Json::object();
    if (how.has("answer")) types = content("application/json", reference("schemas", how.at("answer").string()));
    if (how.has("events"))
        types["text/event-stream"] =
            Json{{"schema", Json{{"description", "The data of each event is a " +
                                                     std::string(how.at("events").string()) + ", or an error."},
                                 {"x-event", reference("schemas", how.at("events").string())}}}};
    if (how.has("texts"))
        for (const JsonView each : how.at("texts").items())
            types[each.string()] = Json{{"schema", Json{{"type", "string"}}}};
    if (how.has("binary"))
        types["application/octet-stream"] = Json{{"schema", Json{{"contentMediaType", "application/octet-stream"}}}};
    Json out{{"description", "The answer."}, {"content", std::move(types)}};
    if (!how.has("headers")) return out;
    for (const JsonView each : how.at("headers").members())
        out["headers"][each.key()] =
            Json{{"description", std::string(each.string())}, {"schema", Json{{"type", "string"}}}};
    return out;
}

struct Status {
    int number;
    const char *means;
};

// Why the route may refuse a request, beyond what concerns its form.
std::vector<Status> refusals_of(const Path &path) {
    std::vector<Status> out{{400, "Something in the request is wrong; the message says what."},
                            {403, "The page that asks, or the Host that it asks, may not use this server."},
                            {408, "The request did not come in time."},
                            {414, "The path is too long."},
                            {431, "The headers are too long."},
                            {500, "The server failed."},
                            {503, "The server ends, or memory is missing."}};
    const bool part = path.pattern.find('{') != std::string_view::npos,
               query = path.pattern == "/props" || path.pattern == "/slots" || path.pattern.starts_with("/models/");
    if (path.key) out.push_back({401, "The key is missing, or not one of the server's."});
    if (part || query || path.work) out.push_back({404, "There is no such model or file."});
    if (path.method == "POST") {
        out.push_back({413, "The body is too large."});
        out.push_back({415, "Bodies may not be compressed."});
    }
    if (path.work) {
        out.push_back({429, "The queue is full; try again later."});
        out.push_back({504, "The answer took too long."});
    }
    std::ranges::sort(out, {}, &Status::number);
    return out;
}

Json operation_of(const Path &path, const JsonView &how) {
    Json out = Json::object();
    for (const char *key : {"operationId", "summary", "tags"}) out[key] = copied(how.at(key));
    if (Json parameters = parameters_of(path.pattern, how); !parameters.empty())
        out["parameters"] = std::move(parameters);
    if (how.has("request")) out["requestBody"] = body_of(how);
    Json responses = Json::object();
    responses["200"] = success_of(how);
    for (const Status &each : refusals_of(path)) {
        const std::string schema = error_of(path.pattern);
        // Probes say in their own form that the server ends.
        const bool probe = each.number == 503 && how.has("answer") && how.at("answer").string() == "Ready";
        Json error = reference("schemas", schema);
        if (probe) error = Json{{"anyOf", Json::array({std::move(error), reference("schemas", "Ready")})}};
        responses[std::to_string(each.number)] =
            Json{{"description", each.means}, {"content", content("application/json", std::move(error))}};
    }
    out["responses"] = std::move(responses);
    if (path.key) out["security"] = Json::array({Json{{"bearer", Json::array()}}, Json{{"key", Json::array()}}});
    return out;
}

std::string in_lower_letters(std::string_view text) {
    std::string out(text);
    std::ranges::transform(out, out.begin(),
                           [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    return out;
}

} // namespace

Response Api::show_openapi(const Call &) {
    const bool admins = !options_.admin_keys.empty(), keys = !options_.keys.empty();
    const auto needs_key = [&](const Route &route) {
        return route.door == Route::Door::admin ? admins : keys && route.door == Route::Door::key;
    };
    Json paths = Json::object();
    std::set<std::string, std::less<>> described;
    for (const Route &route : routes()) {
        const std::string name = std::string(route.method) + " " + std::string(route.pattern);
        const auto found = operations().find(name);
        if (found == operations().end()) throw std::logic_error("no file in openapi/ describes " + name);
        described.insert(name);
        paths[route.pattern][in_lower_letters(route.method)] = operation_of(
            {route.method, route.pattern, needs_key(route), route.cost == Route::Cost::work}, found->second);
    }
    for (const auto &[name, how] : operations())
        if (!described.contains(name)) throw std::logic_error("openapi/ describes " + name + ", which there is not");
    Json components{{"schemas", schemas()}};
    if (keys || admins)
        components["securitySchemes"] =
            Json{{"bearer", Json{{"type", "http"}, {"scheme", "bearer"}}},
                 {"key", Json{{"type", "apiKey"}, {"in", "header"}, {"name", "x-api-key"}}}};
    Json info{{"title", "Lamina"},
              {"version", options_.version},
              {"summary", "Transformer models behind HTTP: lamina serve"},
              {"license", Json{{"name", "MIT"}, {"identifier", "MIT"}}}};
    return {.body = Json{{"openapi", "3.1.0"},
                         {"info", std::move(info)},
                         {"servers", Json::array({Json{{"url", "/"}}})},
                         {"paths", std::move(paths)},
                         {"components", std::move(components)}}
                        .in_one_line()};
}

} // namespace lamina::serve
