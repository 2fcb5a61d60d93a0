#include "http.hpp"

#include "base/connections.hpp"

#include <lamina/error.hpp>

#include <httplib.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <thread>

namespace lamina::serve {
namespace {

// ---- Requests and responses ----

std::string in_lower_case(std::string text) {
    std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return text;
}

// Takes the body. `most` also bounds what comes in chunks, and what a compressed body becomes.
class BodyReader {
  public:
    BodyReader(Request &to, size_t most) : to_(to), left_(most) {}

    bool whole(const httplib::ContentReader &reader) {
        return reader([this](const char *data, size_t size) { return take(to_.body, data, size); });
    }
    bool form(const httplib::ContentReader &reader) {
        return reader(
            [this](const httplib::MultipartFormData &field) {
                constexpr size_t most_fields = 64;
                to_.form.push_back({field.name, field.filename, ""});
                return to_.form.size() <= most_fields;
            },
            [this](const char *data, size_t size) { return take(to_.form.back().content, data, size); });
    }
    [[nodiscard]] bool too_large() const { return too_large_; }

  private:
    bool take(std::string &out, const char *data, size_t size) {
        too_large_ = too_large_ || size > left_;
        if (too_large_) return false;
        left_ -= size;
        out.append(data, size);
        return true;
    }

    Request &to_;
    size_t left_;
    bool too_large_ = false;
};

void write(Response from, httplib::Response &to) {
    to.status = from.status;
    for (const auto &[name, value] : from.headers) to.set_header(name, value);
    if (!from.stream) return to.set_content(from.body, from.type);
    to.set_chunked_content_provider(from.type, [stream = from.stream](size_t, httplib::DataSink &sink) {
        bool there = true;
        stream([&](std::string_view piece) {
            there = there && sink.is_writable() && sink.write(piece.data(), piece.size());
            return there;
        });
        if (there) sink.done();
        return there;
    });
}

} // namespace

struct HttpServer::Parts {
    HttpOptions options;
    Answer answer;
    Refuse refuse;
    httplib::Server server{};
    int port = 0;
    std::atomic<bool> ended = false;
    std::thread thread{};

    [[nodiscard]] Request head_of(const httplib::Request &from) const {
        Request out{from.method, from.path};
        for (const auto &[name, value] : from.headers) out.headers.emplace(in_lower_case(name), value);
        // cpp-httplib does not hand out its sockets, so this one is found among the process's.
        for_each_connection(port, [&](Socket socket, const Peer &client) {
            if (client == Peer{from.remote_addr, from.remote_port})
                out.left = [socket] { return closed_by_client(socket); };
        });
        return out;
    }

    void handle(const httplib::Request &from, httplib::Response &to) { write(answer(head_of(from)), to); }

    void handle_with_body(const httplib::Request &from, httplib::Response &to, const httplib::ContentReader &reader) {
        Request request = head_of(from);
        BodyReader body(request, options.largest_body);
        const bool read = from.is_multipart_form_data() ? body.form(reader) : body.whole(reader);
        if (read) return write(answer(request), to);
        const int status = body.too_large() || to.status == 413 ? 413 : 400;
        to.set_header("Connection", "close");
        write(refuse(from.path, status, why(status)), to);
    }

    [[nodiscard]] std::string why(int status) const {
        if (status == 413)
            return "the body is too large: expected at most " + std::to_string(options.largest_body) +
                   " bytes (the server's --max-body)";
        if (status == 414) return "the path is too long";
        return "malformed request: its first line, headers or body are not HTTP";
    }
};

HttpServer::HttpServer(const HttpOptions &options, Answer answer, Refuse refuse)
    : parts_(new Parts{.options = options, .answer = std::move(answer), .refuse = std::move(refuse)}) {
    Parts &p = *parts_;
    const auto get = [&p](const httplib::Request &from, httplib::Response &to) { p.handle(from, to); };
    const auto post = [&p](const httplib::Request &from, httplib::Response &to, const httplib::ContentReader &reader) {
        p.handle_with_body(from, to, reader);
    };
    const std::string any = ".*";
    p.server.Get(any, get).Options(any, get).Post(any, post).Put(any, post).Patch(any, post).Delete(any, post);
    p.server.set_error_handler([&p](const httplib::Request &from, httplib::Response &to) {
        if (to.body.empty()) write(p.refuse(from.path, to.status, p.why(to.status)), to); // httplib's own refusals
    });
    p.server.new_task_queue = [connections = options.connections] { return new httplib::ThreadPool(connections); };
    p.server.set_payload_max_length(options.largest_body);
    p.server.set_read_timeout(options.patience);
    p.server.set_write_timeout(options.patience);
    p.server.set_keep_alive_max_count(SIZE_MAX);
    p.server.set_keep_alive_timeout(5); // seconds
    p.server.set_tcp_nodelay(true);     // a token is a small packet that should not wait for others
    p.server.set_socket_options(        // the library's own would let two servers share a port
        [](socket_t socket) { listen_alone(static_cast<Socket>(socket)); });
    errno = 0;
    if (options.port == 0)
        p.port = p.server.bind_to_any_port(options.host);
    else if (p.server.bind_to_port(options.host, options.port))
        p.port = options.port;
    if (p.port <= 0)
        throw Error(ErrorCode::failure, "cannot listen on " + options.host + ":" + std::to_string(options.port) + ": " +
                                            (errno != 0 ? std::strerror(errno) : "no such address"));
    p.thread = std::thread([&p] {
        p.server.listen_after_bind();
        p.ended = true;
    });
}

HttpServer::~HttpServer() { stop(); }

int HttpServer::port() const { return parts_->port; }

void HttpServer::stop() {
    Parts &p = *parts_;
    if (!p.thread.joinable()) return;
    while (!p.server.is_running() && !p.ended) std::this_thread::yield(); // stop() does nothing before
    p.server.stop();
    // Idle connections would be kept for some seconds. Responses that are being sent are not affected.
    for_each_connection(p.port, [](Socket socket, const Peer &) { stop_reading(socket); });
    p.thread.join();
}

} // namespace lamina::serve
