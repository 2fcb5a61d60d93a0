// Candidates that the device chooses: texts are what they would be if all scores were read.
#include "all_scores.hpp"
#include "catch.hpp"

#include "api/access.hpp"
#include "generation/decoder.hpp"
#include "places.hpp"
#include "plugin_runtime.hpp"
#include "vulkan_devices.hpp"

#include <lamina/batch.hpp>
#include <lamina/lamina.hpp>
#include <lamina/transformer.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

using namespace lamina;
using test::runtime;

namespace {

constexpr int64_t vocabulary = 2500; // enough for candidates to pay

// An untrained language model.
ModelDescription description() {
    std::vector<std::string> tokens{"<s>", "</s>"};
    while (tokens.size() < vocabulary) tokens.push_back("t" + std::to_string(tokens.size()));
    const DecoderOnly model{
        .embedding = {.d_model = 32, .vocabulary = vocabulary},
        .decoder = {.layer = {.d_model = 32, .heads = 4, .ffn = 64}, .layers = 2},
        .generator = {.d_model = 32, .vocabulary = vocabulary, .output = Generator::Output::logits}};
    const TextVocabularies text{.target = tokens, .max_length = 12};
    ModelDescription built = build(model, {.name = "words", .seed = 3, .text = text});
    for (float &weight : built.weights.at("generator.weight").f32()) weight *= 3; // some tokens are far likelier
    return built;
}

std::vector<std::pair<std::string, GenerateOptions>> ways() {
    const auto with = [](const auto &change) {
        GenerateOptions options;
        options.seed = 7;
        change(options);
        return options;
    };
    return {
        {"greedy", with([](auto &) {})},
        {"4 beams", with([](auto &o) { o.beams = 4; })},
        {"40 beams", with([](auto &o) { o.beams = 40, o.max_length = 4; })},
        {"80 beams, more than there are candidates for", with([](auto &o) { o.beams = 80, o.max_length = 3; })},
        {"temperature", with([](auto &o) { o.temperature = 0.8; })},
        {"samples", with([](auto &o) { o.temperature = 1.5, o.beams = 3; })},
        {"top_k", with([](auto &o) { o.temperature = 1, o.top_k = 40; })},
        {"top_k, more than candidates", with([](auto &o) { o.temperature = 1, o.top_k = 200; })},
        {"top_p", with([](auto &o) { o.temperature = 0.7, o.top_p = 0.9; })},
        {"min_p", with([](auto &o) { o.temperature = 1.2, o.min_p = 0.1; })},
        {"repetition_penalty", with([](auto &o) { o.repetition_penalty = 1.5; })},
    };
}

} // namespace

TEST_CASE("texts from candidates are those from all scores, on every device") {
    const std::vector<std::string> texts{"t5 t9", "t100", "t2000 t3 t4"};
    for (const Device &device : test::devices_of_each_kind(runtime())) {
        Session session = runtime().session(runtime().load(description()), device);
        for (const auto &[name, options] : ways()) {
            INFO(device.id << ", " << name);
            const auto found = session.hypotheses(texts, options);
            GenerateOptions whole = options;
            whole.cached = false; // reads all scores
            const auto expected = session.hypotheses(texts, whole);
            for (size_t i = 0; i < texts.size(); ++i) {
                REQUIRE(found[i].size() == expected[i].size());
                CHECK(found[i].front().tokens == expected[i].front().tokens);
                CHECK_THAT(found[i].front().log_probability,
                           matchers::within_abs(expected[i].front().log_probability, 1e-3));
            }
        }
    }
}

TEST_CASE("texts of a batch are what they are alone, whether those beside them need all scores or not") {
    for (const Device &device : test::devices_of_each_kind(runtime())) {
        Session session = runtime().session(runtime().load(description()), device);
        std::map<uint64_t, std::pair<std::string, GenerateOptions>> added;
        std::map<uint64_t, Hypothesis> found;
        {
            Batch batch(session, {.slots = 3}); // texts join and leave
            for (auto &[name, options] : ways()) {
                if (options.beams.value_or(1) != 1) continue;
                options.max_length = static_cast<int64_t>(4 + added.size() * 3 % 5);
                const uint64_t id = batch.add("t5 t9", options);
                added.emplace(id, std::pair(name, options));
            }
            while (!batch.empty())
                for (Batch::Progress &text : batch.step())
                    if (text.finished) found.emplace(text.id, std::move(*text.finished));
        }
        for (const auto &[id, way] : added) {
            INFO(device.id << ", " << way.first);
            const Hypothesis alone = session.hypotheses({"t5 t9"}, way.second).front().front();
            CHECK(found.at(id).tokens == alone.tokens);
            CHECK_THAT(found.at(id).log_probability, matchers::within_abs(alone.log_probability, 1e-3));
        }
    }
}

TEST_CASE("a decoder gives the likeliest tokens in order, and all scores if they are asked for") {
    for (const Device &device : test::devices_of_each_kind(runtime())) {
        INFO(device.id);
        Session session = runtime().session(runtime().load(description()), device);
        detail::SessionState &state = detail::Access::state(session);
        auto changed = std::make_shared<model::Model>(*state.model);
        const bool suppresses = GENERATE(false, true);
        if (suppresses) changed->tokens.suppress = {4, 44, 444};
        state.model = changed;
        generation::Decoder decoder(state, {}, {.rows = 2, .length = 8, .candidates = 16});
        for (const generation::Ids &token : {generation::Ids{7}, generation::Ids{2000}, generation::Ids{3}}) {
            const auto rows = test::step(decoder, {token, {}});
            const generation::Scores &row = rows.front();
            std::vector<float> scores = test::all_scores(rows.first(1));
            REQUIRE(scores.size() == vocabulary);
            for (const int32_t id : changed->tokens.suppress)
                scores[static_cast<size_t>(id)] = -std::numeric_limits<float>::infinity();
            REQUIRE(row.tokens.size() == 16);
            double sum = 0;
            for (const double score : scores) sum += std::exp(score - row.best.front());
            CHECK_THAT(row.sum, matchers::within_abs(sum, 1e-5 * sum));
            for (size_t i = 0; i < row.tokens.size(); ++i) {
                float &best = *std::max_element(scores.begin(), scores.end());
                CHECK(row.tokens[i] == &best - scores.data());
                CHECK(row.best[i] == best);
                best = -std::numeric_limits<float>::infinity();
            }
        }
    }
}

TEST_CASE("a score that is no number ends the generation with an error, also among many") {
    for (const Device &device : test::devices_of_each_kind(runtime()))
        for (const float wrong : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
            ModelDescription model = description();
            model.weights.at("generator.bias").f32()[1234] = wrong;
            Session session = runtime().session(runtime().load(model), device);
            CHECK_THAT(message_of([&] { (void)session.generate({"t5"}); }),
                       matchers::contains("for token 1234 at position 1 on " + device.id));
        }
}
