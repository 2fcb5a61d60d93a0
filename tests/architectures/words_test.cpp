// When words are said, compared with transformers: make_words.py writes words.json.
#include "catch.hpp"
#include "with_tokenizer.hpp"

#include "generation/alignment.hpp"

#include <lamina/audio.hpp>
#include <lamina/convert.hpp>
#include <lamina/inspect.hpp>
#include <lamina/tokenizer.hpp>

#include <cmath>
#include <fstream>
#include <numbers>

using namespace lamina;
using matchers::contains;
using nlohmann::json;
using test::json_of;

namespace words_test {
namespace {

constexpr int64_t sample_rate = 16000;

const json &cases() {
    static const json all = json_of(test::architectures / "words.json");
    return all;
}

Audio sound_of(const json &wanted) {
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

GenerateOptions with_words() {
    GenerateOptions out;
    out.choices = {{"language", "de"}, {"task", "transcribe"}};
    out.timestamps = Timestamps::words;
    return out;
}

std::string without_blanks(std::string text) {
    std::erase(text, ' ');
    return text;
}

json as_json(const std::vector<Transcript::Segment> &segments) {
    json out = json::array();
    for (const Transcript::Segment &each : segments)
        out.push_back({each.begin, each.end, each.text, each.tokens, each.part});
    return out;
}

void check_ends(const Transcript &found, const json &wanted) {
    REQUIRE(found.parts.size() == wanted.at("windows").size());
    for (size_t w = 0; w < found.parts.size(); ++w) {
        const Hypothesis &hypothesis = found.parts[w].hypothesis;
        const json &window = wanted.at("windows")[w];
        CHECK(json(hypothesis.tokens) == window[0]);
        REQUIRE(hypothesis.ends.size() == window[1].size());
        for (size_t i = 0; i < hypothesis.ends.size(); ++i)
            CHECK_THAT(hypothesis.ends[i], matchers::within_abs(window[1][i].get<double>(), 1e-5));
    }
}

} // namespace

TEST_CASE("words: tokens of recordings of any length end when transformers says") {
    for (const json &wanted : cases().at("recordings")) {
        INFO(wanted.dump());
        Session session = ModelOf(wanted).session();
        check_ends(transcribe(session, {sound_of(wanted)}, with_words()).front(), wanted);
    }
}

TEST_CASE("words: every device tells the same times, also of recordings together and of a converted model") {
    std::vector<Audio> sounds;
    const json first = cases().at("recordings")[1];
    const ModelOf model(first);
    const TemporaryFolder folder;
    const std::filesystem::path converted = folder.path() / "converted";
    convert(test::runtime(), model.path(), {}).model.save(converted);
    for (size_t i = 0; i < 5; ++i) sounds.push_back(sound_of(cases().at("recordings")[i]));
    for (const std::filesystem::path &path : {model.path(), converted})
        for (const Device &device : test::runtime().devices()) {
            INFO(path.string() << " on " << device.id);
            Session session = test::runtime().session(test::runtime().load(path), device);
            const auto together = transcribe(session, sounds, with_words());
            check_ends(together[1], first);
            GenerateOptions segments = with_words();
            segments.timestamps = Timestamps::segments;
            for (size_t i = 0; i < sounds.size(); ++i) {
                const Transcript alone = transcribe(session, {sounds[i]}, with_words()).front(),
                                 plain = transcribe(session, {sounds[i]}, segments).front();
                CHECK(alone.text == plain.text);
                CHECK(subtitles(alone, Subtitles::vtt) == subtitles(together[i], Subtitles::vtt));
                std::string text;
                for (const Transcript::Segment &word : alone.segments) {
                    text += word.text;
                    CHECK(word.begin <= word.end);
                    CHECK(word.end <= alone.parts.at(word.part).end + 0.44); // heard in a window of so many seconds
                }
                CHECK(without_blanks(text) == without_blanks(alone.text)); // which these tokens have between them
                CHECK(as_json(alone.phrases) == as_json(plain.segments));
                CHECK(as_json(together[i].phrases) == as_json(plain.segments));
            }
        }
}

TEST_CASE("words: the path through what is attended to, and its smoothing, are those of transformers") {
    for (const json &wanted : cases().at("paths")) {
        INFO(wanted.dump());
        std::vector<double> values;
        for (const json &row : wanted.at("values"))
            for (const double value : row) values.push_back(value);
        CHECK(generation::warped(values, wanted.at("values").size()) == wanted.at("begins").get<std::vector<size_t>>());
    }
    for (const json &wanted : cases().at("medians")) {
        INFO(wanted.dump());
        auto values = wanted.at("values").get<std::vector<double>>();
        generation::smooth(values, wanted.at("width").get<size_t>());
        CHECK(values == wanted.at("medians").get<std::vector<double>>());
    }
}

TEST_CASE("words: tokens make the words of transformers, in languages with and without blanks") {
    const auto codec =
        model::codec_of(Tokenizer::parse(cases().at("tokenizer").dump(), "tokenizer.json"), "tokenizer.json");
    for (const json &wanted : cases().at("words")) {
        INFO(wanted.dump());
        json found = json::array();
        for (const generation::Word &word :
             generation::words_among(*codec, wanted.at("tokens").get<std::vector<int32_t>>(), wanted.at("blanks")))
            found.push_back({word.text, {word.begin, word.end}});
        CHECK(found == wanted.at("words"));
    }
}

TEST_CASE("words: what a folder says about them does not fit, and is refused") {
    const ModelOf model(cases().at("recordings")[0]);
    const TemporaryFolder folder;
    const std::filesystem::path converted = folder.path() / "converted";
    convert(test::runtime(), model.path(), {}).model.save(converted);
    const json whole = json_of(converted / "model.json");
    const auto refusal = [&](const std::function<void(json &)> &change) {
        json changed = whole;
        change(changed["generation"]["alignment"]);
        std::ofstream(converted / "model.json") << changed.dump();
        return message_of([&] { (void)test::runtime().load(converted); });
    };
    CHECK(refusal([](json &) {}).empty());
    CHECK(refusal([](json &block) { block.erase("median"); }).empty());
    CHECK_THAT(refusal([](json &block) { block["graph"] = "none"; }), contains("/alignment/graph"));
    CHECK_THAT(refusal([](json &block) { block["graph"] = "encode"; }), contains("'encode'"));
    CHECK_THAT(refusal([](json &block) { block["median"] = 4; }), contains("/median") && contains("odd"));
    CHECK_THAT(refusal([](json &block) { block["median"] = 0; }), contains("/median"));
    CHECK_THAT(refusal([](json &block) { block["heads"] = json::array(); }), contains("/heads") && contains("one"));
    CHECK_THAT(refusal([](json &block) { block["heads"][0]["head"] = 6; }), contains("/heads/0/head"));
    CHECK_THAT(refusal([](json &block) { block["heads"][0]["heads"] = 5; }), contains("/heads") && contains("5 heads"));
    CHECK_THAT(refusal([](json &block) { block["heads"][0]["keys"] = "hidden"; }), contains("/keys"));
    CHECK_THAT(refusal([](json &block) { block["heads"][0]["queries"] = "q"; }), contains("/queries"));
    CHECK_THAT(refusal([](json &block) { block["width"] = 7; }), contains("width"));
}

TEST_CASE("words: a model whose lists do not fit its decoder writes texts as before, and tells no words") {
    const json recording = cases().at("recordings")[0];
    const ModelOf model(recording);
    const auto change = [&](const char *file, const char *key, const json &value) {
        json changed = json_of(model.path() / file);
        changed[key] = value;
        model.write(file, changed.dump());
    };
    const auto check_text_alone = [&] {
        Session session = model.session();
        CHECK_THAT(message_of([&] { (void)transcribe(session, {sound_of(recording)}, with_words()); }),
                   contains("segments alone") && contains("alignment_heads"));
        GenerateOptions segments = with_words();
        segments.timestamps = Timestamps::segments;
        const Transcript found = transcribe(session, {sound_of(recording)}, segments).front();
        CHECK(json(found.parts.front().hypothesis.tokens) == recording.at("windows")[0][0]);
    };
    for (const json &heads : {json{{1, 0}}, json{{0, 6}}, json{{0, 0}, {5, 0}}, json(json::array())}) {
        INFO(heads.dump());
        change("generation_config.json", "alignment_heads", heads);
        check_text_alone();
    }
    change("generation_config.json", "alignment_heads", {{0, -1}});
    CHECK_THAT(message_of([&] { (void)model.session(); }), contains("/alignment_heads/0/1"));
    change("generation_config.json", "alignment_heads", recording.at("settings").at("alignment_heads"));
    {
        Session session = model.session();
        check_ends(transcribe(session, {sound_of(recording)}, with_words()).front(), recording);
    }
    change("config.json", "median_filter_width", 4);
    check_text_alone();
}

} // namespace words_test
