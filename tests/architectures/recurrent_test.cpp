// Texts of models whose layers have memories: these take in every token once, in order, and cannot forget one. And of
// some whose caches are not those of usual heads.
#include "all_scores.hpp"
#include "catch.hpp"
#include "vulkan_devices.hpp"
#include "with_tokenizer.hpp"

#include "api/access.hpp"
#include "generation/decoder.hpp"

#include <algorithm>

using namespace lamina;
using test::runtime;

namespace {

// A model for longer texts than tests of architectures need.
class Recurrent {
  public:
    explicit Recurrent(const std::string &name = "qwen3_5") : folder_(name, {{"max_position_embeddings", 2048}}) {}
    [[nodiscard]] Session on(const Device &device) const {
        return runtime().session(runtime().load(folder_.path()), device);
    }
    [[nodiscard]] const WithTokenizer &folder() const { return folder_; }

  private:
    WithTokenizer folder_;
};

generation::Ids ids_of(size_t count, size_t step) {
    generation::Ids out(count);
    for (size_t i = 0; i < count; ++i) out[i] = static_cast<int32_t>(3 + i * step % 50);
    return out;
}

std::string text_of(const generation::Ids &ids) {
    std::string out;
    for (const int32_t id : ids) out += (out.empty() ? "w" : " w") + std::to_string(id);
    return out;
}

// Texts of 1 to 60 words in no order.
std::vector<std::string> texts_of(size_t count) {
    std::vector<std::string> out;
    for (size_t i = 0; i < count; ++i) out.push_back(text_of(ids_of(1 + i * 23 % 60, i + 3)));
    return out;
}

} // namespace

TEST_CASE("memories: a prompt in blocks gives the same scores as token by token, whatever is beside it") {
    const std::string name = GENERATE("qwen3_5", "mamba2", "nemotron_h_moe", "deepseek_v3", "gemma4", "rwkv7");
    CAPTURE(name);
    const Recurrent model(name);
    for (const Device &device : test::devices_of_each_kind(runtime())) {
        Session session = model.on(device);
        detail::SessionState &state = detail::Access::state(session);
        for (const size_t length : {1, 2, 7, 8, 255, 300}) {
            INFO(device.id << ", " << length << " tokens");
            const generation::Ids prompt = ids_of(length, 7), shorter = ids_of((length + 1) / 2, 11);
            const auto found = [&] {
                generation::Decoder blocks(state, {}, {2, length + 1});
                return test::all_scores(test::step(blocks, {prompt, shorter}));
            }();
            generation::Decoder tokens(state, {}, {2, length + 1});
            std::vector<float> expected(found.size());
            const auto half = static_cast<std::ptrdiff_t>(found.size() / 2);
            for (size_t i = 0; i < length; ++i) {
                const auto next = test::all_scores(test::step(
                    tokens, {{prompt[i]}, i < shorter.size() ? generation::Ids{shorter[i]} : generation::Ids{}}));
                if (i + 1 == length) std::copy_n(next.begin(), half, expected.begin());
                if (i + 1 == shorter.size()) std::copy(next.begin() + half, next.end(), expected.begin() + half);
            }
            double worst = 0, largest = 0;
            for (size_t i = 0; i < found.size(); ++i) {
                worst = std::max(worst, std::abs(double{found[i]} - expected[i]));
                largest = std::max(largest, std::abs(double{expected[i]}));
            }
            CHECK(worst < 1e-4 * largest);
        }
    }
}

TEST_CASE("memories: texts are the same with caches, which grow, and without") {
    const Recurrent model;
    Session session = model.on(runtime().device("cpu"));
    const std::vector<std::string> texts{"w5 w6 w7", "w9"};
    for (const int64_t beams : {1, 2}) {
        GenerateOptions options;
        options.beams = beams;
        options.max_length = beams == 1 ? 400 : 40;
        const auto cached = session.hypotheses(texts, options);
        options.cached = false;
        const auto whole = session.hypotheses(texts, options);
        for (size_t i = 0; i < texts.size(); ++i) CHECK(cached[i].front().tokens == whole[i].front().tokens);
    }
}

TEST_CASE("memories: texts that join others and leave them are what they are alone") {
    const std::string name = GENERATE("qwen3_5_moe", "granite_hybrid", "falcon_h1", "falcon_mamba", "rwkv7");
    CAPTURE(name);
    const Recurrent model(name);
    const std::vector<std::string> texts = texts_of(11);
    Session alone = model.on(runtime().device("cpu"));
    for (const Device &device : test::devices_of_each_kind(runtime())) {
        Session session = model.on(device);
        for (const int64_t beams : {1, 2}) {
            INFO(device.id << ", beams " << beams);
            GenerateOptions options;
            options.batch = 4;
            options.beams = beams;
            options.max_length = 12;
            const auto together = session.hypotheses(texts, options);
            for (size_t i = 0; i < texts.size(); ++i)
                CHECK(together[i].front().tokens == alone.hypotheses({texts[i]}, options).front().front().tokens);
        }
    }
}

TEST_CASE("memories: a text that goes on is not computed again, one that changes is computed from its beginning") {
    const Recurrent model;
    Session session = model.on(runtime().device("cpu")), fresh = model.on(runtime().device("cpu"));
    GenerateOptions again, plain;
    again.reuse = true;
    again.max_length = plain.max_length = 5;
    const auto reused = [&](const std::string &text, int64_t beams = 1) {
        again.beams = plain.beams = beams;
        const Hypothesis found = session.hypotheses({text}, again).front().front();
        CHECK(found.tokens == fresh.hypotheses({text}, plain).front().front().tokens);
        return found.reused;
    };
    const std::string begun = "w7 w8 w9";
    CHECK(reused(begun) == 0);
    const std::string answer = fresh.generate({begun}, plain).front();
    CHECK(reused(begun + " " + answer + " w3 w4") == 3 + 4); // the last word of an answer was never given back
    CHECK(reused(begun) == 0);
    CHECK(reused("w7 w8 w10") == 0);
    CHECK(reused(begun + " w11", 3) == 0);
    CHECK(reused(begun + " w11", 3) == 0); // beams have taken in different words
}
