// Models that take audio of any length: those that score characters for each frame of it, and Moonshine, which writes
// texts. make_speech.py wrote speech/.
#include "catch.hpp"
#include "folders.hpp"

#include "architectures/speech_labels.hpp"
#include "model/speech.hpp"

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
using nlohmann::json;

namespace {

constexpr int64_t speech_rate = 16000;

const json &heard_elsewhere() {
    static const json out = test::json_of(test::architectures / "speech" / "expected.json");
    return out;
}

void write_files(const TemporaryFolder &folder, const json &files) {
    for (const auto &[name, contents] : files.items()) (void)folder.write(name, contents.dump());
}

// A model of speech/, with these changes to its files.
class Recognizer {
  public:
    explicit Recognizer(const std::string &name, const json &changes = json::object()) {
        std::filesystem::copy(test::architectures / "speech" / name, folder_.path(),
                              std::filesystem::copy_options::recursive);
        write_files(folder_, changes);
    }
    [[nodiscard]] const std::filesystem::path &path() const { return folder_.path(); }
    [[nodiscard]] Session session() const { return test::session_of(folder_.path()); }

  private:
    TemporaryFolder folder_;
};

// As make_speech.py makes it.
Audio signal(size_t samples) {
    Audio out{.rate = speech_rate};
    for (uint64_t i = 0; i < samples; ++i) {
        const double noise = (static_cast<double>((i * i * 31 + i * 7919) % 65536) - 32768) / 32768;
        const double loudness = 0.05 + static_cast<double>(i / 400 % 5) * 0.1;
        out.samples.push_back(static_cast<float>(noise * loudness + 0.02));
    }
    return out;
}

model::Speech as_speech(architectures::SpeechLabels labels) {
    model::Speech out;
    out.labels = std::move(labels.labels);
    out.blank = labels.blank, out.delimiter = labels.delimiter, out.space = labels.space;
    out.lowercase = labels.lowercase, out.clean_up = labels.clean_up;
    return out;
}

std::string message_of_loading(const Recognizer &model) {
    return message_of([&] { (void)test::runtime().load(model.path()); });
}

std::string text_of(Session &session, const Audio &audio) { return transcribe(session, {audio}).front().text; }

} // namespace

TEST_CASE("speech: labels and texts are those of transformers' tokenizer") {
    size_t rows = 0;
    for (const json &each : heard_elsewhere()["decoded"]) {
        INFO(each["name"]);
        const TemporaryFolder folder;
        write_files(folder, each["files"]);
        const model::Speech speech =
            as_speech(architectures::read_speech_labels(folder.path(), each["labels"].get<int64_t>()));
        for (const json &row : each["rows"]) {
            const auto ids = row["ids"].get<std::vector<int32_t>>();
            std::vector<int32_t> collapsed;
            for (const model::Speech::Run &run : speech.collapsed(ids)) collapsed.push_back(run.label);
            CHECK(speech.text_of(collapsed) == row["text"].get<std::string>());
            ++rows;
        }
    }
    CHECK(rows > 30);
}

TEST_CASE("speech: recordings have the texts that transformers' pipeline gives") {
    for (const json &each : heard_elsewhere()["heard"]) {
        INFO(each["model"]);
        Session session = Recognizer(each["model"].get<std::string>()).session();
        CHECK(text_of(session, signal(each["samples"].get<size_t>())) == each["text"].get<std::string>());
    }
}

TEST_CASE("speech: words and characters are said when transformers' pipeline says") {
    const json times = test::json_of(test::architectures / "speech" / "times.json");
    size_t words = 0;
    for (const json &each : times) {
        INFO(each["model"]);
        Session session = Recognizer(each["model"].get<std::string>()).session();
        const Audio audio = signal(each["samples"].get<size_t>());
        for (const auto &[name, which] :
             {std::pair{"words", Timestamps::words}, {"characters", Timestamps::characters}}) {
            GenerateOptions options;
            options.timestamps = which;
            const Transcript found = transcribe(session, {audio}, options).front();
            CHECK(found.text == text_of(session, audio));
            REQUIRE(found.segments.size() == each[name].size());
            words += found.segments.size();
            for (size_t i = 0; i < found.segments.size(); ++i) {
                CHECK(found.segments[i].text == each[name][i][0].get<std::string>());
                CHECK_THAT(found.segments[i].begin, matchers::within_abs(each[name][i][1].get<double>(), 1e-5));
                CHECK_THAT(found.segments[i].end, matchers::within_abs(each[name][i][2].get<double>(), 1e-5));
            }
        }
    }
    CHECK(words > 100);
}

