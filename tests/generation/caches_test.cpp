// Keys and values of earlier tokens in fewer bits.
#include "catch.hpp"

#include "letters.hpp"
#include "plugin_runtime.hpp"
#include "vulkan_devices.hpp"

#include <lamina/batch.hpp>

#include <cmath>
#include <string>
#include <vector>

using namespace lamina;
using matchers::contains;
using test::runtime;

namespace {

// Two heads of 32 channels, as q8_0 takes them.
ModelDescription letters_of_two_heads() {
    const test::Letters small;
    std::vector<std::string> tokens{"<s>", "</s>"};
    for (char c = 'a'; c <= 'z'; ++c) tokens.emplace_back(1, c);
    const DecoderOnly model{.embedding = {.d_model = 64, .vocabulary = small.vocabulary, .max_len = 1000},
                            .decoder = {.layer = {.d_model = 64, .heads = 2, .ffn = 64}, .layers = 2},
                            .generator = {.d_model = 64, .vocabulary = small.vocabulary}};
    const TextVocabularies text{.target = tokens, .target_characters = true, .max_length = 20};
    ModelDescription built = build(model, {.name = "letters", .seed = 5, .text = text});
    built.weights.at("generator.bias").f32()[1] = small.ends;
    return built;
}

Session session_with(const Model &model, const Device &device, DType cache) {
    SessionOptions options;
    options.cache = cache;
    return runtime().session(model, device, options);
}

} // namespace

TEST_CASE("caches: keys and values in fewer bits change scores by as much as they are rounded, on every device") {
    const Model model = runtime().load(letters_of_two_heads());
    // A prompt in blocks, then single steps; a row of a batch that begins later than others.
    const std::vector<std::string> texts{std::string(300, 'a') + "lamina", "b", "transformer"};
    for (const Device &device : test::devices_of_each_kind(runtime())) {
        INFO(device.id);
        const auto scores_with = [&](DType cache) {
            std::vector<double> out;
            for (const auto &hypotheses : session_with(model, device, cache).hypotheses(texts))
                out.push_back(hypotheses.front().log_probability);
            return out;
        };
        const std::vector<double> exact = scores_with(DType::f32), half = scores_with(DType::f16),
                                  bytes = scores_with(DType::q8_0);
        double of_halves = 0, of_bytes = 0;
        for (size_t i = 0; i < exact.size(); ++i) {
            of_halves = std::max(of_halves, std::fabs(half[i] - exact[i]));
            of_bytes = std::max(of_bytes, std::fabs(bytes[i] - exact[i]));
        }
        CHECK(of_halves > 1e-6);
        CHECK(of_halves < 2e-3);
        CHECK(of_bytes > 1e-5);
        CHECK(of_bytes < 0.1);
    }
}

TEST_CASE("caches: q8_0 takes 34 bytes for 32 values") {
    const Model model = runtime().load(letters_of_two_heads());
    const auto bytes = [&](DType cache) {
        Session session = session_with(model, runtime().device("cpu"), cache);
        return room_for(session, {.slots = 4, .length = 500}).caches;
    };
    CHECK(bytes(DType::f16) * 2 == bytes(DType::f32));
    CHECK(bytes(DType::q8_0) * 128 == bytes(DType::f32) * 34);
}

TEST_CASE("caches: what cannot be a cache is refused") {
    const Model model = runtime().load(test::letters());
    CHECK_THAT(message_of([&] { (void)session_with(model, runtime().device("cpu"), DType::q4_0); }),
               contains("cache: expected 'f32', 'f16' or 'q8_0', found 'q4_0'"));
    CHECK_THAT(message_of([&] { (void)session_with(model, runtime().device("cpu"), DType::q8_0).generate({"abc"}); }),
               contains("key_cache is q8_0 and has 2 heads of 8 values"));
}
