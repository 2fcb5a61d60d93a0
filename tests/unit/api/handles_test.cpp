// Handles: what copies, moves and threads may do with them.
#include "catch.hpp"
#include "places.hpp"
#include "plugin_runtime.hpp"

#include <lamina/lamina.hpp>

#include <thread>

using namespace lamina;
using test::runtime;

namespace {

Session speller() {
    return runtime().session(runtime().load(LAMINA_SOURCE_DIR "/models/g2p"), runtime().device("cpu"));
}

const std::vector<std::vector<std::string>> lists{
    {"vulkan"}, {"transformer", "hello"}, {"world"}, {"a", "long", "way"}};

} // namespace

TEST_CASE("handles: threads that share a session each get their own answers") {
    const Session session = speller();
    std::vector<std::vector<std::string>> expected;
    for (const auto &words : lists) expected.push_back(Session(session).generate(words));

    std::vector<std::vector<std::vector<std::string>>> found(lists.size());
    std::vector<std::thread> threads;
    for (size_t i = 0; i < lists.size(); ++i)
        threads.emplace_back([&, i, copy = session]() mutable {
            for (int round = 0; round < 5; ++round) found[i].push_back(copy.generate(lists[i]));
        });
    for (std::thread &each : threads) each.join();
    for (size_t i = 0; i < lists.size(); ++i)
        for (const auto &answers : found[i]) CHECK(answers == expected[i]);
}

TEST_CASE("handles: threads may make sessions of one runtime at once") {
    const std::vector<std::string> expected = speller().generate(lists[0]);
    std::vector<std::vector<std::string>> found(4);
    std::vector<std::thread> threads;
    for (auto &answers : found) threads.emplace_back([&] { answers = speller().generate(lists[0]); });
    for (std::thread &each : threads) each.join();
    for (const auto &answers : found) CHECK(answers == expected);
}

TEST_CASE("handles: a handle that was moved from is still one") {
    Session session = speller();
    Session moved = std::move(session);
    CHECK(session.generate(lists[0]) == moved.generate(lists[0])); // NOLINT(bugprone-use-after-move)
    Runtime own = runtime();
    const Runtime other = std::move(own);
    CHECK(own.devices().size() == other.devices().size()); // NOLINT(bugprone-use-after-move)
    Model model = runtime().load(LAMINA_SOURCE_DIR "/models/g2p");
    const Model same = std::move(model);
    CHECK(model.name() == same.name()); // NOLINT(bugprone-use-after-move)
}

TEST_CASE("handles: a callback cannot use the session that called it") {
    Session session = speller();
    GenerateOptions options;
    options.progress = [&](size_t, size_t) { (void)session.generate(lists[0]); };
    CHECK_THAT(message_of([&] { (void)session.generate(lists[1], options); }),
               matchers::contains("a callback cannot use the session that called it"));
    CHECK(session.generate(lists[0]).size() == 1); // and the session goes on
}
