// HTTP/1.1 as bytes. http1.cpp is the only file that includes Boost.Beast.
#pragma once

#include "http.hpp"

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace lamina::serve {

// The bytes of a connection in, requests out, one after the other. Holds at most `buffered` bytes beside the body of
// one request: no request line, headers or header of a chunk can be longer. Throws Refusal for what is malformed or too
// large; nothing more can be read then.
class RequestReader {
  public:
    static constexpr size_t buffered = size_t{16} << 10; // bytes
    static constexpr size_t most_headers = 128;
    static constexpr size_t chunk_extensions = size_t{4} << 10; // bytes, of all chunks of a body; nobody reads them

    explicit RequestReader(size_t largest_body);
    ~RequestReader();
    RequestReader(const RequestReader &) = delete;
    RequestReader &operator=(const RequestReader &) = delete;

    // ---- Bytes ----
    [[nodiscard]] size_t room() const; // how many can be added; 0: first those that are here must be read
    void add(std::string_view bytes);
    [[nodiscard]] bool empty() const; // none wait to be read
    void abandon();                   // forgets them, and the request that was begun

    // ---- The next request ----
    [[nodiscard]] const Request *head(); // without its body; null while bytes are missing
    // After head():
    void expect_fair_body() const; // throws Refusal if the body is one that cannot be read
    [[nodiscard]] bool has_body() const;
    [[nodiscard]] bool asks_to_continue() const; // waits for "100 Continue" before it sends its body
    [[nodiscard]] bool keeps_alive() const;      // the connection may be used again
    [[nodiscard]] bool takes_chunks() const;     // HTTP/1.1
    [[nodiscard]] bool read_body();              // whether the body is whole
    [[nodiscard]] size_t body_bytes() const;     // the memory that it has taken so far
    [[nodiscard]] Request take();                // after read_body(); then the next request is read

  private:
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

// The status line and the headers of a response.
enum class Framing { length, chunks, until_close };
[[nodiscard]] std::string response_head(const Response &response, Framing framing, bool keep_alive);
[[nodiscard]] std::string chunk(std::string_view piece);
inline constexpr std::string_view last_chunk = "0\r\n\r\n", go_on_sending = "HTTP/1.1 100 Continue\r\n\r\n";

// "/v1/models/a b" of "/v1/models/a%20b?c=d" and of "http://host/v1/models/a%20b".
[[nodiscard]] std::string path_of(std::string_view target);
// {"c", "d e"} of "/v1/models?c=d+e". Of two with the same name the first counts.
[[nodiscard]] std::map<std::string, std::string, std::less<>> query_of(std::string_view target);

} // namespace lamina::serve
