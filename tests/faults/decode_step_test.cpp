// What a decode step asks of the driver.
#include "catch.hpp"
#include "faulty_driver.hpp"
#include "places.hpp"

#include <lamina/batch.hpp>
#include <lamina/lamina.hpp>
#include <lamina/transformer.hpp>

using namespace lamina;

namespace {

using Calls = std::map<std::string, uint64_t>;

// An untrained language model over so many tokens, whose texts never end by themselves.
ModelDescription language_model(int64_t vocabulary) {
    std::vector<std::string> tokens{"<s>", "</s>"};
    while (tokens.size() < static_cast<size_t>(vocabulary)) tokens.push_back("t" + std::to_string(tokens.size()));
    const DecoderOnly model{
        .embedding = {.d_model = 16, .vocabulary = vocabulary},
        .decoder = {.layer = {.d_model = 16, .heads = 2, .ffn = 32}, .layers = 2},
        .generator = {.d_model = 16, .vocabulary = vocabulary, .output = Generator::Output::logits}};
    const TextVocabularies text{.target = tokens, .max_length = 20};
    ModelDescription built = build(model, {.name = "letters", .seed = 5, .text = text});
    built.weights.at("generator.bias").f32()[1] = -1e4F; // "</s>"
    return built;
}

Calls calls_of_text(test::Faults &faults, Session &session, int64_t length, const GenerateOptions &how) {
    GenerateOptions options = how;
    options.max_length = length;
    faults.called.clear();
    CHECK(session.hypotheses({"t7 t3"}, options).front().front().tokens.size() == static_cast<size_t>(length));
    return faults.called;
}

// Of texts side by side, each with options of its own.
Calls calls_of_batch(test::Faults &faults, const Session &session, int64_t length,
                     const std::vector<GenerateOptions> &ways) {
    Batch batch(session);
    faults.called.clear();
    for (GenerateOptions options : ways) {
        options.max_length = length;
        (void)batch.add("t7 t3", options);
    }
    while (!batch.empty()) (void)batch.step();
    return faults.called;
}

} // namespace

TEST_CASE("a decode step is one submission: it allocates nothing on the device, builds nothing and records nothing") {
    test::Faults *const faults = test::faulty_driver();
    if (faults == nullptr) return;
    RuntimeOptions options;
    options.plugin_folders = {LAMINA_PLUGIN_DIR};
    options.cache = false;
    const Runtime runtime(options);
    const int64_t vocabulary = GENERATE(28, 3000); // all scores of a step are read, or only the candidates
    Session session = runtime.session(runtime.load(language_model(vocabulary)), runtime.device("vulkan:0"));
    GenerateOptions sampled, among_more, penalized, beams;
    sampled.temperature = among_more.temperature = 1;
    sampled.top_k = 20;
    among_more.top_k = GENERATE(size_t{100}, size_t{200}); // 128 candidates, or all scores
    penalized.repetition_penalty = 1.2;
    beams.beams = 4;
    const auto check_steps = [&](const auto &calls_of) {
        (void)calls_of(20); // proves and builds what texts need
        const Calls fewer = calls_of(10);
        Calls steps = calls_of(20);
        for (const auto &[function, count] : fewer) steps[function] -= count;
        std::erase_if(steps, [](const auto &call) { return call.second == 0; });
        CHECK(steps == Calls{{"vkQueueSubmit", 10}, {"vkResetFences", 10}, {"vkWaitForFences", 10}});
    };
    const std::vector<GenerateOptions> ways{{}, sampled, among_more, penalized};
    for (const GenerateOptions &how : {GenerateOptions(), sampled, among_more, penalized, beams})
        check_steps([&](int64_t length) { return calls_of_text(*faults, session, length, how); });
    check_steps([&](int64_t length) { return calls_of_batch(*faults, session, length, ways); });
    check_steps([&](int64_t length) { return calls_of_batch(*faults, session, length, {{}}); }); // of 8 slots
}

TEST_CASE("a text that ends in a step in which the device is lost later has its answer") {
    test::Faults *const faults = test::faulty_driver();
    if (faults == nullptr) return;
    test::give_own_memory(*faults);
    RuntimeOptions how;
    how.plugin_folders = {LAMINA_PLUGIN_DIR};
    how.cache = false;
    const Runtime runtime(how);
    Session session = runtime.session(runtime.load(language_model(3000)), runtime.device("vulkan:0"));
    GenerateOptions brief, sampled; // all scores of a sampled text are read when those before it have their tokens
    brief.max_length = 2;
    sampled.max_length = 3;
    sampled.temperature = 1;
    const auto write = [&] {
        Batch batch(session, {.slots = 2, .length = 20});
        for (const GenerateOptions &options : {brief, sampled}) (void)batch.add("t7 t3", options);
        std::map<uint64_t, std::string> out;
        for (int steps = 0; steps < 9 && !batch.empty(); ++steps) {
            try {
                for (const Batch::Progress &each : batch.step())
                    if (each.finished) out[each.id] += each.finished->text;
            } catch (const Error &e) { // the second loss
                CHECK(e.code() == ErrorCode::device_lost);
                test::heal(*faults);
            }
        }
        return out;
    };
    const auto expected = write();
    REQUIRE(expected.size() == 2);
    const char *const function = "vkWaitForFences";
    const uint64_t all = test::calls_of(*faults, function, [&] { CHECK(write() == expected); });
    CHECK(all > 3); // reading scores is more than the steps
    for (uint64_t n = 1; n <= all; ++n) {
        INFO(n << " of " << all);
        test::fail(*faults, function, n, VK_ERROR_DEVICE_LOST);
        CHECK(write() == expected);
        test::heal(*faults);
        (void)write(); // sets everything up again
    }
}
