// Models that transcribe audio.
#include "catch.hpp"
#include "with_tokenizer.hpp"

#include <lamina/audio.hpp>
#include <lamina/convert.hpp>
#include <lamina/inspect.hpp>
#include <lamina/texts.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

using namespace lamina;
using matchers::contains;
using test::runtime;

namespace {

// A window of the models "whisper" and "whisper_untied", in samples.
constexpr size_t window = 3520;
constexpr int64_t rate = 16000;

Audio tone(double hertz, size_t samples, double loudness = 0.4) {
    Audio out{.rate = rate};
    for (size_t i = 0; i < samples; ++i)
        out.samples.push_back(
            static_cast<float>(loudness * std::sin(6.2831853 * hertz * static_cast<double>(i) / rate)));
    return out;
}

// Greedy search by hand, with the graphs alone: the tokens behind `start`, at most nine.
std::vector<int32_t> tokens_by_hand(Session &session, const Audio &audio, std::vector<int32_t> start) {
    Tensor samples(TensorType{DType::f32, {1, window}});
    std::ranges::copy(audio.samples, samples.f32().begin());
    TensorMap inputs = session.run("encode", {{"samples", samples}});
    inputs.erase("hidden");
    inputs["position"] = Tensor(TensorType{DType::i32, {1}});
    std::vector<int32_t> out;
    while (out.size() < 9) {
        inputs["ids"] = Tensor::of({1, static_cast<int64_t>(start.size())}, start);
        const Tensor logits = session.run("decode", inputs).at("logits");
        std::vector<float> last(logits.f32().end() - words, logits.f32().end());
        for (const size_t never : {9, 11}) last[never] = -1e9F;
        if (out.empty()) last[7] = last[2] = -1e9F; // nothing begins with these
        const auto token = static_cast<int32_t>(std::ranges::max_element(last) - last.begin());
        if (token == 2) break;
        start.push_back(token), out.push_back(token);
    }
    return out;
}

GenerateOptions nine_tokens(const Choices &choices = {}) {
    GenerateOptions options;
    options.max_length = 9, options.choices = choices;
    return options;
}

std::vector<int32_t> tokens_of(Session &session, const Audio &audio, const Choices &choices = {}) {
    return transcribe(session, {audio}, nine_tokens(choices)).front().parts.front().hypothesis.tokens;
}

} // namespace

TEST_CASE("audio: transcripts are what greedy search gives, in the chosen language and for the chosen task") {
    Session session = WithTokenizer("whisper").session();
    const Audio audio = tone(700, 3000);
    for (const auto &[language, id] : {std::pair("en", 20), {"de", 21}, {"fr", 22}}) {
        INFO(language);
        const Choices choices{{"language", language}};
        CHECK(tokens_of(session, audio, choices) == tokens_by_hand(session, audio, {3, id, 30, 32}));
    }
    const Choices translation{{"language", "de"}, {"task", "translate"}};
    CHECK(tokens_of(session, audio, translation) == tokens_by_hand(session, audio, {3, 21, 31, 32}));
    const Transcript whole = transcribe(session, {audio}, nine_tokens()).front(); // in the likeliest language
    const std::vector<int32_t> &tokens = whole.parts.front().hypothesis.tokens;
    const auto is_in = [&](int32_t id) { return tokens == tokens_by_hand(session, audio, {3, id, 30, 32}); };
    const std::map<std::string, int32_t> languages{{"en", 20}, {"de", 21}, {"fr", 22}};
    CHECK(is_in(languages.at(whole.language)));
    CHECK(transcribe(session, {audio}, nine_tokens(translation)).front().language == "de");
    CHECK(tokens.size() == 9);
    CHECK(whole.text.starts_with("w" + std::to_string(tokens[0]) + " w" + std::to_string(tokens[1])));
    CHECK(whole.parts.front().end == 3000.0 / rate);

    const auto refusal = [&](const Choices &choices) {
        return message_of([&] { (void)tokens_of(session, audio, choices); });
    };
    CHECK_THAT(refusal({{"language", "frr"}}), contains("language: 'frr'") && contains("supported: de, en, fr"));
    CHECK_THAT(refusal({{"speaker", "a"}}), contains("speaker: ") && contains("its settings are language, task"));
    Session english = WithTokenizer("whisper_untied").session();
    CHECK_THAT(message_of([&] {
                   (void)tokens_of(english, audio, {{"language", "en"}});
               }),
               contains("has no such setting"));
}

