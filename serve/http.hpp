// Connections in, requests out. http.cpp is the only file that includes cpp-httplib.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace lamina::serve {

// A field of a form (multipart/form-data).
struct FormField {
    std::string name, file, content; // file: the name of the uploaded file; or empty
};

struct Request {
    std::string method, path;
    std::map<std::string, std::string, std::less<>> headers{}; // names in lower case
    std::string body{};
    std::vector<FormField> form{};
    std::function<bool()> left = [] { return false; }; // whether the client has closed the connection

    // The value, or "".
    [[nodiscard]] std::string header(std::string_view name) const {
        const auto found = headers.find(name);
        return found == headers.end() ? "" : found->second;
    }
};

// Sends a piece of a body. Returns false if the client has left.
using Send = std::function<bool(std::string_view piece)>;

struct Response {
    int status = 200;
    std::string type = "application/json", body{};
    std::map<std::string, std::string> headers{};
    std::function<void(const Send &)> stream{}; // sends the body piece by piece, in place of `body`
};

struct HttpOptions {
    std::string host = "127.0.0.1";
    int port = 0; // 0: any that is free
    size_t connections = 64;
    size_t largest_body = size_t{32} << 20; // bytes
    std::chrono::seconds patience{30};      // with a client that does not go on sending, or does not receive
};

class HttpServer {
  public:
    // `answer` is called on many threads at once, and must not throw. `refuse` makes the response to a request that
    // never becomes one: malformed, or too large. Binds the port; throws Error(failure) if that is impossible.
    using Answer = std::function<Response(const Request &)>;
    using Refuse = std::function<Response(const std::string &path, int status, const std::string &why)>;
    HttpServer(const HttpOptions &options, Answer answer, Refuse refuse);
    ~HttpServer(); // as stop()
    HttpServer(const HttpServer &) = delete;
    HttpServer &operator=(const HttpServer &) = delete;

    [[nodiscard]] int port() const;
    void stop(); // ends all connections, each after the request that it is busy with

  private:
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

} // namespace lamina::serve
