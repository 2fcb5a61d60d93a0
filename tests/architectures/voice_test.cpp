// Where somebody speaks in a recording, and speech that is transcribed as it comes.
#include "catch.hpp"
#include "folders.hpp"

#include <lamina/audio.hpp>
#include <lamina/inspect.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

using namespace lamina;
using matchers::contains;
using test::runtime;

namespace {

constexpr int64_t voice_rate = 16000;

struct Sound {
    double seconds, loudness; // of noise
};

Audio recording(const std::vector<Sound> &sounds) {
    std::mt19937 random(7); // NOLINT(cert-msc32-c,cert-msc51-cpp): the same in each run
    std::normal_distribution<float> noise;
    Audio out{.rate = voice_rate};
    for (const Sound &each : sounds)
        for (int64_t i = 0; i < std::llround(each.seconds * voice_rate); ++i)
            out.samples.push_back(static_cast<float>(each.loudness) * noise(random));
    return out;
}

Audio part_of(const Audio &audio, double begin, double end) {
    const auto at = [&](double seconds) { return audio.samples.begin() + std::llround(seconds * voice_rate); };
    return {{at(begin), at(end)}, voice_rate};
}

std::vector<double> bounds(const std::vector<VoicedPart> &parts) {
    std::vector<double> out;
    for (const VoicedPart &each : parts) out.insert(out.end(), {each.begin, each.end});
    return out;
}

void check_near(const std::vector<double> &found, const std::vector<double> &expected) {
    REQUIRE(found.size() == expected.size());
    for (size_t i = 0; i < found.size(); ++i) CHECK_THAT(found[i], matchers::within_abs(expected[i], 0.025));
}

Model model_of_speech(const char *name) { return runtime().load(test::architectures / "speech" / name); }
Session listening(const Model &model) { return runtime().session(model, runtime().device("cpu")); }
double window_of(const Model &model) {
    return static_cast<double>(inspect(model).audio()->length) / voice_rate; // in seconds
}

GenerateOptions without_silence(Timestamps timestamps = Timestamps::none) {
    GenerateOptions out;
    out.skip_silence = true, out.timestamps = timestamps;
    return out;
}

} // namespace

TEST_CASE("voice: what is louder than the quiet moments, with some of what is around it") {
    const double quiet = 0.001, loud = 0.1;
    check_near(bounds(voiced(recording({{1, quiet}, {1.5, loud}, {2, quiet}, {1, loud}, {1, quiet}}))),
               {0.8, 2.7, 4.3, 5.7});
    // Short pauses and short noises.
    check_near(bounds(voiced(recording(
                   {{1, quiet}, {0.5, loud}, {0.4, quiet}, {0.5, loud}, {2, quiet}, {0.03, loud}, {1, quiet}}))),
               {0.8, 2.6});
    // In a noisy place, and in one where nobody speaks.
    check_near(bounds(voiced(recording({{2, 0.02}, {1, 0.3}, {2, 0.02}}))), {1.8, 3.2});
    CHECK(voiced(recording({{5, 0.0005}})).empty());
    CHECK(voiced(recording({{5, 0}})).empty());
    check_near(bounds(voiced(recording({{3, loud}}))), {0, 3}); // nobody pauses
    check_near(bounds(voiced(recording({{30, quiet}, {0.5, loud}}))), {29.8, 30.5});
    CHECK_THROWS_WITH(voiced({{0.1F}, 0}), contains("rate"));
    CHECK_THROWS_WITH(voiced({{}, voice_rate}), contains("no samples"));
    CHECK(voiced({{0.5F}, 3}).empty());
}

