#include "http1.hpp"

#include "refusal.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/beast/core/buffers_range.hpp>
#include <boost/beast/core/flat_static_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/status.hpp>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <utility>

namespace lamina::serve {
namespace {

namespace beast = boost::beast;
namespace http = beast::http;
using beast::error_code;

// A body for Beast's parser. Takes memory for what has come, not for what is announced.
struct BoundedBody {
    struct value_type {
        std::string bytes;
        size_t most = 0;
    };
    class reader {
      public:
        template <bool is_request, class Fields> reader(http::header<is_request, Fields> &, value_type &to) : to_(to) {}
        template <class Length> void init(const Length &, error_code &why) { why = {}; }
        template <class Buffers> size_t put(const Buffers &from, error_code &why) {
            why = {};
            size_t taken = 0;
            for (const auto piece : beast::buffers_range_ref(from)) {
                if (piece.size() > to_.most - to_.bytes.size()) {
                    why = http::error::body_limit;
                    return taken;
                }
                to_.bytes.append(static_cast<const char *>(piece.data()), piece.size());
                taken += piece.size();
            }
            return taken;
        }
        void finish(error_code &why) { why = {}; }

      private:
        value_type &to_;
    };
};

using Parser = http::request_parser<BoundedBody>;

std::string in_lower_case(std::string_view text) {
    std::string out(text);
    std::ranges::transform(out, out.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return out;
}

std::string_view view(beast::string_view text) { return {text.data(), text.size()}; }

[[noreturn]] void refuse_as_malformed(const std::string &why) { throw Refusal(400, "malformed request: " + why); }

[[noreturn]] void refuse_as_too_large(size_t most) {
    throw Refusal(413, "the body is too large: expected at most " + std::to_string(most) +
                           " bytes (the server's --max-body)");
}

[[noreturn]] void refuse_head(bool in_first_line) {
    const std::string most = std::to_string(RequestReader::buffered) + " bytes";
    if (in_first_line)
        throw Refusal(414, "the path is too long: expected a request line and headers of at most " + most);
    throw Refusal(431, "the headers are too long: expected at most " + most + ", and " +
                           std::to_string(RequestReader::most_headers) + " headers");
}

// A header that says where a body ends must say it once: what is in front of this server may read another one of two.
void expect_one_length(const Parser &parser) {
    const auto &message = parser.get();
    if (message.count(http::field::host) > 1) refuse_as_malformed("more than one Host");
    if (message.count(http::field::content_length) > 1 ||
        message[http::field::content_length].find(',') != beast::string_view::npos)
        refuse_as_malformed("more than one Content-Length");
    if (message.count(http::field::transfer_encoding) == 0) return;
    if (message.count(http::field::content_length) != 0) refuse_as_malformed("Content-Length beside Transfer-Encoding");
    if (message.count(http::field::transfer_encoding) > 1 || message.version() < 11 ||
        in_lower_case(view(message[http::field::transfer_encoding])) != "chunked")
        throw Refusal(501, "Transfer-Encoding: expected 'chunked', and HTTP/1.1");
}

} // namespace

struct RequestReader::Parts {
    explicit Parts(size_t most) : largest_body(most) { begin(); }

    const size_t largest_body;
    beast::flat_static_buffer<buffered> buffer{};
    std::optional<Parser> parser{};
    std::optional<Request> request{}; // from its head on
    size_t extensions = 0;
    std::function<void(std::uint64_t, beast::string_view, error_code &)> on_chunk =
        [this](std::uint64_t, beast::string_view extension, error_code &why) {
            extensions += extension.size();
            if (extensions > chunk_extensions) why = http::error::bad_chunk_extension;
        };

    void begin() {
        request.reset();
        extensions = 0;
        parser.emplace();
        parser->get().body().most = largest_body;
        parser->body_limit(UINT64_MAX); // the body has its own limit
        parser->header_limit(buffered);
        parser->on_chunk_header(on_chunk);
    }