TEST_CASE("speech: beams find texts that are at least as likely, and when they were said") {
    for (const char *name : {"wav2vec2", "hubert"}) {
        INFO(name);
        Session session = Recognizer(name).session();
        double before = -std::numeric_limits<double>::infinity();
        for (const int64_t beams : {1, 2, 8, 32}) {
            GenerateOptions options;
            options.beams = beams, options.timestamps = Timestamps::characters;
            const Transcript found = transcribe(session, {signal(700)}, options).front();
            const Hypothesis &hypothesis = found.parts.front().hypothesis;
            CHECK(hypothesis.log_probability >= before);
            before = hypothesis.log_probability;
            std::string text;
            double end = 0;
            for (const Transcript::Segment &each : found.segments) {
                text += each.text;
                CHECK((each.begin >= end && each.end > each.begin));
                end = each.end;
            }
            CHECK_THAT(text, contains(found.text));
        }
    }
}

TEST_CASE("speech: batches and other sample rates do not change texts") {
    for (const char *name : {"wav2vec2", "hubert_bare"}) {
        INFO(name);
        Session session = Recognizer(name).session();
        std::vector<Audio> audios;
        for (const size_t samples : {700, 1501, 90, 3000, 702}) audios.push_back(signal(samples));
        const std::vector<Transcript> together = transcribe(session, audios);
        GenerateOptions one;
        one.batch = 1;
        for (size_t i = 0; i < audios.size(); ++i) {
            const Transcript alone = transcribe(session, {audios[i]}, one).front();
            CHECK(together[i].text == alone.text);
            CHECK(!alone.text.empty());
            CHECK(together[i].parts.front().hypothesis.tokens == alone.parts.front().hypothesis.tokens);
            CHECK_THAT(together[i].parts.front().hypothesis.log_probability,
                       matchers::within_abs(alone.parts.front().hypothesis.log_probability, 1e-2));
        }
        const Audio other = resampled(signal(2000), 44100);
        CHECK(text_of(session, other) == text_of(session, resampled(other, speech_rate)));
    }
}

TEST_CASE("speech: long audio is cut into windows, whose texts are joined by spaces") {
    // The usual window is 20 seconds; a converted model says what it is.
    const Recognizer original("wav2vec2");
    const TemporaryFolder folder;
    convert(test::runtime(), original.path(), {}).model.save(folder.path() / "short");
    const std::filesystem::path file = folder.path() / "short" / "model.json";
    json settings = test::json_of(file);
    CHECK(settings["speech"]["window"] == 320000);
    settings["speech"]["window"] = 1200;
    std::ofstream(file) << settings.dump();
    Session session = test::session_of(folder.path() / "short");
    Session whole = original.session();

    Audio audio = signal(3000);
    std::fill_n(audio.samples.begin() + 1050, 100, 0.0F); // in the last sixth of a window
    const Transcript found = transcribe(session, {audio}).front();
    REQUIRE(found.parts.size() == 3);
    CHECK((found.parts[0].end > 1050.0 / speech_rate && found.parts[0].end < 1150.0 / speech_rate));
    CHECK_THAT(found.parts[2].end, matchers::within_abs(3000.0 / speech_rate, 1e-9));
    std::string text;
    for (const Transcript::Part &part : found.parts) {
        const auto sample = [&](double seconds) { return audio.samples.begin() + std::lround(seconds * speech_rate); };
        const std::string own = text_of(whole, {{sample(part.begin), sample(part.end)}, speech_rate});
        CHECK(part.hypothesis.text == " " + own);
        text += (text.empty() ? "" : " ") + own;
    }
    CHECK(found.text == text);

    std::string streamed;
    GenerateOptions options;
    options.stream = [&](size_t, std::string_view piece) { streamed += piece; };
    CHECK(transcribe(session, {audio}, options).front().text == text);
    CHECK(streamed == text);
    CHECK(text_of(session, signal(10)).empty()); // shorter than a frame
}

