#include "origins.hpp"

#include <algorithm>
#include <utility>

namespace lamina::serve {

Origins::Origins(std::vector<std::string> allowed)
    : allowed_(std::move(allowed)), any_(std::ranges::find(allowed_, "*") != allowed_.end()) {}

bool Origins::allows(std::string_view origin) const {
    return any_ || std::ranges::find(allowed_, origin) != allowed_.end();
}

bool Origins::admits(const Request &request) const {
    const std::string origin = request.header("origin"), host = request.header("host");
    return origin.empty() || origin == "http://" + host || origin == "https://" + host || allows(origin);
}

bool Origins::is_preflight(const Request &request) const {
    return !allowed_.empty() && request.method == "OPTIONS" && !request.header("origin").empty() &&
           !request.header("access-control-request-method").empty();
}

Response Origins::preflight(const std::string &methods) {
    Response out{.type = "text/plain"};
    out.headers["Access-Control-Allow-Methods"] = methods;
    // The star stands for others, which some clients send to say what they are; never for Authorization.
    out.headers["Access-Control-Allow-Headers"] = "Authorization, Content-Type, x-api-key, anthropic-version, *";
    out.headers["Access-Control-Max-Age"] = "3600"; // seconds
    return out;
}

void Origins::add_headers(const Request &request, Response &response) const {
    if (allowed_.empty()) return;
    if (!any_) response.headers["Vary"] = "Origin"; // caches must not give it to pages of other sites
    const std::string origin = request.header("origin");
    if (origin.empty() || !allows(origin)) return;
    response.headers["Access-Control-Allow-Origin"] = any_ ? "*" : origin;
    response.headers["Access-Control-Expose-Headers"] = "Retry-After, Lamina-Messages-Left-Out";
}

} // namespace lamina::serve
