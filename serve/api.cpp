#include "api.hpp"

#include "route.hpp"

#include "base/nearest.hpp"

#include <algorithm>
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

// What stands for "{model}", or ""; none: the path is another one.
std::optional<std::string> match(std::string_view pattern, std::string_view path) {
    const std::vector<std::string_view> wanted = parts_of(pattern), found = parts_of(path);
    if (wanted.size() != found.size()) return std::nullopt;
    std::string model;
    for (size_t i = 0; i < wanted.size(); ++i) {
        if (wanted[i] == "{model}" && !found[i].empty())
            model = found[i];
        else if (wanted[i] != found[i])
            return std::nullopt;
    }
    return model;
}

// In a time that does not tell how much of it is right.
bool same_secret(std::string_view a, std::string_view b) {
    unsigned different = a.size() == b.size() ? 0 : 1;
    for (size_t i = 0; i < a.size(); ++i)
        different |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[b.empty() ? 0 : i % b.size()]);
    return different == 0;
}

// "127.0.0.1" of "127.0.0.1:8000", "::1" of "[::1]:8000"
std::string_view without_port(std::string_view host) {
    if (host.starts_with('[')) return host.substr(1, host.find(']') - 1);
    return host.substr(0, host.rfind(':'));
}

} // namespace

const std::vector<Api::Route> &Api::routes() {
    using enum Route::Door;
    static const std::vector<Route> list{
        {"GET", "/", &Api::show_page, open},
        {"GET", "/status", &Api::show_status},
        {"GET", "/metrics", &Api::show_metrics},
        {"GET", "/v1/models", &Api::list_models},
        {"GET", "/v1/models/{model}", &Api::show_model},
        {"POST", "/v1/completions", &Api::completions, key, true},
        {"POST", "/v1/chat/completions", &Api::chat_completions, key, true},
        {"POST", "/v1/embeddings", &Api::embeddings, key, true},
        {"POST", "/v1/audio/transcriptions", &Api::transcriptions, key, true},
        {"GET", "/v2", &Api::server_metadata},
        {"GET", "/v2/health/live", &Api::live, open},
        {"GET", "/v2/health/ready", &Api::ready, open},
        {"GET", "/v2/models/{model}", &Api::graph_metadata_of},
        {"GET", "/v2/models/{model}/versions/1", &Api::graph_metadata_of},
        {"GET", "/v2/models/{model}/ready", &Api::graph_ready, open},
        {"GET", "/v2/models/{model}/versions/1/ready", &Api::graph_ready, open},
        {"POST", "/v2/models/{model}/infer", &Api::infer, key, true},
        {"POST", "/v2/models/{model}/versions/1/infer", &Api::infer, key, true},
    };
    return list;
}

Response Api::answer(const Request &request) {
    const auto began = Clock::now();
    std::string pattern = "other";
    Response out;
    try {
        out = dispatch(request, pattern);
    } catch (const std::exception &why) {
        out = refusal(request.path, why);
    }
    const auto record = [this, began, pattern, status = out.status] {
        metrics_.request(pattern, status, Clock::now() - began);
    };
    if (!out.stream) {
        record();
        return out;
    }
    out.stream = [record, stream = std::move(out.stream)](const Send &send) {
        stream(send);
        record();
    };
    return out;
}

Response Api::dispatch(const Request &request, std::string &pattern) {
    const std::string method = request.method == "HEAD" ? "GET" : request.method;
    std::string allowed;
    for (const Route &route : routes()) {
        const std::optional<std::string> model = match(route.pattern, request.path);
        if (!model) continue;
        pattern = route.pattern;
        allowed += (allowed.empty() ? "" : ", ") + std::string(route.method);
        if (method != route.method) continue;
        admit(request, route);
        const std::shared_ptr<void> inside = route.works ? gate_.enter() : nullptr;
        Response out = (this->*route.answer)({request, *model});
        if (out.stream) out.stream = [inside, stream = std::move(out.stream)](const Send &send) { stream(send); };
        return out;
    }
    if (allowed.empty()) throw Refusal(404, "there is no " + request.path + " here; / and docs/serving.md say what is");
    Response out = refusal(request.path, 405, request.path + " takes " + allowed + ", not " + request.method);
    out.headers["Allow"] = allowed;
    return out;
}

// Pages of other sites must not use the server through the browser of somebody who may.
void Api::admit(const Request &request, const Route &route) const {
    const std::string host = request.header("host"), origin = request.header("origin");
    if (options_.local && !host.empty()) {
        const std::string_view name = without_port(host);
        if (name != "localhost" && name != "127.0.0.1" && name != "::1")
            throw Refusal(403, "this server is for its own machine, not for '" + host +
                                   "'; --host lets others connect to it");
    }
    if (!origin.empty() && origin != "http://" + host && origin != "https://" + host)
        throw Refusal(403, "pages of " + origin + " may not use this server");
    if (route.door == Route::Door::open || options_.keys.empty()) return;
    const std::string given = request.header("authorization");
    constexpr std::string_view scheme = "Bearer ";
    const bool right = std::ranges::any_of(options_.keys, [&](const std::string &each) {
        return given.starts_with(scheme) && same_secret(std::string_view(given).substr(scheme.size()), each);
    });
    if (!right)
        throw Refusal(401, given.empty() ? "this server needs a key: send 'Authorization: Bearer KEY'"
                                         : "the key in 'Authorization' is not one of this server's");
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
        if (work.wait(soon(work))) (void)work.take_pieces();
        if (!work.ended()) expect_client(work, request.left); // also while there is news all the time
    }
    work.expect_success();
}

Response Api::show_metrics(const Call &) {
    return {.type = "text/plain; version=0.0.4; charset=utf-8",
            .body = metrics_.text(
                {{"lamina_requests_inside", {"Requests that wait or run.", static_cast<double>(gate_.inside())}},
                 {"lamina_models", {"Models that are served.", static_cast<double>(engines_.size())}}})};
}

} // namespace lamina::serve
