// Which pages of other sites may use the server through a browser, and what browsers are told about it (CORS).
#pragma once

#include "http.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace lamina::serve {

class Origins {
  public:
    // As "https://app.example:8443"; "*": any.
    explicit Origins(std::vector<std::string> allowed);

    // Whether the page that asks is of this server, or of a site that may use it. Who sends no origin is no page.
    [[nodiscard]] bool admits(const Request &request) const;
    // Whether a browser asks what it may ask for a page of another site.
    [[nodiscard]] bool is_preflight(const Request &request) const;
    // `methods`: of the path.
    [[nodiscard]] static Response preflight(const std::string &methods);
    // Tells the browser that its page may read the response.
    void add_headers(const Request &request, Response &response) const;

  private:
    [[nodiscard]] bool allows(std::string_view origin) const;

    std::vector<std::string> allowed_;
    bool any_;
};

} // namespace lamina::serve
