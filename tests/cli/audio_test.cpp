// lamina run with a model that takes audio.
#include "catch.hpp"
#include "places.hpp"
#include "process.hpp"
#include "temporary_folder.hpp"
#include "wav.hpp"

#include <nlohmann/json.hpp>

#include <cmath>
#include <csignal>
#include <cstring>
#include <sys/resource.h>

namespace {

// A tiny Whisper with a tokenizer of words.
std::string whisper_model(const TemporaryFolder &folder) {
    namespace fs = std::filesystem;
    const fs::path to = folder.path() / "model";
    fs::copy(fs::path(LAMINA_SOURCE_DIR) / "tests" / "architectures" / "models" / "whisper", to,
             fs::copy_options::recursive);
    nlohmann::json vocabulary;
    for (int i = 0; i < 53; ++i) vocabulary["w" + std::to_string(i)] = i;
    const nlohmann::json tokenizer{{"version", "1.0"},
                                   {"added_tokens", nlohmann::json::array()},
                                   {"model", {{"type", "WordLevel"}, {"vocab", vocabulary}, {"unk_token", "w0"}}}};
    (void)folder.write("model/tokenizer.json", tokenizer.dump());
    return to.string();
}

std::vector<float> tone(size_t samples, size_t channels) {
    std::vector<float> out;
    for (size_t i = 0; i < samples; ++i)
        out.insert(out.end(), channels, static_cast<float>(0.4 * std::sin(static_cast<double>(i) * 0.3)));
    return out;
}

} // namespace

TEST_CASE("run transcribes audio files: one, several, named on stdin, as JSON") {
    const TemporaryFolder folder;
    const std::string model = whisper_model(folder);
    const std::string mono = folder.write("mono.wav", wav({}, tone(3000, 1))).string();
    const std::string stereo = folder.write("stereo.wav", wav({.channels = 2}, tone(3000, 2))).string();
    const std::string faster = folder.write("fast.wav", wav({.rate = 48000}, tone(27000, 1))).string(); // 3 windows
    const std::vector<std::string> run{"run", model, "--device", "cpu", "--max-length", "5", "--language", "de"};
    const auto with = [&](std::vector<std::string> more) {
        more.insert(more.begin(), run.begin(), run.end());
        return more;
    };
    const Finished one = run_lamina(with({mono}));
    CHECK(one.status == 0);
    CHECK(one.out.starts_with(mono + "\tw"));
    CHECK_THAT(one.err, matchers::contains("5 tokens in "));

    const Finished all = run_lamina(with({mono, stereo, faster}));
    CHECK(all.status == 0);
    const auto lines = lines_of(all.out);
    REQUIRE(lines.size() == 3);
    CHECK(lines[0] + "\n" == one.out);
    CHECK(lines[1].substr(stereo.size()) == lines[0].substr(mono.size())); // the mean of two channels that are the same
    CHECK(run_lamina(run, {.input = mono + "\n" + stereo + "\n" + faster + "\n"}).out == all.out);

    const auto json = nlohmann::json::parse(run_lamina(with({mono, faster, "--json"})).out);
    REQUIRE(json.size() == 2);
    CHECK(json[0]["file"] == mono);
    CHECK(mono + "\t" + json[0]["output"].get<std::string>() == lines[0]);
    CHECK(json[1]["parts"].size() == 3);
    CHECK_THAT(json[1]["parts"].back()["end"].get<double>(), matchers::within_abs(0.5625, 0.001));
    CHECK(json[1]["parts"][0]["tokens"].size() == 5);
}

