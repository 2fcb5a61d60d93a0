// Connections in, requests out. What clients may send is bounded: its size, its time, and how much of it is here at
// once.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace lamina::serve {

struct Request {
    std::string method, path;
    std::map<std::string, std::string, std::less<>> headers{}; // names in lower case
    std::string body{};
    std::string address{}; // of the client, or its network
    std::map<std::string, std::string, std::less<>> query{};
    std::function<bool()> left = [] { return false; }; // whether the client has closed the connection
    std::chrono::steady_clock::time_point arrived = std::chrono::steady_clock::now();

    // The value, or "".
    [[nodiscard]] std::string header(std::string_view name) const {
        const auto found = headers.find(name);
        return found == headers.end() ? "" : found->second;
    }
};

// Sends a piece of a body, and waits while the client does not take what it was sent before. Returns false if the
// client has left.
using Send = std::function<bool(std::string_view piece)>;

struct Response {
    int status = 200;
    std::string type = "application/json", body{};
    std::map<std::string, std::string> headers{};
    std::function<void(const Send &)> stream{}; // sends the body piece by piece, in place of `body`
};

struct HttpOptions {
    std::string host = "127.0.0.1";
    int port = 0;        // 0: any that is free
    size_t threads = 64; // that answer requests: the most that are answered at a time

    size_t connections = 1024;              // open at a time
    size_t connections_of_address = 512;    // of them, with the same address (IPv6: the same network, /64)
    size_t largest_body = size_t{32} << 20; // bytes of a request
    size_t bodies = size_t{256} << 20;      // bytes of all bodies that are here: requests and responses
    std::chrono::seconds idle{60};          // between two requests
    std::chrono::seconds head{10};          // from the first byte of a request to the end of its headers
    std::chrono::seconds patience{20};      // how far a body that comes, or is taken, may fall behind `rate`
    size_t rate = size_t{16} << 10;         // bytes a second
    std::chrono::seconds lingering{2};      // with what a client goes on sending after its last response
    size_t lingering_bytes = size_t{8} << 20;
};

struct HttpHandlers {
    // Called when the head of a request is there, and before its body is read. A response is sent at once, and the body
    // is not read. Must neither throw nor wait: all connections wait meanwhile.
    std::function<std::optional<Response>(const Request &head)> at_once;
    // Called with whole requests, on many threads at once, which may wait. Must not throw.
    std::function<Response(const Request &)> answer;
    // Makes the response to a request that never becomes one: malformed, too large, or too slow. As at_once.
    std::function<Response(const std::string &path, int status, const std::string &why)> refuse;
};

class HttpServer {
  public:
    // Binds the port; throws Error(failure) if that is impossible. Connections wait there until start().
    HttpServer(const HttpOptions &options, HttpHandlers handlers);
    ~HttpServer(); // as stop()
    HttpServer(const HttpServer &) = delete;
    HttpServer &operator=(const HttpServer &) = delete;

    [[nodiscard]] int port() const;
    [[nodiscard]] size_t connections() const; // open now
    [[nodiscard]] size_t bodies() const;      // bytes of bodies that are here now
    void start();
    void stop(); // ends all connections, each after the request that it is busy with

  private:
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

} // namespace lamina::serve
