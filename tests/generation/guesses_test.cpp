// Texts that are guessed ahead are the same, in fewer steps.
#include "catch.hpp"

#include "counted.hpp"
#include "places.hpp"
#include "vulkan_devices.hpp"

#include <lamina/batch.hpp>

#include <string>

using namespace lamina;
using test::Counted;
using test::expect_same;
using test::runtime;
using test::some_letters;

namespace {

GenerateOptions guessing(GenerateOptions options, size_t ahead) {
    options.guess_ahead = ahead;
    return options;
}

} // namespace

TEST_CASE("guesses: texts are the same with and without, however they are chosen, on every device") {
    for (const Device &device : test::devices_of_each_kind(runtime())) {
        INFO(device.id);
        Session session = runtime().session(runtime().load(test::letters({.ends = 1.5F})), device);
        GenerateOptions greedy = test::of_length(200), sampled = greedy, stopped = greedy, scored = greedy,
                        unrepeated = greedy, spelled = greedy, repeated = greedy;
        repeated.biases[2] = 1;
        sampled.temperature = 0.4, sampled.seed = 3, sampled.top_k = 3;
        stopped.stop = {"zz", "q"};
        scored.likeliest = 2;
        unrepeated.repetition_penalty = 1.3;
        spelled.grammar = Grammar::regex("(abc|abd|xyz)*");
        for (const GenerateOptions &options : {greedy, sampled, stopped, scored, unrepeated, spelled, repeated})
            for (const size_t ahead : {1, 4, 7}) {
                const std::string prompt = some_letters(20, ahead) + some_letters(20, ahead);
                const Hypothesis expected = session.hypotheses({prompt}, options).front().front();
                const Hypothesis found = session.hypotheses({prompt}, guessing(options, ahead)).front().front();
                expect_same(found, expected);
                CHECK(found.scores.size() == expected.scores.size());
            }
    }
}

TEST_CASE("guesses: a text that repeats itself takes fewer steps") {
    Counted model({.layers = 64}); // whose steps take longer than what else the machine may do meanwhile
    GenerateOptions options = test::of_length(400);
    options.biases[2] = 1e3; // "aaaaa"
    const auto steps = [&](size_t ahead) {
        return model.runs([&] { (void)model.session().generate({"lamina"}, guessing(options, ahead)); });
    };
    CHECK(steps(0) >= 400);
    CHECK(steps(7) < 200); // 50 and a few, where the machine does nothing else: guesses are made as long as they pay
}

TEST_CASE("guesses: a batch guesses for a text that is alone, and others may join it at any time") {
    Counted model;
    Batch batch(model.session(), {.slots = 4, .length = 500});
    GenerateOptions options = guessing(test::of_length(150), 6);
    options.reuse = true;
    std::map<uint64_t, std::string> expected, found;
    const auto step = [&] {
        for (Batch::Progress &text : batch.step())
            if (text.finished) found[text.id] = text.finished->text;
    };
    for (size_t i = 0; i < 6; ++i) {
        const std::string text = some_letters(30, 3) + some_letters(i + 1, i);
        expected[batch.add(text, options)] = model.alone(text, test::of_length(150));
        for (size_t k = 0; k < i * 11 % 50; ++k) step();
    }
    while (!batch.empty()) step();
    CHECK(found == expected);
}

TEST_CASE("guesses: the last positions of a model are used as without") {
    const Model model = runtime().load(test::letters({.positions = 90}));
    Session session = runtime().session(model, runtime().device("cpu"));
    const std::string prompt = some_letters(20, 2) + some_letters(20, 2);
    const Hypothesis expected = session.hypotheses({prompt}, test::of_length(500)).front().front();
    CHECK(expected.tokens.size() == 50); // 40 letters and <s> before them; the last token needs no position
    expect_same(session.hypotheses({prompt}, guessing(test::of_length(500), 7)).front().front(), expected);
    CHECK_THROWS_WITH(session.generate({prompt}, guessing({}, 65)), matchers::contains("guess_ahead"));
}
