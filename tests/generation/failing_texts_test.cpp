// A text whose scores are no numbers gets an error, and the texts beside it get their answers.
#include "catch.hpp"
#include "places.hpp"
#include "plugin_runtime.hpp"
#include "vulkan_devices.hpp"

#include <lamina/batch.hpp>
#include <lamina/transformer.hpp>

#include <algorithm>
#include <limits>
#include <map>

using namespace lamina;
using matchers::contains;
using test::runtime;

namespace {

// An untrained language model over letters, and `more` tokens that no text has. The embedding of 'q' is NaN.
ModelDescription letters(int64_t more) {
    std::vector<std::string> tokens{"<s>", "</s>"};
    for (char c = 'a'; c <= 'z'; ++c) tokens.emplace_back(1, c);
    for (int64_t i = 0; i < more; ++i) tokens.push_back("more" + std::to_string(i));
    const auto size = static_cast<int64_t>(tokens.size());
    const DecoderOnly model{.embedding = {.d_model = 16, .vocabulary = size},
                            .decoder = {.layer = {.d_model = 16, .heads = 2, .ffn = 32}, .layers = 2},
                            .generator = {.d_model = 16, .vocabulary = size, .output = Generator::Output::logits}};
    const TextVocabularies text{.target = tokens, .target_characters = true, .max_length = 6};
    ModelDescription built = build(model, {.name = "letters", .seed = 5, .text = text});
    built.weights.at("generator.bias").f32()[1] = -1e4F;  // "</s>"
    built.weights.at("generator.bias").f32()[18] = -1e4F; // 'q': it is only ever part of a prompt
    std::ranges::fill(built.weights.at("decoder.embedding.table").f32().subspan(18 * 16, 16),
                      std::numeric_limits<float>::quiet_NaN());
    return built;
}

const std::vector<std::string> texts{"lamina", "equal", "vulkan", "q"};
constexpr std::array fails{false, true, false, true};

} // namespace

TEST_CASE("a text with a score that is NaN fails, and the others of its batch do not") {
    for (const Device &device : test::devices_of_each_kind(runtime()))
        for (const int64_t more : {0, 3000}) { // all scores are read, or candidates
            Session session = runtime().session(runtime().load(letters(more)), device);
            for (const int64_t beams : {1, 3}) {
                INFO(device.id << ", " << more << ", beams " << beams);
                GenerateOptions options;
                options.beams = beams;
                CHECK_THAT(message_of([&] { (void)session.generate(texts, options); }),
                           contains("text ") && contains("graph 'decode' gave ") &&
                               contains("nan for token 0 at position ") && contains(" on " + device.id) &&
                               contains("lamina compare"));
                std::map<size_t, std::string> failed;
                options.failed = [&](size_t text, const Error &why) { failed[text] = why.what(); };
                const auto found = session.hypotheses(texts, options);
                for (size_t i = 0; i < texts.size(); ++i) {
                    INFO(texts[i]);
                    CHECK(failed.contains(i) == fails.at(i));
                    CHECK(found[i].empty() == fails.at(i));
                    if (fails.at(i)) continue;
                    const Hypothesis alone = session.hypotheses({texts[i]}, options).front().front();
                    CHECK(found[i].front().tokens == alone.tokens);
                    CHECK_THAT(found[i].front().log_probability, matchers::within_abs(alone.log_probability, 1e-4));
                }
                CHECK_THAT(failed[3], contains("at position 1 on " + device.id));
            }
        }
}

TEST_CASE("a batch goes on without a text that fails, and its slot serves the next one") {
    for (const Device &device : test::devices_of_each_kind(runtime())) {
        INFO(device.id);
        Session session = runtime().session(runtime().load(letters(0)), device);
        Batch batch(session, {.slots = 2});
        GenerateOptions reuse;
        reuse.reuse = true;
        std::map<uint64_t, std::string> text_of;
        for (const std::string text : {"equal", "lamina", "equal", "vulkan", "eq", "equip"})
            text_of[batch.add(text, reuse)] = text;
        std::map<uint64_t, std::string> failed;
        std::map<uint64_t, Hypothesis> answers;
        while (!batch.empty())
            for (const Batch::Progress &progress : batch.step()) {
                if (progress.failed) failed[progress.id] = progress.failed->what();
                if (progress.finished) answers[progress.id] = *progress.finished;
            }
        for (const auto &[id, text] : text_of) {
            INFO(text);
            const bool fails = text.find('q') != std::string::npos;
            CHECK(failed.contains(id) == fails);
            CHECK(answers.contains(id) != fails);
            if (!fails) CHECK(answers[id].tokens == session.hypotheses({text}).front().front().tokens);
        }
    }
}
