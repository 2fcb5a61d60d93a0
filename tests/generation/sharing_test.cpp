// Texts that begin like others do not compute again what they have in common with them.
#include "catch.hpp"

#include "counted.hpp"
#include "places.hpp"
#include "vulkan_devices.hpp"

#include <lamina/batch.hpp>

#include <map>
#include <string>
#include <vector>

using namespace lamina;
using test::Counted;
using test::expect_same;
using test::runtime;
using test::some_letters;

namespace {

GenerateOptions reusing(int64_t tokens) {
    GenerateOptions out = test::of_length(tokens);
    out.reuse = true;
    return out;
}

std::map<uint64_t, Hypothesis> finish(Batch &batch) {
    std::map<uint64_t, Hypothesis> out;
    while (!batch.empty())
        for (Batch::Progress &text : batch.step())
            if (text.finished) out[text.id] = *text.finished;
    return out;
}

Hypothesis answer_of(Batch &batch, const std::string &text, int64_t tokens = 5) {
    const uint64_t id = batch.add(text, reusing(tokens));
    return finish(batch).at(id);
}

} // namespace

TEST_CASE("sharing: what texts have in common is computed once, though they come together") {
    Counted model;
    Batch batch(model.session(), {.slots = 4, .length = 1000});
    const std::string common = some_letters(700, 3);
    std::map<uint64_t, std::string> expected, found;
    for (size_t i = 0; i < 4; ++i) {
        const std::string text = common + some_letters(10, 5 + i);
        expected[batch.add(text, reusing(6), {.client = i})] = model.alone(text, test::of_length(6));
    }
    const double computed = model.tokens([&] {
        for (const auto &[id, answer] : finish(batch)) found[id] = answer.text;
    });
    CHECK(found == expected);
    CHECK(computed < 1200); // 700 once, and little else: blocks are filled up, and each text ends alone
}

TEST_CASE("sharing: texts are the same as alone, wherever their beginnings come from, on every device") {
    for (const Device &device : test::devices_of_each_kind(runtime())) {
        INFO(device.id);
        Session session = runtime().session(runtime().load(test::letters()), device);
        Session alone = runtime().session(runtime().load(test::letters()), runtime().device("cpu"));
        Batch batch(session, {.slots = 4, .length = 700});
        std::map<uint64_t, Hypothesis> expected, found;
        size_t reused = 0;
        const auto step = [&] {
            for (Batch::Progress &text : batch.step()) {
                if (!text.finished) continue;
                found[text.id] = *text.finished;
                reused += text.finished->reused;
            }
        };
        // Three beginnings, of which the longest is longer than a part; the slots are filled and left at odd times.
        // Some texts do not reuse any, but others reuse theirs.
        for (size_t i = 0; i < 40; ++i) {
            const size_t begins = i * 7 % 3;
            const std::string text = some_letters(40 + 150 * begins, begins) + some_letters(3 + i, 9 + i);
            const auto tokens = static_cast<int64_t>(1 + i * 37 % 23);
            const GenerateOptions options = i % 5 < 2 ? test::of_length(tokens) : reusing(tokens);
            expected[batch.add(text, options, {.client = i % 3})] =
                alone.hypotheses({text}, test::of_length(tokens)).front().front();
            for (size_t k = 0; k < i * 5 % 9; ++k) step();
        }
        while (!batch.empty()) step();
        CHECK(found.size() == expected.size());
        for (const auto &[id, text] : found) expect_same(text, expected.at(id));
        CHECK(reused > 1500); // of 24 texts with 190 tokens in common, on average
    }
}

TEST_CASE("sharing: as many conversations stay as there are slots, though one text is written at a time") {
    Counted model;
    Batch batch(model.session(), {.slots = 4, .length = 600});
    std::vector<std::string> said;
    for (size_t i = 0; i < 4; ++i) said.push_back(some_letters(50 + i, i));
    for (int turn = 0; turn < 3; ++turn)
        for (std::string &text : said) {
            const Hypothesis answer = answer_of(batch, text);
            CHECK(answer.text == model.alone(text, test::of_length(5)));
            CHECK(answer.reused >= (turn == 0 ? 0 : text.size() - 9)); // all but what was added, and the last token
            text += answer.text + "more";
        }
    // A fifth one takes the place of the one that was used longest ago, and of no other.
    (void)answer_of(batch, some_letters(60, 21));
    CHECK(answer_of(batch, said[1]).reused >= said[1].size() - 9);
    CHECK(answer_of(batch, said[3]).reused >= said[3].size() - 9);
    CHECK(answer_of(batch, said[0]).reused < 9);
}

TEST_CASE("sharing: a text that begins like a conversation does not take its place") {
    Counted model;
    Batch batch(model.session(), {.slots = 2, .length = 600});
    const std::string system = some_letters(100, 4), first = system + some_letters(300, 1);
    (void)answer_of(batch, first);
    CHECK(answer_of(batch, system + "another").reused == 101); // with <s>
    CHECK(answer_of(batch, first + "goeson").reused >= first.size());
}

TEST_CASE("sharing: a text gets what another has that moves to another slot in the same step, on every device") {
    for (const Device &device : test::devices_of_each_kind(runtime())) {
        INFO(device.id);
        Session session = runtime().session(runtime().load(test::letters()), device);
        const std::string common = some_letters(100, 4);
        Batch batch(session, {.slots = 4, .length = 300});
        for (size_t i = 0; i < 3; ++i) (void)batch.add(some_letters(60, i), test::of_length(2));
        (void)batch.add(common + "first", test::of_length(20));
        for (size_t ended = 0; ended < 3;) // the others leave the first slots
            for (const Batch::Progress &text : batch.step()) ended += text.finished ? 1 : 0;
        const uint64_t second = batch.add(common + "second", reusing(5));
        const Hypothesis found = finish(batch).at(second);
        CHECK(found.reused == 101);
        expect_same(found, session.hypotheses({common + "second"}, test::of_length(5)).front().front());
    }
}

// Caches of one row, of a prompt that joined others, are the last that were requested.
TEST_CASE("sharing: a session keeps the caches of a batch that has ended, whatever it runs before the next one") {
    Counted model;
    const std::string text = some_letters(300, 3);
    const auto run_many = [&] { // more programs than a session keeps
        for (int32_t length = 1; length <= 80; ++length)
            (void)model.session().run(
                "decode", {{"target", Tensor({DType::i32, {1, length}})}, {"position", Tensor({DType::i32, {1}})}});
    };
    {
        Batch batch(model.session(), {.slots = 8, .length = 1000});
        for (size_t i = 0; i < 3; ++i) batch.add(some_letters(20, 4 + i), reusing(100));
        (void)batch.step();
        batch.add(text, reusing(6));
        for (size_t i = 0; i < 10; ++i) (void)batch.step();
        batch.add(some_letters(129, 9), reusing(6));
        (void)finish(batch);
    }
    run_many();
    Batch batch(model.session(), {.slots = 8, .length = 1000});
    const uint64_t id = batch.add(text, reusing(6));
    const Hypothesis again = finish(batch).at(id);
    CHECK(again.reused == text.size());
    CHECK(again.text == model.alone(text, test::of_length(6)));
}
