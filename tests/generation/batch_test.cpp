// Texts that join others while these are being written.
#include "catch.hpp"

#include "letters.hpp"
#include "places.hpp"
#include "plugin_runtime.hpp"
#include "vulkan_devices.hpp"

#include <lamina/batch.hpp>
#include <lamina/texts.hpp>

#include <cmath>
#include <map>
#include <set>

using namespace lamina;
using matchers::contains;
using test::runtime;

namespace {

Session letters(float ends, const Device &device) {
    return runtime().session(runtime().load(test::letters({.ends = ends})), device);
}

// Prompts of 1 to 60 letters in no order.
std::vector<std::string> prompts(size_t count) {
    std::vector<std::string> out;
    for (size_t i = 0; i < count; ++i) {
        std::string text;
        for (size_t k = 0; k <= i * 23 % 60; ++k) text += static_cast<char>('a' + (i * 7 + k * (i + 3)) % 26);
        out.push_back(text);
    }
    return out;
}

void check_same(const Hypothesis &found, const Hypothesis &expected) {
    CHECK(found.text == expected.text);
    CHECK(found.tokens == expected.tokens);
    CHECK(found.finish == expected.finish);
    CHECK_THAT(found.log_probability, matchers::within_abs(expected.log_probability, 1e-4));
}

struct Written {
    std::string pieces;
    std::optional<Hypothesis> finished;
};

using Texts = std::map<uint64_t, Written>;

void step(Batch &batch, Texts &texts) {
    for (Batch::Progress &text : batch.step()) {
        texts[text.id].pieces += text.piece;
        if (text.finished) texts[text.id].finished = std::move(text.finished);
    }
}

// Steps until all texts have ended.
Texts write(Batch &batch, Texts texts = {}) {
    while (!batch.empty()) step(batch, texts);
    return texts;
}

} // namespace

TEST_CASE("a text that is token ids is continued as it is, and ids that are none of the model's are refused") {
    const Model model = runtime().load(test::letters({.ends = 0.5F}));
    const std::vector<std::string> texts = prompts(2);
    Batch batch(runtime().session(model, runtime().device("cpu")), {.slots = 2, .length = 100});
    const uint64_t text = batch.add(texts[1]), ids = batch.add_ids(token_ids(model, texts[1]));
    const Texts written = write(batch);
    check_same(*written.at(ids).finished, *written.at(text).finished);
    CHECK(!written.at(ids).finished->text.empty());

    const auto tokens = static_cast<int32_t>(token_texts(model).size());
    for (const int32_t id : std::vector<int32_t>{-1, tokens})
        CHECK_THROWS_WITH(batch.add_ids({0, id}),
                          contains("token 1: expected an id from 0 to " + std::to_string(tokens - 1) + ", found " +
                                   std::to_string(id)));
    CHECK_THROWS_WITH(batch.add_ids(std::vector<int32_t>(101)), contains("102 tokens: expected at most 100"));
    CHECK(batch.empty());
}

TEST_CASE("more texts of unequal lengths than slots: each gets the same answer as alone") {
    const std::vector<std::string> texts = prompts(11);
    for (const Device &device : test::devices_of_each_kind(runtime())) {
        Session session = letters(0.5F, device), alone = letters(0.5F, runtime().device("cpu"));
        for (const int64_t beams : {1, 2}) {
            INFO(device.id << ", beams " << beams);
            GenerateOptions options;
            options.batch = 4;
            options.beams = beams;
            options.stop = {"qq", "e"};
            const auto together = session.hypotheses(texts, options);
            std::set<size_t> lengths;
            for (size_t i = 0; i < texts.size(); ++i) {
                const auto expected = alone.hypotheses({texts[i]}, options).front();
                REQUIRE(together[i].size() == expected.size());
                for (size_t h = 0; h < expected.size(); ++h) check_same(together[i][h], expected[h]);
                lengths.insert(expected.front().tokens.size());
            }
            CHECK(lengths.size() > 2); // so texts joined others in the middle of their work
        }
    }
}

TEST_CASE("a sampled text is the same in any company") {
    const std::vector<std::string> texts = prompts(9);
    Session session = letters(0, runtime().device("cpu"));
    GenerateOptions options;
    options.temperature = 1;
    options.beams = 2;
    options.seed = 11;
    options.batch = 3;
    const auto together = session.hypotheses(texts, options);
    for (size_t i = 0; i < texts.size(); ++i) {
        options.first = i;
        check_same(together[i].front(), session.hypotheses({texts[i]}, options).front().front());
    }
}

TEST_CASE("a long prompt is read between the tokens of the texts that it joins") {
    for (const Device &device : test::devices_of_each_kind(runtime())) {
        INFO(device.id);
        Session session = letters(0, device), alone = letters(0, runtime().device("cpu"));
        Batch batch(session, {.slots = 2, .length = 900});
        std::string prompt;
        for (int i = 0; i < 700; ++i) prompt += static_cast<char>('a' + i * i % 26);
        GenerateOptions longer, options;
        longer.max_length = 800;
        options.max_length = 9;
        Texts found;
        const uint64_t first = batch.add("lamina", longer);
        step(batch, found);
        const uint64_t second = batch.add(prompt, options);
        size_t steps = 0;
        for (; found[second].pieces.empty() && steps < 1000; ++steps) {
            CHECK(found[first].pieces.size() == steps + 1);
            step(batch, found);
        }
        CHECK(steps >= 3); // a part has at most 256 tokens
        found = write(batch, std::move(found));
        check_same(found[first].finished.value(), alone.hypotheses({"lamina"}, longer).front().front());
        check_same(found[second].finished.value(), alone.hypotheses({prompt}, options).front().front());
    }
}

