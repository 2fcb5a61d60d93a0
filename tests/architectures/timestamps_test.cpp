// When things are said, compared with transformers: make_timestamps.py writes timestamps.json.
#include "catch.hpp"
#include "with_tokenizer.hpp"

#include <lamina/audio.hpp>
#include <lamina/convert.hpp>
#include <lamina/inspect.hpp>

#include <cmath>
#include <fstream>
#include <numbers>

using namespace lamina;
using matchers::contains;
using nlohmann::json;

namespace {

constexpr int64_t sample_rate = 16000;
constexpr int32_t first_time = 33; // 0 seconds

json timed_cases() { return test::json_of(test::architectures / "timestamps.json"); }

Audio recording_of(const json &wanted) {
    Audio out{.rate = sample_rate};
    const json &tones = wanted.at("tones");
    for (size_t i = 0; i < wanted.at("samples").get<size_t>(); ++i) {
        const double hertz = tones[i / 1000 % tones.size()];
        out.samples.push_back(
            static_cast<float>(0.5 * std::sin(2 * std::numbers::pi * hertz * static_cast<double>(i) / sample_rate)));
    }
    return out;
}

struct ModelOf : WithTokenizer {
    explicit ModelOf(const json &wanted) : WithTokenizer("whisper") {
        write("generation_config.json", wanted.at("settings").dump());
    }
};

GenerateOptions with_segments() {
    GenerateOptions out;
    out.choices = {{"language", "de"}, {"task", "transcribe"}};
    out.timestamps = Timestamps::segments;
    return out;
}

json words_among(std::vector<int32_t> tokens) {
    std::erase_if(tokens, [](int32_t token) { return token >= first_time; });
    return tokens;
}

void check_same(const Transcript &found, const json &wanted) {
    json windows = json::array();
    for (const Transcript::Part &part : found.parts) windows.push_back(part.hypothesis.tokens);
    CHECK(windows == wanted.at("windows"));
    REQUIRE(found.segments.size() == wanted.at("segments").size());
    for (size_t i = 0; i < found.segments.size(); ++i) {
        const json &segment = wanted.at("segments")[i];
        CHECK_THAT(found.segments[i].begin, matchers::within_abs(segment[0].get<double>(), 1e-5));
        CHECK_THAT(found.segments[i].end, matchers::within_abs(segment[1].get<double>(), 1e-5));
        CHECK(words_among(found.segments[i].tokens) == segment[2]);
    }
}

} // namespace

TEST_CASE("timestamps: segments of recordings of any length are those of transformers") {
    const json cases = timed_cases();
    for (const json &wanted : cases) {
        INFO(wanted.dump());
        Session session = ModelOf(wanted).session();
        check_same(transcribe(session, {recording_of(wanted)}, with_segments()).front(), wanted);
    }
}

TEST_CASE("timestamps: those that a model writes although nobody asked are no part of the text") {
    const json cases = timed_cases();
    size_t written = 0;
    for (const json &wanted : cases) {
        Session session = ModelOf(wanted).session();
        GenerateOptions options = with_segments();
        options.timestamps = Timestamps::none;
        const Transcript found = transcribe(session, {recording_of(wanted)}, options).front();
        for (const Transcript::Part &part : found.parts)
            for (const int32_t token : part.hypothesis.tokens) {
                if (token < first_time) continue;
                ++written;
                CHECK(found.text.find("w" + std::to_string(token)) == std::string::npos);
            }
    }
    CHECK(written > 0);
}