TEST_CASE("audio: batches and other sample rates do not change transcripts") {
    Session session = WithTokenizer("whisper").session();
    const Audio high = tone(1500, 2500), low = tone(200, 3520);
    const auto together = transcribe(session, {high, low, high}, nine_tokens());
    REQUIRE(together.size() == 3);
    CHECK(together[0].parts.front().hypothesis.tokens == tokens_of(session, high));
    CHECK(together[1].parts.front().hypothesis.tokens == tokens_of(session, low));
    CHECK(together[2].text == together[0].text);
    Audio other = resampled(tone(700, 3000), 44100);
    CHECK(tokens_of(session, other) == tokens_of(session, resampled(other, rate)));
}

TEST_CASE("audio: long audio is cut into windows at a quiet place") {
    Session session = WithTokenizer("whisper").session();
    Audio audio = tone(300, 8000);
    std::fill_n(audio.samples.begin() + 3100, 300, 0.0F); // in the last sixth of a window
    std::fill_n(audio.samples.begin() + 1000, 400, 0.0F); // not
    const auto pieces = transcribe(session, {audio}, nine_tokens()).front();
    REQUIRE(pieces.parts.size() == 3);
    CHECK((pieces.parts[0].end > 3100.0 / rate && pieces.parts[0].end < 3400.0 / rate));
    CHECK(pieces.parts[0].begin == 0);
    CHECK(pieces.parts[1].begin == pieces.parts[0].end);
    CHECK(pieces.parts[2].begin == pieces.parts[1].end);
    CHECK_THAT(pieces.parts[2].end, matchers::within_abs(8000.0 / rate, 1e-9));
    std::string text;
    for (const Transcript::Part &part : pieces.parts) {
        const auto sample = [&](double seconds) { return audio.samples.begin() + std::lround(seconds * rate); };
        CHECK(part.hypothesis.tokens == tokens_of(session, {{sample(part.begin), sample(part.end)}, rate}));
        text += part.hypothesis.text;
    }
    CHECK(pieces.text == text);

    std::vector<std::string> streamed(2);
    GenerateOptions options = nine_tokens();
    options.stream = [&](size_t i, std::string_view piece) { streamed[i] += piece; };
    const auto both = transcribe(session, {audio, tone(900, 1000)}, options);
    CHECK(streamed == std::vector<std::string>{both[0].text, both[1].text});
    CHECK(both[0].text == text);
}

TEST_CASE("audio: inspect() shows the format, and bad input is refused") {
    const WithTokenizer model("whisper");
    Session session = model.session();
    const TextGeneration generation = *inspect(runtime().load(model.path())).generation;
    REQUIRE(generation.audio.has_value());
    CHECK((generation.audio->rate == rate && generation.audio->length == window));
    CHECK(generation.choices.at("task") == std::vector<std::string>{"transcribe", "translate"});
    CHECK_THAT(message_of([&] { (void)session.generate({"w3"}); }), contains("takes audio, not text"));
    const Model loaded = runtime().load(model.path());
    const std::string text = transcribe(session, {tone(300, 1000)}, nine_tokens()).front().text;
    CHECK(detokenize(loaded, token_ids(loaded, text)) == text); // in the tokens that it writes
    const Audio none{.rate = rate}, wrong{{0, std::numeric_limits<float>::quiet_NaN()}, rate};
    CHECK_THAT(message_of([&] { (void)transcribe(session, {tone(9, 9), none}); }), contains("audio 2: no samples"));
    CHECK_THAT(message_of([&] { (void)transcribe(session, {wrong}); }),
               contains("audio 1: a sample is NaN or infinite"));
    Session reads = WithTokenizer("t5").session();
    CHECK_THAT(message_of([&] { (void)transcribe(reads, {tone(9, 9)}); }), contains("does not take audio"));
}

TEST_CASE("audio: a converted model gives the same transcripts") {
    const WithTokenizer model("whisper");
    const TemporaryFolder folder;
    convert(runtime(), model.path(), {}).model.save(folder.path() / "converted");
    Session before = model.session();
    Session after = test::session_of(folder.path() / "converted");
    const Audio audio = tone(700, 3000);
    const Choices french{{"language", "fr"}};
    CHECK(tokens_of(after, audio, french) == tokens_of(before, audio, french));
}