TEST_CASE("run --listen transcribes the samples on stdin, and --skip-silence leaves out what is silent") {
    const std::string model = LAMINA_SOURCE_DIR "/tests/architectures/speech/moonshine";
    const auto with_tone = [](std::vector<float> &samples, size_t quiet, size_t loud) {
        samples.insert(samples.end(), quiet, 0.0F);
        const std::vector<float> more = tone(loud, 1);
        samples.insert(samples.end(), more.begin(), more.end());
    };
    std::vector<float> samples;
    with_tone(samples, 16000, 24000), with_tone(samples, 32000, 8000);
    std::string bytes;
    for (const float v : samples) {
        const auto sample = static_cast<int16_t>(std::lround(v * 32767));
        bytes += {static_cast<char>(sample & 255), static_cast<char>(sample >> 8)};
    }
    const auto listen = [&](const std::string &input, const std::vector<std::string> &more = {}) {
        std::vector<std::string> all{"run", model, "--listen", "--device", "cpu", "--max-length", "5"};
        all.insert(all.end(), more.begin(), more.end());
        return run_lamina(all, {.input = input});
    };
    const Finished lines = listen(bytes), json = listen(bytes, {"--json"});
    CHECK(lines.status == 0);
    const auto texts = lines_of(lines.out), objects = lines_of(json.out);
    REQUIRE(objects.size() == 2);
    const auto first = nlohmann::json::parse(objects[0]), second = nlohmann::json::parse(objects[1]);
    CHECK_THAT(first["parts"][0]["begin"].get<double>(), matchers::within_abs(0.8, 0.03));
    CHECK_THAT(second["parts"][0]["begin"].get<double>(), matchers::within_abs(4.3, 0.03));
    CHECK_FALSE(first["output"].get<std::string>().empty());
    CHECK(texts == std::vector<std::string>{first["output"], second["output"]});

    Running running({"run", model, "--listen", "--device", "cpu", "--max-length", "5"});
    running.write(std::string_view(bytes).substr(0, 2 * (16000 + 24000 + 32000))); // and a pause; stdin stays open
    CHECK(running.line() == texts.front());
    CHECK(running.finish(SIGINT) == 130);

    const Finished odd = listen(bytes.substr(0, 4001));
    CHECK(odd.status == 3);
    CHECK_THAT(odd.err, matchers::contains("stdin: ends within a sample"));
    const Finished riff = listen("RIFF" + bytes);
    CHECK(riff.status == 3);
    CHECK_THAT(riff.err, matchers::contains("stdin: begins with 'RIFF', as a file does"));
    CHECK(listen("").out.empty());
    const Finished both = run_lamina({"run", model, "a.wav", "--listen", "--device", "cpu"});
    CHECK(both.status == 2);
    CHECK_THAT(both.err, matchers::contains("--listen: reads stdin"));
    const Finished text =
        run_lamina({"run", LAMINA_SOURCE_DIR "/models/g2p", "--listen", "--device", "cpu"}, {.input = "a"});
    CHECK(text.status == 2);
    CHECK_THAT(text.err, matchers::contains("--listen is about audio"));

    const TemporaryFolder folder;
    const std::string file = folder.write("a.wav", wav({}, samples)).string();
    const auto heard = nlohmann::json::parse(
        run_lamina({"run", model, file, "--skip-silence", "--device", "cpu", "--max-length", "5", "--json"}).out);
    REQUIRE(heard[0]["parts"].size() == 1); // of one window
    CHECK_THAT(heard[0]["parts"][0]["begin"].get<double>(), matchers::within_abs(0.8, 0.03));
}

TEST_CASE("run prints nothing of an audio file that it cannot transcribe as it is told") {
    const TemporaryFolder folder;
    const std::string model = whisper_model(folder), file = folder.write("a.wav", wav({}, tone(3000, 1))).string();
    const Finished f = run_lamina({"run", model, file, "--device", "cpu", "--task", "sing"});
    CHECK(f.status == 2);
    CHECK(f.out.empty());
    CHECK_THAT(f.err, matchers::contains("error: --task: 'sing' is not supported by the model"));
}