TEST_CASE("speech: inspect() shows the format, and a converted model gives the same") {
    const Recognizer model("wav2vec2");
    const ModelContents contents = inspect(test::runtime().load(model.path()));
    REQUIRE(contents.speech.has_value());
    CHECK((contents.audio()->rate == speech_rate && contents.audio()->length == 20 * speech_rate));
    CHECK(contents.speech->labels.size() == 29);
    CHECK(contents.speech->labels[4] == "|");
    const TemporaryFolder folder;
    convert(test::runtime(), model.path(), {}).model.save(folder.path() / "converted");
    Session before = model.session();
    Session after = test::session_of(folder.path() / "converted");
    CHECK(text_of(after, signal(1001)) == text_of(before, signal(1001)));
    // Without the files about audio and texts, it takes tensors alone.
    const ModelContents bare = inspect(test::runtime().load(test::architectures / "models" / "wav2vec2"));
    CHECK(!bare.speech);
}

TEST_CASE("speech: what would change nothing is refused, and so is bad audio") {
    Session session = Recognizer("wav2vec2").session();
    const auto refusal = [&](const GenerateOptions &options) {
        return message_of([&] { (void)transcribe(session, {signal(700)}, options); });
    };
    GenerateOptions options;
    options.temperature = 1;
    CHECK_THAT(refusal(options), contains("temperature") && contains("does not apply"));
    options = {};
    options.choices["language"] = "de";
    CHECK_THAT(refusal(options), contains("language") && contains("does not apply"));
    options = {};
    options.beams = 2000;
    CHECK_THAT(refusal(options), contains("beams: expected 1 to 1024"));
    options = {};
    options.timestamps = Timestamps::segments;
    CHECK_THAT(refusal(options), contains("timestamps: ") && contains("words and of characters"));
    const Audio wrong{{0, std::numeric_limits<float>::infinity()}, speech_rate};
    CHECK_THAT(message_of([&] { (void)transcribe(session, {wrong}); }), contains("a sample is NaN or infinite"));
    CHECK_THAT(message_of([&] { (void)session.generate({"A"}); }), contains("transcribes audio"));
}

namespace {

// Moonshine's, of whole audio.
const Hypothesis &heard_in(const Transcript &transcript) { return transcript.parts.front().hypothesis; }

// The same with windows of so many samples.
std::filesystem::path with_window(const TemporaryFolder &folder, const char *name, int64_t window) {
    const std::filesystem::path out = folder.path() / "converted";
    convert(test::runtime(), Recognizer(name).path(), {}).model.save(out);
    json settings = test::json_of(out / "model.json");
    CHECK(settings["generation"]["window"] == 30 * speech_rate);
    settings["generation"]["window"] = window;
    std::ofstream(out / "model.json") << settings.dump();
    return out;
}

} // namespace

TEST_CASE("speech: Moonshine writes what generate() of transformers does, alone and in batches") {
    const json wanted = test::json_of(test::architectures / "speech" / "written.json");
    std::map<std::string, std::vector<json>> of_model;
    for (const json &each : wanted) of_model[each["model"]].push_back(each);
    CHECK(of_model.size() == 3);
    for (const auto &[name, all] : of_model) {
        INFO(name);
        Session session = Recognizer(name).session();
        std::vector<Audio> audios;
        for (const json &each : all) {
            audios.push_back(signal(each["samples"].get<size_t>()));
            const Transcript alone = transcribe(session, {audios.back()}).front();
            CHECK(heard_in(alone).tokens == each["ids"].get<std::vector<int32_t>>());
            CHECK(alone.text == each["text"].get<std::string>());
            CHECK_THAT(alone.parts.front().end,
                       matchers::within_abs(each["samples"].get<double>() / speech_rate, 1e-9));
        }
        const std::vector<Transcript> together = transcribe(session, audios);
        for (size_t i = 0; i < all.size(); ++i)
            CHECK(heard_in(together[i]).tokens == all[i]["ids"].get<std::vector<int32_t>>());
    }
}