TEST_CASE("texts of a batch have their own options, come at any time and give the answers of generate()") {
    for (const Device &device : test::devices_of_each_kind(runtime())) {
        INFO(device.id);
        Session session = letters(0, device), alone = letters(0, runtime().device("cpu"));
        Batch batch(session, {.slots = 2, .length = 100});
        GenerateOptions sampled, stopped, longer;
        sampled.temperature = 1.3, sampled.seed = 4, sampled.top_k = 5;
        stopped.stop = {"zz", "q"};
        longer.max_length = 37;
        std::map<uint64_t, Hypothesis> expected;
        const auto add = [&](const std::string &text, const GenerateOptions &options) {
            expected[batch.add(text, options)] = alone.hypotheses({text}, options).front().front();
        };
        add("lamina", {});
        add("vulkan", longer);
        add("transformer", sampled);
        Texts found;
        for (int i = 0; i < 3; ++i) step(batch, found);
        CHECK(found[1].pieces.size() == 3);
        add("plugin", stopped);
        add("it", sampled);
        found = write(batch, std::move(found));
        CHECK(found.size() == expected.size());
        for (auto &[id, hypothesis] : expected) {
            INFO("text " << id);
            REQUIRE(found[id].finished);
            check_same(*found[id].finished, hypothesis);
            CHECK(found[id].pieces == hypothesis.text);
        }
    }
}

TEST_CASE("a text that is cancelled, or refused, leaves the others as they are") {
    Session session = letters(-1e4F, runtime().device("cpu"));
    Batch batch(session, {.slots = 2, .length = 30});
    const uint64_t first = batch.add("lamina"), second = batch.add("vulkan"), third = batch.add("hello");
    (void)batch.step();
    CHECK_THAT(message_of([&] { (void)batch.add("Upper"); }), contains("text 1"));
    CHECK_THAT(message_of([&] { (void)batch.add(std::string(30, 'a')); }), contains("expected at most 30"));
    const auto with = [&](const std::function<void(GenerateOptions &)> &change) {
        GenerateOptions options;
        change(options);
        return message_of([&] { (void)batch.add("a", options); });
    };
    CHECK_THAT(with([](auto &o) { o.temperature = -1; }), contains("temperature"));
    CHECK_THAT(with([](auto &o) { o.beams = 2; }), contains("beams: expected the default"));
    CHECK_THAT(with([](auto &o) { o.stream = [](size_t, std::string_view) {}; }), contains("stream"));
    std::string ways;
    for (int i = 0; i < 6000; ++i) ways += "a?";
    CHECK_THAT(with([&](auto &o) { o.grammar = Grammar::regex(ways); }), contains("ways at once"));
    CHECK(batch.cancel(second));
    CHECK_FALSE(batch.cancel(second));
    Texts found = write(batch);
    CHECK(found.size() == 2);
    check_same(*found[first].finished, session.hypotheses({"lamina"}).front().front());
    check_same(*found[third].finished, session.hypotheses({"hello"}).front().front());
    CHECK_FALSE(batch.cancel(first));
    CHECK_THAT(message_of([&] { Batch(session, {.slots = 0}); }), contains("at least one slot"));
}

TEST_CASE("a session that is used between the steps of a batch does not change its texts") {
    Session session = letters(-1e4F, runtime().device("cpu"));
    const auto expected = session.hypotheses({"lamina", "vulkan"});
    Batch batch(session, {.slots = 2});
    (void)batch.add("lamina");
    (void)batch.add("vulkan");
    for (int step = 0; step < 5; ++step) (void)batch.step();
    (void)session.generate({"something", "else"});
    Texts found = write(batch);
    check_same(*found[1].finished, expected[0].front());
    check_same(*found[2].finished, expected[1].front());
}

TEST_CASE("a text that begins like one that was there before is not computed again") {
    Session session = letters(-1e4F, runtime().device("cpu"));
    Batch batch(session, {.slots = 3});
    GenerateOptions reuse;
    reuse.reuse = true;
    const uint64_t a = batch.add("lamina", reuse), b = batch.add("vulkan", reuse);
    Texts turn = write(batch);
    const uint64_t other = batch.add("vulkan" + turn[b].finished->text + "so", reuse);
    const uint64_t again = batch.add("lamina" + turn[a].finished->text + "and", reuse);
    Texts next = write(batch);
    CHECK(next[again].finished->reused == 26); // with <s>, and without the last letter, which was never computed
    CHECK(next[other].finished->reused == 26);
    check_same(*next[again].finished, session.hypotheses({"lamina" + turn[a].finished->text + "and"}).front().front());
}

TEST_CASE("batch: translations that end at different times stay those of their sources") {
    Session session =
        runtime().session(runtime().load(std::string(LAMINA_SOURCE_DIR) + "/models/g2p"), runtime().device("cpu"));
    const std::vector<std::string> words{"a", "transformer", "vulkan", "extraordinarily", "it", "hello", "on", "phone"};
    const std::vector<std::string> expected = session.generate(words);
    Batch batch(session, {.slots = 8});
    std::vector<uint64_t> ids;
    for (const std::string &word : words) ids.push_back(batch.add(word));
    Texts found = write(batch);
    for (size_t i = 0; i < words.size(); ++i) CHECK(found[ids[i]].finished->text == expected[i]);
}