TEST_CASE("run shows when something was said: as lines, JSON and subtitles") {
    const TemporaryFolder folder;
    const std::string model = whisper_model(folder);
    const std::string file = folder.write("a.wav", wav({}, tone(9000, 1))).string(); // of several windows
    const auto run = [&](const std::vector<std::string> &more) {
        std::vector<std::string> all{"run", model, file, "--device", "cpu", "--max-length", "9", "--language", "de"};
        all.insert(all.end(), more.begin(), more.end());
        return run_lamina(all);
    };
    const auto json = nlohmann::json::parse(run({"--timestamps", "segments", "--json"}).out)[0];
    CHECK(json["language"] == "de");
    const auto &segments = json["segments"];
    REQUIRE(segments.size() > 2);
    CHECK(json["parts"].size() >= 2);
    CHECK(segments[0]["tokens"][0].get<int>() >= 33); // a timestamp
    const auto lines = lines_of(run({"--timestamps", "segments"}).out);
    REQUIRE(lines.size() == segments.size());
    CHECK(lines[0].starts_with(file + "\t0."));
    CHECK(lines[0].ends_with("\t" + segments[0]["output"].get<std::string>()));
    const Finished srt = run({"--subtitles", "srt"}), vtt = run({"--subtitles", "vtt"});
    CHECK(srt.out.starts_with("1\n00:00:00,"));
    CHECK_THAT(srt.out, matchers::contains("\n\n" + std::to_string(segments.size()) + "\n"));
    CHECK(vtt.out.starts_with("WEBVTT\n\n00:00:00."));

    const auto words = lines_of(run({"--timestamps", "words"}).out);
    CHECK(words.size() == segments.size()); // there are no blanks in these tokens
    CHECK(words[0].starts_with(file + "\t0."));
    const Finished characters = run({"--timestamps", "characters"});
    CHECK(characters.status == 2);
    CHECK_THAT(characters.err, matchers::contains("timestamps: ") && matchers::contains("segments and of words"));
    CHECK(run({"--subtitles", "srt", "--json"}).status == 2);
    CHECK(run({file, "--subtitles", "srt"}).status == 2);
    CHECK(run({"--timestamps", "tokens"}).status == 2);
    const Finished text = run_lamina({"run", g2p(), "vulkan", "--timestamps", "words", "--device", "cpu"});
    CHECK(text.status == 2);
    CHECK_THAT(text.err, matchers::contains("--timestamps is about audio"));
}

TEST_CASE("inspect and compare take a model for audio, and bad files and options are refused") {
    const TemporaryFolder folder;
    const std::string model = whisper_model(folder);
    const Finished inspected = run_lamina({"inspect", model});
    CHECK_THAT(inspected.out, matchers::contains("reads  audio, 16000 samples per second, windows of 0.22 s") &&
                                  matchers::contains("language: de, en, fr"));
    const auto refused = [&](std::vector<std::string> more) {
        more.insert(more.begin(), {"run", model, "--device", "cpu"});
        return run_lamina(more);
    };
    const std::string text = folder.write("text.wav", "no audio").string();
    const Finished no_audio = refused({text});
    CHECK(no_audio.status == 3);
    CHECK_THAT(no_audio.err, matchers::contains("text.wav: expected audio"));
    CHECK(refused({"absent.wav"}).status == 3);
    const std::string audio = folder.write("a.wav", wav({}, tone(300, 1))).string();
    const Finished second_bad = refused({audio, text, audio});
    CHECK(second_bad.status == 3);
    CHECK(second_bad.out.starts_with(audio + "\t")); // what could be read before is not lost
    CHECK(lines_of(second_bad.out).size() == 1);
    const Finished language = refused({audio, "--language", "latin"});
    CHECK(language.status == 2);
    CHECK_THAT(language.err, matchers::contains("language: 'latin' is not supported by the model"));
    CHECK(refused({audio, "--stop", "x"}).status == 2);
    const Finished compared = run_lamina({"compare", model, "--device", "cpu"});
    CHECK(compared.status == 0);
    CHECK_THAT(compared.out, matchers::contains("agree with the reference"));
}

TEST_CASE("bench takes audio files, and no options about texts") {
    const TemporaryFolder folder;
    const std::string model = whisper_model(folder);
    const std::string audio = folder.write("a.wav", wav({}, tone(3000, 1))).string();
    for (const size_t files : {size_t{1}, size_t{2}}) {
        std::vector<std::string> arguments{"bench", model, "--device", "cpu", "--json", "--rounds", "1"};
        for (size_t i = 0; i < files; ++i) arguments.insert(arguments.end(), {"--text", audio});
        const Finished f = run_lamina(arguments);
        REQUIRE(f.status == 0);
        const nlohmann::json length = nlohmann::json::parse(f.out)["results"][0];
        CHECK(length["figure"] == "length of the audio");
        CHECK_THAT(length["median"].get<double>(), matchers::within_abs(0.1875 * static_cast<double>(files), 1e-6));
    }
    const Finished tokens = run_lamina({"bench", model, "--device", "cpu", "--text", audio, "--tokens", "5"});
    CHECK(tokens.status == 2);
    CHECK_THAT(tokens.err, matchers::contains("--tokens is about answers to texts"));
}

