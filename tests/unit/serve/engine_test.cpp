// The work of an engine: who has a turn, and what is not done because nobody waits for it.
#include "catch.hpp"

#include "letters.hpp"
#include "places.hpp"
#include "plugin_runtime.hpp"
#include "serve/engine.hpp"
#include "temporary_folder.hpp"

#include <lamina/measure.hpp>
#include <lamina/texts.hpp>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>

using namespace lamina;
using namespace lamina::serve;
using test::runtime;

namespace {

Model letters() { return runtime().load(test::letters({.layers = 1, .positions = 60000})); }

// A tiny model in a folder, with the tokens w0 to w52.
Model with_words(const std::string &name, const TemporaryFolder &folder, const std::string &more) {
    std::filesystem::copy(LAMINA_SOURCE_DIR "/tests/architectures/models/" + name, folder.path(),
                          std::filesystem::copy_options::recursive);
    std::string words;
    for (int i = 0; i < 53; ++i) words += (i == 0 ? "\"w" : ", \"w") + std::to_string(i) + "\": " + std::to_string(i);
    folder.write("tokenizer.json",
                 R"({"version": "1.0", "added_tokens": [], "pre_tokenizer": {"type": "WhitespaceSplit"},)" + more +
                     R"( "model": {"type": "WordLevel", "unk_token": "w0", "vocab": {)" + words + "}}}");
    return runtime().load(folder.path());
}

Model sentences(const TemporaryFolder &folder) { // of vectors
    return with_words("sentences", folder,
                      R"( "post_processor": {"type": "BertProcessing", "sep": ["w2", 2], "cls": ["w1", 1]},)");
}
Model recordings(const TemporaryFolder &folder) { return with_words("whisper", folder, ""); }

// How often graphs run, and how many tokens go through the feed-forward layer of letters().
struct Counted {
    std::atomic<size_t> runs = 0;
    std::atomic<double> tokens = 0;
    SessionOptions options() {
        SessionOptions out;
        out.profile = [this](const GraphTimes &times) {
            ++runs;
            for (const LayerTime &layer : times.layers)
                if (layer.layer.find("feed_forward") != std::string::npos)
                    tokens = tokens + layer.cost.operations / (4 * test::Letters::d_model * test::Letters::ffn);
        };
        return out;
    }
};

template <class Work> void wait(const std::shared_ptr<Work> &work) {
    const auto late = Work::Clock::now() + std::chrono::seconds(60);
    while (!work->ended() && Work::Clock::now() < late) {
        (void)work->wait(late);
        (void)work->take_news();
    }
    REQUIRE(work->ended());
}

std::shared_ptr<serve::Answer> answer(const std::string &prompt, int64_t length, Owner owner) {
    auto out = std::make_shared<serve::Answer>();
    static const Model model = letters();
    out->prompt = token_ids(model, prompt);
    out->options.max_length = length;
    out->owner = owner;
    return out;
}

std::shared_ptr<Embedding> texts(size_t count, Owner owner) {
    auto out = std::make_shared<Embedding>();
    out->owner = owner;
    for (size_t i = 0; i < count; ++i)
        out->texts.push_back("w" + std::to_string(3 + i % 50) + (i % 3 == 0 ? " w7" : ""));
    return out;
}

std::shared_ptr<Transcription> recording(const Model &model, const Audio &audio, Owner owner) {
    auto out = std::make_shared<Transcription>();
    out->owner = owner;
    out->windows = audio_windows(model, audio);
    return out;
}

} // namespace