TEST_CASE("voice: silence between windows is left out, and times stay those of the recording") {
    const Model model = model_of_speech("wav2vec2");
    Session session = listening(model);
    const double length = window_of(model);
    const Audio audio = recording({{2, 0.001}, {1.5, 0.1}, {length + 3, 0.001}, {1, 0.2}, {1, 0.001}});
    const Transcript whole = transcribe(session, {audio}).front(),
                     heard = transcribe(session, {audio}, without_silence()).front();
    CHECK(whole.parts.size() == 2);
    CHECK(whole.parts.front().begin == 0);
    REQUIRE(heard.parts.size() == 2);
    const double second = length + 6.3;
    check_near({heard.parts[0].begin, heard.parts[0].end, heard.parts[1].begin, heard.parts[1].end},
               {1.8, 3.7, second, second + 1.4});
    for (const Transcript::Part &part : heard.parts)
        CHECK(part.hypothesis.text ==
              transcribe(session, {part_of(audio, part.begin, part.end)}).front().parts.front().hypothesis.text);
    const Transcript timed = transcribe(session, {audio}, without_silence(Timestamps::characters)).front();
    REQUIRE_FALSE(timed.segments.empty());
    CHECK(timed.segments.front().begin >= 1.8);
    CHECK(timed.segments.back().begin >= second);
    CHECK(timed.segments.back().end <= second + 1.45);
    CHECK(transcribe(session, {recording({{3, 0}})}, without_silence()).front().parts.empty());
    CHECK_THROWS_WITH(transcribe_windows(session, {part_of(audio, 0, 4)}, without_silence()), contains("skip_silence"));
    // A voice that goes on is cut where it is quiet, as without the option.
    const Audio on_and_on = recording({{length - 1, 0.1}, {0.3, 0.01}, {length - 2, 0.1}});
    const auto cuts = [&](const GenerateOptions &options) {
        std::vector<double> out;
        for (const Transcript::Part &part : transcribe(session, {on_and_on}, options).front().parts)
            out.insert(out.end(), {part.begin, part.end});
        return out;
    };
    CHECK(cuts({}).size() == 4);
    check_near(cuts(without_silence()), cuts({}));
}

TEST_CASE("voice: a listener transcribes each utterance once a pause follows it") {
    for (const char *name : {"wav2vec2", "moonshine"}) {
        CAPTURE(name);
        Session session = listening(model_of_speech(name));
        const Audio audio = recording({{1, 0.001}, {1.5, 0.1}, {2, 0.001}, {1, 0.2}});
        const std::vector<VoicedPart> parts = voiced(audio);
        REQUIRE(parts.size() == 2);
        GenerateOptions options;
        if (name == std::string_view("moonshine")) options.max_length = 9;
        Listener listener(session, options);
        std::vector<Transcript> heard;
        std::vector<double> when;
        for (size_t at = 0; at < audio.samples.size(); at += voice_rate / 10)
            for (Transcript &each : listener.add(std::span(audio.samples).subspan(at, voice_rate / 10)))
                heard.push_back(std::move(each)), when.push_back(static_cast<double>(at) / voice_rate + 0.1);
        REQUIRE(heard.size() == 1);
        CHECK(when.front() >= parts[0].end);
        CHECK(when.front() < parts[0].end + 0.65);
        for (Transcript &each : listener.finish()) heard.push_back(std::move(each));
        REQUIRE(heard.size() == 2);
        for (size_t i = 0; i < 2; ++i) {
            check_near({heard[i].parts.front().begin, heard[i].parts.back().end}, {parts[i].begin, parts[i].end});
            const Audio own = part_of(audio, heard[i].parts.front().begin, heard[i].parts.back().end);
            CHECK(heard[i].text == transcribe(session, {own}, options).front().text);
        }
        CHECK(listener.finish().empty());
        CHECK(listener.add({}).empty());
        const std::vector<float> bad{std::numeric_limits<float>::quiet_NaN()};
        CHECK_THROWS_WITH(listener.add(bad), contains("NaN"));
    }
}

TEST_CASE("voice: a listener keeps no more than a few windows, and hears a voice that does not pause") {
    const Model model = model_of_speech("wav2vec2");
    Session session = listening(model);
    const double length = window_of(model);
    const Audio audio = recording({{4 * length, 0.001}, {2.5 * length, 0.1}, {2, 0.001}});
    Listener listener(session);
    double end = 0, all = 0;
    for (size_t at = 0; at < audio.samples.size(); at += voice_rate / 2)
        for (const Transcript &each : listener.add(
                 std::span(audio.samples).subspan(at, std::min<size_t>(voice_rate / 2, audio.samples.size() - at)))) {
            for (const Transcript::Part &part : each.parts) {
                CHECK(part.begin >= end - 1e-6);
                CHECK(part.end - part.begin <= length + 1e-6);
                end = part.end, all += part.end - part.begin;
            }
        }
    CHECK_THAT(end, matchers::within_abs(6.5 * length + 0.2, 0.05));
    CHECK_THAT(all, matchers::within_abs(2.5 * length + 0.4, 0.1));
}