TEST_CASE("speech: what Moonshine hears in long audio are windows, one after the other, also as they come") {
    const TemporaryFolder folder;
    Session session = test::session_of(with_window(folder, "moonshine", 2000));
    Session whole = Recognizer("moonshine").session();
    Audio audio = signal(6000);
    std::fill_n(audio.samples.begin() + 1700, 250, 0.0F); // in the last sixth of a window
    std::vector<std::string> streamed(2);
    GenerateOptions options;
    options.stream = [&](size_t i, std::string_view piece) { streamed[i] += piece; };
    const Audio shorter = signal(1100);
    const std::vector<Transcript> found = transcribe(session, {audio, shorter}, options);
    REQUIRE(found[0].parts.size() > 3);
    CHECK((found[0].parts[0].end > 1700.0 / speech_rate && found[0].parts[0].end < 1950.0 / speech_rate));
    std::string text;
    for (const Transcript::Part &part : found[0].parts) {
        const auto sample = [&](double seconds) { return audio.samples.begin() + std::lround(seconds * speech_rate); };
        const Audio own{{sample(part.begin), sample(part.end)}, speech_rate};
        const Transcript alone = transcribe(whole, {own}).front();
        CHECK(part.hypothesis.tokens == heard_in(alone).tokens);
        text += part.hypothesis.text;
    }
    CHECK(streamed[0] == found[0].text);
    CHECK(streamed[1] == text_of(whole, shorter));
    CHECK_THAT(found[0].parts.back().end, matchers::within_abs(6000.0 / speech_rate, 1e-9));
    // What is shorter than a frame has no text, wherever it stands.
    const std::vector<Transcript> shortest = transcribe(session, {signal(894), shorter, signal(1)});
    CHECK((shortest[0].text.empty() && shortest[2].text.empty()));
    CHECK(heard_in(shortest[0]).finish == Finish::end);
    CHECK_THAT(shortest[0].parts.front().end, matchers::within_abs(894.0 / speech_rate, 1e-9));
    CHECK(shortest[1].text == streamed[1]);
    CHECK_THAT(message_of([&] { (void)session.generate({"A"}); }), contains("takes audio, not text"));
    options = {};
    options.timestamps = Timestamps::segments;
    CHECK_THAT(message_of([&] { (void)transcribe(session, {shorter}, options); }), contains("gives none"));
}

TEST_CASE("speech: a source of audio in frames that does not fit its graphs is refused") {
    const TemporaryFolder folder;
    const std::filesystem::path file = with_window(folder, "moonshine", 2000) / "model.json";
    const json written = test::json_of(file);
    const auto refusal = [&](const char *key, const json &value) {
        json changed = written;
        changed["generation"][key] = value;
        if (value.is_null()) changed["generation"].erase(key);
        std::ofstream(file) << changed.dump();
        return message_of([&] { (void)test::runtime().load(file.parent_path()); });
    };
    CHECK(refusal("normalize", true).empty());
    CHECK_THAT(refusal("window", 5), contains("/generation/window"));
    CHECK_THAT(refusal("window", nullptr), contains("'source_lengths' needs the key 'window' beside it"));
    CHECK_THAT(refusal("norm_lengths", nullptr), contains("nothing gives the input 'norm_lengths'"));
    CHECK_THAT(refusal("source_samples", "lengths"), contains("/generation/source_samples") && contains("\"B N 1\""));
    CHECK_THAT(refusal("source_lengths", {{"input", "lengths"}, {"width", 895}, {"step", 0}}),
               contains("/generation/source_lengths/step"));
    CHECK_THAT(refusal("source_ids", "samples"), contains("the source is audio (source_samples)"));
    CHECK_THAT(message_of_loading(Recognizer("moonshine", {{"preprocessor_config.json",
                                                            {{"feature_extractor_type", "WhisperFeatureExtractor"}}}})),
               contains("/feature_extractor_type") && contains("Wav2Vec2FeatureExtractor"));
    // Without the files about audio and texts, it takes tensors alone.
    const ModelContents bare = inspect(test::runtime().load(test::architectures / "models" / "moonshine"));
    CHECK((!bare.generation && bare.graphs.contains("decode")));
}

