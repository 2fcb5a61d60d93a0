#include "api.hpp"

#include "route.hpp"

#include "base/nearest.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

namespace lamina::serve {
namespace {

using Clock = std::chrono::steady_clock;

std::vector<std::string_view> parts_of(std::string_view path) {
    std::vector<std::string_view> out;
    while (true) {
        const size_t slash = path.find('/');
        out.push_back(path.substr(0, slash));
        if (slash == std::string_view::npos) return out;
        path.remove_prefix(slash + 1);
    }
}

// What stands for "{model}" or another name in braces, or ""; none: the path is another one.
std::optional<std::string> match(std::string_view pattern, std::string_view path) {
    const std::vector<std::string_view> wanted = parts_of(pattern), found = parts_of(path);
    if (wanted.size() != found.size()) return std::nullopt;
    std::string part;
    for (size_t i = 0; i < wanted.size(); ++i) {
        if (wanted[i].starts_with('{') && !found[i].empty())
            part = found[i];
        else if (wanted[i] != found[i])
            return std::nullopt;
    }
    return part;
}

// In a time that does not tell how much of it is right.
bool same_secret(std::string_view a, std::string_view b) {
    unsigned different = a.size() == b.size() ? 0 : 1;
    for (size_t i = 0; i < a.size(); ++i)
        different |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[b.empty() ? 0 : i % b.size()]);
    return different == 0;
}

// Of the body; 0 if it is not announced.
size_t announced_size(const Request &head) {
    const std::string text = head.header("content-length");
    size_t out = 0;
    std::from_chars(text.data(), text.data() + text.size(), out);
    return out;
}

// "127.0.0.1" of "127.0.0.1:8000", "::1" of "[::1]:8000"
std::string_view without_port(std::string_view host) {
    if (host.starts_with('[')) return host.substr(1, host.find(']') - 1);
    return host.substr(0, host.rfind(':'));
}

} // namespace

const std::vector<Api::Route> &Api::routes() {
    using enum Route::Door;
    using enum Route::Cost;
    constexpr size_t texts = size_t{4} << 20; // reading texts takes many times their size
    static const std::vector<Route> list{
        {"GET", "/", &Api::show_page, open},
        {"GET", "/page/{file}", &Api::show_page_file, open},
        {"GET", "/openapi.json", &Api::show_openapi, open},
        {"GET", "/status", &Api::show_status},
        {"GET", "/health", &Api::ready, open, glance},
        {"GET", "/metrics", &Api::show_metrics, key, glance},
        {"GET", "/props", &Api::show_props},
        {"GET", "/slots", &Api::show_slots},
        {"GET", "/v1/models", &Api::list_models},
        {"GET", "/v1/models/{model}", &Api::show_model},
        {"POST", "/v1/completions", &Api::completions, key, work, texts},
        {"POST", "/v1/chat/completions", &Api::chat_completions, key, work, texts},
        {"POST", "/v1/responses", &Api::responses, key, work, texts},
        {"POST", "/v1/messages", &Api::messages, key, work, texts},
        {"POST", "/v1/messages/count_tokens", &Api::count_tokens, key, work, texts},
        {"POST", "/v1/embeddings", &Api::embeddings, key, work, texts},
        {"POST", "/v1/rerank", &Api::rerank, key, work, texts},
        {"POST", "/v1/score", &Api::score, key, work, texts},
        {"POST", "/embed", &Api::tei_embed, key, work, texts},
        {"POST", "/rerank", &Api::tei_rerank, key, work, texts},
        {"POST", "/predict", &Api::tei_predict, key, work, texts},
        {"POST", "/tokenize", &Api::tokenize_text, key, work, texts},
        {"POST", "/detokenize", &Api::detokenize_ids, key, work, texts},
        {"POST", "/apply-template", &Api::apply_template, key, work, texts},
        {"POST", "/v1/audio/transcriptions", &Api::transcriptions, key, work},
        {"GET", "/v2", &Api::server_metadata},
        {"GET", "/v2/health/live", &Api::live, open, glance},
        {"GET", "/v2/health/ready", &Api::ready, open, glance},
        {"GET", "/v2/models/{model}", &Api::graph_metadata_of},
        {"GET", "/v2/models/{model}/versions/1", &Api::graph_metadata_of},
        {"GET", "/v2/models/{model}/ready", &Api::graph_ready, open, glance},
        {"GET", "/v2/models/{model}/versions/1/ready", &Api::graph_ready, open, glance},
        {"POST", "/v2/models/{model}/infer", &Api::infer, key, work},
        {"POST", "/v2/models/{model}/versions/1/infer", &Api::infer, key, work},
    };
    return list;
}

// What a request is for.
struct Api::Found {
    const Route *route = nullptr;                 // null: `why_not`
    std::string part, pattern = "other", methods; // methods: that the path takes, if this is another one
    std::optional<Response> why_not;
};

Api::Found Api::find(const Request &request) {
    const std::string method = request.method == "HEAD" ? "GET" : request.method;
    Found out;
    for (const Route &route : routes()) {
        const std::optional<std::string> part = match(route.pattern, request.path);
        if (!part) continue;
        out.pattern = route.pattern;
        out.part = *part;
        out.route = &route;
        if (method == route.method) return out;
        out.methods += (out.methods.empty() ? "" : ", ") + std::string(route.method);
    }
    out.route = nullptr;
    if (out.methods.empty()) {
        out.why_not =
            refusal(request.path, 404, "there is no " + request.path + " here; / and docs/serving.md say what is");
    } else {
        out.why_not = refusal(request.path, 405, request.path + " takes " + out.methods + ", not " + request.method);
        out.why_not->headers["Allow"] = out.methods;
    }
    return out;
}

