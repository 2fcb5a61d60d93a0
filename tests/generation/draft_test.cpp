// Texts that a smaller model guesses are the same, in fewer steps.
#include "api/access.hpp"
#include "catch.hpp"

#include "counted.hpp"
#include "places.hpp"
#include "vulkan_devices.hpp"

#include <lamina/batch.hpp>

#include <algorithm>
#include <string>

using namespace lamina;
using matchers::contains;
using test::expect_same;
using test::of_length;
using test::runtime;
using test::some_letters;

namespace {

Session on(const Device &device, const ModelDescription &model) {
    return runtime().session(runtime().load(model), device);
}

// A model whose texts are "aaaaa", and as slow as it has layers.
ModelDescription monotonous(int64_t layers) {
    ModelDescription out = test::letters({.layers = layers});
    out.weights.at("generator.bias").f32()[2] = 1e3F;
    return out;
}

std::string refusal(Session session, const Session &draft) {
    try {
        session.use_draft(draft);
    } catch (const Error &why) {
        return why.what();
    }
    return "";
}

} // namespace

TEST_CASE("drafts: texts are the same with and without, whatever the draft guesses, on every device") {
    for (const Device &device : test::devices_of_each_kind(runtime())) {
        INFO(device.id);
        Session alone = on(device, test::letters({.ends = 1.5F}));
        GenerateOptions greedy = of_length(150), sampled = greedy, stopped = greedy, scored = greedy,
                        unrepeated = greedy, spelled = greedy, two = greedy;
        sampled.temperature = 0.4, sampled.seed = 3, sampled.top_k = 3;
        stopped.stop = {"zz", "q"};
        scored.likeliest = 2;
        unrepeated.repetition_penalty = 1.3;
        spelled.grammar = Grammar::regex("(abc|abd|xyz)*");
        two.guess_ahead = 2;
        for (const ModelDescription &draft :
             {test::letters({.ends = 1.5F}), test::letters({.layers = 1}), monotonous(1)}) {
            Session session = on(device, test::letters({.ends = 1.5F}));
            session.use_draft(on(runtime().device("cpu"), draft));
            for (const GenerateOptions &options : {greedy, sampled, stopped, scored, unrepeated, spelled, two}) {
                const std::string prompt = some_letters(20, 3);
                const Hypothesis expected = alone.hypotheses({prompt}, options).front().front();
                const Hypothesis found = session.hypotheses({prompt}, options).front().front();
                expect_same(found, expected);
                CHECK(found.scores.size() == expected.scores.size());
                CHECK(found.accepted <= found.guessed);
            }
        }
    }
}

TEST_CASE("drafts: what they guess right takes no step of its own") {
    const Device cpu = runtime().device("cpu");
    Session session = on(cpu, monotonous(64)); // whose steps take longer than what else the machine may do meanwhile
    const auto guessed = [&] { return session.hypotheses({"lamina"}, of_length(300)).front().front(); };
    CHECK(guessed().guessed == 0);
    session.use_draft(on(cpu, monotonous(1)));
    const Hypothesis found = guessed();
    CHECK(found.text == std::string(300, 'a'));
    CHECK(found.accepted > 150);                 // where the machine does nothing else, 280
    CHECK(found.accepted + 15 >= found.guessed); // some are beyond the end
}

TEST_CASE("drafts: a batch uses one for a text that is alone, and others may join it at any time") {
    const Device cpu = runtime().device("cpu");
    Session session = on(cpu, test::letters()), alone = on(cpu, test::letters());
    session.use_draft(on(cpu, test::letters({.layers = 1})));
    Batch batch(session, {.slots = 4, .length = 500});
    std::map<uint64_t, std::string> expected, found;
    const auto step = [&] {
        for (Batch::Progress &text : batch.step())
            if (text.finished) found[text.id] = text.finished->text;
    };
    for (size_t i = 0; i < 6; ++i) {
        const std::string text = some_letters(30, 3) + some_letters(i + 1, i);
        expected[batch.add(text, of_length(100))] = alone.generate({text}, of_length(100)).front();
        for (size_t k = 0; k < i * 11 % 50; ++k) step();
    }
    while (!batch.empty()) step();
    CHECK(found == expected);
}

TEST_CASE("drafts: end where they have no positions, and the text goes on") {
    const Device cpu = runtime().device("cpu");
    Session session = on(cpu, monotonous(12));
    session.use_draft(on(cpu, [] {
        ModelDescription out = test::letters({.layers = 1, .positions = 60});
        out.weights.at("generator.bias").f32()[2] = 1e3F;
        return out;
    }()));
    CHECK(session.generate({"lamina"}, of_length(200)).front() == std::string(200, 'a'));
}

TEST_CASE("drafts: the program may stop a call while they guess") {
    RuntimeOptions how;
    how.plugin_folders = {LAMINA_PLUGIN_DIR};
    size_t steps = 0;
    how.working = [&] {
        if (++steps == 3) throw Error(ErrorCode::usage, "it is late");
    };
    const Runtime other(how);
    const Device cpu = runtime().device("cpu");
    Session session = on(cpu, monotonous(12));
    session.use_draft(other.session(other.load(monotonous(1)), cpu));
    const auto write = [&] { return session.generate({"lamina"}, of_length(200)).front(); };
    CHECK_THAT(message_of(write), contains("it is late"));
    CHECK(write() == std::string(200, 'a'));
    CHECK(steps > 3); // it guesses again
}

TEST_CASE("drafts: that cannot be are refused") {
    const Device cpu = runtime().device("cpu");
    const Session session = on(cpu, test::letters());
    CHECK_THAT(refusal(session, session), contains("expected another session, of a smaller model"));
    Session drafted = on(cpu, test::letters()), draft = on(cpu, test::letters());
    drafted.use_draft(draft);
    drafted.use_draft(draft);
    CHECK_THAT(refusal(session, drafted), contains("that never had a draft"));
    CHECK_THAT(refusal(draft, session), contains("must never have been a draft"));
    CHECK(refusal(session, draft).empty()); // which may guess for several
    const Model g2p = runtime().load(std::string(LAMINA_SOURCE_DIR) + "/models/g2p");
    CHECK_THAT(refusal(session, runtime().session(g2p, cpu)), contains("expected a model without an encoder"));
    ModelDescription other = test::letters();
    for (auto &[name, text] : other.vocabularies)
        if (const size_t at = text.find("\nq\n"); at != std::string::npos) text.replace(at, 3, "\nQ\n");
    CHECK_THAT(refusal(session, on(cpu, other)), contains("expected the same vocabulary; token 18 is 'q' and 'Q'"));
}

TEST_CASE("drafts: their memory is counted before it is said how many texts there is room for") {
    const auto deep = [](int64_t layers) { return test::letters({.layers = layers, .positions = 1'000'000}); };
    const Device cpu = runtime().device("cpu");
    Session session = on(cpu, deep(1));
    const Session draft = on(cpu, deep(64)); // 8 GB of caches
    detail::SessionState &state = detail::Access::state(session);
    state.connect();
    const auto free = static_cast<double>(state.backend().need(plan::GraphPlan()).front().free.value());
    const double left = 3e9; // of what may be used; the texts need a fraction of it
    const auto promised = static_cast<uint64_t>(std::max(0.0, 0.9 * free - left));
    const auto room = [&] { return room_for(session, {.slots = 1, .length = 900'000}, promised); };
    CHECK(room().whole);
    session.use_draft(draft);
    CHECK_FALSE(room().whole);
}