TEST_CASE("an answer that nobody waits for any more is not computed, not even the rest of its prompt") {
    Counted counted;
    Metrics metrics;
    Engine engine("letters", runtime(), letters(), runtime().device("cpu"),
                  {.session = counted.options(), .batch = {.slots = 1, .length = 60000}}, metrics);
    const auto running = answer(std::string(59000, 'a'), 10, {1}), waiting = answer(std::string(59000, 'b'), 10, {2});
    engine.submit(running);
    engine.submit(waiting);
    while (counted.runs == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    running->leave();
    waiting->leave();
    wait(running);
    wait(waiting);
    const auto next = answer("lamina", 5, {3});
    engine.submit(next);
    wait(next);
    CHECK(next->hypothesis.tokens.size() == 5);
    CHECK(counted.tokens < 59000);
}

TEST_CASE("what an answer may have is given back when it has ended, though an idle engine still knows it") {
    for (const bool leaves : {false, true}) {
        const auto answer = std::make_shared<serve::Answer>();
        const auto memory = std::make_shared<int>();
        answer->memory = memory;
        if (leaves) answer->leave();
        CHECK(memory.use_count() == 2);
        answer->end();
        CHECK(memory.use_count() == 1);
    }
}

TEST_CASE("a request with many prompts does not delay a later one to its end") {
    Metrics metrics;
    Engine engine("letters", runtime(), letters(), runtime().device("cpu"),
                  {.session = {}, .batch = {.slots = 2, .length = 1000}}, metrics);
    std::vector<std::shared_ptr<serve::Answer>> many;
    for (int i = 0; i < 16; ++i) engine.submit(many.emplace_back(answer("abc", 300, {1, 1})));
    const auto later = answer("xyz", 5, {1, 2});
    engine.submit(later);
    wait(later);
    CHECK_FALSE(many.back()->ended());
    for (const auto &each : many) each->leave();
}

TEST_CASE("thousands of texts are read in pieces, between which others have their turns, and end when nobody waits") {
    const TemporaryFolder folder;
    Counted counted;
    Metrics metrics;
    Engine engine("sentences", runtime(), sentences(folder), runtime().device("cpu"),
                  {.session = counted.options(), .batch = {}}, metrics);
    const auto all = texts(4000, {1, 1}), few = texts(3, {1, 2});
    engine.submit(all);
    while (counted.runs == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    engine.submit(few);
    wait(few);
    CHECK_FALSE(all->ended());
    all->leave();
    wait(all);
    CHECK(counted.runs < 4000 / 32);

    const auto alone = texts(100, {1, 3}); // more than a piece: each vector is in the place of its text
    engine.submit(alone);
    wait(alone);
    alone->expect_success();
    REQUIRE(alone->vectors.shape().front() == 100);
    const size_t width = static_cast<size_t>(alone->vectors.shape().back());
    for (size_t i = 0; i < 3 * width; ++i)
        CHECK_THAT(alone->vectors.f32()[i], matchers::within_abs(few->vectors.f32()[i], 1e-5));
}

TEST_CASE("a long recording is transcribed in pieces, between which others have their turns") {
    const TemporaryFolder folder;
    const Model model = recordings(folder);
    Metrics metrics;
    Engine engine("whisper", runtime(), model, runtime().device("cpu"), {.session = {}, .batch = {}}, metrics);
    Audio sound{{}, 16000};
    for (int i = 0; i < 16000 * 120; ++i) sound.samples.push_back(std::sin(0.01F * static_cast<float>(i % 7919)));
    const Audio beginning{{sound.samples.begin(), sound.samples.begin() + 3000}, 16000};
    const auto all = recording(model, sound, {1, 1}), few = recording(model, beginning, {1, 2});
    engine.submit(all);
    engine.submit(few);
    wait(few);
    CHECK_FALSE(all->ended());
    wait(all);
    all->expect_success();
    Session session = runtime().session(model, runtime().device("cpu"));
    const Transcript found = joined_transcript(all->transcripts), expected = transcribe(session, {sound}).front();
    CHECK(found.text == expected.text);
    REQUIRE(found.parts.size() == expected.parts.size());
    CHECK(found.parts.size() > 16);
    for (size_t i = 0; i < found.parts.size(); ++i) CHECK(found.parts[i].end == expected.parts[i].end);
}
