#include "model/vocabulary.hpp"

#include "catch.hpp"
#include "temporary_folder.hpp"

#include <lamina/vocabulary.hpp>

using lamina::model::Vocabulary;
using matchers::contains;

namespace {
Vocabulary vocabulary(const std::string &text) {
    const TemporaryFolder folder;
    return Vocabulary::open(folder.write("v.txt", text));
}
std::string vocabulary_refusal(const std::string &text) {
    return message_of([&] { (void)vocabulary(text); });
}
using Ids = std::vector<int32_t>;
} // namespace

TEST_CASE("vocabulary: the line's number is the token's id") {
    for (const char *text :
         {"<s>\na\n\xC3\xA9\n", "<s>\na\n\xC3\xA9", "<s>\r\na\r\n\xC3\xA9\r\n", "\xEF\xBB\xBF<s>\na\n\xC3\xA9\n"}) {
        const Vocabulary v = vocabulary(text);
        REQUIRE(v.size() == 3);
        CHECK(v.id("<s>") == 0);
        CHECK(v.id("\xC3\xA9") == 2);
        CHECK_FALSE(v.id("b"));
        CHECK(v.token(1) == "a");
    }
}

TEST_CASE("vocabulary: broken files are refused with the line") {
    CHECK_THAT(vocabulary_refusal(""), contains("v.txt: empty"));
    CHECK_THAT(vocabulary_refusal("a\n\nb\n"), contains("v.txt: line 2: an empty line"));
    CHECK_THAT(vocabulary_refusal("a\nb\na\n"), contains("v.txt: line 3: 'a' is already in line 1"));
    CHECK_THAT(vocabulary_refusal("a\n\xFF\n"), contains("v.txt: line 2: invalid UTF-8: '\\xff'"));
    CHECK_THAT(message_of([] { (void)Vocabulary::open("/absent/v.txt"); }), contains("/absent/v.txt: No such file"));
}

TEST_CASE("vocabulary: text becomes ids by characters or by words") {
    const Vocabulary letters = vocabulary("a\nb\n\xC3\xA9\n");
    CHECK(letters.encode("ab\xC3\xA9", true, false) == Ids{0, 1, 2});
    CHECK(letters.encode("aB", true, true) == Ids{0, 1});
    CHECK(letters.encode("", true, false).empty());
    const Vocabulary phones = vocabulary("<s>\nAH0\nB\n");
    CHECK(phones.encode("  B\tAH0 B ", false, false) == Ids{2, 1, 2});
    CHECK(phones.encode(" \t ", false, false).empty());
    CHECK(phones.decode(Ids{2, 1}, " ") == "B AH0");
    CHECK(phones.decode(Ids{}, " ").empty());
}

TEST_CASE("vocabulary: an unknown token is quoted with its column in code points") {
    const Vocabulary letters = vocabulary("a\n\xC3\xA9\n");
    CHECK_THAT(message_of([&] { (void)letters.encode("\xC3\xA9\xC3\xA9z", true, false); }),
               contains("column 3: 'z' is not one of the 2 tokens of "));
    CHECK_THAT(message_of([&] { (void)letters.encode("aA", true, false); }), contains("column 2: 'A'"));
    CHECK_THAT(message_of([&] { (void)letters.encode("\xC3\xA9\xFF", true, false); }),
               contains("column 2: invalid UTF-8"));
    const Vocabulary phones = vocabulary("AH0\nB\n");
    CHECK_THAT(message_of([&] { (void)phones.encode("B AH1", false, false); }),
               contains("column 3: 'AH1'") && contains("; did you mean 'AH0'?"));
    CHECK_THAT(message_of([&] { (void)phones.decode(Ids{0, 2}, " "); }), contains("no token has the id 2; it has 2"));
    CHECK_THAT(message_of([&] { (void)phones.decode(Ids{-1}, " "); }), contains("no token has the id -1"));
}

TEST_CASE("read_vocabulary: the tokens of a file, in their order") {
    const TemporaryFolder folder;
    CHECK(lamina::read_vocabulary(folder.write("v.txt", "b\r\na b\n<s>")) ==
          std::vector<std::string>{"b", "a b", "<s>"});
    CHECK_THAT(message_of([&] { (void)lamina::read_vocabulary(folder.write("twice.txt", "a\na\n")); }),
               contains("twice.txt: line 2: 'a' is already in line 1"));
}
