// Work that is done in pieces: whose parts are next, and what becomes of the work.
#include "catch.hpp"

#include "serve/pieces.hpp"

#include <stdexcept>

using namespace lamina;
using namespace lamina::serve;

namespace {

struct Letters : Work {
    Letters(std::string text, Owner whose) : parts(std::move(text)) { owner = whose; }
    std::string parts, done;
};

std::vector<size_t> numbers(size_t count) {
    std::vector<size_t> out(count);
    for (size_t i = 0; i < count; ++i) out[i] = i;
    return out;
}

// '!' cannot be done.
struct Doing {
    std::vector<std::string> log; // pieces
    Metrics metrics{};
    Pieces<Letters> pieces;

    explicit Doing(size_t most)
        : pieces(
              most,
              [this](const Pieces<Letters>::Piece &piece) {
                  std::string &now = log.emplace_back();
                  for (const auto &[work, parts] : piece)
                      for (const size_t i : parts) now += work->parts[i];
                  if (now.find('!') != std::string::npos) throw std::runtime_error("!");
                  for (const auto &[work, parts] : piece)
                      for (const size_t i : parts) work->done += work->parts[i];
              },
              "model", metrics) {}
    std::shared_ptr<Letters> add(const std::string &text, Owner owner) {
        auto out = std::make_shared<Letters>(text, owner);
        pieces.add(out, numbers(text.size()));
        return out;
    }
};

} // namespace

TEST_CASE("a client with many requests gets no larger share of a piece than one with a single request") {
    Doing doing(4);
    for (uint64_t i = 0; i < 8; ++i) (void)doing.add("aaa", {1, i});
    const auto one = doing.add("bbbb", {2, 0});
    doing.pieces.step();
    doing.pieces.step();
    CHECK(one->ended());
    CHECK(one->done == "bbbb");
    for (const std::string &piece : doing.log) CHECK(std::ranges::count(piece, 'b') == 2);
    while (!doing.pieces.empty()) doing.pieces.step();
    CHECK(doing.log.size() == 7); // of 28 letters
}

TEST_CASE("work ends when its last part is done, and not before") {
    Doing doing(2);
    const auto work = doing.add("abc", {1});
    doing.pieces.step();
    CHECK_FALSE(work->ended());
    doing.pieces.step();
    CHECK(work->ended());
    CHECK(work->done == "abc");
    CHECK(doing.add("", {1}) != nullptr);
    doing.pieces.step();
    CHECK(doing.pieces.empty()); // nothing is left to do of it
    CHECK(doing.log == std::vector<std::string>{"ab", "c"});
}

TEST_CASE("work fails by itself, and the rest of it is not done") {
    Doing doing(4);
    const auto good = doing.add("abcdef", {1}), bad = doing.add("x!yyyy", {2});
    while (!doing.pieces.empty()) doing.pieces.step();
    CHECK(good->done == "abcdef");
    good->expect_success();
    CHECK_THROWS_WITH(bad->expect_success(), "!");
    CHECK(doing.log == std::vector<std::string>{"abx!", "ab", "x!", "cdef"});
}

TEST_CASE("work that nobody waits for any more is not done") {
    Doing doing(2);
    const auto left = doing.add("aaaaaa", {1}), other = doing.add("bb", {2});
    doing.pieces.step();
    left->leave();
    doing.pieces.step();
    CHECK(left->ended());
    CHECK(other->ended());
    CHECK(doing.log == std::vector<std::string>{"ab", "b"});
}