    // Returns false if bytes are missing.
    bool parse_some() {
        if (buffer.size() == 0) return false;
        error_code why;
        buffer.consume(parser->put(buffer.data(), why));
        if (why == http::error::need_more) return false;
        if (why == http::error::body_limit) refuse_as_too_large(largest_body);
        if (why == http::error::header_limit) refuse_head(first_line());
        if (why) refuse_as_malformed(why.message());
        return true;
    }
    [[nodiscard]] bool first_line() const {
        const std::string_view bytes(static_cast<const char *>(buffer.data().data()), buffer.size());
        return parser->get().target().empty() && bytes.find('\n') == std::string_view::npos;
    }
    [[nodiscard]] bool full() const { return buffer.size() == buffer.max_size(); }
    // Some clients send an empty line behind a body. Returns false if bytes are missing to tell.
    bool skip_empty_lines() {
        while (!parser->got_some() && buffer.size() > 0) {
            const auto *bytes = static_cast<const char *>(buffer.data().data());
            if (bytes[0] != '\r') return true;
            if (buffer.size() == 1) return false;
            if (bytes[1] != '\n') return true;
            buffer.consume(2);
        }
        return true;
    }
    [[nodiscard]] Request head() const {
        const auto &message = parser->get();
        Request out{std::string(view(message.method_string())), path_of(view(message.target()))};
        out.query = query_of(view(message.target()));
        size_t count = 0;
        for (const auto &each : message) {
            if (++count > most_headers) refuse_head(false);
            out.headers.emplace(in_lower_case(view(each.name_string())), std::string(view(each.value())));
        }
        return out;
    }
};

RequestReader::RequestReader(size_t largest_body) : parts_(new Parts(largest_body)) {}
RequestReader::~RequestReader() = default;

size_t RequestReader::room() const { return parts_->buffer.max_size() - parts_->buffer.size(); }
void RequestReader::add(std::string_view bytes) {
    auto &buffer = parts_->buffer;
    buffer.commit(boost::asio::buffer_copy(buffer.prepare(bytes.size()), boost::asio::buffer(bytes)));
}
bool RequestReader::empty() const { return parts_->buffer.size() == 0; }
void RequestReader::abandon() {
    parts_->buffer.clear();
    parts_->begin();
}

const Request *RequestReader::head() {
    Parts &p = *parts_;
    if (p.request) return &*p.request;
    if (!p.skip_empty_lines()) return nullptr;
    while (!p.parser->is_header_done())
        if (!p.parse_some()) {
            if (p.full()) refuse_head(p.first_line());
            return nullptr;
        }
    p.request = p.head();
    expect_one_length(*p.parser);
    return &*p.request;
}

void RequestReader::expect_fair_body() const {
    if (parts_->parser->content_length().value_or(0) > parts_->largest_body) refuse_as_too_large(parts_->largest_body);
    const std::string coding = in_lower_case(parts_->request->header("content-encoding"));
    if (has_body() && !coding.empty() && coding != "identity")
        throw Refusal(415, "Content-Encoding: " + coding + ": expected a body that is not compressed");
    const std::string expected = in_lower_case(parts_->request->header("expect"));
    if (!expected.empty() && expected != "100-continue")
        throw Refusal(417, "Expect: " + expected + ": expected 100-continue");
}

bool RequestReader::has_body() const { return !parts_->parser->is_done(); }
bool RequestReader::asks_to_continue() const {
    return has_body() && takes_chunks() && empty() && !parts_->request->header("expect").empty();
}
bool RequestReader::keeps_alive() const { return parts_->parser->get().keep_alive(); }
bool RequestReader::takes_chunks() const { return parts_->parser->get().version() >= 11; }

bool RequestReader::read_body() {
    Parts &p = *parts_;
    while (!p.parser->is_done())
        if (!p.parse_some()) {
            if (p.full()) refuse_as_malformed("the header of a chunk, or what follows the last one, is too long");
            return false;
        }
    return true;
}

size_t RequestReader::body_bytes() const { return parts_->parser->get().body().bytes.capacity(); }

Request RequestReader::take() {
    Request out = std::move(*parts_->request);
    out.body = std::move(parts_->parser->get().body().bytes);
    parts_->begin();
    return out;
}

// ---- Responses ----

std::string response_head(const Response &response, Framing framing, bool keep_alive) {
    const auto known = http::int_to_status(static_cast<unsigned>(response.status));
    const std::string reason = known == http::status::unknown ? "" : std::string(view(http::obsolete_reason(known)));
    std::string out = "HTTP/1.1 " + std::to_string(response.status) + " " + reason + "\r\n";
    out += "Content-Type: " + response.type + "\r\nX-Content-Type-Options: nosniff\r\n";
    for (const auto &[name, value] : response.headers) out.append(name).append(": ").append(value).append("\r\n");
    if (framing == Framing::length) out += "Content-Length: " + std::to_string(response.body.size()) + "\r\n";
    if (framing == Framing::chunks) out += "Transfer-Encoding: chunked\r\n";
    return out + (keep_alive ? "Connection: keep-alive\r\n\r\n" : "Connection: close\r\n\r\n");
}

std::string chunk(std::string_view piece) {
    char size[16];
    const auto end = std::to_chars(std::begin(size), std::end(size), piece.size(), 16).ptr;
    return std::string(std::begin(size), end).append("\r\n").append(piece).append("\r\n");
}

namespace {

// "a b" of "a%20b"
std::string decoded(std::string_view text) {
    std::string out;
    for (size_t i = 0; i < text.size(); ++i) {
        unsigned char code = 0;
        const char *digits = text.data() + i + 1;
        if (text[i] == '%' && i + 2 < text.size() && std::from_chars(digits, digits + 2, code, 16).ptr == digits + 2) {
            out += static_cast<char>(code);
            i += 2;
        } else {
            out += text[i];
        }
    }
    return out;
}

} // namespace

std::string path_of(std::string_view target) {
    if (const size_t scheme = target.find("://"); !target.starts_with('/') && scheme != std::string_view::npos) {
        const size_t slash = target.find('/', scheme + 3);
        target = slash == std::string_view::npos ? "/" : target.substr(slash);
    }
    return decoded(target.substr(0, target.find_first_of("?#")));
}

std::map<std::string, std::string, std::less<>> query_of(std::string_view target) {
    target = target.substr(0, target.find('#'));
    const size_t mark = target.find('?');
    std::map<std::string, std::string, std::less<>> out;
    for (std::string_view rest = mark == std::string_view::npos ? "" : target.substr(mark + 1); !rest.empty();) {
        std::string pair(rest.substr(0, rest.find('&')));
        rest.remove_prefix(std::min(pair.size() + 1, rest.size()));
        std::ranges::replace(pair, '+', ' ');
        const size_t equals = pair.find('=');
        out.emplace(decoded(pair.substr(0, equals)),
                    equals == std::string::npos ? "" : decoded(pair.substr(equals + 1)));
    }
    return out;
}

} // namespace lamina::serve
