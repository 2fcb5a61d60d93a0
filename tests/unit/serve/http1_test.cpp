// HTTP/1.1 from bytes: in whatever pieces they come, and what is refused.
#include "catch.hpp"

#include "serve/form.hpp"
#include "serve/http1.hpp"
#include "serve/refusal.hpp"

#include <algorithm>
#include <map>
#include <optional>

using namespace lamina;
using namespace lamina::serve;
using matchers::contains;

namespace {

constexpr size_t largest = 1000;

// The requests in these bytes, which come `step` at a time.
std::vector<Request> requests_in(std::string_view bytes, size_t step) {
    RequestReader reader(largest);
    std::vector<Request> out;
    for (; !bytes.empty(); bytes.remove_prefix(std::min(step, bytes.size()))) {
        REQUIRE(reader.room() > 0);
        reader.add(bytes.substr(0, std::min(step, reader.room())));
        while (reader.head() != nullptr) {
            reader.expect_fair_body();
            if (!reader.read_body()) break;
            out.push_back(reader.take());
        }
    }
    CHECK(reader.empty());
    return out;
}

int status_of_bytes(std::string_view bytes) {
    try {
        (void)requests_in(bytes, RequestReader::buffered);
        return 200;
    } catch (const Refusal &why) {
        return why.status();
    }
}

std::string chunked(const std::string &chunks) {
    return "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks;
}

std::string form_refusal(const std::string &type, const std::string &body) {
    return message_of([&] { (void)form_of({"POST", "/", {{"content-type", type}}, body}); });
}

} // namespace

TEST_CASE("requests are the same in whatever pieces their bytes come") {
    const std::string bytes = "GET /a%20b?c=d HTTP/1.1\r\nHost: x\r\nX-Two:  words here \r\n\r\n"
                              "\r\nPOST /p HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello" +
                              chunked("3;name=\"value\"\r\nabc\r\n2\r\nde\r\n0\r\nTrailer: x\r\n\r\n") +
                              "GET http://x/last HTTP/1.0\r\n\r\n";
    for (const size_t step : {size_t{1}, size_t{2}, size_t{7}, bytes.size()}) {
        const std::vector<Request> found = requests_in(bytes, step);
        REQUIRE(found.size() == 4);
        CHECK(found[0].path == "/a b");
        CHECK(found[0].header("x-two") == "words here");
        CHECK(found[1].body == "hello");
        CHECK(found[2].body == "abcde");
        CHECK(found[2].header("trailer").empty());
        CHECK(found[3].path == "/last");
    }
}

TEST_CASE("bodies may be as large as the limit, and no larger") {
    const std::string body(largest, 'x'), head = "POST / HTTP/1.1\r\nContent-Length: ";
    CHECK(status_of_bytes(head + std::to_string(largest) + "\r\n\r\n" + body) == 200);
    CHECK(status_of_bytes(head + std::to_string(largest + 1) + "\r\n\r\n") == 413);
    CHECK(status_of_bytes(chunked("3e8\r\n" + body + "\r\n0\r\n\r\n")) == 200);
    CHECK(status_of_bytes(chunked("3e8\r\n" + body + "\r\n1\r\nx\r\n0\r\n\r\n")) == 413);
    CHECK(status_of_bytes(chunked("ffffffffffffffff\r\n" + body + body)) == 413);
    CHECK(status_of_bytes(chunked("10000000000000000\r\n" + body)) == 400);
}

TEST_CASE("chunks carry few bytes beside the body") {
    std::string few, many;
    for (int i = 0; i < 40; ++i) few += "1;" + std::string(99, 'a') + "\r\nx\r\n";
    for (int i = 0; i < 42; ++i) many += "1;" + std::string(99, 'a') + "\r\nx\r\n";
    CHECK(status_of_bytes(chunked(few + "0\r\n\r\n")) == 200);
    CHECK(status_of_bytes(chunked(many + "0\r\n\r\n")) == 400);
}

TEST_CASE("paths are decoded once, and only where they are coded") {
    CHECK(path_of("/a%2Fb%25%") == "/a/b%%");
    CHECK(path_of("/%zz%4") == "/%zz%4");
    CHECK(path_of("http://host:1/a?b://c") == "/a");
    CHECK(path_of("http://host") == "/");
    CHECK(path_of("/a#b") == "/a");
    CHECK(path_of("*") == "*");
    using Query = std::map<std::string, std::string, std::less<>>;
    CHECK(query_of("/a") == Query{});
    CHECK(query_of("http://host/a?b=c%26+d&e&b=f#?g=h") == Query{{"b", "c& d"}, {"e", ""}});
}

TEST_CASE("forms are read as clients send them") {
    const std::string body = "preamble\r\n--b \r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nm\r\n"
                             "--b\r\nContent-Type: audio/wav\r\ncontent-disposition:form-data; filename=\"a \\\"b\\\"; "
                             "c.wav\"; name=file\r\n\r\nx\r\n--\r\n-b\r\n--b\r\n"
                             "Content-Disposition: form-data; name=\"\"\r\n\r\n\r\n--b--\r\nepilogue";
    const Request request{"POST", "/", {{"content-type", "Multipart/Form-Data; charset=x; boundary=\"b\""}}, body};
    const std::vector<FormField> found = form_of(request);
    REQUIRE(found.size() == 3);
    CHECK((found[0].name == "model" && found[0].file.empty() && found[0].content == "m"));
    CHECK((found[1].name == "file" && found[1].file == "a \"b\"; c.wav" && found[1].content == "x\r\n--\r\n-b"));
    CHECK((found[2].name.empty() && found[2].content.empty()));
    CHECK(form_of({"POST", "/", {{"content-type", "application/json"}}, "{}"}).empty());
}

TEST_CASE("broken forms are refused") {
    const std::string type = "multipart/form-data; boundary=b",
                      named = "Content-Disposition: form-data; name=\"n\"\r\n";
    CHECK_THAT(form_refusal("multipart/form-data", ""), contains("a boundary of 1 to 70 characters"));
    CHECK_THAT(form_refusal(type, ""), contains("has no end"));
    CHECK_THAT(form_refusal(type, "--b"), contains("expected the end of the line"));
    CHECK_THAT(form_refusal(type, "--b\r\n" + named), contains("a header has no end"));
    CHECK_THAT(form_refusal(type, "--b\r\n" + named + "\r\nx"), contains("a field has no end"));
    CHECK_THAT(form_refusal(type, "--b\r\nA: b\r\n\r\nx\r\n--b--"), contains("a field has no name"));
    CHECK_THAT(form_refusal(type, "--b\r\nContent-Disposition: form-data; name=\"n\r\n\r\nx\r\n--b--"),
               contains("a quote is open"));
    std::string many;
    for (size_t i = 0; i <= most_fields; ++i) many += "--b\r\n" + named + "\r\nx\r\n";
    CHECK_THAT(form_refusal(type, many + "--b--"), contains("at most 64 fields"));
}
