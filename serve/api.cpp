#include "api.hpp"

#include "route.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

namespace lamina::serve {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds often{100}; // is looked whether a client is still there

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
    constexpr size_t texts = most_text;
    static const std::vector<Route> list{
        {"GET", "/", &Api::show_page, open},
        {"GET", "/page/{file}", &Api::show_page_file, open},
        {"GET", "/openapi.json", &Api::show_openapi, open},
        {"GET", "/status", &Api::show_status},
        {"GET", "/health", &Api::ready, open, glance},
        {"GET", "/metrics", &Api::show_metrics, key, glance},
        {"GET", "/props", &Api::show_props},
        {"GET", "/slots", &Api::show_slots},
        {"GET", "/models", &Api::list_models},
        {"GET", "/lora-adapters", &Api::list_adapters},
        {"POST", "/models/load", &Api::load_model, admin, look, texts},
        {"POST", "/models/unload", &Api::unload_model, admin, look, texts},
        {"GET", "/v1/models", &Api::list_models},
        {"GET", "/v1/models/{model}", &Api::show_model},
        {"POST", "/v1/completions", &Api::completions, key, work, texts},
        {"POST", "/v1/chat/completions", &Api::chat_completions, key, work}, // with images
        {"POST", "/v1/responses", &Api::responses, key, work},
        {"POST", "/v1/messages", &Api::messages, key, work},
        {"POST", "/v1/messages/count_tokens", &Api::count_tokens, key, work},
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
    const Call call{head, found.part};
    std::optional<Response> out = found.why_not;
    try {
        if (origins_.is_preflight(head)) admit_page(head);
        if (origins_.is_preflight(head) && !found.methods.empty()) out = Origins::preflight(found.methods);
        if (found.route != nullptr) admit(head, *found.route);
        if (found.route != nullptr) found.route->expect_size(announced_size(head));
        if (found.route != nullptr && found.route->cost == Route::Cost::work) gate_.expect_place();
        if (found.route != nullptr && found.route->cost == Route::Cost::glance)
            out = (this->*found.route->answer)(call);
    } catch (const std::exception &why) {
        out = refusal(head.path, why, told(why));
    }
    if (!out) return out;
    origins_.add_headers(head, *out);
    record(head, found.pattern, out->status, Clock::now() - began, *call.use);
    return out;
}

Response Api::answer(const Request &request) {
    const auto began = request.arrived; // from which --timeout and the first token count, too
    const Found found = find(request);
    const Call call{.request = request,
                    .part = found.part,
                    .waits = found.route->cost == Route::Cost::work,
                    .owner = owner_of(request)};
    Response out;
    std::shared_ptr<void> inside;
    try {
        found.route->expect_size(request.body.size());
        if (call.waits) inside = gate_.enter();
        out = (this->*found.route->answer)(call);
    } catch (const std::exception &why) {
        out = refusal(request.path, why, told(why));
    }
    origins_.add_headers(request, out);
    if (!out.stream) {
        record(request, found.pattern, out.status, Clock::now() - began, *call.use);
        return out;
    }
    const Request asked{.method = request.method, .path = request.path, .address = request.address};
    out.stream = [this, began, asked, pattern = found.pattern, status = out.status, use = call.use, inside,
                  stream = std::move(out.stream)](const Send &send) {
        stream(send);
        record(asked, pattern, status, Clock::now() - began, *use);
    };
    return out;
}

void Api::record(const Request &request, const std::string &pattern, int status, Metrics::Seconds time,
                 const Use &use) {
    metrics_.request(pattern, status, time);
    if (log_)
        log_->add({.time = std::chrono::system_clock::now(),
                   .client = request.address,
                   .method = request.method,
                   .path = pattern,
                   .model = use.engine == nullptr ? "" : use.engine->name(),
                   .status = status,
                   .seconds = time,
                   .first_token = use.first_token,
                   .tokens = use.tokens});
}

void Api::count(const Call &call, const Usage &tokens) {
    metrics_.tokens(call.use->engine->name(), tokens);
    call.use->tokens = tokens;
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
    const std::string client = options_.keys.empty() ? request.address : key_of(request); // also of an admin
    return {std::hash<std::string>()(client), ++requests_};
}

Response Api::refuse(const std::string &path, int status, const std::string &why) {
    record({.method = {}, .path = path}, "other", status, Metrics::Seconds(0), {});
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
    const bool for_admins = route.door == Route::Door::admin;
    if (for_admins && options_.admin_keys.empty())
        throw Refusal(403, "nobody loads or unloads models of this server; --admin-key-file lets those who have a key");
    if (route.door == Route::Door::open || (!for_admins && options_.keys.empty())) return;
    const std::string given = key_of(request);
    const auto is_one_of = [&](const std::vector<std::string> &keys) {
        return std::ranges::any_of(keys, [&](const std::string &each) { return same_secret(given, each); });
    };
    if (is_one_of(options_.admin_keys)) return;
    if (is_one_of(options_.keys)) {
        if (!for_admins) return;
        throw Refusal(403,
                      "this needs a key of an admin, of --admin-key-file, and the key that was sent is another one");
    }
    const bool none = request.header("authorization").empty() && request.header("x-api-key").empty();
    throw Refusal(401, none ? "this server needs a key: send 'Authorization: Bearer KEY'"
                            : "the key in 'Authorization' is not one of this server's");
}

// What names files of the server is for its log.
std::string Api::told(const std::exception &why) const {
    if (dynamic_cast<const Refusal *>(&why) != nullptr) return why.what();
    if (dynamic_cast<const std::bad_alloc *>(&why) != nullptr) return "out of host memory";
    const std::string out = without_paths(why.what());
    if (status_of(why) != 500) return out;
    options_.log(std::string("error: ") + why.what());
    return out.find_first_of("/\\") == std::string::npos ? out : "the server failed to answer this; its log says why";
}

std::string Api::without_paths(std::string text) const {
    constexpr std::string_view of_request = "request: "; // a place in what the client sent follows, such as "/model"
    std::string place;
    if (text.starts_with(of_request)) {
        place = text.substr(0, text.find(": ", of_request.size()));
        text.erase(0, place.size());
    }
    for (const Models::Listed &each : models_.list()) {
        if (each.engine != nullptr) text = with_name(text, each.engine->contents().folder.string(), each.model->name);
        text = with_name(text, each.model->path.string(), each.model->name);
        for (const Adapter &adapter : each.model->adapters)
            text = with_name(text, adapter.path.string(), each.model->name);
    }
    return place + text;
}

Engine &Api::engine_called(const Call &call, const std::string &name) {
    std::shared_ptr<Engine> &engine = call.use->engine;
    if (engine != nullptr && engine->name() == models_.name_of(name)) return *engine; // until the request is answered
    engine = models_.find(name);
    if (engine == nullptr && call.waits && models_.loads_on_demand()) {
        models_.load_for_request(name);
        auto found = models_.wait(name, Clock::now() + often);
        for (; !found; found = models_.wait(name, Clock::now() + often)) expect_time(call.request);
        engine = std::move(*found);
    }
    if (engine == nullptr)
        throw Refusal(503, "the model '" + name + "' is not loaded; /v1/models says which are, and what went wrong",
                      "model");
    return *engine;
}

Work::Clock::time_point Api::soon(const Work &work) const {
    return std::min(work.asked + options_.longest, Clock::now() + often);
}

Refusal Api::too_late() const {
    return {504, "not done within " + std::to_string(options_.longest.count()) + " s (the server's --timeout)"};
}

void Api::expect_client(Work &work, const std::function<bool()> &left) const {
    const bool late = Clock::now() >= work.asked + options_.longest;
    if (!late && !left()) return;
    work.leave();
    if (late) throw too_late();
    throw Refusal(499, "the client has closed the connection"); // nobody reads this
}

std::shared_ptr<void> Api::take(Budget &budget, size_t amount, const Request &request) const {
    return budget.take(amount, [&] { expect_time(request); });
}

void Api::expect_time(const Request &request) const {
    if (Clock::now() >= request.arrived + options_.longest) throw too_late();
    if (request.left()) throw Refusal(499, "the client has closed the connection"); // nobody reads this
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
    all["lamina_models"] = {"Models that are loaded.", static_cast<double>(models_.loaded().size())};
    std::map<std::string, std::string> states;
    for (const Models::Listed &each : models_.list())
        states[each.model->name] = each.failure.empty() ? name_of(each.state) : "failed";
    return {.type = "text/plain; version=0.0.4; charset=utf-8", .body = metrics_.text(all, states)};
}

} // namespace lamina::serve
