// UTF-8, and how messages show invalid text.
#include "base/utf8.hpp"

#include "catch.hpp"

using namespace lamina;

TEST_CASE("utf8: code points of every length are measured") {
    const std::string text = "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80";
    CHECK(utf8_length(text, 0) == 1);
    CHECK(utf8_length(text, 1) == 2);
    CHECK(utf8_length(text, 3) == 3);
    CHECK(utf8_length(text, 6) == 4);
    CHECK(first_invalid_utf8(text) == text.size());
}

TEST_CASE("utf8: sequences that the standard forbids are invalid") {
    for (const char *bad :
         {"\x80", "\xC0\x80", "\xC1\xBF", "\xE0\x80\x80", "\xED\xA0\x80", "\xF0\x80\x80\x80", "\xF4\x90\x80\x80",
          "\xF5\x80\x80\x80", "\xFF", "\xC3", "\xE2\x82", "\xC3(", "\xE2\x28\xA1"}) {
        const std::string text = std::string("ok") + bad;
        CAPTURE(printable(text));
        CHECK(first_invalid_utf8(text) == 2);
    }
}

TEST_CASE("printable: text cannot steer a terminal or fill a screen") {
    CHECK(printable("caf\xC3\xA9") == "caf\xC3\xA9");
    CHECK(printable("\x1b[31m\n") == "\\x1b[31m\\x0a");
    CHECK(printable("\xC2\x9B") == "\\xc2\\x9b"); // the 8-bit form of ESC [
    CHECK(printable("\xFF") == "\\xff");
    CHECK(printable(std::string(5000, 'a')).size() < 200);
    CHECK(in_quotes("x") == "'x'");
}