std::optional<Response> Api::at_once(const Request &head) {
    const auto began = Clock::now();
    const Found found = find(head);
    std::optional<Response> out = found.why_not;
    try {
        if (origins_.is_preflight(head)) admit_page(head);
        if (origins_.is_preflight(head) && !found.methods.empty()) out = Origins::preflight(found.methods);
        if (found.route != nullptr) admit(head, *found.route);
        if (found.route != nullptr) found.route->expect_size(announced_size(head));
        if (found.route != nullptr && found.route->cost == Route::Cost::work) gate_.expect_place();
        if (found.route != nullptr && found.route->cost == Route::Cost::glance)
            out = (this->*found.route->answer)({head, found.part});
    } catch (const std::exception &why) {
        out = refusal(head.path, why, told(why));
    }
    if (!out) return out;
    origins_.add_headers(head, *out);
    metrics_.request(found.pattern, out->status, Clock::now() - began);
    return out;
}

Response Api::answer(const Request &request) {
    const auto began = Clock::now();
    const Found found = find(request);
    Response out;
    std::shared_ptr<void> inside;
    try {
        found.route->expect_size(request.body.size());
        if (found.route->cost == Route::Cost::work) inside = gate_.enter();
        out = (this->*found.route->answer)({request, found.part, owner_of(request)});
    } catch (const std::exception &why) {
        out = refusal(request.path, why, told(why));
    }
    origins_.add_headers(request, out);
    const auto record = [this, began, pattern = found.pattern, status = out.status] {
        metrics_.request(pattern, status, Clock::now() - began);
    };
    if (!out.stream) {
        record();
        return out;
    }
    out.stream = [record, inside, stream = std::move(out.stream)](const Send &send) {
        stream(send);
        record();
    };
    return out;
}

namespace {

// The key that a request comes with, as OpenAI's clients send it or as Anthropic's do; "" if there is none.
std::string key_of(const Request &request) {
    constexpr std::string_view scheme = "Bearer ";
    const std::string given = request.header("authorization");
    return given.starts_with(scheme) ? given.substr(scheme.size()) : request.header("x-api-key");
}

} // namespace

// Who has a key is one client, wherever requests come from.
Owner Api::owner_of(const Request &request) {
    const std::string client = options_.keys.empty() ? request.address : key_of(request);
    return {std::hash<std::string>()(client), ++requests_};
}

Response Api::refuse(const std::string &path, int status, const std::string &why) {
    metrics_.request("other", status, Metrics::Seconds(0));
    return refusal(path, status, why);
}

// Pages of other sites must not use the server through the browser of somebody who may.
void Api::admit_page(const Request &request) const {
    const std::string host = request.header("host");
    if (options_.local && !host.empty()) {
        const std::string_view name = without_port(host);
        if (name != "localhost" && name != "127.0.0.1" && name != "::1")
            throw Refusal(403, "this server is for its own machine, not for '" + host +
                                   "'; --host lets others connect to it");
    }
    if (!origins_.admits(request))
        throw Refusal(403, "pages of " + request.header("origin") +
                               " may not use this server, unless --allow-origin lets them");
}

void Api::admit(const Request &request, const Route &route) const {
    admit_page(request);
    if (route.door == Route::Door::open || options_.keys.empty()) return;
    const std::string given = key_of(request);
    const bool right =
        std::ranges::any_of(options_.keys, [&](const std::string &each) { return same_secret(given, each); });
    const bool none = request.header("authorization").empty() && request.header("x-api-key").empty();
    if (!right)
        throw Refusal(401, none ? "this server needs a key: send 'Authorization: Bearer KEY'"
                                : "the key in 'Authorization' is not one of this server's");
}

// What names files of the server is for its log.
std::string Api::told(const std::exception &why) const {
    if (dynamic_cast<const Refusal *>(&why) != nullptr) return why.what();
    if (dynamic_cast<const std::bad_alloc *>(&why) != nullptr) return "out of host memory";
    std::string out = why.what();
    for (const Engine &engine : engines_) out = replaced(out, engine.contents().folder.string(), engine.name());
    if (status_of(why) != 500) return out;
    options_.log(std::string("error: ") + why.what());
    return out.find_first_of("/\\") == std::string::npos ? out : "the server failed to answer this; its log says why";
}

Engine &Api::engine_called(const std::string &name) {
    std::vector<std::string> names;
    for (Engine &engine : engines_) {
        if (engine.name() == name) return engine;
        names.push_back(engine.name());
    }
    throw Refusal(404, "there is no model '" + name + "'" + instead_of(name, names), "model");
}

Work::Clock::time_point Api::soon(const Work &work) const {
    constexpr std::chrono::milliseconds often{100};
    return std::min(work.asked + options_.longest, Clock::now() + often);
}

void Api::expect_client(Work &work, const std::function<bool()> &left) const {
    const bool late = Clock::now() >= work.asked + options_.longest;
    if (!late && !left()) return;
    work.leave();
    if (late)
        throw Refusal(504,
                      "not done within " + std::to_string(options_.longest.count()) + " s (the server's --timeout)");
    throw Refusal(499, "the client has closed the connection"); // nobody reads this
}

void Api::await(Work &work, const Request &request) const {
    while (!work.ended()) {
        if (work.wait(soon(work))) (void)work.take_news();
        if (!work.ended()) expect_client(work, request.left); // also while there is news all the time
    }
    work.expect_success();
}

Response Api::show_metrics(const Call &) {
    Metrics::Gauges all = gauges();
    all["lamina_requests_inside"] = {"Requests that wait or run.", static_cast<double>(gate_.inside())};
    all["lamina_models"] = {"Models that are served.", static_cast<double>(engines_.size())};
    return {.type = "text/plain; version=0.0.4; charset=utf-8", .body = metrics_.text(all)};
}

} // namespace lamina::serve
