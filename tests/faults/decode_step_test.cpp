// What a decode step asks of the driver.
#include "catch.hpp"
#include "faulty_driver.hpp"
#include "places.hpp"

#include <lamina/lamina.hpp>
#include <lamina/transformer.hpp>

using namespace lamina;

namespace {

using Calls = std::map<std::string, uint64_t>;

// An untrained language model over letters, whose texts never end by themselves.
ModelDescription letters() {
    std::vector<std::string> tokens{"<s>", "</s>"};
    for (char c = 'a'; c <= 'z'; ++c) tokens.emplace_back(1, c);
    const DecoderOnly model{.embedding = {.d_model = 16, .vocabulary = 28},
                            .decoder = {.layer = {.d_model = 16, .heads = 2, .ffn = 32}, .layers = 2},
                            .generator = {.d_model = 16, .vocabulary = 28}};
    const TextVocabularies text{.target = tokens, .target_characters = true, .max_length = 20};
    ModelDescription built = build(model, {.name = "letters", .seed = 5, .text = text});
    built.weights.at("generator.bias").f32()[1] = -1e4F; // "</s>"
    return built;
}

Calls calls_of_text(test::Faults &faults, Session &session, int64_t length, const GenerateOptions &how) {
    GenerateOptions options = how;
    options.max_length = length;
    faults.called.clear();
    CHECK(session.hypotheses({"lamina"}, options).front().front().tokens.size() == static_cast<size_t>(length));
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
    Session session = runtime.session(runtime.load(letters()), runtime.device("vulkan:0"));
    GenerateOptions sampled;
    sampled.temperature = 1;
    for (const GenerateOptions &how : {GenerateOptions{}, sampled}) {
        (void)calls_of_text(*faults, session, 20, how); // proves and builds what texts need
        const Calls fewer = calls_of_text(*faults, session, 10, how);
        Calls steps = calls_of_text(*faults, session, 20, how);
        for (const auto &[function, count] : fewer) steps[function] -= count;
        std::erase_if(steps, [](const auto &call) { return call.second == 0; });
        CHECK(steps == Calls{{"vkQueueSubmit", 10}, {"vkResetFences", 10}, {"vkWaitForFences", 10}});
    }
}