TEST_CASE("speech: files that are not understood are refused") {
    const auto refusal = [](const json &changes) { return message_of_loading(Recognizer("wav2vec2", changes)); };
    CHECK(refusal(json::object()).empty());
    CHECK_THAT(refusal({{"vocab.json", {{"deu", {{"a", 0}}}}}}),
               contains("/deu") && contains("for each language is not supported"));
    CHECK_THAT(refusal({{"vocab.json", {{"a", 0}, {"<pad>", 0}}}}), contains("the id 0 is given twice"));
    CHECK_THAT(refusal({{"tokenizer_config.json", {{"target_lang", "deu"}}}}),
               contains("/target_lang") && contains("expected null"));
    CHECK_THAT(refusal({{"tokenizer_config.json", {{"tokenizer_class", "Wav2Vec2PhonemeCTCTokenizer"}}}}),
               contains("/tokenizer_class") && contains("Wav2Vec2CTCTokenizer"));
    CHECK_THAT(refusal({{"tokenizer_config.json", {{"pad_token", "none"}}}}), contains("none of the 29"));
    CHECK_THAT(refusal({{"preprocessor_config.json", {{"feature_extractor_type", "SeamlessM4TFeatureExtractor"}}}}),
               contains("/feature_extractor_type") && contains("Wav2Vec2FeatureExtractor"));
    CHECK_THAT(refusal({{"preprocessor_config.json", {{"feature_size", 80}}}}), contains("/feature_size"));
    CHECK_THAT(refusal({{"preprocessor_config.json", {{"sampling_rate", 0}}}}), contains("/sampling_rate"));
}

TEST_CASE("speech: a block of model.json that does not fit its graph is refused") {
    const Recognizer original("wav2vec2");
    const TemporaryFolder folder;
    convert(test::runtime(), original.path(), {}).model.save(folder.path() / "model");
    const std::filesystem::path file = folder.path() / "model" / "model.json";
    const json written = test::json_of(file);
    const auto refusal = [&](const char *key, const json &value) {
        json changed = written;
        changed["speech"][key] = value;
        if (value.is_null()) changed["speech"].erase(key);
        std::ofstream(file) << changed.dump();
        return message_of([&] { (void)test::runtime().load(file.parent_path()); });
    };
    CHECK(refusal("lowercase", true).empty());
    CHECK_THAT(refusal("graph", "hear"), contains("/speech/graph") && contains("no graph 'hear'"));
    CHECK_THAT(refusal("samples", "lengths"), contains("/speech/samples") && contains("\"B N 1\""));
    CHECK_THAT(refusal("norm_lengths", nullptr), contains("nothing gives the input 'norm_lengths'"));
    CHECK_THAT(refusal("logits", "hidden"), contains("/speech/logits") && contains("a score of each label"));
    CHECK_THAT(refusal("labels", {"<pad>", "a"}), contains("/speech/logits") && contains("(2, 5, 2)"));
    CHECK_THAT(refusal("labels", json::array()), contains("/speech/labels") && contains("at least one"));
    CHECK_THAT(refusal("blank", "[PAD]"), contains("/speech/blank") && contains("no label '[PAD]'"));
    CHECK_THAT(refusal("window", 5), contains("/speech/window"));
    CHECK_THAT(refusal("sample_rate", 0), contains("/speech/sample_rate"));
    CHECK_THAT(refusal("lengths", {{"input", "lengths"}, {"width", 0}, {"step", 12}}),
               contains("/speech/lengths/width"));
    CHECK_THAT(refusal("words", true), contains("/speech") && contains("words"));
}
