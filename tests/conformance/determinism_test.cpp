// The same build, device and shapes give the same bits: from session to session, and from run to run.
#include "all_scores.hpp"
#include "api/access.hpp"
#include "catch.hpp"
#include "drivers.hpp"
#include "generation/decoder.hpp"
#include "places.hpp"

#include <lamina/lamina.hpp>

#include <algorithm>
#include <cstring>

using namespace lamina;

namespace {

// Words of different lengths, as ids of letters.
const std::vector<generation::Ids> sources{{5, 9, 3}, {21, 4, 4, 17, 8, 11, 2}, {12}};

bool same_bits(std::span<const float> a, std::span<const float> b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

constexpr size_t steps = 4;

// The encoder's memory, then the decoder's scores of all steps, which fill the cache.
std::vector<std::vector<float>> values_of(Session &session) {
    std::vector<std::vector<float>> out;
    const TensorMap encoded = session.run("encode", {{"letters", Tensor::of({1, 3}, std::array<int32_t, 3>{5, 9, 3})},
                                                     {"lengths", Tensor::of({1}, std::array<int32_t, 1>{3})}});
    const std::span<const float> memory = encoded.at("memory").f32();
    out.emplace_back(memory.begin(), memory.end());
    generation::Decoder decoder(detail::Access::state(session), {sources.begin(), sources.end()},
                                {sources.size(), steps, true});
    for (size_t position = 0; position < steps; ++position) {
        const generation::Ids token{static_cast<int32_t>(3 + 2 * position)};
        out.push_back(test::all_scores(test::step(decoder, std::vector(sources.size(), token))));
    }
    return out;
}

void check_same(const std::vector<std::vector<float>> &found, const std::vector<std::vector<float>> &expected) {
    REQUIRE(found.size() == expected.size());
    for (size_t i = 0; i < found.size(); ++i) {
        INFO((i == 0 ? std::string("the encoder") : "step " + std::to_string(i - 1)));
        CHECK(same_bits(found[i], expected[i]));
    }
}

} // namespace

TEST_CASE("g2p encodes and decodes to the same bits in every session and every run", "[driver]") {
    const auto driver = test::driver();
    if (!driver) return;
    RuntimeOptions options;
    options.plugin_folders = {LAMINA_PLUGIN_DIR};
    options.cache = false;
    options.validation = driver->device != nullptr;
    const Runtime runtime(options); // the loader has only one driver
    const Model g2p = runtime.load(LAMINA_SOURCE_DIR "/models/g2p");
    const std::string device =
        driver->device == nullptr ? "cpu" : "vulkan:" + std::to_string(driver->device->info().index);
    // The fastest variant is measured and may differ from run to run, so it is named; else baselines run, because
    // nothing is remembered. A variant that is named has to pass all cases first, for which software drivers take
    // minutes.
    std::vector<SessionOptions> ways(1);
    if (device != "cpu" && test::most_words() == 0) {
        ways.resize(3);
        for (const char *id : {"linear", "feed_forward", "attention"}) ways[1].variants[id] = "tiled";
        ways[2].variants["attention"] = "wide";
    }
    for (const SessionOptions &way : ways) {
        Session first = runtime.session(g2p, runtime.device(device), way);
        const auto expected = values_of(first);
        const auto moved = [&](float v) { return v != expected[0][0]; };
        CHECK(std::any_of(expected[0].begin(), expected[0].end(), moved)); // something was computed
        check_same(values_of(first), expected);                            // replayed
        Session second = runtime.session(g2p, runtime.device(device), way);
        check_same(values_of(second), expected);
    }
    if (options.validation)
        for (const std::string &message : detail::Access::state(runtime)->vulkan()->validation_messages())
            FAIL_CHECK(message);
}