TEST_CASE("a model that scores characters is run, inspected, compared, measured and compiled") {
    const TemporaryFolder folder;
    const std::string model =
        (std::filesystem::path(LAMINA_SOURCE_DIR) / "tests" / "architectures" / "speech" / "wav2vec2").string();
    std::vector<float> noise;
    for (uint64_t i = 0; i < 3000; ++i)
        noise.push_back(static_cast<float>(static_cast<double>((i * i * 31 + i * 7919) % 65536) / 131072 - 0.25));
    const std::string audio = folder.write("a.wav", wav({}, noise)).string();
    const std::string other = folder.write("b.wav", wav({.rate = 48000}, tone(27000, 1))).string();
    const Finished one = run_lamina({"run", model, "--device", "cpu", audio});
    CHECK(one.status == 0);
    CHECK(one.out.size() > audio.size() + 3);
    const Finished both = run_lamina({"run", model, "--device", "cpu", audio, other});
    CHECK(lines_of(both.out).size() == 2);
    CHECK(lines_of(both.out)[0] + "\n" == one.out);
    const auto json = nlohmann::json::parse(run_lamina({"run", model, "--device", "cpu", audio, "--json"}).out);
    CHECK(audio + "\t" + json[0]["output"].get<std::string>() + "\n" == one.out);
    CHECK(json[0]["parts"][0]["tokens"].size() > 3);
    const Finished choice = run_lamina({"run", model, "--device", "cpu", audio, "--temperature", "1"});
    CHECK(choice.status == 2);
    CHECK_THAT(choice.err, matchers::contains("temperature: does not apply to this model"));
    CHECK(run_lamina({"run", model, "--device", "cpu", "a text"}).status == 3);

    CHECK_THAT(run_lamina({"inspect", model}).out,
               matchers::contains("hears audio, 16000 samples per second, windows of 20 s") &&
                   matchers::contains("scores of 29 characters"));
    const auto inspected = nlohmann::json::parse(run_lamina({"inspect", model, "--json"}).out);
    CHECK(inspected["speech"]["labels"][4] == "|");
    const Finished compared = run_lamina({"compare", model, "--device", "cpu"});
    CHECK(compared.status == 0);
    CHECK_THAT(compared.out, matchers::contains("agree with the reference"));
    const Finished measured =
        run_lamina({"bench", model, "--device", "cpu", "--json", "--rounds", "1", "--text", audio});
    CHECK(measured.status == 0);
    CHECK(nlohmann::json::parse(measured.out)["results"][0]["figure"] == "length of the audio");
}

#ifndef __SANITIZE_ADDRESS__ // which needs terabytes of addresses
TEST_CASE("a lack of memory is no fault of a file: it is not skipped") {
    const TemporaryFolder folder;
    const std::string model = whisper_model(folder);
    constexpr uint32_t samples = 40'000'000;
    std::string header = wav({}, {0});
    const uint32_t bytes = 2 * samples, all = bytes + 36;
    std::memcpy(header.data() + 4, &all, sizeof(all));
    std::memcpy(header.data() + 40, &bytes, sizeof(bytes));
    const std::filesystem::path file = folder.write("long.wav", header);
    std::filesystem::resize_file(file, 44 + bytes); // with a hole, which is silence
    const Finished f = run_lamina({"run", model, "--device", "cpu", "--on-error", "skip"},
                                  {.input = file.string() + "\n", .limits = {{RLIMIT_AS, uint64_t{300} << 20}}});
    CHECK(f.status == 5);
    CHECK_THAT(f.err, matchers::contains("long.wav: does not fit into memory"));
}
#endif