TEST_CASE("timestamps: recordings are transcribed together as alone, and window by window as at once") {
    const json cases = timed_cases();
    const ModelOf model(cases[0]);
    Session session = model.session();
    std::vector<Audio> sounds;
    for (size_t i = 0; i < 6; ++i) sounds.push_back(recording_of(cases[i]));
    GenerateOptions telling = with_segments();
    std::vector<std::pair<size_t, size_t>> told;
    telling.progress = [&](size_t done, size_t all) { told.emplace_back(done, all); };
    const auto together = transcribe(session, sounds, telling);
    CHECK(told.size() > 1);
    CHECK(std::ranges::is_sorted(told));
    CHECK(told.back().first == told.back().second);
    for (size_t i = 0; i < sounds.size(); ++i) {
        const Transcript alone = transcribe(session, {sounds[i]}, with_segments()).front();
        CHECK(together[i].text == alone.text);
        CHECK(subtitles(together[i], Subtitles::srt) == subtitles(alone, Subtitles::srt));

        for (const Transcript::Segment &each : alone.segments) {
            const Transcript::Part &part = alone.parts.at(each.part);
            CHECK(std::ranges::search(part.hypothesis.tokens, each.tokens).size() == each.tokens.size());
            CHECK((each.begin >= part.begin && each.begin < part.begin + 20 * 0.02)); // of 20 timestamps
        }

        GenerateOptions sampling = with_segments();
        sampling.temperature = 1, sampling.seed = 3; // each window has its own chances
        const Transcript sampled = transcribe(session, {sounds[i]}, sampling).front();
        std::vector<Transcript> windows;
        for (size_t at = 0; at < sounds[i].samples.size(); ++sampling.first) {
            const auto rest = std::span(sounds[i].samples).subspan(at);
            const auto own = rest.first(std::min<size_t>(rest.size(), 3520));
            const Audio window{{own.begin(), own.end()}, sample_rate};
            windows.push_back(transcribe_windows(session, {window}, sampling).front());
            at += static_cast<size_t>(std::llround(windows.back().parts.front().end * sample_rate));
        }
        const Transcript joined = joined_transcript(windows);
        CHECK(joined.text == sampled.text);
        CHECK(joined.parts.size() == sampled.parts.size());
        CHECK(subtitles(joined, Subtitles::vtt) == subtitles(sampled, Subtitles::vtt));
    }
    std::string text;
    for (const Transcript::Segment &each : together[0].segments) text += each.text;
    CHECK(together[0].text == text);

    std::vector<std::string> streamed(sounds.size());
    GenerateOptions streaming = with_segments();
    streaming.stream = [&](size_t i, std::string_view piece) { streamed[i] += piece; };
    const auto shown = transcribe(session, sounds, streaming);
    for (size_t i = 0; i < sounds.size(); ++i) CHECK((streamed[i] == together[i].text && shown[i].text == streamed[i]));
}

TEST_CASE("timestamps: a converted model has the same") {
    const json wanted = timed_cases()[1];
    const ModelOf model(wanted);
    const TemporaryFolder folder;
    const std::filesystem::path converted = folder.path() / "converted";
    convert(test::runtime(), model.path(), {}).model.save(converted);
    Session session = test::session_of(converted);
    check_same(transcribe(session, {recording_of(wanted)}, with_segments()).front(), wanted);

    json changed = test::json_of(converted / "model.json");
    const auto refusal = [&](const char *key, const json &value) {
        json other = changed;
        other["tokens"]["timestamps"][key] = value;
        std::ofstream(converted / "model.json") << other.dump();
        return message_of([&] { (void)test::runtime().load(converted); });
    };
    CHECK(refusal("latest", 5).empty());
    CHECK_THAT(refusal("none", 52), contains("/tokens/timestamps") && contains("53"));
    CHECK_THAT(refusal("none", -1), contains("/tokens/timestamps/none"));
    CHECK_THAT(refusal("step", 0), contains("/tokens/timestamps/step") && contains("seconds"));
    CHECK_THAT(refusal("step", 1e-4 / 2), contains("/tokens/timestamps/step"));
    CHECK_THAT(refusal("end", 5), contains("/tokens/timestamps") && contains("end"));
}

TEST_CASE("timestamps: models say which they give, and others are refused") {
    const auto refusal = [](Session session, Timestamps which) {
        GenerateOptions options;
        options.timestamps = which;
        return message_of([&] {
            (void)transcribe(session, {Audio{std::vector<float>(3000, 0.1F), sample_rate}}, options);
        });
    };
    const WithTokenizer model("whisper"), without("whisper_untied");
    CHECK(inspect(test::runtime().load(model.path())).audio()->timestamps ==
          std::vector{Timestamps::segments, Timestamps::words});
    CHECK(inspect(test::runtime().load(without.path())).audio()->timestamps.empty());
    CHECK_THAT(refusal(model.session(), Timestamps::characters),
               contains("timestamps: ") && contains("segments and of words"));
    CHECK_THAT(refusal(without.session(), Timestamps::segments), contains("timestamps: ") && contains("gives none"));
    GenerateOptions options;
    options.timestamps = Timestamps::segments;
    Session writes = WithTokenizer("llama").session();
    CHECK_THAT(message_of([&] { (void)writes.generate({"w5"}, options); }), contains("timestamps: "));
}
